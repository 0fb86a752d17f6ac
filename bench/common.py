"""What the benchmarks share: a scratch directory with a copy of the program and a workspace, an ordinary user where
root calls, other sandboxes' command lines with the same view of the host, and timing of one run.

Figures are ratios taken side by side in one run: the kinds take turns (round robin, in an order that changes), so that
a noisy machine treats all of them alike.
"""
import ctypes, glob, json, os, platform, pwd, random, resource, shutil, statistics, subprocess, sys, tempfile, time

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


def in_scratch(args, script):
    """Runs the script again in a scratch directory: as an ordinary user unless --root was given. Returns its status."""
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
        for name in (os.path.realpath(script), os.path.realpath(__file__)):
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


def runc_argv(scratch, rootless):
    """runc with the smallest bundle there is: a static busybox alone."""
    busybox = shutil.which("busybox")
    if not shutil.which("runc") or not busybox:
        return None
    bundle = f"{scratch}/bundle"
    if not os.path.isdir(bundle):
        os.makedirs(f"{bundle}/rootfs/bin")
        shutil.copy(busybox, f"{bundle}/rootfs/bin/busybox")
        os.symlink("busybox", f"{bundle}/rootfs/bin/true")
        subprocess.run(["runc", "spec"] + (["--rootless"] if rootless else []), cwd=bundle, check=True)
        with open(f"{bundle}/config.json") as f:
            spec = json.load(f)
        spec["process"].update(terminal=False, args=["/bin/true"])
        if rootless:  # no cgroup is delegated
            spec["mounts"] = [m for m in spec["mounts"] if m["type"] != "cgroup"]
        with open(f"{bundle}/config.json", "w") as f:
            json.dump(spec, f)
    return ["runc", "--root", f"{scratch}/runc", "run", "--bundle", bundle, "@id@"]


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
