"""An upstream that says what it was told, at the pace it was told: a careless server, a hostile one, one that waits.

    m = mirror.Mirror(443, tls=context)         # in a lab, on a port that Lab(skip=...) leaves free
    m.answers["/path"] = b"HTTP/1.1 200 OK..."  # a whole response, or fn(request, connection), which sends by itself;
                                                # what it returns is sent, and False ends the connection
    m.early["/path"] = b"HTTP/1.1 100 ..."      # sent before a body is read
    m.seen                                      # requests that came whole; m.connections: every byte that came to it
    m.go                                        # an event that answers may wait for

Without an answer of its own a path is told "ok" and the request's first line. Threads, because answers wait. Standard library only.
"""
import contextlib
import socket
import ssl
import threading


class Request:
    def __init__(self, head, host):
        lines = head.decode("latin-1").split("\r\n")
        self.line, self.head = lines[0], head
        self.method, self.target, _ = (self.line + "  ").split(" ", 2)
        self.path, _, self.query = self.target.partition("?")
        self.fields = [(n.lower(), v.strip()) for n, _, v in (x.partition(":") for x in lines[1:] if x)]
        self.body, self.trailer, self.server = b"", b"", host
        self.host = (self.all("host") or [""])[0].partition(":")[0]

    def all(self, name):
        return [v for n, v in self.fields if n == name]

    def get(self, name, default=""):
        return ", ".join(self.all(name)) or default

    def bytes(self):
        return self.head + b"\r\n\r\n" + self.body + self.trailer

    def __repr__(self):
        return f"<{self.line} {self.fields} {self.body[:200]!r}>"


class Connection:
    def __init__(self, s, where):
        self.s, self.where, self.data, self.read, self.end = s, where, b"", 0, None

    def send(self, data):
        """As one piece, as far as that is in the sender's hands."""
        self.s.sendall(data)

    def more(self):
        got = self.s.recv(1 << 18)
        if not got:
            raise EOFError
        self.data += got

    def until(self, end):
        while (at := self.data.find(end, self.read)) < 0:
            self.more()
        text, self.read = self.data[self.read:at], at + len(end)
        return text

    def take(self, n):
        while len(self.data) - self.read < n:
            self.more()
        self.read += n
        return self.data[self.read - n:self.read]

    def ended(self, seconds=20):
        """Waits until the other side has ended it: "eof" or "reset"; None when it does not in that time."""
        self.s.settimeout(seconds)
        try:
            while True:
                self.more()
        except EOFError:
            self.end = "eof"
        except TimeoutError:
            return None
        except OSError:
            self.end = "reset"
        return self.end

    def __repr__(self):
        return f"<{self.where} {self.data[:400]!r} {self.end}>"


class Mirror:
    def __init__(self, port, tls=None):
        """tls: (certificate with its key, None), as lab.certificates makes it."""
        self.answers, self.early, self.seen, self.connections = {}, {}, [], []
        self.go = threading.Event()
        self.tls = None
        if tls:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(tls)
            self.tls.set_alpn_protocols(["http/1.1"])
        self.listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
        threading.Thread(target=self.accept, daemon=True).start()

    def forget(self):
        """What was seen, and what was to be answered."""
        self.seen.clear()
        self.connections.clear()
        self.answers.clear()
        self.early.clear()
        self.go.clear()

    def bytes(self):
        """All that came, as it came: of requests that did not come whole, too."""
        return b"\n".join(c.data for c in self.connections)

    def accept(self):
        while True:
            s, where = self.listener.accept()
            threading.Thread(target=self.serve, args=(s, where), daemon=True).start()

    def serve(self, s, where):
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        c = Connection(s, where[0])
        self.connections.append(c)
        try:
            if self.tls:
                c.s = self.tls.wrap_socket(s, server_side=True)
            while self.one(c):
                pass
            c.end = c.end or "closed"
        except EOFError:
            c.end = "eof"
        except (OSError, ValueError):
            c.end = "reset"
        finally:
            with contextlib.suppress(OSError):
                c.s.close()

    def one(self, c):
        r = Request(c.until(b"\r\n\r\n"), c.where)
        if r.path in self.early:
            c.send(self.early[r.path])
        if "chunked" in r.get("transfer-encoding"):
            while n := int(c.until(b"\r\n").partition(b";")[0], 16):
                r.body += c.take(n)
                c.take(2)
            while line := c.until(b"\r\n"):
                r.trailer += line + b"\r\n"
        else:
            r.body = c.take(int(r.get("content-length", "0")))
        self.seen.append(r)
        answer = self.answers.get(r.path, response(b"ok " + r.line.encode("latin-1")))
        if callable(answer):
            answer = answer(r, c)
        if answer is False:
            return False
        if answer:
            head, blank, body = answer.partition(b"\r\n\r\n")
            c.send(head + blank + (b"" if r.method == "HEAD" else body))
        return True


def response(body=b"", status="200 OK", **fields):
    """Whole; underscores of a field's name are hyphens. Only a field that is None is left out."""
    fields = {"Content-Type": "text/plain", "Content-Length": str(len(body))} | {n.replace("_", "-"): v for n, v in fields.items()}
    return f"HTTP/1.1 {status}\r\n".encode("latin-1") + "".join(f"{n}: {v}\r\n" for n, v in fields.items() if v is not None).encode("latin-1") + b"\r\n" + body


def chunked(pieces, trailer=b"", extension=b"", **fields):
    """The pieces as chunks, one each."""
    body = b"".join(b"%x%s\r\n%s\r\n" % (len(p), extension, p) for p in pieces) + b"0\r\n" + trailer + b"\r\n"
    return response(body, Content_Length=None, Transfer_Encoding="chunked", **fields)
