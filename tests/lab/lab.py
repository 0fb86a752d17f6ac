"""A network of a test's own, in which every address of the world is the test's: what is sent to anywhere is seen.

    import lab; lab.enter()            # first of all, before any thread or import of lib: moves this process there
    net = lab.Lab()                    # servers, resolver, sinks
    with net.watch() as seen: ...      # every packet that left for anywhere meanwhile
    seen.packets, net.queries, net.connections, net.datagrams

enter() makes a network and a mount namespace, for an ordinary user in a user namespace where it keeps its own id and its
own range of ids, so that belljar is run there by an ordinary user. lo has public-looking addresses and a local route for
all others, IPv4 and IPv6: no packet can leave, and none is lost. A copy of /etc is bound over /etc with the lab's hosts,
resolv.conf and CA. Standard library, ip(8) and openssl(1) only.
"""
import asyncio
import contextlib
import ctypes
import hashlib
import os
import pwd
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

NEWNS, NEWUSER, NEWNET = 0x20000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LIBC = ctypes.CDLL(None, use_errno=True)
OK4, NO4, WILD4, OTHER4 = "93.184.216.34", "93.184.216.35", "93.184.216.36", "93.184.216.37"
OK6 = "2606:2800:220:1::34"
HANG4 = "93.184.216.50"         # takes no connection and refuses none
SHUT4 = "93.184.216.51"         # refuses at once
# What the resolver says: name -> {type: [values]}; "*." stands for one label or more.
ZONE = {
    "ok.test": {"A": [OK4], "AAAA": [OK6]},
    "no.test": {"A": [NO4]},
    "*.w.ok.test": {"A": [WILD4]},
    "other.test": {"A": [OTHER4]},
    "six.test": {"AAAA": [OK6]},
    "hang.test": {"A": [HANG4]},
    "shut.test": {"A": [SHUT4]},
    "priv.test": {"A": ["10.0.0.9"]},
    "loop.test": {"A": ["127.0.0.1"]},
    "meta.test": {"A": ["169.254.169.254"]},
    "zero.test": {"A": ["0.0.0.0"]},
    "mcast.test": {"A": ["224.0.0.251"]},
    "bcast.test": {"A": ["255.255.255.255"]},
    "loop6.test": {"AAAA": ["::1"]},
    "mapped.test": {"AAAA": ["::ffff:127.0.0.1"]},
    "nat64.test": {"AAAA": ["64:ff9b::7f00:1"]},
    "six2four.test": {"AAAA": ["2002:7f00:1::"]},
    "ula.test": {"AAAA": ["fd00::9"]},
    "local6.test": {"AAAA": ["fe80::9"]},
    "mixed.test": {"A": ["10.0.0.9", OK4]},
    "alias.test": {"CNAME": ["ok.test"]},
    "alias-in.test": {"CNAME": ["priv.test"]},
}
TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "NULL": 10, "TXT": 16, "AAAA": 28, "SRV": 33, "HTTPS": 65, "ANY": 255}


# ---- namespaces ----

def checked(r, what):
    if r != 0:
        e = ctypes.get_errno()
        raise OSError(e, f"{what}: {os.strerror(e)}")


def sub_range(path):
    names = (pwd.getpwuid(os.getuid()).pw_name, str(os.getuid()))
    with contextlib.suppress(OSError), open(path) as f:
        for line in f:
            words = line.strip().split(":")
            if len(words) == 3 and words[0] in names:
                return int(words[1]), int(words[2])
    return None


def maps(tool, pid, own, ids):
    """The id itself, its range but for the last one, which is root of the lab."""
    start, n = ids
    subprocess.run([tool, str(pid), "0", str(start + n - 1), "1", str(own), str(own), "1", str(start), str(start), str(n - 1)], check=True)


def why_not():
    """Why this user cannot have a lab; None when it can."""
    if not shutil.which("ip", path=PATH):
        return "ip is not installed"
    if not shutil.which("openssl", path=PATH):
        return "openssl is not installed"
    if os.getuid() == 0:
        return None
    if not shutil.which("newuidmap", path=PATH):
        return "newuidmap is not installed"
    if not sub_range("/etc/subuid") or not sub_range("/etc/subgid"):
        return "this user has no range of ids"
    return None


def as_root(*argv, **kw):
    """A program by root of the lab."""
    kw = {"capture_output": True, "text": True, "check": True, "env": {"PATH": PATH}} | kw
    if os.getuid() != 0:
        kw |= {"user": 0, "group": 0}
    return subprocess.run(argv, **kw)


def enter():
    """Moves this process, which must have one thread, into namespaces of its own."""
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        checked(LIBC.unshare(NEWNET | NEWNS), "unshare")
    else:
        done, go = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(go[1])
                os.read(go[0], 1)
                maps("newuidmap", os.getppid(), uid, sub_range("/etc/subuid"))
                maps("newgidmap", os.getppid(), gid, sub_range("/etc/subgid"))
                os.write(done[1], b"1")
            finally:
                os._exit(0)
        os.close(done[1])
        os.close(go[0])
        checked(LIBC.unshare(NEWUSER | NEWNET | NEWNS), "unshare")
        os.close(go[1])
        if os.read(done[0], 1) != b"1":
            raise RuntimeError("the lab's ids cannot be mapped")
        os.close(done[0])
        os.waitpid(child, 0)
    checked(LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "private mounts")


def interfaces():
    """lo with every address; IPv6 without the second in which an address is looked for twice."""
    commands = ["link set lo up", "route add local default dev lo table local src 198.51.100.1", "-6 route add local default dev lo table local"]
    adds = [f"addr add {a}/32 dev lo" for a in ("198.51.100.1", OK4, NO4, WILD4, OTHER4)]
    adds += [f"-6 addr add {a}/128 dev lo nodad" for a in (OK6,)]
    for line in [commands[0], *adds, *commands[1:]]:
        as_root("ip", *line.split())


# ---- /etc ----

HOSTS = "127.0.0.1 localhost\n::1 localhost\n93.184.216.38 filed.test\n"
RESOLV = "# the lab's\nnameserver 127.0.0.1\n"


def copy_etc(folder, ca):
    """What of /etc can be read, with the lab's names, and its CA among those that are trusted."""
    etc = os.path.join(folder, "etc")
    as_root("cp", "-dR", "--preserve=mode,timestamps", "/etc", etc, check=False)  # shadow and its like are not for everybody
    as_root("chmod", "755", etc)
    hands = {"hosts": HOSTS, "resolv.conf": RESOLV, "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n"}
    if os.getuid() != 0:
        start, n = sub_range("/etc/subuid")
        gstart, gn = sub_range("/etc/subgid")
        name = pwd.getpwuid(os.getuid()).pw_name
        hands |= {"subuid": f"{name}:{start}:{n - 1}\n", "subgid": f"{name}:{gstart}:{gn - 1}\n"}
    for name, text in hands.items():
        as_root("sh", "-c", 'rm -f "$1" && cat >"$1" && chmod 644 "$1"', "-", os.path.join(etc, name), input=text)
    bundle = os.path.join(etc, "ssl/certs/ca-certificates.crt")
    as_root("sh", "-c", 'mkdir -p "${1%/*}" && { cat "$1" "$2"; true; } >"$1.new" 2>&- && mv -f "$1.new" "$1" && chmod 644 "$1" && '
            'cat "$2" >"${1%/*}/$(openssl x509 -noout -hash -in "$2").0"', "-", bundle, ca)
    checked(LIBC.mount(etc.encode(), b"/etc", None, MS_BIND | MS_REC, None), "the lab's /etc")
    if os.getuid() != 0:
        # Programs that take rights by their mode do so for the users of the namespace which they are of.
        for tool in ("newuidmap", "newgidmap"):
            real, own = os.path.realpath(shutil.which(tool, path=PATH)), os.path.join(folder, tool)
            as_root("sh", "-c", 'cp "$1" "$2" && chmod 4755 "$2"', "-", real, own)
            checked(LIBC.mount(own.encode(), real.encode(), None, MS_BIND, None), tool)


def over_files(folder):
    """As containers have it: hosts and resolv.conf are mounts of their own beneath /etc."""
    for name in ("hosts", "resolv.conf"):
        own = os.path.join(folder, "own-" + name)
        as_root("cp", "/etc/" + name, own)
        checked(LIBC.mount(own.encode(), b"/etc/" + name.encode(), None, MS_BIND, None), name)


def not_over_files():
    for name in (b"/etc/hosts", b"/etc/resolv.conf"):
        checked(LIBC.umount2(name, 2), "umount")


# ---- certificates ----

NAMES = ["ok.test", "no.test", "other.test", "six.test", "alias.test", "*.w.ok.test", "filed.test", "*.ok.test"]


def openssl(*argv, **kw):
    return subprocess.run(["openssl", *argv], check=True, capture_output=True, **kw)


def certificates(folder, more):
    """A CA, and one certificate of it for every name of the lab: ca.pem, cert.pem (with its key)."""
    at = lambda n: os.path.join(folder, n)  # noqa: E731
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", at("ca.key"), "-out", at("ca.pem"),
            "-days", "30", "-subj", "/CN=Lab CA", "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", at("cert.key"), "-out", at("cert.csr"), "-subj", "/CN=ok.test")
    with open(at("ext"), "w") as f:
        f.write("subjectAltName=" + ",".join("DNS:" + n for n in (*NAMES, *more)) + f",IP:{OK4}\nextendedKeyUsage=serverAuth\n")
    openssl("x509", "-req", "-in", at("cert.csr"), "-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "30",
            "-extfile", at("ext"), "-out", at("cert.pem"))
    with open(at("cert.pem"), "a") as out, open(at("cert.key")) as key:
        out.write(key.read())


# ---- DNS ----

def dns_name(data, at):
    """(labels, where it goes on)"""
    labels = []
    while at < len(data) and data[at]:
        if data[at] >= 0xc0:
            return labels + ["<pointer>"], at + 2
        labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
        at += 1 + data[at]
    return labels, at + 1


def dns_pack(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".") if x) + b"\0"


def dns_record(kind, value):
    if kind == "A":
        return socket.inet_aton(value)
    if kind == "AAAA":
        return socket.inet_pton(socket.AF_INET6, value)
    return dns_pack(value)


class Resolver:
    """Answers from ZONE, and `dynamic`: name -> function that gives {type: values}; every question is in `queries`."""
    def __init__(self):
        self.queries = []
        self.dynamic = {}
        self.ttl = 60

    def lookup(self, name):
        if name in self.dynamic:
            return self.dynamic[name]()
        if name in ZONE:
            return ZONE[name]
        for pattern, records in ZONE.items():
            if pattern.startswith("*.") and name.endswith(pattern[1:]):
                return records
        return None

    def answer(self, data, how):
        if len(data) < 12:
            self.queries.append((how, "<short>", 0))
            return None
        ident, flags, n = struct.unpack(">HHH", data[:6])
        labels, at = dns_name(data, 12)
        name = ".".join(labels).lower()
        kind, klass = struct.unpack(">HH", data[at:at + 4]) if at + 4 <= len(data) else (0, 0)
        self.queries.append((how, name, kind))
        records, found = [], self.lookup(name)
        at_name, now = name, found
        for _ in range(4):
            if now and "CNAME" in now:
                records += [(at_name, 5, dns_pack(v)) for v in now["CNAME"]]
                at_name = now["CNAME"][0]
                now = self.lookup(at_name)
        for t, values in (now or {}).items():
            if TYPES[t] == kind and t != "CNAME":
                records += [(at_name, kind, dns_record(t, v)) for v in values]
        rcode = 0 if found is not None else 3
        head = struct.pack(">HHHHHH", ident, 0x8180 | flags & 0x100 | rcode, 1, len(records), 0, 0)
        body = dns_pack(name) + struct.pack(">HH", kind, klass)
        for n, t, v in records:
            body += dns_pack(n) + struct.pack(">HHIH", t, 1, self.ttl, len(v)) + v
        return head + body


# ---- packets ----

class Packets:
    """What was sent on lo while it is entered: (protocol, source, destination, source port, destination port, flags, payload)."""
    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)  # as much of it as there may be
        self.packets, self.lost = [], 0
        self.socket.settimeout(0.05)
        self.over = False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while True:
            try:
                data, where = self.socket.recvfrom(65536)
            except TimeoutError:
                if self.over:
                    break
                continue
            if where[2] != 4:  # PACKET_OUTGOING; each is seen once more when it comes in
                self.packets.append(packet(where[1], data))
        self.lost = struct.unpack("II", self.socket.getsockopt(263, 6, 8))[1]  # SOL_PACKET, PACKET_STATISTICS

    def __enter__(self):
        return self

    def __exit__(self, *_):
        time.sleep(0.1)  # what was started, and answers that are on their way
        self.over = True
        self.thread.join()
        self.socket.close()

    def to(self, address=None, port=None):
        return [p for p in self.packets if address in (None, p[2]) and port in (None, p[4])]

    def has(self, text):
        text = text.encode() if isinstance(text, str) else text
        return [p for p in self.packets if text.lower() in p[6].lower()]

    def __str__(self):
        return "\n".join(f"{p[0]} {p[1]}:{p[3]} > {p[2]}:{p[4]} {p[5]:#x} {p[6][:60]!r}" for p in self.packets[:20]) + \
            f"\n{len(self.packets)} packets, {self.lost} lost"


def packet(kind, data):
    if kind == 0x0800 and len(data) >= 20:
        n, protocol = (data[0] & 15) * 4, data[9]
        source, to = socket.inet_ntoa(data[12:16]), socket.inet_ntoa(data[16:20])
    elif kind == 0x86dd and len(data) >= 40:
        n, protocol = 40, data[6]
        source, to = (socket.inet_ntop(socket.AF_INET6, data[a:a + 16]) for a in (8, 24))
    else:
        return (f"{kind:#x}", "", "", 0, 0, 0, data)
    if protocol in (6, 17) and len(data) >= n + 8:
        sport, dport = struct.unpack(">HH", data[n:n + 4])
        if protocol == 6 and len(data) >= n + 14:
            return ("tcp", source, to, sport, dport, data[n + 13], data[n + (data[n + 12] >> 4) * 4:])
        return ("udp", source, to, sport, dport, 0, data[n + 8:])
    return (str(protocol), source, to, 0, 0, 0, data[n:])


# ---- servers ----

class Connection:
    """One that a server took: what came and how it ended (None: it has not, "eof", "reset", "closed" by the server)."""
    def __init__(self, writer):
        self.port = writer.get_extra_info("sockname")[1]
        self.address = writer.get_extra_info("sockname")[0].removeprefix("::ffff:")
        self.peer = writer.get_extra_info("peername")
        self.data, self.bytes, self.end, self.sni = b"", 0, None, None

    def took(self, data):
        self.bytes += len(data)
        if len(self.data) < 1 << 16:
            self.data += data

    def __repr__(self):
        return f"<{self.address}:{self.port} {self.bytes} bytes {self.data[:80]!r} {self.end}>"


# Ports with a server that does something; the others of SINKS only listen and record.
HTTP, HTTPS, ECHO, HASH, SOURCE, SILENT, RESET, HANG = 80, 443, 7, 17, 19, 4000, 4001, 4002
SINKS = (1, 9, 22, 25, 853, 1080, 3128, 3306, 5432, 6379, 8443, 9418, 11211, 40000)
DATAGRAMS = (9, 19, 69, 123, 161, 443, 500, 514, 853, 1900, 4500, 5350, 5353, 5355, 40000, 51820)


def pattern(n, seed=0):
    """n bytes that repeat in no short distance."""
    block = b"".join(hashlib.sha256(f"{seed} {i}".encode()).digest() for i in range(2048)) + b"x"
    return (block * (n // len(block) + 1))[:n]


# git's own server is a CGI program, git http-backend: what it is told of a request, whose fields' names are in lower case,
# and what it answers.

def git_environment(root, method, target, head, length):
    path, _, query = target.partition("?")
    return {"PATH": PATH, "GIT_PROJECT_ROOT": root, "GIT_HTTP_EXPORT_ALL": "1", "GIT_CONFIG_NOSYSTEM": "1", "HOME": root, "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query,
            "CONTENT_TYPE": head.get("content-type", ""), "REMOTE_USER": "x", "CONTENT_LENGTH": str(length), "HTTP_CONTENT_ENCODING": head.get("content-encoding", ""), "GIT_PROTOCOL": head.get("git-protocol", "")}


def git_parts(answer):
    """(status, other fields, body)"""
    top, _, body = answer.partition(b"\r\n\r\n")
    lines = top.split(b"\r\n")
    status = next((x[7:].strip() for x in lines if x.startswith(b"Status:")), b"200 OK")
    return status, [x for x in lines if not x.startswith(b"Status:")], body


class Lab:
    def __init__(self, skip=(), names=()):
        """skip: ports that servers of the test's own take, see open(). names: others that the servers have certificates for."""
        self.skip, self.files = skip, None
        self.requests = []  # heads that http() has read, of all its connections in turn
        self.answers = {}   # path -> a whole response, in place of what http() would say
        self.endless = {}   # path -> a head, behind which bytes follow without end
        self.git = None     # a folder whose repositories git's own server answers for, beneath /acme/
        self.whole = []     # those that it got to their end: (first line, fields as one text, content)
        # Not beneath the folder of the test: it vanishes with the namespace, whoever owns what is in it.
        self.folder = tempfile.mkdtemp(prefix="lab-")
        checked(LIBC.mount(b"lab", self.folder.encode(), b"tmpfs", 0, b"mode=755"), "a tmpfs")
        os.mkdir(os.path.join(self.folder, "tls")) if os.getuid() == 0 else as_root("install", "-d", "-o", str(os.getuid()), self.folder + "/tls")
        self.tls = os.path.join(self.folder, "tls")
        self.ca = os.path.join(self.tls, "ca.pem")
        interfaces()
        certificates(self.tls, names)
        copy_etc(self.folder, self.ca)
        self.resolver = Resolver()
        self.queries, self.connections, self.datagrams = self.resolver.queries, [], []
        self.held = []
        self.hang()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.ready = threading.Event()
        self.failure = None
        self.thread.start()
        self.ready.wait(20)
        if self.failure or not self.ready.is_set():
            raise RuntimeError(f"the lab's servers do not start: {self.failure}")

    def hang(self):
        """A listener whose queue is full: the kernel drops what else comes."""
        s = socket.socket()
        s.bind((HANG4, HANG))
        s.listen(0)
        c = socket.create_connection((HANG4, HANG), 5)
        self.held += [s, c]

    def watch(self):
        return Packets()

    def forget(self):
        self.queries.clear()
        self.connections.clear()
        self.datagrams.clear()
        self.requests.clear()
        self.whole.clear()

    def quiet(self):
        """Nothing came to any server."""
        return not (self.queries or self.connections or self.datagrams)

    def settle(self, seconds=3):
        """Until the connections of before are over: their last packets are nobody else's."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            busy = 0
            for name in ("tcp", "tcp6"):
                with open(f"/proc/thread-self/net/{name}", encoding="ascii") as f:
                    fields = [line.split() for line in f][1:]
                # Neither listens (0A) nor was over a while ago (06).
                busy += sum(x[3] not in ("0A", "06") and f":{HANG:04X}" not in x[1] + x[2] for x in fields)
            if not busy:
                break
            time.sleep(0.01)

    def log(self):
        return f"queries {self.queries[:20]}\nconnections {self.connections[:20]}\ndatagrams {self.datagrams[:20]}"

    def at(self, port, address=None):
        return [c for c in self.connections if c.port == port and address in (None, c.address)]

    # -- in the thread of the servers

    def serve(self):
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_until_complete(self.start())
        except Exception as e:  # noqa: BLE001 - said by the constructor
            self.failure = e
            self.ready.set()
            return
        self.ready.set()
        self.loop.run_forever()

    async def start(self):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(os.path.join(self.tls, "cert.pem"))
        tls.set_alpn_protocols(["http/1.1"])

        def named(conn, name, _):
            conn.lab_name = name
        tls.sni_callback = named
        special = {HTTP: self.http, 8080: self.http, HTTPS: self.http, ECHO: self.echo, HASH: self.hash, SOURCE: self.source,
                   SILENT: self.silent, RESET: self.reset, 53: self.dns_stream}
        for port in {*special, *SINKS} - {*self.skip}:
            fn = special.get(port, self.sink)
            for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                s = socket.socket(family, socket.SOCK_STREAM)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                if port == SILENT:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
                s.bind((address, port))
                s.listen(4096)
                await asyncio.start_server(self.recorded(fn), sock=s, limit=1 << 20, **({"ssl": tls} if port == HTTPS else {}))
        for port in (53, *DATAGRAMS):
            for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                s = socket.socket(family, socket.SOCK_DGRAM)
                if family == socket.AF_INET6:
                    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                elif port == 53:
                    address = "127.0.0.1"  # answers from the address that was asked
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind((address, port))
                await self.loop.create_datagram_endpoint(lambda port=port: Datagrams(self, port), sock=s)
                if (family, port) == (socket.AF_INET, 53):
                    s = socket.socket(family, socket.SOCK_DGRAM)
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    s.bind(("0.0.0.0", 53))
                    await self.loop.create_datagram_endpoint(lambda: Datagrams(self, 53), sock=s)

    def recorded(self, fn):
        async def take(reader, writer):
            c = Connection(writer)
            if obj := writer.get_extra_info("ssl_object"):
                c.sni = getattr(obj, "lab_name", None)
            self.connections.append(c)
            try:
                await fn(c, reader, writer)
                c.end = c.end or "closed"
            except (ConnectionError, OSError) as e:
                c.end = "reset" if isinstance(e, ConnectionError) else str(e)
            except asyncio.IncompleteReadError:
                c.end = "eof"
            finally:
                writer.close()
        return take

    async def drain(self, c, reader):
        while data := await reader.read(1 << 18):
            c.took(data)
        c.end = "eof"

    async def sink(self, c, reader, writer):
        await self.drain(c, reader)

    async def echo(self, c, reader, writer):
        while data := await reader.read(1 << 18):
            c.took(data)
            writer.write(data)
            await writer.drain()
        c.end = "eof"

    async def hash(self, c, reader, writer):
        """Answers only when the other side has said that it ends."""
        h = hashlib.sha256()
        while data := await reader.read(1 << 18):
            c.took(data)
            h.update(data)
        writer.write(f"{c.bytes} {h.hexdigest()}\n".encode())
        await writer.drain()
        c.end = "eof"

    async def source(self, c, reader, writer):
        line = await reader.readline()
        c.took(line)
        n, block = int(line), pattern(1 << 20)
        while n > 0:
            writer.write(block[:n])
            n -= min(n, len(block))
            await writer.drain()

    async def silent(self, c, reader, writer):
        """Reads nothing until it is told to by c.read."""
        writer.transport.pause_reading()
        c.read = asyncio.Event()
        await c.read.wait()
        writer.transport.resume_reading()
        await self.drain(c, reader)

    def let_read(self, c):
        self.loop.call_soon_threadsafe(c.read.set)

    async def reset(self, c, reader, writer):
        c.took(await reader.read(1))
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async def http(self, c, reader, writer):
        """Says what it was asked, as often as it is, or gives a file beneath self.files; a body by its length only."""
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            c.took(head)
            self.requests.append(head)
            n, chunked, content = 0, False, b""
            for line in head.split(b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    n = int(line.split(b":")[1])
                chunked = chunked or line.lower().replace(b" ", b"") == b"transfer-encoding:chunked"
            if chunked:
                while (line := await reader.readuntil(b"\r\n")) and int(line.split(b";")[0], 16):
                    chunk = await reader.readexactly(int(line.split(b";")[0], 16) + 2)
                    c.took(line + chunk)
                    content += chunk[:-2]
                c.took(line + await reader.readuntil(b"\r\n"))
            if n:
                content = await reader.readexactly(n)
                c.took(content)
            first, _, fields = head[:-4].partition(b"\r\n")
            self.whole.append((first.decode("latin-1"), fields.decode("latin-1"), content))
            body, status = b"lab " + head.split(b"\r\n")[0] + b"\n", b"200 OK"
            path = head.split()[1].decode("latin-1").split("?")[0]
            if path in self.endless:
                writer.write(self.endless[path])
                while True:
                    writer.write(b"10000\r\n" + bytes(65536) + b"\r\n")
                    await writer.drain()
            if self.git and path.startswith("/acme/"):
                writer.write(await self.git_answer(first, fields, content))
                await writer.drain()
                continue
            if path in self.answers:
                writer.write(self.answers[path])
                await writer.drain()
                if self.answers[path].startswith(b"HTTP/1.1 101 "):
                    await self.drain(c, reader)
                    return
                continue
            if self.files and path.startswith("/files/"):
                try:
                    with open(os.path.join(self.files, path[7:]), "rb") as f:
                        body = f.read()
                except OSError:
                    body, status = b"", b"404 Not Found"
            writer.write(b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) +
                         (b"" if head.startswith(b"HEAD") else body))
            await writer.drain()

    async def git_answer(self, first, fields, content):
        method, target, _ = first.decode("latin-1").split()
        head = {k.lower(): v.strip() for k, _, v in (x.partition(":") for x in fields.decode("latin-1").split("\r\n"))}
        p = await asyncio.create_subprocess_exec("git", "http-backend", env=git_environment(self.git, method, target, head, len(content)),
                                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        status, lines, body = git_parts((await p.communicate(content))[0])
        return b"\r\n".join([b"HTTP/1.1 " + status, *lines, b"Content-Length: %d" % len(body)]) + b"\r\n\r\n" + body

    async def dns_stream(self, c, reader, writer):
        while True:
            n = struct.unpack(">H", await reader.readexactly(2))[0]
            data = await reader.readexactly(n)
            c.took(data)
            reply = self.resolver.answer(data, "tcp")
            if reply:
                writer.write(struct.pack(">H", len(reply)) + reply)
                await writer.drain()


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, net, port):
        self.net, self.port = net, port

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        if self.port == 53:
            reply = self.net.resolver.answer(data, "udp")
            if reply:
                self.transport.sendto(reply, addr)
        else:
            self.net.datagrams.append((self.port, addr, data))


if __name__ == "__main__":
    # By hand: lab.py COMMAND... runs it in a lab and says what was seen.
    enter()
    net = Lab()
    with net.watch() as seen:
        status = subprocess.run(sys.argv[1:], check=False).returncode
    print(net.log(), file=sys.stderr)
    print(seen, file=sys.stderr)
    sys.exit(status)
