"""A gate or broker that does what it is told to (hostile.c), in the place of the real one, in the lab of tests/lab.

    p = Puppet("gate", opts)             # a run whose gate is the test's, from its first connection on
    p.call("socket", 2, 1, 0)            # (result or -errno, how many were good, data)
    p.send(3, report(DENIED, host="a"), fds=[4])
    r = p.finish()
"""
import os
import select
import shutil
import struct
import sys
import time

HERE_ = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(HERE_, "../lab"), os.path.join(HERE_, "../containment")]
import lab  # noqa: E402

WHY_NOT = lab.why_not()
if WHY_NOT:
    print(f"ok 1 - a lab # SKIP {WHY_NOT}\n1..1\n# done")
    sys.exit(0)
lab.enter()
NET = lab.Lab()

import lib  # noqa: E402
from lib import *  # noqa: E402,F403
from lib import BELLJAR, SLOW, TMP, Sandbox, children, proc_text, say, stat_of, wait_for  # noqa: E402

HOSTILE = os.path.join(os.environ.get("BELLJAR_BUILD", os.path.join(os.path.dirname(BELLJAR), "..")), "tests/fault/hostile")
PROGRAMS = ("belljar", "belljar-tool", "belljar-init", "belljar-gate", "belljar-broker")
# proto/net-msg.h
CONTROL, TABLE, CHANNEL, BUDGETS = 3, 4, 5, 6
DENIED, UPSTREAM, SPENT, ENDED, BROKER_WANTED, POLICY_DONE, FLUSHED, LEASE_WANTED = range(1, 9)
CONNECT, JOIN, EXCHANGE = 1, 2, 3
O_CONFIG, O_BROKER, O_LEASE, O_FLUSH, O_POLICY = range(1, 6)
REPORT, ORDER, JOB = 1616, 72, 268
DONTWAIT, FASTOPEN = 0x40, 0x20000000
EPERM, EAGAIN, EBADF = 1, 11, 9

# Between the run's stdin and stdout and a connection to the puppet; when that ends, it waits for the end of stdin.
RELAY = """
import os, select, socket, sys, threading
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)
s.settimeout(None)
if len(sys.argv) > 4:
    threading.Thread(target=exec, args=(sys.argv[4], {}), daemon=True).start()
while True:
    f = select.select([0, s] if s else [0], [], [])[0][0]
    d = b""
    try:
        if f == 0:
            d = os.read(0, 65536)
            if not d:
                sys.exit(int(sys.argv[3]))
            s and s.sendall(d)
        else:
            d = s.recv(65536)
            while d:
                d = d[os.write(1, d):]
                f = None
    except OSError:
        f = s
    if f == s and f:
        s = None
"""


def program(name):
    """Beside belljar in a build's folder, in libexec where it is installed."""
    here = os.path.dirname(BELLJAR)
    beside = os.path.join(here, name)
    return beside if os.path.exists(beside) else os.path.join(here, "../libexec/belljar", name)


def folder(role):
    """The programs, with the puppet in the place of one."""
    path = os.path.join(TMP, "with-" + role)
    if not os.path.isdir(path):
        os.mkdir(path)
        for n in PROGRAMS:
            shutil.copy(HOSTILE if n == "belljar-" + role else program(n), os.path.join(path, n))
            os.chmod(os.path.join(path, n), 0o755)
    return os.path.join(path, "belljar")


def role_of(pid, name):
    """The pids of a run's processes with that name: belljar-gate, belljar-broker, belljar-super."""
    return [c[0] for c in children(pid) if c[1].startswith(name[:13]) and c[2] not in "ZX"]


def lives(pid):
    s = stat_of(pid)
    return bool(s) and s[1][0] not in "ZX"


def cpu(pid):
    """Seconds that it has had."""
    s = stat_of(pid)
    return (int(s[1][11]) + int(s[1][12])) / os.sysconf("SC_CLK_TCK") if s else 0.0


def resident(pid):
    """KiB"""
    for line in proc_text(pid, "status").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


class At(int):
    """An argument that is an offset into the data."""


def report(kind, what=0, host=b"", text=b"", why=b"", fix=b"", port=80, rule=0, reason=1, quiet=0, up=0, down=0, address=bytes(16)):
    b = [x.encode() if isinstance(x, str) else x for x in (host, text, why, fix)]
    return struct.pack("<6I2Q16s254s256s512s512s", kind, what, reason, rule, quiet, port, up, down, address, *b).ljust(REPORT, b"\0")


def job(kind, port, host=b"", tls=0):
    return struct.pack("<3I254s", kind, port, tls, host.encode() if isinstance(host, str) else host).ljust(JOB, b"\0")


class Gone(Exception):
    pass


class Puppet:
    def __init__(self, role, opts, beside="", own=True):
        """beside: what the run does beside the relay, in Python."""
        self.role = role
        lib.BELLJAR = folder(role)
        NET.forget()
        self.s = Sandbox()
        host = lab.OK4 if role == "gate" else "ok.test"
        opts = (*(("--allow", f"{host}:{lab.ECHO}") if own else ()), *opts)
        self.p = self.s.popen("/usr/bin/python3", "-c", RELAY, host, str(lab.ECHO), "0", *([beside] if beside else []), opts=opts, quiet=False)
        lib.BELLJAR = BELLJAR
        self.buffer = b""
        hello = self.read(24)
        *sizes, self.sockets, self.published, self.channel = struct.unpack("<5Ii", hello)
        if sizes != [REPORT, ORDER, JOB]:
            raise RuntimeError(f"messages have other sizes: {sizes}")
        self.pid = role_of(self.p.pid, "belljar-" + role)[0]
        self.super = role_of(self.p.pid, "belljar-super")[0]

    def read(self, n):
        end = time.monotonic() + 2 * SLOW
        while len(self.buffer) < n:
            fd = self.p.stdout.fileno()
            if not select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the puppet does not answer")
            d = os.read(fd, 1 << 20)
            if not d:
                raise Gone(self.p.stderr.read(4000) if self.p.poll() is not None else "")
            self.buffer += d
        got, self.buffer = self.buffer[:n], self.buffer[n:]
        return got

    def begin(self, name, *args, data=b"", relocate=(), repeat=1, out=0):
        """Without waiting for the answer: repeat 0 has none."""
        pointers = sum(1 << i for i, a in enumerate(args) if isinstance(a, At))
        args = [*args, *[0] * (6 - len(args))]
        head = struct.pack("<24s6qQ4I8I", name.encode(), *args, repeat, pointers, len(data), out, len(relocate), *relocate, *[0] * (8 - len(relocate)))
        self.p.stdin.write(head + data)
        self.p.stdin.flush()

    def call(self, name, *args, out=0, **kw):
        self.begin(name, *args, out=out, **kw)
        result, good = struct.unpack("<qQ", self.read(16))
        return result, good, self.read(out)

    def message(self, payload, fds, size=None):
        """(data, relocate) of a struct msghdr at 0; its payload at 1024."""
        control = struct.pack("<Qii", 16 + 4 * len(fds), 1, 1) + struct.pack(f"<{len(fds)}i", *fds) if fds else b""
        head = struct.pack("<QIIQQQQII", 0, 0, 0, 64, 1, 128 if fds else 0, len(control), 0, 0)
        data = head.ljust(64, b"\0") + struct.pack("<QQ", 1024, size or len(payload)).ljust(64, b"\0") + control
        return data.ljust(1024, b"\0") + payload, (16, 64, 32) if fds else (16, 64)

    def send(self, fd, payload, fds=(), flags=DONTWAIT, **kw):
        data, relocate = self.message(payload, fds)
        if kw.get("repeat") == 0:
            return self.begin("sendmsg", fd, At(0), flags, data=data, relocate=relocate, **kw)
        return self.call("sendmsg", fd, At(0), flags, data=data, relocate=relocate, **kw)[0]

    def receive(self, fd, size, flags=DONTWAIT):
        """(length or -errno, data, fds)"""
        data, _ = self.message(b"", [0] * 32)
        data = data[:64] + struct.pack("<QQ", 1024, size) + data[80:]
        n, _, out = self.call("recvmsg", fd, At(0), flags, data=data, relocate=(16, 64, 32), out=1024 + size)
        fds = []
        if n >= 0:
            controllen = struct.unpack("<Q", out[40:48])[0]
            if controllen >= 16:
                k = struct.unpack("<Q", out[128:136])[0] - 16
                fds = list(struct.unpack(f"<{k // 4}i", out[144:144 + k]))
        return n, out[1024:1024 + max(n, 0)], fds

    def receive_soon(self, fd, size, seconds=SLOW):
        end = time.monotonic() + seconds
        while True:
            got = self.receive(fd, size)
            if got[0] != -EAGAIN or time.monotonic() > end:
                return got
            time.sleep(0.02)

    def broker(self):
        """gate: asks for a broker; the socket to it."""
        self.send(CONTROL, report(BROKER_WANTED))
        while True:
            n, data, fds = self.receive_soon(CONTROL, ORDER)
            if n != ORDER:
                raise RuntimeError(f"no broker: {n}")
            if data[0] == O_BROKER:
                return fds[0]

    def pair(self, kind=1):
        """Of AF_UNIX sockets."""
        r, _, out = self.call("socketpair", 1, kind | 0o4000, 0, At(0), data=bytes(8), out=8)
        if r < 0:
            raise OSError(-r, "socketpair")
        return struct.unpack("<2i", out)

    def close(self, *fds):
        for fd in fds:
            self.call("close", fd)

    def write(self, fd, data):
        return self.call("sendto", fd, At(0), len(data), DONTWAIT, 0, 0, data=data)[0]

    def read_all(self, fd, seconds=3.0, until=None):
        """What comes until the end, a reset ("reset"), or for so long; (data, how it ended)."""
        data, end = b"", time.monotonic() + seconds
        while time.monotonic() < end and not (until and until in data):
            n, got, _ = self.receive(fd, 16384)
            if n == -EAGAIN:
                time.sleep(0.02)
            elif n <= 0:
                return data, "end" if n == 0 else "reset"
            data += got
        return data, None

    def ask(self, broker, kind, port, host, data=b"", seconds=3.0, until=None, tls=0):
        """gate: a job with a socket, data on it; what comes back."""
        ours, theirs = self.pair()
        r = self.send(broker, job(kind, port, host, tls), [theirs])
        self.close(theirs)
        if data:
            self.write(ours, data)
        got = self.read_all(ours, seconds, until) if r >= 0 else (b"", r)
        self.close(ours)
        return got

    def finish(self, kill=False, **kw):
        if kill:
            self.p.kill()
        return self.s.finish(self.p, b"", **kw)
