"""What bench/gate and bench/broker share: a network namespace with a server of the outside, sandboxes with a load in them, rounds
of one load after the other through whoever stands in the middle, and tables of what came of it.
"""
import argparse, contextlib, ctypes, glob, json, os, pwd, random, shutil, signal, socket, subprocess, sys, tempfile, time
import common
from common import median

HERE = os.path.dirname(os.path.realpath(__file__))
LIBC = ctypes.CDLL(None, use_errno=True)
UP, PROXY, CA_NAME = "93.184.216.34", "198.51.100.7", "bench CA"
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = {"1k": KIB, "16k": 16 * KIB, "64k": 64 * KIB, "1m": MIB, "16m": 16 * MIB, "64m": 64 * MIB, "1g": GIB, "10g": 10 * GIB}
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
children = []


def checked(r, what):
    if r != 0:
        common.die(f"{what}: {os.strerror(ctypes.get_errno())}")


def run(*argv, **kw):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **kw)


# ---- a network of its own ----

def no_exhaustion(pid):
    """Thousands of connections a second use up the ports of a minute: those that are over are forgotten soon, in the network
    namespace of this process."""
    script = "echo 1024 65535 >/proc/sys/net/ipv4/ip_local_port_range && echo 500 >/proc/sys/net/ipv4/tcp_max_tw_buckets"
    run("nsenter", f"--net=/proc/{pid}/ns/net", "sh", "-c", script)


def enter(scratch, names, room):
    checked(LIBC.unshare(0x40000000 | 0x20000), "unshare")  # CLONE_NEWNET, CLONE_NEWNS
    checked(LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "private mounts")
    no_exhaustion(os.getpid())
    run("ip", "link", "set", "lo", "up")
    for a in (UP, PROXY):
        run("ip", "addr", "add", f"{a}/32", "dev", "lo")
    run("cp", "-a", "/etc", f"{scratch}/etc")
    with open(f"{scratch}/etc/hosts", "w") as f:
        f.write("127.0.0.1 localhost\n" + "".join(f"{UP} {n}\n" for n in names))
    with open(f"{scratch}/etc/ssl/certs/ca-certificates.crt", "a") as f:  # what a broker trusts
        f.write(open(f"{scratch}/ca.pem").read())
    checked(LIBC.mount(f"{scratch}/etc".encode(), b"/etc", None, MS_BIND | MS_REC, None), "/etc")
    os.mkdir(f"{scratch}/www")
    checked(LIBC.mount(b"tmpfs", f"{scratch}/www".encode(), b"tmpfs", 0, f"mode=0755,size={room}".encode()), "a tmpfs")
    for name, size in SIZES.items():  # sparse: nginx sends pages of zeros
        with open(f"{scratch}/www/{name}", "wb") as f:
            f.truncate(size)


def certificates(scratch, names):
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    at = lambda n: f"{scratch}/{n}"  # noqa: E731
    run("openssl", "req", "-x509", *key, "-keyout", at("ca.key"), "-out", at("ca.pem"), "-days", "2", "-subj", f"/CN={CA_NAME}",
        "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    run("openssl", "req", *key, "-keyout", at("key.pem"), "-out", at("csr"), "-subj", f"/CN={names[0]}")
    with open(at("ext"), "w") as f:
        f.write(f"subjectAltName={','.join('DNS:' + n for n in names)}\nextendedKeyUsage=serverAuth\n")
    run("openssl", "x509", "-req", "-in", at("csr"), "-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "2",
        "-extfile", at("ext"), "-out", at("cert.pem"))
    with open(at("both.pem"), "w") as f:
        f.write(open(at("cert.pem")).read() + open(at("key.pem")).read())


# ---- who is measured ----

def start(argv, scratch, name, **kw):
    log = open(f"{scratch}/{name}.log", "w")
    # Each in a session of its own, as a sandbox is: where the kernel shares out the CPUs by session, all are treated alike.
    p = subprocess.Popen(argv, stdin=kw.pop("stdin", subprocess.DEVNULL), stdout=kw.pop("stdout", log), stderr=log, cwd=f"{scratch}/ws",
                         start_new_session=True, **kw)
    children.append(p)
    weigh(p.pid)
    return p


def weigh(pid, nice=-10):
    """What else runs on this machine disturbs less: the sessions of the benchmark count for more (sched(7), autogroup)."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/autogroup", "w") as f:
        f.write(str(nice))


def weigh_alike():
    """Where it counts how soon sessions that are not the benchmark's have their turn: those of a sandbox and of a command."""
    for pid in (os.getpid(), *(p.pid for p in children)):
        weigh(pid, 0)


def stop_all():
    for p in reversed(children):
        if p.stdin:
            with contextlib.suppress(OSError):
                p.stdin.close()
    for p in reversed(children):
        with contextlib.suppress(Exception):
            if not p.stdin:
                p.terminate()
            p.wait(5)
    for p in children:
        with contextlib.suppress(Exception):
            p.kill()


def wait_port(address, port, p, name):
    for _ in range(300):
        with socket.socket() as s:
            if s.connect_ex((address, port)) == 0:
                return
        if p.poll() is not None:
            break
        time.sleep(0.1)
    common.die(f"{name} does not take connections (see the .log of it)")


def upstreams(scratch, more=""):
    """more: servers of nginx's."""
    with open(f"{scratch}/nginx.conf", "w") as f:
        f.write(f"""worker_processes auto; daemon off; user root; pid {scratch}/nginx.pid; error_log {scratch}/nginx.error;
events {{ worker_connections 8192; multi_accept on; }}
http {{ access_log off; sendfile on; tcp_nodelay on; keepalive_requests 100000000; keepalive_timeout 600; default_type application/octet-stream;
  open_file_cache max=100; ssl_certificate {scratch}/cert.pem; ssl_certificate_key {scratch}/key.pem; ssl_session_cache shared:s:10m;
  client_body_temp_path {scratch}/nb; proxy_temp_path {scratch}/np; fastcgi_temp_path {scratch}/nf; uwsgi_temp_path {scratch}/nu; scgi_temp_path {scratch}/ns;
  server {{ listen {UP}:80 backlog=4096; listen {UP}:443 ssl backlog=4096; root {scratch}/www; }}
{more} }}
""")
    p = start(["nginx", "-c", f"{scratch}/nginx.conf"], scratch, "nginx")
    wait_port(UP, 80, p, "nginx")
    p = start([f"{scratch}/gate-load", "sink", "8080", "8443", f"{scratch}/both.pem"], scratch, "sink")
    wait_port(UP, 8443, p, "the sink")


def children_of(pid):
    found = []
    for t in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError), open(t) as f:
            for c in f.read().split():
                found += [int(c), *children_of(int(c))]
    return found


def named(pids, name):
    out = []
    for p in pids:
        with contextlib.suppress(OSError), open(f"/proc/{p}/comm") as f:
            if f.read().strip() == name[:15]:
                out.append(p)
    return out


def comm_of_exe(pids, words):
    """Gate and broker are executed from a descriptor: what they are called is in their command line."""
    out = {w: [] for w in words}
    for p in pids:
        with contextlib.suppress(OSError), open(f"/proc/{p}/cmdline") as f:
            argv0 = os.path.basename(f.read().split("\0")[0])
            if argv0 in out:
                out[argv0].append(p)
    return out


class Client:
    """A gate-load that takes jobs."""
    def __init__(self, argv, scratch, name, **kw):
        self.p = start(argv, scratch, name, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **kw)
        self.name = name

    def do(self, **job):
        self.ask(**job)
        return self.hear()

    def ask(self, **job):
        words = " ".join(f"{k}={v}" for k, v in job.items())
        self.p.stdin.write(words + "\n")
        self.p.stdin.flush()

    def hear(self):
        line = self.p.stdout.readline()
        if not line:
            common.die(f"{self.name} has ended")
        r = json.loads(line)
        if "error" in r:
            common.die(f"{self.name}: {r['error']}")
        return r


def belljar(scratch, become, policy, name="belljar", **variables):
    """A sandbox with a gate-load in it, and a function for the processes in the middle."""
    with open(f"{scratch}/ws/{name}.yaml", "w") as f:
        f.write(policy)
    jar = Client([*become, f"{scratch}/belljar", "run", "-f", f"{name}.yaml", "--name", name, "--", "./gate-load"], scratch, name,
                 env={**user_environment(scratch, become), **variables})
    return jar, lambda: sum(comm_of_exe(children_of(jar.p.pid), ("belljar-gate", "belljar-broker")).values(), [])


def user_environment(scratch, become):
    account = pwd.getpwnam(common.USER) if become else pwd.getpwuid(0)
    return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": account.pw_dir, "USER": account.pw_name, "LANG": "C.UTF-8",
            "XDG_STATE_HOME": f"{scratch}/state"}


def usable(found, why):
    """Whoever starts on demand has started, and whoever does not work is not measured: said in why."""
    for k in list(found):
        r = k.do(requests=3, ms=20000)
        if r["requests"] < 3:
            why[k.name] = f"not usable here: {r['why']}"
            found.remove(k)
        elif (r := k.do(send=KIB, requests=3, ms=20000))["requests"] < 3:
            why[k.name] = f"nothing can be sent up: {r['why']}"
            found.remove(k)
    for p in {p for k in found for p in children_of(k.client.p.pid)}:
        weigh(p)
        if named([p], "gate-load"):
            no_exhaustion(p)
    return found


class Kind:
    def __init__(self, name, base, client, pids, down, up):
        """down, up: words of a job. pids: a function."""
        self.name, self.base, self.client, self.pids, self.down, self.up = name, base, client, pids, down, up
        self.small = self.bulk = True  # measured with small bodies; with large ones
        self.prefix = ""               # of a path
        self.slow = False              # has to have the whole of a body first

    def cpu(self):
        """Seconds of CPU time of the processes in the middle."""
        total = 0
        for p in self.pids():
            for t in glob.glob(f"/proc/{p}/task/*/schedstat"):
                with contextlib.suppress(OSError), open(t) as f:
                    total += int(f.read().split()[0])
        return total / 1e9

    def do(self, size="1k", send=0, **kw):
        job = dict(self.up, send=send, path="/up") if send else dict(self.down, path=f"/{self.prefix}{size}")
        before = self.cpu()
        r = self.client.do(**job, **kw)
        r["cpu"] = self.cpu() - before
        return r


# ---- measuring ----

class Results:
    def __init__(self, pairs):
        self.pairs = pairs  # (kind, those that it is compared with)
        self.by = {}  # (kind, test) -> list of answers, one a round

    def add(self, kind, test, r):
        self.by.setdefault((kind, test), []).append(r)

    def all(self, kind, test):
        return self.by.get((kind, test), [])

    def mid(self, kind, test, what):
        return median([f(x) for x in self.all(kind, test)]) if (f := VALUE[what]) and self.all(kind, test) else float("nan")

    def paired(self, test, a, b, f):
        """Median of the ratios within each round; f of an answer and of its base's."""
        found = []
        for x, y, bx, by in zip(self.all(a.name, test), self.all(b.name, test), self.all(a.base or a.name, test), self.all(b.base or b.name, test)):
            with contextlib.suppress(ZeroDivisionError):
                p, q = f(x, bx), f(y, by)
                if q > 0:
                    found.append(p / q)
        return median(found) if found else float("nan")


VALUE = {
    "p50": lambda r: r.get("p50", float("nan")), "p99": lambda r: r.get("p99", float("nan")),
    "rate": lambda r: r["requests"] / r["seconds"], "mb": lambda r: r["bytes"] / r["seconds"] / 1e6,
    "cpu/request": lambda r: r["cpu"] / max(r["requests"], 1) * 1e6, "cpu/gib": lambda r: r["cpu"] / max(r["bytes"], 1) * GIB,
}
added = lambda x, base: x.get("p50", float("nan")) - base.get("p50", float("nan"))  # noqa: E731
added99 = lambda x, base: x.get("p99", float("nan")) - base.get("p99", float("nan"))  # noqa: E731
speed = lambda x, base: x["bytes"] / x["seconds"]  # noqa: E731
rate = lambda x, base: x["requests"] / x["seconds"]  # noqa: E731
cpu_byte = lambda x, base: x["cpu"] / max(x["bytes"], 1)  # noqa: E731
cpu_request = lambda x, base: x["cpu"] / max(x["requests"], 1)  # noqa: E731


def rounds(found, res, test, times, **job):
    large = max(SIZES[job.get("size", "1k")], job.get("send", 0)) > 64 * KIB
    order = [k for k in found if (k.bulk if large else k.small)]
    for _ in range(times):
        random.shuffle(order)
        for k in order:
            # mitmproxy as it comes does not get through 1 GiB within a minute.
            less = {"ms": 20000, **({"send": 16 * MIB} if job.get("send") else {"size": "16m"})} if k.slow and large and "requests" in job else {}
            res.add(k.name, test, k.do(**{**job, **less}))


def ratios(found, res, test, functions):
    """The lines of the kinds against those they are compared with."""
    by = {k.name: k for k in found}
    for mine, others in res.pairs:
        for other in others:
            if mine in by and other in by and res.all(mine, test) and res.all(other, test):
                words = [f"{name} {res.paired(test, by[mine], by[other], f):.2f}" for name, f in functions.items()]
                print(f"  {mine} / {other}: {', '.join(words)}")


def trouble(r):
    n = sum(x["errors"] for x in r)
    return f"  {n} errors: {next(x['why'] for x in r if x['errors'])}" if n else ""


def table(found, res, test, what):
    print(f"{'':<18}" + "".join(f"{w:>13}" for w in what))
    for k in found:
        if res.all(k.name, test):
            print(f"{k.name:<18}" + "".join(f"{res.mid(k.name, test, w):>13.1f}" for w in what) + trouble(res.all(k.name, test)))


def load_now():
    return f"load average {os.getloadavg()[0]:.2f}"


@contextlib.contextmanager
def on_one_cpu():
    """Everybody on one CPU: whether two of them happen to be neighbours is worth more than all that is to be measured."""
    def pin(cpus):
        for p in children_of(os.getpid()):
            for t in glob.glob(f"/proc/{p}/task/*"):
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(int(os.path.basename(t)), cpus)

    every = os.sched_getaffinity(0)
    pin({max(every)})
    try:
        yield
    finally:
        pin(every)


def latency(found, res, args):
    n = 3 if args.quick else args.rounds
    with on_one_cpu():
        latency_of(found, res, args, n, "-1cpu", "all on one CPU, ")
    latency_of(found, res, args, n, "", "")


def latency_of(found, res, args, n, suffix, where):
    for test, title, job in (("new", "a new connection and one request of 1 KiB", {"new": 1, "requests": 60 if args.quick else 200, "ms": 2000}),
                             ("kept", "a request of 1 KiB on a connection that is kept", {"requests": 500 if args.quick else 2000, "ms": 2000})):
        test += suffix
        rounds(found, res, test, n, **job)
        print(f"\n{title}: {where}one at a time; µs, CPU of what is in the middle; {n} rounds; {load_now()}")
        table(found, res, test, ["p50", "p99", "cpu/request"])
        ratios(found, res, test, {"added p50": added, "added p99": added99, "CPU": cpu_request})


def load(found, res, args):
    for n in (10, 100) if args.quick else (10, 100, 500):
        for new in (0, 1):
            test = f"load-{n}-{new}"
            rounds(found, res, test, 2 if args.quick else max(3, args.rounds // 2), n=n, ms=400 if args.quick else 1000, **({"new": 1} if new else {}))
            print(f"\n{n} connections at once, 1 KiB, {'a new one for each request' if new else 'kept'}: requests a second, µs; {load_now()}")
            table(found, res, test, ["rate", "p50", "p99", "cpu/request"])
            ratios(found, res, test, {"rate": rate, "CPU": cpu_request})


def sizes(found, res, args, wanted=None, up=False):
    wanted = wanted or [s for s in SIZES if s != "10g" and not (args.quick and SIZES[s] > MIB)]
    test = "up" if up else "size"
    for s in wanted:
        # ten times 1 GiB is more than a machine may have for who keeps it all
        rounds([k for k in found if not (k.slow and SIZES[s] > 16 * MIB)], res, f"{test}-{s}", 2 if args.quick else 3, n=10,
               ms=400 if args.quick else 1000, **({"send": SIZES[s]} if up else {"size": s}))
    print(f"\nbodies {'sent up' if up else 'received'} by size, 10 connections, kept: MB/s; {load_now()}")
    print(f"{'':<18}" + "".join(f"{s:>10}" for s in wanted))
    for k in found:
        print(f"{k.name:<18}" + "".join(f"{res.mid(k.name, f'{test}-{s}', 'mb'):>10.1f}" for s in wanted))
    for s in wanted:
        print(f" {s}")
        ratios(found, res, f"{test}-{s}", {"throughput": speed, "CPU": cpu_byte})


def rss(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def memory(found, res, args, what=None, most_ms=120000, **job):
    what = what or ("1g" if args.quick else "10g")
    print(f"\nmemory of gate and brokers, KiB, under {job.get('n', 1)} streams of {what}; {load_now()}")
    print(f"{'':<24}{'':<18}{'before':>8}{'most':>8}{'after':>8}")
    for k in found:
        who = comm_of_exe(children_of(k.client.p.pid), ("belljar-gate", "belljar-broker"))
        who = {f"{n} {i}" if i else n: p for n, pids in who.items() for i, p in enumerate(pids)}
        for test, words in (("down", {"size": what}), ("up", {"send": SIZES[what]})) if who else ():
            before = {n: rss(p) for n, p in who.items()}
            pid = os.fork()
            if pid == 0:  # watches meanwhile
                r, go = dict.fromkeys(who, 0), [True]
                signal.signal(signal.SIGTERM, lambda *_: go.clear())
                while go:
                    for n, p in who.items():
                        r[n] = max(r[n], rss(p))
                    time.sleep(0.05)
                with open(f"{args.scratch}/most", "w") as f:
                    json.dump(r, f)
                os._exit(0)
            r = k.do(ms=most_ms, **{"requests": 1, **job, **words})
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
            with open(f"{args.scratch}/most") as f:
                most = json.load(f)
            for n, p in who.items():
                print(f"{k.name + ' ' + test:<24}{n:<18}{before[n]:>8}{most[n]:>8}{rss(p):>8}  {r['bytes'] / GIB:.1f} GiB, {VALUE['mb'](r):.0f} MB/s{trouble([r])}")


def budgets(found, res, limits):
    """limits: (what, kind, beside which, tests, function of an answer and its base's, limit, whether it is the most)."""
    by = {k.name: k for k in found}
    lines = []

    for text, a, b, tests, f, limit, most in limits:
        for t in tests if a in by and b in by else ():
            x = res.paired(t, by[a], by[b], f)
            if x == x:
                lines.append(f"  {a} / {b}, {text}, {t}: {x:.2f} ({'<=' if most else '>='} {limit}){'' if (x <= limit if most else x >= limit) else '  MISSED'}")
    if lines:
        print(f"\nbudgets, medians of the ratios within each round; {load_now()}")
        print("\n".join(lines))


def main(script, options, names, measure):
    """measure(scratch, args, become): within the network, what is installed in place; its status is the script's."""
    ap = argparse.ArgumentParser()
    ap.add_argument("--quick", action="store_true", help="fewer rounds, smaller bodies: about a minute")
    ap.add_argument("--rounds", type=int, default=10)
    options(ap)
    ap.add_argument("--json", metavar="FILE", help="every answer of every round")
    ap.add_argument("--keep", action="store_true", help="leave the scratch directory")
    common.options(ap)
    args = ap.parse_args()
    if os.geteuid() != 0:
        print(f"{script}: left out: its network is made by root")
        return 0
    prog, helpers = common.installed(args.belljar)
    for tool in ("nginx", "openssl", "gcc", "ip"):
        if not shutil.which(tool):
            common.die(f"{tool} is not installed", "tools/deps bench")
    args.scratch = scratch = tempfile.mkdtemp(prefix="belljar-bench.", dir="/var/tmp")
    become, made, pid = [], False, 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # also then nothing stays behind
    try:
        os.chmod(scratch, 0o755)
        os.mkdir(f"{scratch}/ws")
        for p in (prog, *helpers):
            shutil.copy(p, scratch)
        run("gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", f"{HERE}/gate-load.c", "-o", f"{scratch}/gate-load",
            "-lssl", "-lcrypto", "-lpthread")
        shutil.copy(f"{scratch}/gate-load", f"{scratch}/ws")  # what a sandbox sees
        if not args.root:
            try:
                account = pwd.getpwnam(common.USER)
            except KeyError:
                run("useradd", "--create-home", "--shell", "/bin/sh", "--comment", common.MADE_HERE, common.USER)
                account = pwd.getpwnam(common.USER)
            made = account.pw_gecos == common.MADE_HERE
            become = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--init-groups", "--inh-caps=-all"]
        certificates(scratch, names)
        shutil.chown(f"{scratch}/ws", *(2 * (common.USER,) if become else (0, 0)))
        os.mkdir(f"{scratch}/state")
        shutil.chown(f"{scratch}/state", *(2 * (common.USER,) if become else (0, 0)))
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                status = measure(scratch, args, become)
            except Exception:
                import traceback
                traceback.print_exc()
            except SystemExit as e:
                status = e.code or 0
            except KeyboardInterrupt:
                status = 130
            finally:
                stop_all()
                sys.stdout.flush()
                os._exit(status)
        status, pid = os.waitpid(pid, 0)[1], 0
        return os.waitstatus_to_exitcode(status)
    finally:
        if pid:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
        if not args.keep:
            shutil.rmtree(scratch, ignore_errors=True)
        if made:
            subprocess.run(["userdel", "--remove", common.USER], capture_output=True)
