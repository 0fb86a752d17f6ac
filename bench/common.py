"""What the benchmarks share: a scratch directory with a copy of the program and a workspace, an ordinary user where
root calls, other sandboxes' command lines with the same view of the host, and timing of one run.

Figures are ratios taken side by side in one run: the kinds take turns (round robin, in an order that changes), so that
a noisy machine treats all of them alike.
"""
import ctypes, glob, json, os, platform, pwd, random, resource, shlex, shutil, socket, stat, statistics, subprocess, sys
import tempfile, time

USER, MADE_HERE = "belljar-bench", "for bench/ only"


def die(msg, fix=None):
    print(f"bench: {msg}" + (f"\nfix: {fix}" if fix else ""), file=sys.stderr)
    sys.exit(2)


def installed(belljar):
    """The program and those that it executes: beside it in a build tree, in libexec installed."""
    belljar = belljar or os.environ.get("BELLJAR") or os.path.join(os.path.dirname(__file__), "../build/src/belljar")
    here = os.path.dirname(os.path.realpath(belljar))
    for d in (here, f"{here}/../libexec/belljar"):
        if os.access(belljar, os.X_OK) and os.access(f"{d}/belljar-init", os.X_OK):
            return belljar, [p for p in glob.glob(f"{d}/belljar-*") if os.path.isfile(p)]
    die(f"there is no {belljar} with its belljar-init", "make")


def in_scratch(args, script, *more):
    """Runs the script again in a scratch directory: as an ordinary user unless --root was given. Returns its status. More
    are files that it imports."""
    belljar, helpers = installed(args.belljar)
    made = None
    become = []
    scratch = tempfile.mkdtemp(prefix="belljar-bench.", dir="/var/tmp")
    try:
        os.chmod(scratch, 0o755)
        os.mkdir(f"{scratch}/ws")
        for name in ("README", "Makefile"):
            with open(f"{scratch}/ws/{name}", "w") as f:
                f.write("a file of the workspace\n")
        shutil.copy(belljar, f"{scratch}/belljar")
        for p in helpers:
            shutil.copy(p, scratch)
        account = pwd.getpwuid(os.geteuid())
        if os.geteuid() == 0 and not args.root:
            try:
                account = pwd.getpwnam(USER)
            except KeyError:
                subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", "--comment", MADE_HERE, USER],
                               check=True, capture_output=True)
                account = pwd.getpwnam(USER)
            made = account.pw_gecos == MADE_HERE
            subprocess.run(["chown", "-R", f"{account.pw_uid}:{account.pw_gid}", scratch], check=True)
            become = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--init-groups",
                      "--inh-caps=-all"]
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "USER": account.pw_name,
               "LOGNAME": account.pw_name, "HOME": account.pw_dir, "SHELL": "/bin/sh", "PYTHONDONTWRITEBYTECODE": "1",
               "XDG_STATE_HOME": f"{scratch}/state"}
        # The scripts are copied too: the tree may be where the user cannot read.
        for name in (os.path.realpath(script), os.path.realpath(__file__), *more):
            shutil.copy(name, scratch)
        inside = [sys.executable, f"{scratch}/{os.path.basename(script)}", *strip(sys.argv[1:]), "--scratch", scratch]
        return subprocess.run(become + inside, env=env, cwd=f"{scratch}/ws").returncode
    except KeyboardInterrupt:
        return 130
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", scratch], capture_output=True)
        shutil.rmtree(scratch, ignore_errors=True)
        if made:
            subprocess.run(["userdel", "--remove", USER], capture_output=True)


def strip(words):
    """Without --belljar PROGRAM, which the copy stands for."""
    out = list(words)
    for i, w in enumerate(out):
        if w == "--belljar":
            return out[:i] + out[i + 2:]
        if w.startswith("--belljar="):
            return out[:i] + out[i + 1:]
    return out


def options(parser):
    parser.add_argument("--belljar", metavar="PROGRAM", help="the program to measure (default: build/src/belljar)")
    parser.add_argument("--root", action="store_true", help="as root, instead of as an ordinary user")
    parser.add_argument("--scratch", help="internal")


def plan_of(belljar, cwd):
    r = subprocess.run([belljar, "run", "--dry-run", "--json", "--", "true"], cwd=cwd, capture_output=True, text=True)
    if r.returncode:
        die(f"belljar run --dry-run: {r.stderr.strip()}", "belljar doctor")
    return json.loads(r.stdout)


def bwrap_argv(plan, command):
    """bwrap with the view of the plan, op by op. Where bwrap cannot do the same it does less: the workspace is bound
    and not an overlay, /etc shows the host's own files, masks stay writable."""
    argv = ["bwrap", "--unshare-all", "--new-session", "--die-with-parent", "--clearenv", "--cap-drop", "ALL",
            "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--dev", "/dev"]
    for op in plan["operations"]:
        kind, target, source = op["op"], op["target"], op.get("source", op["target"])
        if target.startswith("/dev/"):
            continue  # --dev makes the same ones
        if kind in ("bind", "overlay"):
            if not os.path.exists(source):
                continue
            argv += ["--ro-bind" if "ro" in op.get("flags", "").split(",") else "--bind", source, target]
        elif kind == "link":
            argv += ["--symlink", source, target]
        elif kind == "dir":
            argv += ["--dir", target]
        elif kind == "scratch":
            argv += ["--tmpfs", target]
        elif kind == "proc":
            argv += ["--proc", target]
        elif kind == "sysfs":
            argv += ["--ro-bind", target, target]
        elif kind == "mask" and os.path.lexists(target):
            argv += ["--tmpfs", target] if os.path.isdir(target) else ["--ro-bind", "/dev/null", target]
        # "read-only" is /proc/sys, which --proc covers; files and whiteouts of layers have no equivalent
    return argv + ["--chdir", plan["cwd"], *command]


def busybox_rootfs(scratch):
    """The smallest root there is: a static busybox alone. None where it is not installed."""
    busybox, root = shutil.which("busybox"), f"{scratch}/busybox-rootfs"
    if busybox and not os.path.isdir(root):
        os.makedirs(f"{root}/bin")
        shutil.copy(busybox, f"{root}/bin/busybox")
        os.symlink("busybox", f"{root}/bin/true")
    return root if busybox else None


def bundle(name, scratch, rootfs, rootless):
    """What runc and runsc start: the rootfs as it lies there, without a layer for changes."""
    place = f"{scratch}/bundle-{name}"
    if not os.path.isdir(place):
        os.makedirs(place)
        subprocess.run(["runc", "spec"] + (["--rootless"] if rootless else []), cwd=place, check=True)
        with open(f"{place}/config.json") as f:
            spec = json.load(f)
        spec["process"].update(terminal=False, args=["/bin/true"])
        spec["root"].update(path=rootfs)
        if rootless:  # no cgroup is delegated
            spec["mounts"] = [m for m in spec["mounts"] if m["type"] != "cgroup"]
        with open(f"{place}/config.json", "w") as f:
            json.dump(spec, f)
    return place


def runc_argv(scratch, rootless, rootfs=None):
    rootfs = rootfs or busybox_rootfs(scratch)
    if not shutil.which("runc") or not rootfs:
        return None
    return ["runc", "--root", f"{scratch}/runc", "run", "--bundle", bundle("runc", scratch, rootfs, rootless), "@id@"]


def runsc_argv(scratch, rootless, rootfs):
    """With its default platform (ptrace where it is old); without a network, which an ordinary user could not have."""
    if not shutil.which("runsc") or not shutil.which("runc"):
        return None
    return ["runsc", "--root", f"{scratch}/runsc", *(["--rootless"] if rootless else []), "--ignore-cgroups",
            "--network=none",
            "run", "--bundle", bundle("runsc", scratch, rootfs, False), "@id@"]


def podman_argv(scratch, rootfs):
    """With a layer for changes, and the first runtime that works here: crun refuses hosts with cgroups v1 and v2."""
    if not shutil.which("podman"):
        return None
    for runtime in ("crun", "runc"):
        # The limits are those that nobody needs a right for.
        argv = ["podman", "--root", f"{scratch}/podman", "--runroot", f"{scratch}/podman-run", "--cgroup-manager",
                "cgroupfs", "--runtime",
                runtime, "run", "--rm", "--network", "none", "--log-driver", "none", "--ulimit", "nofile=1024:1024",
                "--ulimit", "nproc=1000:1000",
                "--rootfs", f"{rootfs}:O", "/bin/true"]
        if shutil.which(runtime) and not works(argv, "."):
            break
    return argv


def works(argv, cwd):
    """None, or why it cannot be measured."""
    try:
        r = subprocess.run(numbered(argv, 0), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=20)
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    if r.returncode:
        return ((r.stderr or r.stdout).strip().split("\n")[-1] or f"status {r.returncode}")[:70]
    return None


serial = 0


def numbered(argv, n):
    """runc wants a name of its own for each run."""
    global serial
    serial += 1
    return [a.replace("@id@", f"b{os.getpid()}-{serial}-{n}") for a in argv]


null = os.open("/dev/null", os.O_RDWR)
to_null = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]


def once(argv, n=0):
    """Seconds of one run, from spawn to wait; the status must be 0."""
    argv = numbered(argv, n)
    path = shutil.which(argv[0])
    t = time.perf_counter()
    pid = os.posix_spawn(path, argv, os.environ, file_actions=to_null)
    _, status = os.waitpid(pid, 0)
    t = time.perf_counter() - t
    if status:
        die(f"{argv[0]} ended with {os.waitstatus_to_exitcode(status)} in the middle of a measurement")
    return t


def cpu():
    """Seconds of CPU time of all children that were waited for, and of theirs."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def round_robin(kinds, rounds, warmup=5):
    """kinds: name -> argv. Returns name -> seconds and name -> CPU seconds, in the order of rounds."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what outlives the command counts as CPU time, too
    times, used = {k: [] for k in kinds}, {k: [] for k in kinds}
    order = list(kinds)
    for i in range(-warmup, rounds):
        random.shuffle(order)
        for k in order:
            before = cpu()
            t = once(kinds[k])
            try:
                while True:
                    os.wait()
            except ChildProcessError:
                pass
            if i >= 0:
                times[k].append(t)
                used[k].append(cpu() - before)
    return times, used


def machine():
    with open("/proc/cpuinfo") as f:
        model = next((x.split(":")[1].strip() for x in f if x.startswith("model name")), platform.machine())
    return (f"{os.uname().sysname} {os.uname().release}, {os.cpu_count()} CPUs ({model}), "
            f"load average {os.getloadavg()[0]:.2f}")


def quantile(values, q):
    v = sorted(values)
    return v[min(len(v) - 1, int(q * len(v)))]


def median(values):
    return statistics.median(values)


def with_hyperfine(kinds, runs, base):
    """The same by hyperfine, one block a kind: on a noisy machine less even than taking turns. Ratios to `base`."""
    if not shutil.which("hyperfine"):
        print("\nhyperfine: not installed")
        return
    argv = ["hyperfine", "-N", "--style", "none", "--warmup", "5", "--runs", str(runs), "--export-json",
            "../hyperfine.json"]
    for name, words in kinds.items():
        line = shlex.join(words)
        if "@id@" in line:  # a new name for each run costs a shell, about 0.5 ms
            line = shlex.join(["sh", "-c", "exec " + line.replace("@id@", "h$$")])
        argv += ["--command-name", name, line]
    r = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if r.returncode:
        print(f"\nhyperfine: {r.stderr.strip()}")
        return
    with open("../hyperfine.json") as f:
        found = {x["command"]: x for x in json.load(f)["results"]}
    print(f"\nby hyperfine, {runs} runs each, one block after the other")
    for name, x in found.items():
        ratio = x["median"] / found[base]["median"] if base in found else float("nan")
        print(f"{name:<12}{x['median'] * 1000:>7.2f} ms{x['min'] * 1000:>7.2f} ms{'':>10}{ratio:>10.2f}")


def table(times, used, why, base):
    """Medians and ratios to `base`; times and used as round_robin gives them."""
    first = times.get(base)
    head = "".join(f"{x:>10}" for x in ("median", "min", "p90", f"/ {base}", "min/min", "paired", "CPU"))
    print(f"{'':<12}{head}{'/ ' + base:>9}")
    for name, t in times.items():
        line = f"{name:<12}" + "".join(f"{x * 1000:>7.2f} ms" for x in (median(t), min(t), quantile(t, 0.9)))
        if first:
            paired = median([a / b for a, b in zip(t, first)])
            line += f"{median(t) / median(first):>10.2f}{min(t) / min(first):>10.2f}{paired:>10.2f}"
        line += f"{median(used[name]) * 1000:>7.2f} ms"
        if first:
            line += f"{median(used[name]) / median(used[base]):>9.2f}"
        print(line)
    for name, reason in why.items():
        print(f"{name:<12}not measured: {reason}")


def usable(kinds):
    """(kinds that work here, name -> why of the others)."""
    why = {}
    for name, argv in kinds.items():
        if not argv or not shutil.which(argv[0]):
            why[name] = "not installed (tools/deps bench)"
        else:
            why[name] = works(argv, ".")
    return {k: v for k, v in kinds.items() if not why[k]}, {k: v for k, v in why.items() if v}


def image(args):
    """Unpacks the tar for the others, as the user's own files, and imports it for Belljar: (root file system, Belljar's
    tree of it, what it is)."""
    tests = (os.environ.get("BELLJAR_TEST_CACHE") or "/var/cache/belljar-tests") + "/images/debian.tar.xz"
    source, what = args.image, f"{args.image}"
    if not source and os.path.exists(tests):
        source, what = tests, "the tests' Debian"
    rootfs = f"{args.scratch}/rootfs"
    if source:
        os.mkdir(rootfs)
        subprocess.run(["tar", "-C", rootfs, "--no-same-owner", "--exclude=./dev/*", "-xf", source], check=True)
    else:
        source = rootfs = busybox_rootfs(args.scratch)
        what = "a static busybox"
        if not rootfs:
            die("busybox is not installed", "tools/deps bench")
    os.makedirs(f"{rootfs}/dev", exist_ok=True)
    belljar = f"{args.scratch}/belljar"
    r = subprocess.run([belljar, "image", "import", "-q", "--name", "bench", source], capture_output=True, text=True)
    if r.returncode:
        die(f"belljar image import: {r.stderr.strip()}")
    layers = glob.glob(f"{os.environ['XDG_STATE_HOME']}/belljar/images/layers/*/tree")
    return rootfs, layers[0], what


def regular_files(tree):
    found = []
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.lstat(path).st_mode) and os.access(path, os.R_OK):
                found.append(path)
    return found


def write_back(path):
    """A page that is not written yet cannot be dropped."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    os.fdatasync(fd)
    os.close(fd)


libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


def resident(files):
    """Bytes of the files that are in the page cache (mincore(2), which tells the owner of a file only)."""
    total, page = 0, os.sysconf("SC_PAGESIZE")
    for path in files:
        st = os.stat(path)
        if st.st_size == 0 or os.geteuid() not in (0, st.st_uid):
            continue
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        at = libc.mmap(None, st.st_size, 1, 1, fd, 0)  # PROT_READ, MAP_SHARED: mapped, not read
        os.close(fd)
        pages = (st.st_size + page - 1) // page
        found = ctypes.create_string_buffer(pages)
        if libc.mincore(at, st.st_size, found) == 0:
            total += sum(b & 1 for b in found.raw) * page
        libc.munmap(at, st.st_size)
    return total


class Between:
    """Stands between the command and the sandbox's control socket: the moment at which the policy is handed over is known
    without slowing anything else down. uid: who the sandbox's supervisor is run by, where it is not who calls."""
    def __init__(self, folder, uid=None):
        self.uid = os.geteuid() if uid is None else uid
        os.chdir(folder)
        os.rename("sock", "real")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind("sock")
        os.chmod("sock", 0o666)
        self.listener.listen(8)

    def pass_on(self):
        """One request and its answer: (time of the hand-over, time of the answer)."""
        with self.listener.accept()[0] as asker, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as real:
            data, fds, _, _ = socket.recv_fds(asker, 4096, 8)
            caller = os.geteuid()
            os.seteuid(self.uid)
            real.connect("real")
            os.seteuid(caller)
            begin = time.monotonic()
            socket.send_fds(real, [data], fds)
            answer = real.recv(4096)
            end = time.monotonic()
            asker.send(answer)
            for fd in fds:
                os.close(fd)
        return begin, end
