"""Credentials of a test's own, made when it runs, and the search for them wherever they must not be.

    token = credentials.make("github")               # the form of the real kind; another one each time
    needles = credentials.encodings(token)           # it, its halves, and what usual encodings make of them
    credentials.search(data, needles)                # those that are in data
    credentials.search_files([folder, ...], needles)         # [(path, needle)]: names, links, attributes and contents
    credentials.search_processes(pids, needles)              # [(pid, mapping, needle)]: all memory that they have
    credentials.family(pid)                          # {pid: command line} of a process and all below it

A search that cannot look raises: nothing found means that it was looked for. Its twin is a search for what must be there.
Standard library only. By root of a lab: search_processes(..., execute=lab.as_root) runs this file as a program.
"""
import base64
import contextlib
import ctypes
import errno
import functools
import gzip
import json
import os
import pathlib
import random
import re
import stat
import string
import struct
import sys
import urllib.parse
import zlib

WORD = string.ascii_letters + string.digits
# Prefix and what follows it. Whole ones are in no file: a scanner would take them for somebody's.
KINDS = {
    "github": ("ghp_", WORD, 36),
    "npm": ("npm_", WORD, 36),
    "anthropic": ("sk-ant-api03-", WORD + "-_", 95),
    "openai": ("sk-proj-", WORD + "-_", 120),
    "google": ("AIza", WORD + "-_", 35),
    "word": ("", WORD, 32),
    "odd": ("", WORD + "+/=&\"\\% ~", 40),      # every encoding changes some of it
}
NEEDLE_MIN = 6              # bytes; anything shorter is found everywhere
RANDOM = random.SystemRandom()


def make(kind="word"):
    prefix, letters, n = KINDS[kind]
    while True:
        value = prefix + "".join(RANDOM.choice(letters) for _ in range(n))
        if value == value.strip() and (kind != "odd" or all(c in value for c in "+/\"\\%")):
            return value


# ---- encodings ----

def base64_parts(data):
    """What base64 makes of data behind 0, 1 and 2 other bytes, without the letters in which a neighbour has a share."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + data + bytes(3))
        yield text[-(-8 * before // 6):8 * (before + len(data)) // 6]


def forms(data):
    """The usual encodings of bytes, each as it stands amid others."""
    text = data.decode("latin-1")
    yield data
    yield text.encode("utf-16-le")
    for plain in ("", "/", "/:@!$'()*,;="):      # what is left as it is in a query by one program or another
        yield urllib.parse.quote(data, safe=plain).encode()
    yield urllib.parse.quote_plus(data).encode()
    for digits in ("02x", "02X"):
        yield "".join(f"%{b:{digits}}" for b in data).encode()
        yield "".join(f"\\u00{b:{digits}}" for b in data).encode()
        yield "".join(f"\\x{b:{digits}}" for b in data).encode()
        yield "".join(f"{b:{digits}}" for b in data).encode()
    yield json.dumps(text)[1:-1].encode()
    yield json.dumps(text)[1:-1].replace("/", "\\/").encode()
    for part in base64_parts(data):
        yield part
        yield part.replace(b"+", b"-").replace(b"/", b"_")


def encodings(text, halves=True, minimum=NEEDLE_MIN):
    """Byte strings, one of which is in all that gives text away: it and, unless told otherwise, either half of it, in every form."""
    data = text.encode() if isinstance(text, str) else bytes(text)
    middle = len(data) // 2
    parts = (data[:middle], data[middle:]) if halves and middle >= minimum else (data,)
    # Where the whole is, in whatever form, so are its halves.
    found = dict.fromkeys((data, *(x for part in parts for x in forms(part) if len(x) >= minimum)))
    return list(found)


# ---- searches ----

@functools.lru_cache(maxsize=64)
def any_of(needles):
    return re.compile(b"|".join(map(re.escape, needles)))


def search(data, needles):
    data = data.encode(errors="surrogateescape") if isinstance(data, str) else data
    return [n for n in needles if n in data] if any_of(tuple(needles)).search(data) else []     # in one pass where there is none


def unpacked(data):
    """What data is when it is compressed, as git's objects and packages are; b"" when it is not."""
    out = b""
    with contextlib.suppress(zlib.error, OSError, EOFError):
        if data[:2] == b"\x1f\x8b":
            out = gzip.decompress(data)
        elif data[:1] == b"\x78":
            out = zlib.decompressobj().decompress(data)
    return out


def of_file(path, needles):
    st = os.lstat(path)
    texts = [os.fsencode(path)]
    if stat.S_ISLNK(st.st_mode):
        texts.append(os.fsencode(os.readlink(path)))
    elif stat.S_ISREG(st.st_mode):
        data = pathlib.Path(path).read_bytes()
        texts += [data, unpacked(data)]
    with contextlib.suppress(OSError):      # a file system that has none
        texts += [os.fsencode(n) + b"=" + os.getxattr(path, n, follow_symlinks=False) for n in os.listxattr(path, follow_symlinks=False)]
    return [n for t in texts for n in search(t, needles)]


def search_files(places, needles):
    """[(path, needle)] of all files in places and beneath. A directory that is closed is opened: a test's own, after its run."""
    def fail(why):
        raise why
    found, count = [], 0
    for place in [places] if isinstance(places, (str, os.PathLike)) else places:
        paths = [os.fspath(place)]
        os.lstat(place)
        for folder, dirs, files in os.walk(place, onerror=fail):
            for name in dirs:
                path = os.path.join(folder, name)
                if not os.path.islink(path) and not os.access(path, os.R_OK | os.X_OK):
                    os.chmod(path, 0o700)
            paths += [os.path.join(folder, x) for x in (*dirs, *files)]
        for path in paths:
            with contextlib.suppress(FileNotFoundError):    # of a run that goes on
                found += [(path, n) for n in of_file(path, needles)]
                count += 1
    if not count:
        raise RuntimeError(f"no file in {places}")
    return found


# ---- memory ----

PAGE = os.sysconf("SC_PAGESIZE")
HUGE = 1 << 40              # bytes: only the shadow of a sanitizer is larger, which holds no content
WHOLE_MAX = 1 << 30
CHUNK = 8 << 20
ENTRIES = 1 << 18          # of the pagemap at once
# The highest byte of an entry, by its first three bits: present, swapped, of a file or shared.
ANY, OWN = re.compile(rb"[\x40-\xff]+"), re.compile(rb"[\x40-\x5f\x80-\x9f\xc0-\xdf]+")
LIBC = ctypes.CDLL(None, use_errno=True)
NOT_MEMORY = ("[vvar]", "[vvar_vclock]", "[vsyscall]")


def mappings(pid):
    """(first, end, rights, name) of those of which there is a page."""
    now, there, found = None, False, []
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            words = line.split(None, 5)
            if not words[0].endswith(":"):
                now = (*(int(x, 16) for x in words[0].split("-")), words[1], words[5].strip() if len(words) > 5 else "")
                there = False
            elif words[0] in ("Rss:", "Swap:") and int(words[1]) and not there:
                there = True
                found.append(now)
    return [m for m in found if m[1] - m[0] < HUGE and m[3] not in NOT_MEMORY]


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Memory:
    """That of a process. The files of one that cannot be dumped belong to root of the machine: whom a lab's namespace gives the
    right to trace it reads without them, and takes pages that are not there for pages of zeros."""
    def __init__(self, pid):
        self.pid, self.fds = pid, {}
        for name in ("mem", "pagemap"):
            with contextlib.suppress(PermissionError):
                self.fds[name] = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        self.whole = len(self.fds) < 2

    def close(self):
        for fd in self.fds.values():
            os.close(fd)

    def read(self, at, n):
        if not self.whole:
            return os.pread(self.fds["mem"], n, at)
        buffer = ctypes.create_string_buffer(n)
        here, there = Iovec(ctypes.addressof(buffer), n), Iovec(at, n)
        got = LIBC.process_vm_readv(self.pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        if got < 0:
            e = ctypes.get_errno()
            raise OSError(e, f"memory of {self.pid} at {at:x}: {os.strerror(e)}")
        return buffer.raw[:got]

    def present(self, first, end, name):
        """(first, end) of the runs of pages that are there, in memory or swapped, and not merely a file's that nobody changed."""
        wanted = OWN if name.startswith("/") and not name.startswith(("/memfd:", "/dev/", "/SYSV")) and not name.endswith("(deleted)") else ANY
        if self.whole:
            if end - first > WHOLE_MAX:
                raise OSError(errno.EFBIG, f"memory of {self.pid} at {first:x}: too large to be read without its pagemap")
            yield first, end
            return
        for at in range(first, end, PAGE * ENTRIES):
            data = os.pread(self.fds["pagemap"], min(ENTRIES, (end - at) // PAGE) * 8, at // PAGE * 8)
            for run in wanted.finditer(data[7::8]):
                yield at + run.start() * PAGE, at + run.end() * PAGE


def of_mapping(memory, mapping, needles):
    found, overlap = set(), max(map(len, needles)) - 1
    for first, end in memory.present(mapping[0], mapping[1], mapping[3]):
        kept = b""
        for at in range(first, end, CHUNK):
            data = memory.read(at, min(CHUNK, end - at))
            found |= set(search(kept + data, needles))
            kept = data[-overlap:]
    return found


def of_process(pid, needles):
    found, looked, memory = [], 0, Memory(pid)
    try:
        for m in mappings(pid):
            try:
                found += [(pid, f"{m[0]:x}-{m[1]:x} {m[2]} {m[3]}", n) for n in of_mapping(memory, m, needles)]
                looked += m[1] - m[0]
            except OSError:
                if m[2].startswith("r"):    # one that the process itself cannot read may be no memory
                    raise
    finally:
        memory.close()
    if not looked:
        raise RuntimeError(f"process {pid} has no memory: it has ended")
    return found


def search_processes(pids, needles, execute=None):
    """[(pid, mapping, needle)] of the memory of processes, which must be there throughout. Needs rights over them; execute
    (lab.as_root) starts this file as a program that has them."""
    pids = list(pids)
    if not pids or not needles:
        raise ValueError("nothing to search")
    if execute:
        r = execute(sys.executable, os.path.abspath(__file__), *map(str, pids), input=json.dumps([n.hex() for n in needles]), check=False)
        if r.returncode:
            raise RuntimeError(f"the memory of {pids} cannot be searched: {r.stderr[-1000:]}")
        return [(pid, where, bytes.fromhex(n)) for pid, where, n in json.loads(r.stdout)]
    return [hit for pid in pids for hit in of_process(pid, needles)]


def family(root):
    """{pid: command line} of a process and of all that descend from it."""
    parents, lines = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                fields = pathlib.Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()
                if fields[0] not in "ZX":
                    parents[int(entry)] = int(fields[1])
                    lines[int(entry)] = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    found = {}
    for pid in parents:
        at = pid
        while at in parents and at != root:
            at = parents[at]
        if at == root:
            found[pid] = lines[pid]
    return found


if __name__ == "__main__":
    print(json.dumps([(pid, where, n.hex()) for pid, where, n in
                      search_processes(map(int, sys.argv[1:]), [bytes.fromhex(x) for x in json.load(sys.stdin)])]))
