"""What a run could leave behind, counted: the census of law 11 ("no orphans"), and what the tests here share.

    before = Census(place)              # place: a Place below
    ... runs ...
    left = before.left()                # settles for at most 2 s; {} when nothing stays

Counted are processes (descendants of this one, which adopts what is orphaned; and with everywhere=True whatever is
named belljar* on the host), namespaces held by them, mounts of the caller, control groups, unix sockets, SysV IPC,
/dev/shm, locks, open files of this process, temporary files, /run/belljar, and the state directory by its own rules.
Python's standard library only. With BELLJAR_TIER=container (tests/containment/image/store.py) every run is on an image.
"""
import ctypes
import fcntl
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "containment", "image"))
import store  # noqa: E402

SETTLE = 6.0            # seconds: what is shared and busy takes its time
UNCHANGED_MAX = 24      # records of runs that changed nothing (src/svc/state.c)
PR_SET_CHILD_SUBREAPER, CLONE_NEWNS, MS_REC, MS_PRIVATE = 36, 0x20000, 0x4000, 1 << 18
NAMESPACES = ("user", "mnt", "pid", "ipc", "uts", "net", "cgroup")
HERE = pathlib.Path(__file__).resolve().parent
STATE_FILES = {"plan.json", "started.json", "ended.json", "trail.jsonl", "upper", "work", "shadow", "hidden", "cgroup", "upper.discarded", "applied"}
libc = ctypes.CDLL(None, use_errno=True)


# --- TAP.

class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def ok(self, good, name, why=""):
        self.n += 1
        self.failed += not good
        if not good:
            for line in str(why).split("\n")[:60]:
                print(f"# {line}")
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}", flush=True)
        return good

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {why}", flush=True)

    def note(self, text):
        for line in str(text).split("\n"):
            print(f"# {line}", flush=True)

    def done(self):
        print(f"1..{self.n}\n# done", flush=True)
        return 1 if self.failed else 0


# --- Processes.

def begin():
    """Adopts what is orphaned; by root, also steps out of the way of others' mounts."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.geteuid() == 0 and libc.unshare(CLONE_NEWNS) == 0:
        libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)


def reap():
    """Orphans that ended: those that this process did not start itself have no other parent."""
    known = {p.pid for p in Place.running}
    for pid in children_of(os.getpid()):
        if pid not in known and state_of(pid) == "Z":
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def stat_of(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    comm, _, rest = text.partition("(")[2].rpartition(")")
    return comm, rest.split()


def state_of(pid):
    s = stat_of(pid)
    return s[1][0] if s else None


def all_pids():
    return [int(e) for e in os.listdir("/proc") if e.isdigit()]


def children_of(root):
    return [pid for pid in all_pids() if (s := stat_of(pid)) and int(s[1][1]) == root]


def living_below(root):
    """Descendants that are not zombies: {pid: "pid comm state"}."""
    children = {}
    for pid in all_pids():
        s = stat_of(pid)
        if s:
            children.setdefault(int(s[1][1]), []).append((pid, s[0], s[1][0]))
    living, todo = {}, [root]
    while todo:
        for pid, comm, state in children.get(todo.pop(), []):
            todo.append(pid)
            if state not in "ZX":
                living[pid] = f"{pid} {comm} {state}"
    return living


def namespace_set(pids):
    found = set()
    for pid in pids:
        for name in NAMESPACES:
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/{name}"))
            except OSError:
                pass
    return found


# --- Control groups.

def cgroup_mounts():
    """{mount point: controllers or "" for v2}"""
    mounts = {}
    for line in open("/proc/self/mountinfo"):
        left, _, right = line.partition(" - ")
        kind = right.split()[0]
        if kind in ("cgroup", "cgroup2"):
            mounts[left.split()[4]] = "" if kind == "cgroup2" else right.split()[2]
    return mounts


def own_groups():
    """Directories of this process's groups, those that can be seen."""
    mounts, own = cgroup_mounts(), []
    for line in open("/proc/self/cgroup"):
        _, names, path = line.rstrip("\n").split(":", 2)
        for mount, options in mounts.items():
            if (names == "" and options == "") or (names and set(names.split(",")) <= set(options.split(","))):
                d = pathlib.Path(mount + path)
                if d.is_dir():
                    own.append((names, d))
                break
    return own


class Scope:
    """Groups of this process's own, beneath which Belljar makes its groups: what stays there is ours. Only by root and
    beside v1 trees; in a v2-only tree the controllers of a group with processes are not handed down."""
    def __init__(self):
        self.made = []
        groups = own_groups()
        if os.geteuid() != 0 or not any(names for names, _ in groups):
            return
        for names, old in groups:
            if names not in ("", "memory", "cpu", "pids", "freezer", "cpu,cpuacct"):
                continue
            new = old / f"fault-{os.getpid()}"
            try:
                new.mkdir()
                (new / "cgroup.procs").write_text(str(os.getpid()))
            except OSError as e:
                if new.is_dir():
                    new.rmdir()
                print(f"# no group of our own in {old}: {e}")
                continue
            self.made.append((old, new))

    def close(self):
        left = []
        for old, new in self.made:
            (old / "cgroup.procs").write_text(str(os.getpid()))
            end = time.monotonic() + SETTLE
            while True:
                try:
                    new.rmdir()
                    break
                except OSError as e:
                    if time.monotonic() > end:
                        left.append(f"{new}: {e.strerror}: " + " ".join(p.name for p in new.iterdir() if p.is_dir()))
                        break
                    time.sleep(0.02)
        self.made = []
        return left


def groups_now(scope):
    """Belljar's groups: all beneath our own, else those of the host that belong to this user."""
    found = set()
    tops = [str(new) for _, new in scope.made] if scope and scope.made else list(cgroup_mounts())
    for top in tops:
        for path, dirs, _ in os.walk(top):
            found.update(os.path.join(path, d) for d in dirs if d.startswith("belljar-") and d != "belljar-self")
    if not (scope and scope.made):
        found = {g for g in found if owner(g) == os.geteuid()}
    return found


def owner(path):
    try:
        return os.stat(path).st_uid
    except OSError:
        return -1


# --- A place to run in, with a state directory of its own.

class Place:
    running = set()

    def __init__(self, scope=None):
        self.scope = scope
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="fault-"))
        self.dir.chmod(0o755)
        self.state = self.dir / "state"
        self.work = self.dir / "work"
        self.tmp = self.dir / "tmp"
        for d in (self.state, self.work, self.tmp):
            d.mkdir(mode=0o700 if d == self.state else 0o755)
        (self.work / "kept").write_text("as it was\n")
        (self.work / "gone").write_text("to be removed\n")
        self.belljar = find_belljar()
        self.env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "USER", "LOGNAME", "LANG")}
        self.env.update(XDG_STATE_HOME=str(self.state), TMPDIR=str(self.tmp), FAULT_PLACE=str(self.dir))
        self.options = []   # of every run
        if store.CONTAINER:
            self.options = ["--image", store.IMAGE]
            store.link(store.find(self.belljar, str(self.dir)), self.state)

    def argv(self, command, *args):
        return [self.belljar, command, *(self.options if command == "run" else []), *map(str, args)]

    def start(self, *args, **more):
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                "cwd": self.work, "env": self.env, "errors": "replace"} | more
        p = subprocess.Popen(self.argv(*args), **more)
        Place.running.add(p)
        return p

    def finish(self, p, timeout=30):
        """(status, out, err); status is None when it did not end in time (it is killed then)."""
        try:
            out, err = p.communicate(timeout=timeout)
            status = p.returncode
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            status = None
        Place.running.discard(p)
        return status, out or "", err or ""

    def run(self, *args, timeout=30, **more):
        return self.finish(self.start(*args, **more), timeout)

    def records(self, place=None):
        return sorted(d for p in (["sandboxes", "unchanged"] if place is None else [place])
                      if (self.state / "belljar" / p).is_dir() for d in (self.state / "belljar" / p).iterdir())

    def locked(self):
        found = []
        for d in self.records():
            try:
                fd = os.open(d, os.O_RDONLY | os.O_DIRECTORY)
            except OSError:
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(f"{d.parent.name}/{d.name}")
            os.close(fd)
        return found

    def check_state(self, after_ps=True):
        """What is wrong with the state directory; [] when it is as state.h says."""
        wrong = [f"locked: {d}" for d in self.locked()]
        top = self.state / "belljar"
        if not top.is_dir():
            return wrong
        wrong += [f"unknown in the state directory: {d.name}" for d in top.iterdir() if d.name not in ("sandboxes", "unchanged", "images", "trail.key", "trail.pub")]
        if len(self.records("unchanged")) > UNCHANGED_MAX:
            wrong.append(f"{len(self.records('unchanged'))} records of unchanged runs")
        for d in self.records():
            what = f"{d.parent.name}/{d.name}"
            names = {f.name for f in d.iterdir()}
            if names - STATE_FILES:
                wrong.append(f"{what}: unknown files: {sorted(names - STATE_FILES)}")
            if after_ps and "cgroup" in names and (groups := (d / "cgroup").read_text().split()):
                wrong.append(f"{what}: a cgroup file: {groups}")
        return wrong

    def check_commands(self, remove=True):
        """ps, inspect, diff, discard and rm on whatever is there."""
        wrong = []
        status, out, err = self.run("ps", "-a", "--json")
        try:
            listed = {r["id"]: r for r in json.loads(out)}
        except ValueError:
            return [f"ps -a --json: status {status}: {out!r} {err!r}"]
        ids = {d.name for d in self.records()}
        if status != 0 or set(listed) != ids:
            wrong.append(f"ps -a: status {status}, lists {sorted(listed)}, there are {sorted(ids)}: {err}")
        wrong += [f"ps: {i} is {r['state']}" for i, r in listed.items() if r["state"] != "ended"]
        for i in sorted(d.name for d in self.records("sandboxes")):
            whole = (self.state / "belljar/sandboxes" / i / "plan.json")
            planned = whole.is_file() and f'"{i}"' in whole.read_text(errors="replace")
            for words in (["inspect", i], ["inspect", "--json", i], ["diff", i], ["diff", "--json", i], ["discard", i]):
                status, out, err = self.run(*words)
                # A run that was ended before its plan was written has no workspace to compare with.
                if status != 0 and planned:
                    wrong.append(f"{' '.join(words)}: status {status}: {err.strip()}")
                elif status not in (0, 1, 125) or (status and err.count("\n") > 2):
                    wrong.append(f"{' '.join(words)}: status {status}: {err.strip()}")
        if remove:
            wrong += self.remove_all()
        return wrong

    def remove_all(self):
        ids = [d.name for d in self.records("sandboxes")]
        if not ids:
            return []
        status, _, err = self.run("rm", *ids)
        left = [d.name for d in self.records("sandboxes")]
        return [f"rm: status {status}, left {left}: {err}"] if status or left else []

    def check_workspace(self):
        """cow runs only: the workspace is as it was."""
        names = sorted(p.name for p in self.work.iterdir())
        if names != ["gone", "kept"] or (self.work / "kept").read_text() != "as it was\n":
            return [f"the workspace was changed: {names}"]
        return []

    def close(self):
        subprocess.run([*store.AS_OWNER, "rm", "-rf", self.state], check=False, stderr=subprocess.DEVNULL)
        for d, dirs, _ in os.walk(self.dir):
            for name in dirs:
                try:
                    if not stat.S_ISLNK(os.lstat(f"{d}/{name}").st_mode):
                        os.chmod(f"{d}/{name}", 0o700)
                except OSError:
                    pass
        shutil.rmtree(self.dir, ignore_errors=True)


def find_belljar():
    path = os.environ.get("BELLJAR") or str(HERE.parents[1] / "build/src/belljar")
    if not os.access(path, os.X_OK):
        print(f"Bail out! {path} is not there: build first, or set BELLJAR")
        sys.exit(1)
    return os.path.abspath(path)


# --- The census.

def lines_of(path, skip=0):
    try:
        return open(path, errors="replace").read().split("\n")[skip:-1]
    except OSError:
        return []


def named(folder, prefix="belljar"):
    try:
        return {f"{folder}/{n}" for n in os.listdir(folder) if n.startswith(prefix)}
    except OSError:
        return set()


def locks_beneath(place):
    inodes = {}
    for d in place.records():
        try:
            inodes[d.stat().st_ino] = f"{d.parent.name}/{d.name}"
        except OSError:
            pass
    found = set()
    for line in lines_of("/proc/locks"):
        words = line.split()
        inode = next((w.rsplit(":", 1)[1] for w in words if w.count(":") == 2), "")
        if inode.isdigit() and int(inode) in inodes:
            found.add(f"{words[1]} {inodes[int(inode)]}")
    return found


def ranges_now():
    """How many ranges of ids are taken (src/svc/plan-ids.c), by whomever."""
    try:
        inode = os.stat("/run/belljar/ids").st_ino
    except OSError:
        return 0
    return sum(f":{inode} " in line for line in lines_of("/proc/locks"))


def mounts_now(place):
    """All, by root in a mount namespace of its own; by a user those that can be ours, beside others' on this host."""
    mounts = {line.split(" ", 3)[3] for line in lines_of("/proc/self/mountinfo")}
    if os.geteuid() == 0:
        return mounts
    return {m for m in mounts if "belljar" in m or str(place.dir) in m or " - overlay" in m}


class Census:
    def __init__(self, place, everywhere=False):
        self.place, self.everywhere = place, everywhere
        self.before = self.take()

    def take(self):
        reap()
        living = living_below(os.getpid())
        now = {
            "processes": set(living.values()),
            "namespaces": namespace_set([os.getpid(), *living]),
            "mounts": mounts_now(self.place),
            "control groups": groups_now(self.place.scope),
            "sockets": {w[7] for line in lines_of("/proc/net/unix", 1) if len(w := line.split()) > 7 and
                        ("belljar" in w[7] or str(self.place.dir) in w[7])},
            "SysV IPC": {f"{k} {' '.join(line.split()[:2])}" for k in ("shm", "sem", "msg")
                         for line in lines_of(f"/proc/sysvipc/{k}", 1)},
            "temporary files": {str(p) for p in self.place.tmp.iterdir()} | named("/dev/shm") | named("/tmp", "belljar-run")
                               | named("/var/tmp", "belljar-run"),
            "beside the state": {p.name for p in self.place.dir.iterdir()},
            "open files": {f"{fd}" for fd in os.listdir("/proc/self/fd")},
            "locks": locks_beneath(self.place),
            "ranges of ids": set(range(ranges_now())),
            "/run/belljar": {p for p in named("/run/belljar", "") if p != "/run/belljar/ids"},
        }
        if self.everywhere:
            now["processes"] |= {f"{p} {s[0]}" for p in all_pids() if (s := stat_of(p)) and s[0].startswith("belljar")}
        return now

    def differences(self):
        now = self.take()
        return {k: sorted(now[k] - self.before[k]) for k in now if now[k] - self.before[k]}

    def left(self, seconds=SETTLE, besides=()):
        """What was not there before, once things have settled."""
        end = time.monotonic() + seconds
        while (left := {k: v for k, v in self.differences().items() if k not in besides}) and time.monotonic() < end:
            time.sleep(0.02)
        return left


def kernel_counts():
    """Objects of the kernel that namespaces are made of (root only; others' come and go), and its slab memory in KiB."""
    counts = {}
    for line in lines_of("/proc/slabinfo", 2):
        w = line.split()
        if w[0] in ("net_namespace", "mnt_cache", "pid_namespace", "user_namespace", "uts_namespace"):
            counts[w[0]] = int(w[1])
    for line in lines_of("/proc/meminfo"):
        if line.startswith(("Slab:", "Percpu:")):
            counts[line.split(":")[0]] = int(line.split()[1])
    return counts


def kill_leftovers():
    """What a failed test left, so that the next is not blamed for it."""
    for pid in living_below(os.getpid()):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    time.sleep(0.05)
    reap()
