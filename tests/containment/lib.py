"""Helpers of the containment tests. Standard library only; runs as root and as an ordinary user.

A test looks from the host: at the files, the processes, the sinks. What a probe inside says about itself is printed when
a test fails, and is never the verdict of a denial. Every run is followed by a leak census.

    from lib import *
    s = Sandbox()                      # a fresh workspace, home and state directory
    r = s.run("sh", "-c", "...")       # belljar run -q -- sh -c ...
    ok(r.rc == 0, "name", r)
    done()

Environment: BELLJAR is the belljar to test, TMPDIR the test's own folder, PROBE the probe program (else it is looked for
in the build folder, else compiled). BELLJAR_TIER=container or container-one runs everything on an image, see
image/store.py. BELLJAR_PACE=N: how many times slower this machine is than most, BELLJAR_CASES=NAME,...: only these cases.
"""
import ctypes
import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "image"))
import store  # noqa: E402
from store import AS_OWNER, CONTAINER, IMAGE, ONE_ID, TIER  # noqa: E402

ROOT = os.geteuid() == 0
# What root of an image keeps: chown, dac_override, fowner, fsetid, kill, setgid, setuid (linux/capability.h).
ROOT_CAPABILITIES = sum(1 << n for n in (0, 1, 3, 4, 5, 6, 7))
HERE = pathlib.Path(__file__).resolve().parent
LIBC = ctypes.CDLL(None, use_errno=True)
count = failed = skipped = 0
CASE_SECONDS = 120
PACE = float(os.environ.get("BELLJAR_PACE", "1"))
SLOW = 20  # seconds that a thing may take that happens at once on a fast machine: guests without KVM are ten times slower


def say(text):
    if isinstance(text, (list, tuple)):
        text = "\n".join(map(str, text))
    for line in str(text).splitlines():
        print("# " + line.encode("ascii", "backslashreplace").decode())
    sys.stdout.flush()


def ok(cond, name, why=""):
    """One TAP line; why (anything printable) is shown when it failed."""
    global count, failed
    count += 1
    print(f"{'ok' if cond else 'not ok'} {count} - {name}")
    if not cond:
        failed += 1
        if why != "":
            say(why)
    sys.stdout.flush()
    return bool(cond)


def skip(name, reason):
    global count, skipped
    count += 1
    skipped += 1
    print(f"ok {count} - {name} # SKIP {reason}", flush=True)


def done():
    """The plan and the sentinel: a program that ends without them has failed."""
    def gone():
        reap()
        return not children()

    wait_for(gone, 5)
    left = children()
    ok(not left, "no process of this test is left", left)
    if CONTAINER:
        now = tree(os.path.join(STORE, "layers"))
        ok(now == STORE_BEFORE and len(now) > 1000, "the image's layers are what they were, byte for byte", difference(STORE_BEFORE, now)[:20])
    remove_all(TMP)
    ok(not os.path.exists(TMP), "everything that the runs left can be removed", TMP)
    print(f"1..{count}")
    print("# done", flush=True)
    sys.exit(1 if failed else 0)


def remove_all(path):
    """Also folders that a test, or an overlay, left without permissions, and paths that are longer than a call takes."""
    subprocess.run([*AS_OWNER, "chmod", "-R", "u+rwX", path], stderr=subprocess.DEVNULL)
    r = subprocess.run([*AS_OWNER, "rm", "-rf", path], capture_output=True, text=True)
    if r.returncode:
        say(r.stderr)


def small(n, limit, name, why=""):
    """That a process of Belljar's has at most so much memory (above 0), in the unit of both."""
    if os.environ.get("BELLJAR_SANITIZED"):
        skip(name, "the sanitizer's own memory is in the figure")
    else:
        ok(0 < n < limit, name, why or n)


def cases(*functions):
    """Runs each; an exception is a failure of that one and not the end of the rest."""
    wanted = sys.argv[1:] or [w for w in os.environ.get("BELLJAR_CASES", "").split(",") if w]
    unknown = {*wanted} - {f.__name__ for f in functions}
    if unknown:
        ok(False, f"there are no cases of the names {' '.join(sorted(unknown))}")

    def late(*_):
        raise TimeoutError("a case took longer than its time")

    signal.signal(signal.SIGALRM, late)
    for f in functions:
        if wanted and f.__name__ not in wanted:
            continue
        signal.alarm(round(CASE_SECONDS * PACE))
        try:
            f()
        except Exception:  # noqa: BLE001 - a test that broke must be seen as one
            ok(False, f"{f.__name__} ran to its end", traceback.format_exc())
            for p in Sandbox.live[:]:
                p.kill()
                p.wait()
                Sandbox.live.remove(p)
        signal.alarm(0)


def elsewhere(why):
    """A case that proves nothing in the container tier that it has not proved in the other."""
    def wrap(f):
        def note():
            say(f"{f.__name__}: not in this tier: {why}")
        note.__name__ = f.__name__
        return note if CONTAINER else f
    return wrap


def wait_for(fn, seconds=10, step=0.02):
    end = time.monotonic() + seconds
    while True:
        v = fn()
        if v or time.monotonic() > end:
            return v
        time.sleep(step)


# ---- what is tested ----

def find_belljar():
    b = os.environ.get("BELLJAR")
    if not b or not os.access(b, os.X_OK):
        print("Bail out! BELLJAR must name the belljar to test")
        sys.exit(2)
    return os.path.realpath(b)


BELLJAR = find_belljar()
# Orphans of what is started here become children of this process: none can slip out of the census.
LIBC.prctl(36, 1, 0, 0, 0)
TMP = os.path.realpath(tempfile.mkdtemp(prefix="bjc-"))
os.chmod(TMP, 0o711)
TOOLS = os.path.join(TMP, "tools")
os.mkdir(TOOLS)


def find_probe():
    target = os.path.join(TOOLS, "probe")
    near = pathlib.Path(BELLJAR).parent
    for p in (os.environ.get("PROBE"), near.parent / "tests/containment/probe", near / "probe"):
        if p and os.access(p, os.X_OK) and os.path.isfile(p):
            shutil.copy(p, target)
            return target
    r = subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-static", str(HERE / "probe.c"), "-o", target], capture_output=True)
    if r.returncode:
        print("Bail out! no probe: set PROBE to the built tests/containment/probe")
        sys.exit(2)
    return target


PROBE = find_probe()
CANARY = "K" + os.urandom(12).hex()
HOME = os.path.join(TMP, "home")
os.makedirs(os.path.join(HOME, ".ssh"))
with open(os.path.join(HOME, ".ssh", "id_test"), "w") as f_:
    f_.write(CANARY)


# ---- the host ----

def stat_of(pid):
    """Name and fields of /proc/PID/stat after the name, or None."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            text = f.read().decode(errors="replace")
    except OSError:
        return None
    name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
    return name, rest


def by_parent():
    """All processes, by their parent's pid, as (pid, name, state)."""
    parents = {}
    for d in os.listdir("/proc"):
        if d.isdigit():
            s = stat_of(d)
            if s:
                parents.setdefault(int(s[1][1]), []).append((int(d), s[0], s[1][0]))
    return parents


def children(of=None, parents=None):
    """Descendants of a process, as (pid, name, state)."""
    parents = parents or by_parent()
    found, todo = [], [os.getpid() if of is None else of]
    while todo:
        for c in parents.get(todo.pop(), []):
            found.append(c)
            todo.append(c[0])
    return found


def reap():
    """Orphans that came to this process. Those that subprocess waits for are left to it."""
    mine = {p.pid for p in Sandbox.live}
    for pid, _, state in children():
        if state == "Z" and pid not in mine:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def cgroups():
    found = set()
    for base, dirs, _ in os.walk("/sys/fs/cgroup"):
        for d in dirs:
            if d.startswith("belljar-"):
                found.add(os.path.join(base, d))
    return found


def cgroup_empty(path):
    try:
        with open(os.path.join(path, "cgroup.procs")) as f:
            return f.read() == ""
    except OSError:
        return False


def mounts():
    with open("/proc/self/mountinfo") as f:
        return sorted(line.split(" ", 2)[2] for line in f if TMP in line or "belljar" in line)


def tree(path):
    """Everything of a tree as a sorted list of lines: kind, mode, links' targets, contents, time of change."""
    lines = []
    path = os.fsencode(path)

    def add(p):
        st = os.lstat(p)
        what = f"{st.st_mode:o} {st.st_uid} {st.st_gid} {st.st_size if not stat.S_ISDIR(st.st_mode) else 0} {st.st_mtime_ns}"
        if stat.S_ISLNK(st.st_mode):
            what += " " + repr(os.readlink(p))
        elif stat.S_ISREG(st.st_mode) and os.access(p, os.R_OK):
            with open(p, "rb") as f:
                what += " " + hashlib.sha256(f.read()).hexdigest()
        lines.append(f"{os.path.relpath(p, path)!r} {what}")

    add(path)
    for base, dirs, files in os.walk(path):
        for n in dirs + files:
            add(os.path.join(base, n))
    return sorted(lines)


def difference(a, b):
    return [f"-{x}" for x in a if x not in b] + [f"+{x}" for x in b if x not in a]


def proc_text(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as f:
            return f.read().decode(errors="replace")
    except OSError as e:
        return e.strerror


if CONTAINER:
    STORE = store.find(BELLJAR, TMP)
    STORE_BEFORE = tree(os.path.join(STORE, "layers"))


# ---- one sandbox ----

class Result:
    def __init__(self, rc, out, err, seconds, args):
        self.rc, self.out, self.err, self.seconds, self.args = rc, out, err, seconds, args
        self.id = self.dir = None

    @property
    def text(self):
        return self.out.decode(errors="replace")

    @property
    def errors(self):
        return self.err.decode(errors="replace")

    def lines(self):
        """What probe printed: name -> (return, errno)."""
        found = {}
        for line in self.text.splitlines():
            p = line.split(" ")
            if len(p) >= 3 and re.fullmatch(r"-?\d+", p[1]) and re.fullmatch(r"-?\d+", p[2]):
                found[p[0]] = (int(p[1]), int(p[2]))
        return found

    def __str__(self):
        return (f"{' '.join(map(repr, self.args))}\nstatus {self.rc} after {self.seconds:.2f} s\nout: {self.text[-1500:]}\n"
                f"err: {self.errors[-1500:]}")


# What tries everything on purpose would be stopped long before it is through: the tests of alarms (tripwires) empty this.
ALARMS = [word for event in ("denied", "rerouted", "placeholder", "payload") for word in ("--tripwire", event + "=off")]


class Sandbox:
    """A workspace (.ws), a state directory (.state), and runs in it. name: the workspace's name, bytes or text."""
    live = []
    serial = 0

    def __init__(self, name="ws", make=True):
        Sandbox.serial += 1
        self.base = os.path.join(TMP, f"s{Sandbox.serial}")
        os.mkdir(self.base)
        self.ws = os.path.join(os.fsencode(self.base), name) if isinstance(name, bytes) else os.path.join(self.base, name)
        if make:
            os.mkdir(self.ws)
        self.state = os.path.join(self.base, "state")
        os.mkdir(self.state)
        # Where the workspace is seen inside.
        self.inside = "/workspace" if CONTAINER else self.ws
        if CONTAINER:
            store.link(STORE, self.state)
        self.canary = os.path.join(self.base, "canary")
        with open(self.canary, "w") as f:
            f.write(CANARY)

    def path(self, *parts):
        if isinstance(self.ws, bytes):
            return os.path.join(self.ws, *map(os.fsencode, parts))
        return os.path.join(self.ws, *parts)

    def write(self, name, text="x", mode=None):
        p = self.path(name)
        os.makedirs(os.path.dirname(p), exist_ok=True)
        with open(p, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        if mode is not None:
            os.chmod(p, mode)
        return p

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def environ(self, extra=None):
        env = {k: v for k, v in os.environ.items() if k not in ("BELLJAR", "PROBE", "TMPDIR")}
        env.update(HOME=HOME, XDG_STATE_HOME=self.state, PATH="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        env.update(extra or {})
        return env

    def argv(self, command, opts, quiet=True):
        tier = ["--image", IMAGE] if CONTAINER else []
        return [BELLJAR, "run", *(["-q"] if quiet else []), *tier, *ALARMS, "--read", TOOLS, *opts, "--", *command]

    def popen(self, *command, opts=(), quiet=True, env=None, cwd=None, argv=None, **kw):
        kw.setdefault("stdin", subprocess.PIPE)
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.PIPE)
        p = subprocess.Popen(argv or self.argv(command, opts, quiet), cwd=cwd or self.ws, env=self.environ(env), **kw)
        Sandbox.live.append(p)
        self.before = (mounts(), cgroups())
        return p

    def finish(self, p, input=None, timeout=120, started=None, args=(), census=True):
        started = started or time.monotonic()
        try:
            out, err = p.communicate(input, timeout * PACE)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            err = (err or b"") + b"\n[the test's own time limit was reached]"
            p.returncode = -1000
        Sandbox.live.remove(p)
        r = Result(p.returncode, out or b"", err or b"", time.monotonic() - started, args)
        ids = self.ids()
        if ids:
            r.id = ids[-1]
            r.dir = os.path.join(self.root(), r.id)
        if census:
            self.census(r)
        return r

    def run(self, *command, input=b"", timeout=120, census=True, **kw):
        if "stdin" in kw:
            input = None
        t = time.monotonic()
        before = None if isinstance(self.ws, bytes) or not os.path.isdir(self.ws) else self.top()
        p = self.popen(*command, **kw)
        r = self.finish(p, input, timeout, t, command, census)
        if before is not None and census and os.path.isdir(self.ws) and "rw" not in kw.get("opts", ()):
            after = self.top()
            if before != after:
                ok(False, f"nothing is left beside the state ({command!r:.60})", difference(before, after))
        return r

    def sh(self, script, **kw):
        return self.run("sh", "-c", script, **kw)

    def top(self):
        """Names around and in the workspace, and in the home: nothing may be left there."""
        names = [n for n in os.listdir(self.base)] + ["ws/" + n for n in os.listdir(self.ws)]
        return sorted(names + ["home/" + os.path.relpath(os.path.join(b, n), HOME) for b, d, f in os.walk(HOME) for n in d + f])

    def root(self):
        return os.path.join(self.state, "belljar", "sandboxes")

    def ids(self):
        try:
            names = [n for n in os.listdir(self.root()) if re.fullmatch("[0-9a-f]{12}", n)]
        except OSError:
            return []

        def when(n):
            try:
                return os.stat(os.path.join(self.root(), n)).st_mtime_ns
            except FileNotFoundError:
                return 0  # a record that another run takes away at this moment

        return sorted(names, key=when)

    def file(self, name):
        """A JSON file of the newest sandbox, {} when it is not there (yet)."""
        for i in reversed(self.ids()[-1:]):
            try:
                with open(os.path.join(self.root(), i, name)) as f:
                    return json.load(f)
            except (OSError, ValueError):
                pass
        return {}

    def update(self, path):
        """Another policy for the run that goes on, whose record may be written a moment after it has begun."""
        wait_for(lambda: "id" in self.file("started.json"), SLOW)
        return subprocess.run([BELLJAR, "update", self.file("started.json")["id"], "-f", str(path)], env=self.environ(), cwd=self.ws,
                              capture_output=True, text=True, timeout=60)

    def running(self):
        """started.json of the sandbox that runs."""
        for i in reversed(self.ids()):
            d = os.path.join(self.root(), i)
            try:
                if not os.path.exists(os.path.join(d, "ended.json")):
                    with open(os.path.join(d, "started.json")) as f:
                        return json.load(f)
            except (OSError, ValueError):
                pass
        return {}

    def init_pid(self):
        """PID 1 of the sandbox that runs, as the host names it."""
        return wait_for(lambda: self.running().get("init"), 10)

    def upper(self, *parts):
        return os.path.join(self.root(), (self.ids() or ["none"])[-1], "upper", *parts)

    def census(self, r):
        """Nothing of a run that is over may live on. Silent when it is so; a failure is reported as a test."""
        if not ROOT and os.geteuid() != os.getuid():
            return
        live = {p.pid for p in Sandbox.live}

        gone = []

        def left():
            reap()
            seen = by_parent()  # at one time: a live one may start others without end
            busy = set(live)
            for pid in live:
                busy |= {c[0] for c in children(pid, seen)}
            gone[:] = [c for c in children(None, seen) if c[0] not in busy]
            return gone

        # The supervisor goes on after its run, to remove what was written to the image's root.
        wait_for(lambda: not left(), 30 if CONTAINER else SLOW)
        if gone:
            ok(False, "no process is left", [gone, r])
            for pid, _, _ in gone:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            reap()
        if not live:
            m = [x for x in mounts() if x not in self.before[0]]
            if m:
                ok(False, "no mount is left", [m, r])
        # Others may run sandboxes at the same time: known by the id.
        new = {c for c in cgroups() - self.before[1] if c.rpartition("-")[2] in self.ids()}
        mine = lambda: [c for c in new if os.path.isdir(c) and cgroup_empty(c)]  # noqa: E731
        if mine():
            wait_for(lambda: not mine(), 3)
            if mine():
                ok(False, "no control group is left", [mine(), r])


def bare(*argv, **kw):
    """The same outside, for the twin that shows that an attempt works where it is allowed."""
    p = subprocess.run(argv, capture_output=True, timeout=60, cwd=kw.pop("cwd", TMP), **kw)
    return Result(p.returncode, p.stdout, p.stderr, 0, argv)


def number(name):
    return getattr(errno, name)
