"""What a hostile program does with a network, run inside a sandbox (and bare, for the twin): python3 inside.py NAME ARG...

Each attempt prints "NAME RESULT ERRNO", as tests/containment/probe.c does. Nothing is concluded here: what counts is what
the lab has seen.
"""
import contextlib
import errno
import os
import random
import select
import socket
import struct
import sys
import threading
import time

TIMEOUT = 4


def say(name, result, e=0):
    print(f"{name} {result} {e}", flush=True)


def attempt(name, fn):
    """fn's result, a number, or -1 and errno; a time-out is errno 0."""
    try:
        r = fn()
        say(name, r if isinstance(r, int) and not isinstance(r, bool) else 0)
        return r
    except TimeoutError as e:
        say(name, -1, e.errno or 0)
    except OSError as e:
        say(name, -1, e.errno or 999)
    except (ValueError, OverflowError):
        say(name, -1, 998)
    return None


def family_of(host):
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def parse(text):
    """HOST:PORT or [HOST]:PORT"""
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def tcp(host, port, data=b"", protocol=0, prepare=None, read=True, family=None):
    """The number of bytes that came back."""
    with socket.socket(family or family_of(host), socket.SOCK_STREAM, protocol) as s:
        s.settimeout(TIMEOUT)
        if prepare:
            prepare(s)
        s.connect((host, port))
        if data:
            s.sendall(data)
        if not read:
            return 0
        n = 0
        while got := s.recv(65536):
            n += len(got)
            if data.startswith(b"GET"):
                break
        return n


GET = b"GET /probe HTTP/1.1\r\nHost: ok.test\r\n\r\n"


def connect(*targets):
    """connect HOST:PORT...: name or address; sends a request and says how many bytes came back, and after how many ms."""
    for t in targets:
        host, port = parse(t)
        begin = time.monotonic()

        def go():
            kinds = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            return tcp(kinds[0][4][0], port, GET, family=kinds[0][0])
        try:
            attempt(f"connect.{t}", go)
        except socket.gaierror as e:
            say(f"connect.{t}", -2, -e.errno)
        say(f"ms.{t}", int((time.monotonic() - begin) * 1000))


def udp_send(host, port, data, options=(), family=None, n=1):
    with socket.socket(family or family_of(host), socket.SOCK_DGRAM) as s:
        for level, option, value in options:
            s.setsockopt(level, option, value)
        sent = 0
        for _ in range(n):
            sent = s.sendto(data, (host, port) if family is None and ":" not in host else (host, port, 0, 0))
        return sent


def udp(*targets):
    """udp CANARY HOST:PORT..."""
    for t in targets[1:]:
        host, port = parse(t)
        attempt(f"udp.{t}", lambda: udp_send(host, port, targets[0].encode()))
        if "." in host:
            attempt(f"broadcast.{t}", lambda: udp_send(host, port, targets[0].encode(), [(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)]))
            attempt(f"multicast.{t}", lambda: udp_send(host, port, targets[0].encode(), [
                (socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 32), (socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))]))

        def connected():
            with socket.socket(family_of(host), socket.SOCK_DGRAM) as s:
                s.settimeout(0.3)
                s.connect((host, port))
                for _ in range(3):
                    s.send(targets[0].encode())
                    time.sleep(0.01)
                return len(s.recv(2000))
        attempt(f"udp-connected.{t}", connected)


def flood(n, *hosts):
    """flood N HOST...: datagrams without end to ever other ports."""
    s = [socket.socket(f, socket.SOCK_DGRAM) for f in (socket.AF_INET, socket.AF_INET6)]
    sent = 0
    for i in range(int(n)):
        host = hosts[i % len(hosts)]
        with contextlib.suppress(OSError):
            sent += s[":" in host].sendto(b"x" * 100, (host, 1024 + i % 60000)) > 0
    say("flood", sent)


# ---- sockets ----

MPTCP, SCTP, DCCP, UDPLITE = 262, 132, 33, 136


def kinds(target):
    """Sockets that are not TCP or UDP, and what is sent with those that there are."""
    host, port = parse(target)
    packet = struct.pack(">BBHHHBBH", 0x45, 0, 40, 1, 0, 64, 6, 0) + socket.inet_aton("198.18.0.1") + socket.inet_aton(host) + b"\0" * 20
    ping = struct.pack(">BBHHH", 8, 0, 0xf7fe, 1, 0)
    for name, family, kind, protocol, data in (
            ("raw-tcp", socket.AF_INET, socket.SOCK_RAW, 6, packet[20:]), ("raw-udp", socket.AF_INET, socket.SOCK_RAW, 17, b"\0" * 8),
            ("raw-icmp", socket.AF_INET, socket.SOCK_RAW, 1, ping), ("raw-raw", socket.AF_INET, socket.SOCK_RAW, 255, packet),
            ("raw-253", socket.AF_INET, socket.SOCK_RAW, 253, b"x"), ("raw-gre", socket.AF_INET, socket.SOCK_RAW, 47, b"x" * 20),
            ("ping", socket.AF_INET, socket.SOCK_DGRAM, 1, ping),
            ("raw6-icmp", socket.AF_INET6, socket.SOCK_RAW, 58, ping), ("ping6", socket.AF_INET6, socket.SOCK_DGRAM, 58, ping),
            ("udplite", socket.AF_INET, socket.SOCK_DGRAM, UDPLITE, b"x"), ("udplite6", socket.AF_INET6, socket.SOCK_DGRAM, UDPLITE, b"x"),
            ("dccp", socket.AF_INET, 6, DCCP, b""), ("sctp", socket.AF_INET, socket.SOCK_STREAM, SCTP, b""),
            ("sctp-seq", socket.AF_INET, socket.SOCK_SEQPACKET, SCTP, b""),
            ("mptcp", socket.AF_INET, socket.SOCK_STREAM, MPTCP, b"x"), ("mptcp6", socket.AF_INET6, socket.SOCK_STREAM, MPTCP, b"x"),
            ("smc", 43, socket.SOCK_STREAM, 0, b"x"), ("l2tp", socket.AF_INET, socket.SOCK_DGRAM, 115, b"x"),
            ("packet", 17, socket.SOCK_RAW, 0x0300, packet), ("tipc", 30, socket.SOCK_RDM, 0, b""), ("vsock", 40, socket.SOCK_STREAM, 0, b""),
            ("rds", 21, socket.SOCK_SEQPACKET, 0, b""), ("can", 29, socket.SOCK_RAW, 1, b"")):
        def go():
            with socket.socket(family, kind, protocol) as s:
                s.settimeout(1)
                to = (host if family == socket.AF_INET else "::ffff:" + host, port)
                if kind in (socket.SOCK_STREAM, 6, socket.SOCK_SEQPACKET):
                    s.connect(to)
                return s.sendto(data, to) if data else 0
        attempt(f"kind.{name}", go)


def options(target):
    """TCP to a target by every option that might change its way; "option" is whether it can be set, "tcp" what came of it."""
    host, port = parse(target)
    v6 = ":" in host
    ip, lsrr = socket.IPPROTO_IP, b"\x83\x07\x04" + socket.inet_aton("93.184.216.35") + b"\0"
    sk = socket.SOL_SOCKET
    rthdr = bytes([0, 2, 0, 1, 0, 0, 0, 0]) + socket.inet_pton(socket.AF_INET6, "2606:2800:220:1::34")
    for name, level, option, value in (
            ("mark", sk, 36, 1), ("priority7", sk, 12, 7), ("bindtodevice", sk, 25, b"lo\0"), ("bindtoifindex", sk, 62, 1),
            ("transparent", ip, 19, 1), ("freebind", ip, 15, 1), ("lsrr", ip, 4, lsrr), ("router-alert", ip, 5, 1), ("hdrincl", ip, 3, 1),
            ("unicast-if", ip, 50, struct.pack(">I", 1)), ("tos", ip, 1, 0xff), ("ttl1", ip, 2, 1), ("xfrm-policy", ip, 17, b"\0" * 200),
            ("repair", socket.IPPROTO_TCP, 19, 1), ("fastopen-connect", socket.IPPROTO_TCP, 30, 1), ("ulp-tls", socket.IPPROTO_TCP, 31, b"tls"),
            ("congestion", socket.IPPROTO_TCP, 13, b"reno"), ("transparent6", 41, 75, 1), ("freebind6", 41, 78, 1), ("rthdr6", 41, 57, rthdr),
            ("dstopts6", 41, 59, bytes(8)), ("pktinfo6", 41, 50, socket.inet_pton(socket.AF_INET6, "2606:2800:220:1::35") + struct.pack("i", 1)),
            ("netns-cookie", sk, 71, 0), ("reuseport", sk, 15, 1), ("dontroute", sk, 5, 1), ("no-check", sk, 11, 1)):
        if v6 and level == ip or not v6 and level == 41:
            continue

        def prepare(s):
            with contextlib.suppress(OSError):
                s.setsockopt(level, option, value)
        with socket.socket(family_of(host), socket.SOCK_STREAM) as s:
            attempt(f"option.{name}", lambda: s.setsockopt(level, option, value) or 0)
        attempt(f"tcp.{name}", lambda: tcp(host, port, GET, prepare=prepare))

    def fastopen():
        with socket.socket(family_of(host), socket.SOCK_STREAM) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", TIMEOUT, 0))
            s.sendto(GET, 0x20000000, (host, port))  # MSG_FASTOPEN; python's own time-outs would make it not block
            return len(s.recv(65536))
    attempt("tcp.fastopen", fastopen)
    attempt("tcp.fastopen-again", fastopen)
    for source in ("93.184.216.34", "93.184.216.35", "127.0.0.1", "10.0.0.9", "8.8.8.8") if not v6 else ("2606:2800:220:1::34", "::1", "fe80::1"):
        attempt(f"tcp.from-{source}", lambda: tcp(host, port, GET, prepare=lambda s: s.bind((source, 0))))

    def itself(s):
        s.setsockopt(sk, socket.SO_REUSEADDR, 1)
        s.bind((host, port))
    attempt("tcp.itself", lambda: tcp(host, port, GET, prepare=itself))

    def listen_there():
        """A listener at the very address; a second socket comes to it, or not."""
        with socket.socket(family_of(host), socket.SOCK_STREAM) as s:
            s.bind((host, port))
            s.listen(5)
            s.settimeout(1)
            c = socket.socket(family_of(host), socket.SOCK_STREAM)
            c.settimeout(2)
            try:
                c.connect((host, port))
            finally:
                with contextlib.suppress(OSError):
                    say("listener.got", s.accept()[0].fileno())
            return 0
    attempt("listener.there", listen_there)

    def urgent():
        with socket.socket(family_of(host), socket.SOCK_STREAM) as s:
            s.settimeout(TIMEOUT)
            s.connect((host, port))
            return s.send(b"!", socket.MSG_OOB)
    attempt("tcp.urgent", urgent)


def gate_port(port):
    """The gate's own listeners: taken beside it, and connected to."""
    port = int(port)
    places = [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "198.18.0.1"), (socket.AF_INET, "127.3.3.3"),
              (socket.AF_INET6, "::"), (socket.AF_INET6, "::1"), (socket.AF_INET6, "::ffff:127.0.0.1")]
    kinds_ = [("tcp", socket.SOCK_STREAM, 0), ("mptcp", socket.SOCK_STREAM, MPTCP)] + ([("udp", socket.SOCK_DGRAM, 0)] if port == 53 else [])
    for name, kind, protocol in kinds_:
        for family, host in places:
            for how, options_ in (("plain", ()), ("reuseaddr", ((1, 2),)), ("reuseport", ((1, 15),)), ("both", ((1, 2), (1, 15))),
                                  ("device", ((1, 2), (1, 15), (1, 25))), ("v6only", ((41, 26),)), ("freebind", ((0, 15), (1, 2), (1, 15)))):
                if how == "v6only" and family == socket.AF_INET:
                    continue

                def go():
                    with socket.socket(family, kind, protocol) as s:
                        for level, option in options_:
                            s.setsockopt(level, option, b"lo\0" if option == 25 else 1)
                        s.bind((host, port))
                        if kind == socket.SOCK_STREAM:
                            s.listen(16)
                        return 1
                attempt(f"bind.{name}.{host}.{how}", go)
    if port != 53:
        for host in ("127.0.0.1", "::1", "198.18.0.1", "127.255.0.9", "0.0.0.0", "::", "::ffff:127.0.0.1", "::ffff:198.18.0.1", "93.184.216.34",
                     "198.18.0.2", "fe80::1%lo", "255.255.255.255", "224.0.0.1"):
            attempt(f"direct.{host}", lambda: tcp(host.split("%")[0], port, GET) if "%" not in host else scoped(host, port))


def scoped(host, port):
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as s:
        s.settimeout(TIMEOUT)
        s.connect((host.split("%")[0], port, 0, 1))
        s.sendall(GET)
        return len(s.recv(100))


def odd_addresses(port):
    """Spellings and kinds of addresses that the kernel takes."""
    port = int(port)
    for host in ("0.0.0.0", "0.1.2.3", "10.0.0.9", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.0.1", "100.64.0.1", "192.0.0.8",
                 "192.88.99.1", "198.18.0.2", "198.19.0.1", "203.0.113.1", "224.0.0.251", "240.0.0.1", "255.255.255.255",
                 "::", "::ffff:93.184.216.35", "::ffff:169.254.169.254", "::93.184.216.35", "64:ff9b::5db8:d823", "2002:5db8:d823::1", "fd00::1",
                 "fec0::1", "ff02::1", "2001:db8::1", "2606:2800:220:1::35", "100::1", "5f00::1"):
        attempt(f"odd.{host}", lambda: tcp(host, port, GET))
    for host in ("fe80::1", "fe80::9", "ff02::fb"):
        for scope in (0, 1):
            def go():
                with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as s:
                    s.settimeout(2)
                    s.connect((host, port, 0, scope))
                    return s.send(GET)
            attempt(f"odd.{host}%{scope}", go)

            def datagram():
                with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
                    return s.sendto(b"canary", (host, 5353, 0, scope))
            attempt(f"odd-udp.{host}%{scope}", datagram)


def scan(low, high):
    """Ports of 127.0.0.1 and ::1 that take a connection."""
    for host in ("127.0.0.1", "::1"):
        for port in range(int(low), int(high)):
            with socket.socket(family_of(host), socket.SOCK_STREAM) as s:
                s.settimeout(1)
                if s.connect_ex((host, port)) == 0 and s.getsockname() != s.getpeername():
                    say(f"open.{host}.{port}", port)
    say("scanned", 0)


# ---- netlink ----

def netlink():
    """Routes, addresses, links, rules, neighbours: changed and added."""
    def message(kind, body, flags=0x405, protocol=0):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as s:
            s.settimeout(2)
            s.bind((0, 0))
            s.send(struct.pack("IHHII", 16 + len(body), kind, flags | 4, 1, 0) + body)
            data = s.recv(65536)
            e = struct.unpack("i", data[16:20])[0] if struct.unpack("H", data[4:6])[0] == 2 else 0
            if e < 0:
                raise OSError(-e, os.strerror(-e))
            return 0
    attr = lambda kind, data: struct.pack("HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)  # noqa: E731
    dst = attr(1, socket.inet_aton("93.184.216.35")) + attr(4, struct.pack("I", 1))
    for name, kind, body in (
            ("newroute", 24, struct.pack("BBBBBBBBI", 2, 32, 0, 0, 254, 4, 0, 1, 0) + dst),
            ("newroute-local", 24, struct.pack("BBBBBBBBI", 2, 32, 0, 0, 255, 4, 254, 2, 0) + dst),
            ("delroute", 25, struct.pack("BBBBBBBBI", 2, 0, 0, 0, 255, 4, 254, 2, 0) + attr(4, struct.pack("I", 1))),
            ("newaddr", 20, struct.pack("BBBBI", 2, 32, 0, 0, 1) + attr(2, socket.inet_aton("93.184.216.35"))),
            ("deladdr", 21, struct.pack("BBBBI", 2, 32, 0, 0, 1) + attr(2, socket.inet_aton("198.18.0.1"))),
            ("link-down", 16, struct.pack("BxHiII", 0, 0, 1, 0, 1)), ("newlink", 16, struct.pack("BxHiII", 0, 0, 0, 0, 0) + attr(3, b"d0\0") +
                                                                         attr(18, attr(1, b"dummy"))),
            ("newrule", 32, struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 0, 0, 1, 0)), ("newneigh", 28, struct.pack("BxHiHBB", 2, 0, 1, 2, 0, 0) +
                                                                                     attr(1, socket.inet_aton("1.2.3.4"))),
            ("newqdisc", 36, struct.pack("BxHiIII", 0, 0, 1, 0, 0xffffffff, 0) + attr(1, b"pfifo\0")), ("newnexthop", 104, struct.pack("BBBBI", 2, 0, 0, 0, 0))):
        attempt(f"netlink.{name}", lambda: message(kind, body))
    attempt("netlink.ok-getlink", lambda: message(18, struct.pack("BxHiII", 0, 0, 0, 0, 0), 0x300))
    for name, protocol in (("netfilter", 12), ("diag", 4), ("xfrm", 6), ("generic", 16), ("audit", 9)):
        attempt(f"netlink.{name}", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).fileno())
    import fcntl
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for name, code in (("siocsifaddr", 0x8916), ("siocaddrt", 0x890b), ("siocsifflags", 0x8914), ("siocdelrt", 0x890c), ("siocbraddbr", 0x89a0)):
            attempt(f"ioctl.{name}", lambda: fcntl.ioctl(s, code, b"lo".ljust(16, b"\0") + struct.pack("HH4s16x", 2, 0, b"\1\2\3\4")) and 0)
    for path in ("ipv4/ip_forward", "ipv4/ip_unprivileged_port_start", "ipv4/tcp_fastopen", "ipv4/conf/all/route_localnet", "ipv6/conf/all/forwarding",
                 "ipv4/conf/lo/accept_local"):
        def go():
            with open("/proc/sys/net/" + path, "w") as f:
                return f.write("1")
        attempt(f"sysctl.{path}", go)


# ---- many ----

def half_open(n, host, port, seconds):
    """Connections that say nothing; prints how many there are, holds them until stdin ends."""
    host = socket.gethostbyname(host)
    held, refused = [], 0
    for _ in range(int(n)):
        s = socket.socket()
        s.settimeout(2)
        try:
            s.connect((host, int(port)))
            held.append(s)
        except OSError:
            refused += 1
    say("half-open", len(held), refused)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end and not select.select([0], [], [], 0.05)[0]:
        pass
    over = select.select([s for s in held if s.fileno() < 1024], [], [], 0)[0]
    say("ended", len(over))


def many(n, host, port, size):
    """Echo connections that are all open at the same time; prints how many gave back what they were sent."""
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    n, size, poll = int(n), int(size), select.epoll()
    address = (socket.gethostbyname(host), int(port))
    by_fd, good, bad = {}, 0, {}
    for i in range(n):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(address)
        by_fd[s.fileno()] = [s, str(i).encode() * 40, b"", False]
        poll.register(s.fileno(), select.EPOLLOUT | select.EPOLLIN)
    up, end = 0, time.monotonic() + 60
    open_now = dict(by_fd)
    while open_now and time.monotonic() < end:
        for fd, events in poll.poll(1):
            e = open_now.get(fd)
            if not e:
                continue
            s, text, got, sent = e
            try:
                if not sent and events & select.EPOLLOUT:
                    s.send(text)
                    e[3], up = True, up + 1
                    poll.modify(fd, select.EPOLLIN)
                if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                    data = s.recv(65536)
                    e[2] = got = got + data
                    if got == text:
                        good += 1
                        del open_now[fd]
                    elif not data:
                        raise OSError(errno.EPIPE, "")
            except BlockingIOError:
                pass
            except OSError as x:
                bad[x.errno] = bad.get(x.errno, 0) + 1
                poll.unregister(fd)
                del open_now[fd]
    say("many", good, up)
    say("bad", sum(bad.values()), max(bad, default=0))
    say("waiting", len(open_now))


# ---- DNS ----

def name_wire(name):
    return b"".join(bytes([len(x)]) + x for x in (name.encode() if isinstance(name, str) else name).split(b".") if x) + b"\0"


def query(name, kind=1, flags=0x0100, klass=1, extra=b"", counts=(1, 0, 0, 0)):
    return struct.pack(">HHHHHH", random.randrange(65536), flags, *counts) + name_wire(name) + struct.pack(">HH", kind, klass) + extra


def ask(server, data, port=53, stream=False, timeout=1.0):
    """(rcode, number of answers, reply), None when nothing came."""
    with socket.socket(family_of(server), socket.SOCK_STREAM if stream else socket.SOCK_DGRAM) as s:
        s.settimeout(timeout)
        s.connect((server, port))
        if stream:
            s.sendall(struct.pack(">H", len(data)) + data)
            head = s.recv(2)
            if len(head) < 2:
                return None
            reply = s.recv(struct.unpack(">H", head)[0])
        else:
            s.send(data)
            reply = s.recv(4096)
    if len(reply) < 12:
        return None
    return reply[3] & 15, struct.unpack(">H", reply[6:8])[0], reply


def dns_say(label, *args, **kw):
    try:
        r = ask(*args, **kw)
        say(label, r[0] if r else -3, r[1] if r else 0)
        return r
    except TimeoutError:
        say(label, -1, 0)
    except OSError as e:
        say(label, -1, e.errno)
    return None


KINDS = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "NULL": 10, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "NAPTR": 35, "DS": 43, "DNSKEY": 48,
         "TLSA": 52, "SVCB": 64, "HTTPS": 65, "SPF": 99, "IXFR": 251, "AXFR": 252, "ANY": 255, "CAA": 257, "X65399": 65399}


def dns_types(canary, *names):
    """Every type of every name, over UDP and TCP, at the sandbox's own resolver and at others of the world."""
    for name in names:
        for kind, number in KINDS.items():
            for server in ("127.0.0.1", "8.8.8.8"):
                dns_say(f"dns.{kind}.{name}.{server}", server, query(f"{canary}.{name}" if canary != "-" else name, number))
            dns_say(f"dns-tcp.{kind}.{name}", "127.0.0.1", query(f"{canary}.{name}" if canary != "-" else name, number), stream=True)


def dns_servers(canary):
    """Servers and ports that are not the sandbox's."""
    for server in ("127.0.0.53", "198.18.0.1", "8.8.8.8", "1.1.1.1", "93.184.216.35", "10.0.0.1", "169.254.169.253", "224.0.0.251", "::1", "2001:4860:4860::8888",
                   "fd00::53", "ff02::fb"):
        for stream in (False, True):
            dns_say(f"server.{server}.{'tcp' if stream else 'udp'}", server, query(canary + ".no.test"), stream=stream, timeout=0.5)
        for port in (853, 5353, 5355, 443, 8853, 784):
            dns_say(f"port.{server}.{port}.udp", server, query(canary + ".no.test"), port=port, timeout=0.1)
            dns_say(f"port.{server}.{port}.tcp", server, query(canary + ".no.test"), port=port, stream=True, timeout=0.5)


def dns_junk(canary):
    """What no client sends; the server goes on, and says nothing to anybody else."""
    n = name_wire(canary + ".no.test")
    head = lambda flags=0x100, counts=(1, 0, 0, 0): struct.pack(">HHHHHH", 7, flags, *counts)  # noqa: E731
    tail = struct.pack(">HH", 1, 1)
    opt = b"\0" + struct.pack(">HHIH", 41, 4096, 0, 0)
    for label, data in (
            ("update", head(0x2800) + n + tail), ("notify", head(0x2400) + n + tail), ("status", head(0x1000) + n + tail), ("iquery", head(0x0800) + n + tail),
            ("dso", head(0x3000) + n + tail), ("answer", head(0x8180) + n + tail), ("two", head(counts=(2, 0, 0, 0)) + n + tail + n + tail),
            ("none", head(counts=(0, 0, 0, 0))), ("loop", head() + b"\xc0\x0c" + tail), ("loop2", head() + b"\x01a\xc0\x0c" + tail),
            ("forward", head() + b"\xc0\xff" + tail), ("long-label", head() + b"\x7f" + b"a" * 127 + b"\0" + tail), ("ext-label", head() + b"\x41aaa\0" + tail),
            ("long-name", head() + b"\x3f" + b"a" * 63 + (b"\x3f" + b"b" * 63) * 4 + b"\0" + tail), ("no-end", head() + b"\x05abc"),
            ("nul", head() + b"\x03a\0b\x04test\0" + tail), ("dot", head() + b"\x07ok.test\0" + tail), ("chaos", head() + n + struct.pack(">HH", 16, 3)),
            ("class-any", head() + n + struct.pack(">HH", 1, 255)), ("class-none", head() + n + struct.pack(">HH", 1, 254)),
            ("edns", head(counts=(1, 0, 0, 1)) + n + tail + opt), ("edns-9", head(counts=(1, 0, 0, 1)) + n + tail + b"\0" + struct.pack(">HHIH", 41, 4096, 9 << 16, 0)),
            ("edns-twice", head(counts=(1, 0, 0, 2)) + n + tail + opt + opt),
            ("edns-subnet", head(counts=(1, 0, 0, 1)) + n + tail + b"\0" + struct.pack(">HHIH", 41, 4096, 0, 12) + struct.pack(">HHHBB4s", 8, 8, 1, 32, 0, b"\1\2\3\4")),
            ("edns-junk", head(counts=(1, 0, 0, 1)) + n + tail + b"\0" + struct.pack(">HHIH", 41, 4096, 0, 200) + canary.encode() * 4),
            ("edns-short", head(counts=(1, 0, 0, 1)) + n + tail + opt[:5]), ("tsig", head(counts=(1, 0, 0, 1)) + n + tail + n + struct.pack(">HHIH", 250, 255, 0, 4) + b"abcd"),
            ("prerequisite", head(0x2800, (1, 1, 1, 0)) + n + tail + n + struct.pack(">HHIH", 16, 1, 0, 5) + b"\4abcd" + n + struct.pack(">HHIH", 16, 1, 0, 5) + b"\4abcd"),
            ("trailing", head() + n + tail + canary.encode() * 10), ("big", head() + n + tail + b"x" * 3000), ("short", b"\0\1\2"), ("empty", b""),
            ("counts", head(counts=(65535, 65535, 65535, 65535)) + n + tail), ("upper", head() + n.upper() + tail), ("mixed-case", head() + name_wire("oK.TeSt") + tail)):
        dns_say(f"junk.{label}", "127.0.0.1", data, timeout=0.3)
        if data:
            dns_say(f"junk-tcp.{label}", "127.0.0.1", data, stream=True, timeout=0.3)
    rnd = random.Random(4)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("127.0.0.1", 53))
        for i in range(3000):
            data = bytearray(query(f"{canary}.{'ok' if i & 1 else 'no'}.test", rnd.randrange(300), counts=(1, 0, 0, 1), extra=opt))
            for _ in range(rnd.randrange(1, 6)):
                data[rnd.randrange(len(data))] = rnd.randrange(256)
            with contextlib.suppress(OSError):
                s.send(bytes(data[:rnd.randrange(1, len(data) + 1)]) if i % 3 == 0 else bytes(data))
    # Streams that begin and do not go on; one byte at a time; a length of nothing.
    held = []
    for i in range(100):
        s = socket.socket()
        s.settimeout(1)
        with contextlib.suppress(OSError):
            s.connect(("127.0.0.1", 53))
            s.send((b"\xff\xff", b"\0\0", b"\0", b"\0\x20ab")[i % 4])
            held.append(s)
    time.sleep(0.1)
    dns_say("after", "127.0.0.1", query("ok.test"))
    for s in held:
        s.close()
    time.sleep(0.1)
    dns_say("after-tcp", "127.0.0.1", query("ok.test"), stream=True)
    with socket.socket() as s:
        s.settimeout(2)
        s.connect(("127.0.0.1", 53))
        data = query("ok.test")
        for b in struct.pack(">H", len(data)) + data:
            s.send(bytes([b]))
        say("slow", len(s.recv(600)) and 0)
    with socket.socket() as s:
        s.settimeout(2)
        s.connect(("127.0.0.1", 53))
        s.sendall(b"".join(struct.pack(">H", len(q)) + q for q in [query("ok.test")] * 20))
        n = 0
        with contextlib.suppress(TimeoutError):
            while n < 20 * 40 and (got := s.recv(65536)):
                n += len(got)
        say("pipelined", n)


def lookup(*names):
    """By the C library, both families at once."""
    for name in names:
        try:
            found = socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)
            say(f"name.{name}", len(found))
            print("address", name, *sorted({x[4][0] for x in found}))
        except socket.gaierror as e:
            say(f"name.{name}", -1, -e.errno)
        except UnicodeError:
            say(f"name.{name}", -1, 997)


def concurrent(name, n):
    """A and AAAA from many threads at once."""
    good = []

    def one():
        with contextlib.suppress(OSError):
            good.append(tuple(x[4][0] for x in socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)))
    threads = [threading.Thread(target=one) for _ in range(int(n))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    say("concurrent", len(good), len(set(good)))


def visible(*paths):
    """Processes, variables, and sockets of other programs; paths: of more of them."""
    for name in os.environ:
        say(f"variable.{name}", 0)
    for pid in sorted(int(d) for d in os.listdir("/proc") if d.isdigit()):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as f:
            say(f"process.{f.read().strip()}", pid)
    for path in ("/run/nscd/socket", "/var/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve", "/run/systemd/resolve/io.systemd.Resolve.Monitor",
                 "/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket", "/run/docker.sock", "/var/run/docker.sock", "/run/avahi-daemon/socket",
                 "/run/user/0/bus", f"/run/user/{os.getuid()}/bus", f"/run/user/{os.getuid()}/pipewire-0", f"/run/user/{os.getuid()}/gnupg/S.gpg-agent",
                 f"/run/user/{os.getuid()}/gvfsd/socket", "/tmp/.X11-unix/X0", "/run/podman/podman.sock", "/run/containerd/containerd.sock", *paths):
        def go():
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(path)
                return 1
        attempt(f"unix.{path}", go)
    for name in ("lab-abstract", "/tmp/.X11-unix/X0", "/tmp/dbus-lab"):
        def abstract():
            with socket.socket(socket.AF_UNIX) as s:
                s.connect("\0" + name)
                return 1
        attempt(f"abstract.{name}", abstract)
    with contextlib.suppress(OSError), open("/proc/net/unix") as f:
        for line in f:
            if len(line.split()) > 7:
                say("unix-seen." + line.split()[7].replace(" ", "_"), 0)


# ---- requests ----

def requests(path, to="ok.test"):
    """A JSON file of [name, port, server name or null, [bytes as latin-1, ...]]: each over a connection of its own to ok.test, with
    TLS where the port is 443. Says the status of each response that came, in one line: "http.NAME STATUS..."; 0 is an end, -1 a reset."""
    import json
    import ssl
    with open(path, encoding="ascii") as f:
        todo = json.load(f)
    tls = ssl.create_default_context()
    tls.check_hostname = False
    for name, port, sni, parts in todo:
        answers, data = [], b""
        try:
            s = socket.create_connection((to, port), 5)
            s.settimeout(3)
            if port == 443:
                s = tls.wrap_socket(s, server_hostname=sni)
            for part in parts:
                s.sendall(part.encode("latin-1"))
                time.sleep(0.02 if len(parts) > 1 else 0)
            while True:
                got = s.recv(65536)
                if not got:
                    answers.append(0)
                    break
                data += got
                while b"\r\n\r\n" in data:
                    head, _, rest = data.partition(b"\r\n\r\n")
                    n = next((int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length:") and not parts[0].startswith("HEAD ")), 0)
                    if len(rest) < n:
                        break
                    answers.append(int(head.split()[1]))
                    data = rest[n:]
                if answers and not data and len(answers) >= sum(p.count("HTTP/1") for p in parts):
                    break
        except TimeoutError:
            answers.append(-2)
        except OSError:
            answers.append(-1)
        print(f"http.{name}", *answers, flush=True)


def ech(to, *names):
    """ClientHellos with an encrypted one within (RFC 9849), whose name nobody can read; the type of the record that answers."""
    import ssl
    for name in names:
        out = ssl.MemoryBIO()
        tls = ssl.create_default_context()
        tls.check_hostname = False
        with contextlib.suppress(ssl.SSLWantReadError):
            tls.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
        hello = bytearray(out.read())
        body = struct.pack(">BHHBH", 0, 1, 1, 7, 32) + os.urandom(32) + struct.pack(">H", 144) + os.urandom(144)
        more = struct.pack(">HH", 0xfe0d, len(body)) + body
        at = 5 + 4 + 2 + 32
        at += 1 + hello[at]
        at += 2 + int.from_bytes(hello[at:at + 2], "big")
        at += 1 + hello[at]
        for place, size in ((at, 2), (6, 3), (3, 2)):      # extensions, handshake, record
            hello[place:place + size] = (int.from_bytes(hello[place:place + size], "big") + len(more)).to_bytes(size, "big")

        def go():
            with socket.create_connection((to, 443), 5) as s:
                s.settimeout(5)
                s.sendall(hello + more)
                return (s.recv(1) or b"\0")[0]
        attempt(f"ech.{name}", go)


def websocket(path, text, most="1000000", more=""):
    """Opens one and sends text in frame after frame until it is cut; says the status, and how much was sent when it ended."""
    with socket.create_connection(("ok.test", 80), 10) as s:
        s.settimeout(20)
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: ok.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n".encode())
        head = b""
        with contextlib.suppress(OSError):
            while b"\r\n\r\n" not in head and (got := s.recv(65536)):
                head += got
        print("status", (head.split() + [b"", b"end"])[1].decode(), flush=True)
        if b" 101 " not in head:
            return
        data, sent = text.encode()[:125], 0
        frame = bytes([0x81, 0x80 | len(data)]) + b"mask" + bytes(b ^ b"mask"[i % 4] for i, b in enumerate(data))
        s.settimeout(0.02)
        with contextlib.suppress(OSError):
            while sent < int(most):
                s.sendall(frame)
                sent += len(frame)
                with contextlib.suppress(TimeoutError):
                    if not s.recv(100):
                        break
    print("sent", sent, flush=True)


def at_once(n, port, path):
    """n requests at the same time, each over its own connection; how many of each status."""
    seen = {}

    def one(i):
        try:
            with socket.create_connection(("ok.test", int(port)), 10) as s:
                s.settimeout(10)
                s.sendall(f"GET {path} HTTP/1.1\r\nHost: ok.test\r\n\r\n".encode())
                status = (s.recv(100).split() + [b"", b"0"])[1].decode()
        except OSError as e:
            status = f"e{e.errno}"
        seen[status] = seen.get(status, 0) + 1
    threads = [threading.Thread(target=one, args=(i,)) for i in range(int(n))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, v in sorted(seen.items()):
        print(f"status.{k} {v} 0")


def slow_heads(n, seconds):
    """Heads that come a byte at a time and never end; another client beside them."""
    held = []
    for i in range(int(n)):
        s = socket.create_connection(("ok.test", 80), 5)
        s.sendall(b"GET /t HTTP/1.1\r\nHost: ok.test\r\nX: ")
        held.append(s)
    begin, ended = time.monotonic(), 0
    attempt("beside", lambda: tcp("ok.test", 80, b"GET /t HTTP/1.1\r\nHost: ok.test\r\n\r\n", family=socket.AF_INET))
    say("beside.ms", int((time.monotonic() - begin) * 1000))
    while held and time.monotonic() - begin < float(seconds):
        time.sleep(1)
        for s in held[:]:
            try:
                s.send(b"y")
            except OSError:
                held.remove(s)
                ended += 1
    say("ended", ended, len(held))


def keep_alive(port, path, every="0.1"):
    """Asks again and again over one connection; the status of each answer."""
    with socket.create_connection(("ok.test", int(port)), 5) as s:
        s.settimeout(5)
        while True:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: ok.test\r\n\r\n".encode())
            data = b""
            while got := s.recv(65536):
                data += got
                head, _, body = data.partition(b"\r\n\r\n")
                if body and len(body) >= int(head.lower().partition(b"content-length:")[2].split()[0]):
                    break
            print("status", data.split()[1].decode() if data else "end", flush=True)
            if not data or data.split()[1] != b"200":
                break
            time.sleep(float(every))


# ---- transfers ----

def pattern_hash(n):
    import hashlib
    block = b"".join(hashlib.sha256(f"0 {i}".encode()).digest() for i in range(2048)) + b"x"
    return (block * (n // len(block) + 1))[:n]


def upload(host, port, n, *delay):
    """Sends n bytes, says that it ends, reads the answer; its hash is compared outside."""
    import hashlib
    data = pattern_hash(int(n))
    with socket.create_connection((host, int(port)), 20) as s:
        s.sendall(data)
        if delay:
            time.sleep(float(delay[0]))
        s.shutdown(socket.SHUT_WR)
        answer = b""
        while got := s.recv(65536):
            answer += got
    print("sent", len(data), hashlib.sha256(data).hexdigest())
    print("answer", answer.decode().strip())


def download(host, port, n, pause="0"):
    """Reads n bytes, slowly if told so."""
    import hashlib
    h, total = hashlib.sha256(), 0
    with socket.create_connection((host, int(port)), 20) as s:
        s.sendall(f"{n}\n".encode())
        while got := s.recv(65536):
            h.update(got)
            total += len(got)
            if float(pause):
                time.sleep(float(pause))
    print("got", total, h.hexdigest())


def echo(host, port, n):
    """Both ways at once."""
    import hashlib
    data, h, total = pattern_hash(int(n)), hashlib.sha256(), 0
    with socket.create_connection((host, int(port)), 20) as s:
        def send():
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        t = threading.Thread(target=send)
        t.start()
        while got := s.recv(262144):
            h.update(got)
            total += len(got)
        t.join()
    print("same" if h.digest() == hashlib.sha256(data).digest() else "differs", total)


def pump(host, port):
    """Sends without end; says how much when it breaks."""
    n = 0
    with socket.create_connection((host, int(port)), 20) as s:
        s.settimeout(None)
        print("connected", flush=True)
        try:
            while True:
                n += s.send(b"x" * 65536)
        except OSError as e:
            print("broke", n, e.errno, flush=True)


def ticks(host, port, every="0.1"):
    """Asks the echo server again and again, over one connection; prints the time of each answer; ends with the connection."""
    with socket.create_connection((host, int(port)), 20) as s:
        s.settimeout(30)
        try:
            while True:
                s.sendall(b"tick")
                if not s.recv(100):
                    break
                print("tick", f"{time.monotonic():.3f}", flush=True)
                time.sleep(float(every))
        except OSError as e:
            print("broke", e.errno, flush=True)
            return
    print("end", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
