"""A server for the lab of tests/lab that speaks the APIs of model providers as far as harnesses need it: Anthropic's messages,
OpenAI's responses, Gemini's streamGenerateContent, each streamed. It stands for a model that asks for one command of the harness's
own shell tool and then, once it has been told what came of it, says a word.

    server = providers.Server(certificate)      # on port 443 of every address of the lab
    server = providers.Server(None, 11434, "x") # without TLS, for apis of the host "x"
    server.command, server.word = "...", "..."
    server.requests                             # [{host, method, path, headers, body}]
    server.results                              # what harnesses said that the tool gave, as text
    server.apis += ((host, method, path, fn), ...)      # more that it answers: fn(server, request, body)
    server.refuse = fn                          # of a request: why it is refused with 401, or None

Standard library only.
"""
import http.server
import json
import re
import socket
import ssl
import threading
import typing

class Harness(typing.NamedTuple):
    recipe: str
    preset: str         # of the recipe's, its provider's
    words: tuple        # to run one prompt
    variable: str       # of its key
    host: str
    paths: str          # a pattern of what it may ask the provider for


HARNESSES = {
    "claude": Harness("harness/claude-code", "anthropic", ("-p", "run it", "--dangerously-skip-permissions"), "ANTHROPIC_API_KEY", "api.anthropic.com", r"/v1/messages"),
    "codex": Harness("harness/codex", "openai", ("exec", "--skip-git-repo-check", "run it"), "OPENAI_API_KEY", "api.openai.com", r"/v1/responses"),
    "gemini": Harness("harness/gemini-cli", "google-gemini", ("--approval-mode", "yolo", "-p", "run it"), "GEMINI_API_KEY", "generativelanguage.googleapis.com",
                      r"/v1beta/models/[^/]+:(generateContent|streamGenerateContent|countTokens)"),
}
CALL = "call_belljar_1"
MAX_BODY = 64 << 20


def texts(value):
    """Every string within a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from texts(v)
    elif isinstance(value, list):
        for v in value:
            yield from texts(v)


# ---- Anthropic ----

def anthropic(server, request, body):
    tools = {t.get("name") for t in body.get("tools", [])}
    results = [c for m in body.get("messages", []) if isinstance(m.get("content"), list) for c in m["content"]
               if isinstance(c, dict) and c.get("type") == "tool_result"]
    for c in results:
        server.result("anthropic", c)
    if "Bash" in tools and not results:
        block = {"type": "tool_use", "id": "toolu_" + CALL, "name": "Bash", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": server.command, "description": "Runs the command"})}
        reason = "tool_use"
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": server.word}
        reason = "end_turn"
    usage = {"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": usage}
    if not body.get("stream"):
        whole = {"type": "text", "text": server.word} if reason == "end_turn" else block | {"input": json.loads(delta["partial_json"])}
        return request.json(message | {"content": [whole], "stop_reason": reason})
    return request.stream([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"}], named=True)


def hello(server, request, body):
    """What Claude Code asks for at its first start on a terminal."""
    return request.json({"message": "hello"})


# ---- OpenAI ----

def shell_call(tools, command):
    """The call of the harness's own shell tool, by whichever of its names it has."""
    for t in tools:
        name = t.get("name")
        if name == "exec_command":
            return {"type": "function_call", "name": name, "arguments": json.dumps({"cmd": command, "yield_time_ms": 60000})}
        if name == "shell_command":
            return {"type": "function_call", "name": name, "arguments": json.dumps({"command": command, "timeout_ms": 60000})}
        if name == "shell":
            return {"type": "function_call", "name": name, "arguments": json.dumps({"command": ["bash", "-lc", command], "timeout_ms": 60000})}
        if name == "exec" and t.get("type") == "custom":
            call = f"const r = await tools.exec_command({json.dumps({'cmd': command, 'yield_time_ms': 60000})}); text(JSON.stringify(r));"
            return {"type": "custom_tool_call", "name": name, "input": call}
    return None


def all_tools(body):
    """Those of the request itself, and those that newer harnesses hand over as an item of the input; namespaces opened."""
    found = list(body.get("tools", []))
    for i in body.get("input", []):
        if isinstance(i, dict) and i.get("type") == "additional_tools":
            found += i.get("tools", [])
    for t in found:
        found += t.get("tools", [])
    return found


def openai(server, request, body):
    results = [i for i in body.get("input", []) if isinstance(i, dict) and str(i.get("type")).endswith("_call_output")]
    for i in results:
        server.result("openai", i)
    call = None if results else shell_call(all_tools(body), server.command)
    item = ({"id": "fc_1", "call_id": CALL, "status": "completed"} | call if call else
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": server.word, "annotations": []}]})
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20}
    response = {"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": body.get("model"), "output": []}
    return request.stream([
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response | {"status": "completed", "output": [item], "usage": usage}}], named=True)


# ---- Gemini ----

def gemini(server, request, body):
    tools = {f.get("name") for t in body.get("tools", []) for f in t.get("functionDeclarations", [])}
    parts = [p for c in body.get("contents", []) for p in c.get("parts", [])]
    results = [p for p in parts if "functionResponse" in p]
    for p in results:
        server.result("gemini", p)
    if "run_shell_command" in tools and not results:
        part = {"functionCall": {"id": CALL, "name": "run_shell_command", "args": {"command": server.command, "description": "Runs the command"}}}
    elif body.get("generationConfig", {}).get("responseMimeType") == "application/json":
        part = {"text": json.dumps({"reasoning": "a command", "model_choice": "flash", "complexity_reasoning": "low", "complexity_score": 1})}
    else:
        part = {"text": server.word}
    answer = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
              "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
              "modelVersion": "gemini-test", "responseId": "r1"}
    if ":streamGenerateContent" in request.path:
        return request.stream([answer])
    if ":countTokens" in request.path:
        return request.json({"totalTokens": 10})
    return request.json(answer)


APIS = (("api.anthropic.com", "POST", r"/v1/messages", anthropic), ("api.anthropic.com", "GET", "/api/hello", hello),
        ("platform.claude.com", "GET", "/v1/oauth/hello", hello), ("api.openai.com", "POST", r"/v1/responses", openai),
        ("generativelanguage.googleapis.com", "POST", r"/v1(beta|alpha)?/models/[^/]+:(generateContent|streamGenerateContent|countTokens)", gemini))


def json_or_bytes(data):
    try:
        return json.loads(data) if data else None
    except ValueError:      # a pack of git's, say
        return data


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.request.settimeout(120)
        if isinstance(self.request, ssl.SSLSocket):
            self.request.do_handshake()  # here and not in the listener's own thread
        super().setup()

    def log_message(self, *_):
        pass

    def take_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            data = b""
            while n := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(n)
                self.rfile.readline()
                if len(data) > MAX_BODY:
                    raise ValueError("a body without end")
            while self.rfile.readline().strip():
                pass
            return data
        return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MAX_BODY))

    def reply(self, status, kind, data, **fields):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def json(self, value, status=200):
        self.reply(status, "application/json", json.dumps(value).encode())

    def stream(self, events, named=False):
        """Server-sent events, each a chunk of its own, as providers send them."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for e in events:
            text = (f"event: {e['type']}\n" if named else "") + f"data: {json.dumps(e)}\n\n"
            self.wfile.write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def handle_any(self):
        server, data = self.server.lab, self.take_body()
        host = getattr(self.request, "lab_name", server.name)
        request = {"host": host, "method": self.command, "path": self.path, "headers": dict(self.headers), "body": data, "refused": None}
        server.requests.append(request)
        request["refused"] = why = server.refuse(request)
        if why:
            text = json.dumps({"error": {"type": "authentication_error", "message": why}})
            return self.reply(401, "application/json", text.encode(), WWW_Authenticate='Basic realm="lab"')
        for name, method, path, fn in server.apis:
            if host == name and method == self.command and re.fullmatch(path, self.path.split("?")[0]):
                return fn(server, self, json_or_bytes(data))
        return self.json({"error": {"type": "not_found_error", "message": "not in this lab"}}, 404)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = handle_any


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def handle_error(self, request, client_address):
        pass  # a client that ended


class Server:
    def __init__(self, certificate, port=443, name=None):
        self.name = name
        self.requests, self.results, self.command, self.word = [], [], "true", "done"
        self.apis, self.refuse = APIS, lambda request: None
        self.listener = Listener(("0.0.0.0", port), Request, bind_and_activate=False)
        if certificate:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            tls.set_alpn_protocols(["http/1.1"])

            def named(conn, sni, _):
                conn.lab_name = sni
            tls.sni_callback = named
            self.listener.socket.close()
            self.listener.socket = tls.wrap_socket(socket.socket(), server_side=True, do_handshake_on_connect=False)
        self.listener.allow_reuse_address = True
        self.listener.server_bind()
        self.listener.server_activate()
        self.listener.lab = self
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def forget(self):
        self.requests.clear()
        self.results.clear()

    def result(self, who, value):
        self.results.append((who, "\n".join(texts(value))))

    def log(self):
        return "\n".join(f"{r['method']} https://{r['host']}{r['path']} {len(r['body'])}" for r in self.requests) + f"\nresults {self.results}"
