"""What the integration tests share: TAP, a place of their own to work in, belljar runs. Standard library only.

    from harness import *
    @case
    def name(): ...; check(condition, "what is shown", "why it failed")
    main()

A case reports any number of checks; one that raises has failed, one that raises Skip is skipped with its reason.
BELLJAR names the belljar to test; TMPDIR is the test's own folder. Arguments, or BELLJAR_CASES=NAME,..., choose cases by name.
"""
import contextlib
import hashlib
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.geteuid() == 0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HERE = pathlib.Path(__file__).resolve().parent
CASES = []
count = failed = 0


class Skip(Exception):
    pass


def case(fn):
    CASES.append(fn)
    return fn


def note(text):
    for line in str(text).splitlines():
        print("# " + line.encode("ascii", "backslashreplace").decode())
    sys.stdout.flush()


def check(condition, name, why=""):
    """One line of TAP; why is shown when it failed."""
    global count, failed
    count += 1
    print(f"{'ok' if condition else 'not ok'} {count} - {name}", flush=True)
    if not condition:
        failed += 1
        note(why)
    return bool(condition)


def skip(name, reason):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {reason}", flush=True)


def find(name, path=PATH):
    """The absolute path of a program, never one of the caller's own folders (a sandbox does not show them)."""
    return shutil.which(name, path=path)


def need(*names):
    for name in names:
        if not find(name):
            raise Skip(f"{name} is not installed (tests/integration/packages)")


def belljar():
    path = os.environ.get("BELLJAR")
    if not path or not os.access(path, os.X_OK):
        print("Bail out! BELLJAR must name the belljar to test")
        sys.exit(2)
    return os.path.realpath(path)


def environment(**more):
    """The caller's, without what would make a result depend on who calls."""
    env = {k: v for k, v in os.environ.items()
           if k in ("HOME", "USER", "LOGNAME", "TMPDIR", "BELLJAR") or k.startswith(("XDG_", "BELLJAR_"))}
    env.setdefault("HOME", "/")
    env.update(PATH=PATH, LANG="C.UTF-8", TERM="xterm-256color", SHELL="/bin/bash", **more)
    return env


BELLJAR = belljar()
TMP = os.path.realpath(tempfile.mkdtemp(prefix="bji-"))
os.chmod(TMP, 0o755)
if "XDG_STATE_HOME" not in os.environ:
    os.environ["XDG_STATE_HOME"] = f"{TMP}/state"
    os.mkdir(f"{TMP}/state", 0o700)


def workspace(name="w"):
    return tempfile.mkdtemp(prefix=f"{name}-", dir=TMP)


class Result:
    def __init__(self, rc, out, err, seconds):
        self.rc, self.out, self.err, self.seconds = rc, out, err, seconds

    def __str__(self):
        return f"status {self.rc} after {self.seconds:.1f} s\nstdout: {self.out[-3000:]}\nstderr: {self.err[-3000:]}"


def execute(argv, cwd=None, stdin=b"", timeout=60, env=None):
    """Runs a program of the host or of Belljar; one that takes too long is killed with its group: status None."""
    begin = time.monotonic()
    p = subprocess.Popen(argv, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env=environment() if env is None else env, start_new_session=True)
    try:
        out, err = p.communicate(stdin.encode() if isinstance(stdin, str) else stdin, timeout)
        rc = p.returncode
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        rc = None
    return Result(rc, out.decode(errors="replace"), err.decode(errors="replace"), time.monotonic() - begin)


def run(*argv, options=(), cwd, **kw):
    """belljar run -q OPTIONS -- ARGV in cwd."""
    return execute([BELLJAR, "run", "-q", *options, "--", *argv], cwd=cwd, **kw)


def shell(script, **kw):
    return run("sh", "-euc", script, **kw)


def wait_for(fn, seconds=10, step=0.02):
    end = time.monotonic() + seconds
    while True:
        value = fn()
        if value or time.monotonic() > end:
            return value
        time.sleep(step)


def processes():
    """(pid, parent, state, command line) of all that live."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            line = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if fields[0] not in "ZX":
            found.append((int(entry), int(fields[1]), fields[0], line))
    return found


def marked(mark):
    """Processes that have mark in their command line, this one apart."""
    return [p for p in processes() if mark in p[3] and p[0] != os.getpid()]


def tree_hash(root):
    """One hash over names, kinds, modes, owners, mtimes, links and contents of everything beneath root."""
    h = hashlib.sha256()
    for folder, dirs, files in os.walk(root):
        dirs.sort()
        names = sorted(files + [d for d in dirs if os.path.islink(os.path.join(folder, d))]) + ["."]
        for name in names:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            h.update(repr((os.path.relpath(path, root), st.st_mode, st.st_uid, st.st_gid, st.st_size, st.st_mtime_ns)).encode()
                     if not stat.S_ISDIR(st.st_mode)
                     else repr((os.path.relpath(folder, root), st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns)).encode())
            if stat.S_ISLNK(st.st_mode):
                h.update(os.readlink(path).encode())
            elif stat.S_ISREG(st.st_mode):
                with open(path, "rb") as f:
                    while block := f.read(1 << 20):
                        h.update(block)
    return h.hexdigest()


def remove(path):
    """Also what an overlay keeps in folders of mode 000, and while a run's supervisor still removes what it wrote to its root."""
    for folder, dirs, _ in os.walk(path):
        for name in dirs:
            if not os.path.islink(os.path.join(folder, name)):
                with contextlib.suppress(FileNotFoundError):
                    os.chmod(os.path.join(folder, name), 0o700)
    shutil.rmtree(path, onerror=lambda _, name, why: note(f"{name} cannot be removed: {why[1]}"))


def main():
    wanted = [a.replace("-", "_") for a in sys.argv[1:] or os.environ.get("BELLJAR_CASES", "").split(",") if a]
    for fn in CASES:
        if wanted and fn.__name__ not in wanted:
            continue
        begin = time.monotonic()
        try:
            fn()
        except Skip as e:
            skip(fn.__name__.replace("_", "-"), e)
        except Exception:  # noqa: BLE001 - a case that broke must be seen as one
            check(False, f"{fn.__name__} ran to its end", traceback.format_exc())
        note(f"{fn.__name__}: {time.monotonic() - begin:.1f} s")
    os.chdir("/")
    remove(TMP)
    print(f"1..{count}\n# done", flush=True)
    sys.exit(1 if failed else 0)
