"""Runs belljar under ptrace(2) and does something to one of its processes at its N-th system call: kills it, stops it,
or lets the call fail. strace's --inject counts in every process alike; here the roles are told apart:

    cli         the command line            init        launcher, then belljar-init
    supervisor                              payload     the command
    walker      other children of the supervisor; below: what the payload starts

    run = Steps(argv, env, cwd)
    run.go()                            # to the end; run.counts is then {role: system calls}
    Steps(..., at=("init", 17), do=kill("supervisor", "init")).go()

do(run, pid) is called once, with the process `at` at the entry of that call; after it nothing is stepped any more.
Attached with PTRACE_SEIZE, so that stops are seen by real parents as without a tracer.
"""
import ctypes
import errno
import os
import pathlib
import platform
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
CONT, PEEKUSER, POKEUSER, DETACH, SYSCALL, GETEVENTMSG, SEIZE, LISTEN = 7, 3, 6, 17, 24, 0x4201, 0x4206, 0x4208
TRACESYSGOOD, TRACEFORK, TRACEVFORK, TRACECLONE, TRACEEXEC = 1, 2, 4, 8, 16
EVENT_FORK, EVENT_VFORK, EVENT_CLONE, EVENT_EXEC, EVENT_STOP = 1, 2, 3, 4, 128
WALL = 0x40000000
X86_64 = platform.machine() == "x86_64"
ORIG_RAX, RAX, RDI = 8 * 15, 8 * 10, 8 * 14


def ptrace(request, pid, addr=0, data=0):
    ctypes.set_errno(0)
    r = libc.ptrace(request, pid, addr, data)
    if r == -1 and (e := ctypes.get_errno()):
        raise OSError(e, os.strerror(e))
    return r


def kill(*roles, sig=signal.SIGKILL):
    def do(run, _pid):
        for role in roles:
            for pid in [p for p, r in run.roles.items() if r == role and p in run.alive]:
                try:
                    os.kill(pid, sig)
                except ProcessLookupError:
                    pass
    return do


def fail_with(number):
    """The call is not made; it returns -number. x86_64 only."""
    def do(run, pid):
        run.syscall = ptrace(PEEKUSER, pid, ORIG_RAX)
        ptrace(POKEUSER, pid, ORIG_RAX, ctypes.c_void_p(-1 & (1 << 64) - 1))
        run.failing, run.failed = (pid, number), pid
    return do


def hold(run, pid):
    """The process stays at its call until the others are gone or wait for it."""
    run.held = pid


HOLD = 0.25     # seconds without an event, after which the others count as waiting


class Hang(Exception):
    pass


def pid_namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return os.readlink("/proc/self/ns/pid")     # gone already: it was none that stays


class Steps:
    def __init__(self, argv, env, cwd, at=None, do=None, out=None, err=None, limit=20.0, count=False,
                 before_exec=False, when=None, at_exec=None, spare=()):
        self.argv, self.env, self.cwd, self.at, self.do, self.limit = argv, env, cwd, at, do, limit
        self.out, self.err = out, err
        self.count = count
        self.when = when                # (number, first argument) -> bool: else the next call that is so
        self.at_exec = at_exec          # called once the payload has become the command, which waits meanwhile
        self.spare = set(spare)         # roles that are let go of at once: newuidmap has no rights under a tracer
        self.before_exec = before_exec  # the payload is stepped until it becomes the command
        self.roles, self.parents, self.alive, self.inside = {}, {}, set(), {}
        self.counts, self.status, self.done_at, self.failing, self.syscall = {}, None, None, None, None
        self.failed = None
        self.held = None
        self.early = set()
        self.stepping = set()
        self.names = []
        if count:
            self.stepping = {"cli", "supervisor", "init", "payload", "walker"}
        elif at:
            self.stepping = {at[0]}

    def spawn(self):
        gate_r, gate_w = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(gate_w)
                os.setsid()
                null = os.open("/dev/null", os.O_RDWR)
                os.dup2(null, 0)
                os.dup2(self.out if self.out is not None else null, 1)
                os.dup2(self.err if self.err is not None else null, 2)
                for s in (signal.SIGPIPE, signal.SIGXFSZ):
                    signal.signal(s, signal.SIG_DFL)
                os.chdir(self.cwd)
                os.read(gate_r, 1)
                os.closerange(3, 64)
                os.execve(self.argv[0], self.argv, self.env)
            finally:
                os._exit(99)
        os.close(gate_r)
        ptrace(SEIZE, pid, 0, TRACESYSGOOD | TRACEFORK | TRACEVFORK | TRACECLONE | TRACEEXEC)
        self.cli = pid
        self.roles[pid] = "cli"
        self.alive.add(pid)
        self.started = False        # counted from its exec on
        os.write(gate_w, b"x")
        os.close(gate_w)

    def role_of(self, child, parent):
        up = self.roles.get(parent)
        mine = [r for p, r in self.roles.items() if self.parents.get(p) == parent]
        if up == "cli":
            return "supervisor" if "supervisor" not in mine else "other"
        if up == "supervisor":
            return "init" if "init" not in mine and pid_namespace(child) != pid_namespace("self") else "walker"
        if up == "init":
            return "payload" if "payload" not in mine else "below"
        return "below"

    def born(self, child, parent):
        if child in self.roles:
            return
        self.roles[child] = self.role_of(child, parent)
        self.parents[child] = parent
        self.alive.add(child)

    def let_go(self, pid):
        if self.roles.get(pid) not in self.spare or pid not in self.alive:
            return False
        self.alive.discard(pid)
        ptrace(DETACH, pid)
        return True

    def resume(self, pid, sig=0):
        if pid == self.held:
            return
        step = self.started and self.roles.get(pid) in self.stepping and (self.count or self.done_at is None)
        if self.failing and self.failing[0] == pid:
            step = True
        try:
            ptrace(SYSCALL if step else CONT, pid, 0, int(sig))
        except OSError as e:
            if e.errno != errno.ESRCH:
                raise

    def on_syscall(self, pid):
        self.inside[pid] = not self.inside.get(pid, False)
        if not self.inside[pid]:
            if self.failing and self.failing[0] == pid:
                ptrace(POKEUSER, pid, RAX, ctypes.c_void_p(-self.failing[1] & (1 << 64) - 1))
                self.failing = None
            return
        role = self.roles[pid]
        n = self.counts[role] = self.counts.get(role, 0) + 1
        if self.count and X86_64:
            self.names.append((role, n, ptrace(PEEKUSER, pid, ORIG_RAX), ptrace(PEEKUSER, pid, RDI)))
        if self.at and self.done_at is None and role == self.at[0] and n >= self.at[1] and \
                (self.when is None or self.when(ptrace(PEEKUSER, pid, ORIG_RAX), ptrace(PEEKUSER, pid, RDI))):
            self.done_at = time.monotonic()
            self.do(self, pid)

    def on_stop(self, pid, status):
        sig, event = os.WSTOPSIG(status), status >> 16
        if pid not in self.roles:
            if event == EVENT_STOP:
                self.early.add(pid)     # before its parent's report: waits for it
                self.adopt()
                return
        if event in (EVENT_FORK, EVENT_VFORK, EVENT_CLONE):
            child = ctypes.c_ulong()
            ptrace(GETEVENTMSG, pid, 0, ctypes.addressof(child))
            self.born(child.value, pid)
            if child.value in self.early:
                self.early.discard(child.value)
                self.let_go(child.value) or self.resume(child.value)
            self.resume(pid)
        elif event == EVENT_EXEC:
            self.started = True
            if self.at_exec and self.roles.get(pid) == "payload":
                self.at_exec()
                self.at_exec = None
            if self.before_exec and self.roles.get(pid) == "payload":
                self.stepping.discard("payload")
            self.inside[pid] = True     # of execve itself: its exit follows where it is stepped
            if pid == self.cli and not self.counts:
                self.inside[pid] = False if "cli" not in self.stepping else True
            self.resume(pid)
        elif event == EVENT_STOP:
            if sig in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
                ptrace(LISTEN, pid)
            elif not self.let_go(pid):
                self.resume(pid)
        elif sig == signal.SIGTRAP | 0x80:
            self.on_syscall(pid)
            self.resume(pid)
        else:
            self.resume(pid, sig)

    def adopt(self):
        """A child whose parent died before the kernel told of its birth waits for nothing any more."""
        for pid in list(self.early):
            try:
                parent = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            if parent not in self.alive:
                self.early.discard(pid)
                self.born(pid, parent)
                self.resume(pid)

    def wait(self):
        since = time.monotonic()
        while self.held is not None:
            pid, status = os.waitpid(-1, WALL | os.WNOHANG)
            if pid:
                return pid, status
            if self.alive == {self.held} or time.monotonic() - since > HOLD:
                pid, self.held = self.held, None
                self.resume(pid)
            else:
                time.sleep(0.001)
        return os.waitpid(-1, WALL)

    def go(self):
        """Until all are gone. False when that was not within the limit: self.hung says who is left."""
        self.spawn()
        self.hung = []
        begin = time.monotonic()

        def late(*_):
            raise Hang
        old = signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, self.limit)
        try:
            while self.alive or self.early:
                try:
                    pid, status = self.wait()
                except ChildProcessError:
                    break
                if os.WIFSTOPPED(status):
                    try:
                        self.on_stop(pid, status)
                    except OSError as e:
                        if e.errno != errno.ESRCH:
                            raise
                else:
                    self.alive.discard(pid)
                    self.early.discard(pid)
                    self.adopt()
                    if pid == self.cli:
                        self.status = os.waitstatus_to_exitcode(status)
                        self.status_at = time.monotonic()
        except Hang:
            for pid in self.alive | self.early:
                self.hung.append(f"{self.roles.get(pid, '?')} {pid}: {describe(pid)}")
            self.end_all()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)
        self.seconds = time.monotonic() - begin
        self.after = time.monotonic() - self.done_at if self.done_at else None
        return not self.hung

    def end_all(self):
        end = time.monotonic() + 5
        for pid in self.alive | self.early:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while self.alive and time.monotonic() < end:
            try:
                pid, status = os.waitpid(-1, WALL | os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                time.sleep(0.005)
            elif not os.WIFSTOPPED(status):
                self.alive.discard(pid)
            else:
                try:
                    ptrace(CONT, pid)
                except OSError:
                    pass


def describe(pid):
    words = []
    for name in ("comm", "wchan", "syscall"):
        try:
            words.append(open(f"/proc/{pid}/{name}").read().strip()[:60])
        except OSError:
            pass
    try:
        words.append(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0])
    except OSError:
        words.append("gone")
    return " ".join(words)
