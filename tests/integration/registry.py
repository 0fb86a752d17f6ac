"""Registries for tests: docker-registry on loopback, filled over its own protocol, and one of this file that lies. Standard
library only.

    with Docker(folder, tls=..., users=...) as r: r.push("name", "tag", manifest)
    with Liar() as l: l.blobs[digest] = ...; l.manifests["tag"] = ...
"""
import base64
import crypt
import hashlib
import http.client
import http.server
import json
import pathlib
import socket
import ssl
import subprocess
import threading
import time

from harness import Skip, find, wait_for

OCI = "application/vnd.oci.image."
DOCKER = "application/vnd.docker."


def sha(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def authority(folder):
    """A certificate of an authority and one that it gave to localhost and 127.0.0.1: folder/ca.crt, server.crt, server.key."""
    if not find("openssl"):
        raise Skip("openssl is not installed")
    pathlib.Path(folder, "ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    for words in (["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.crt",
                   "-days", "30", "-subj", "/CN=belljar test"],
                  ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "server.key", "-out", "server.csr",
                   "-subj", "/CN=localhost"],
                  ["x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.crt", "-days", "30",
                   "-extfile", "ext"]):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


class Image:
    """Of layers as oci.pack() makes them: `blobs`, `manifest` (its bytes), `digest`."""
    def __init__(self, *tars, arch="amd64", docker=False, config=None, **more):
        import gzip
        packed = [gzip.compress(t, 1, mtime=0) for t in tars]
        self.config = json.dumps({"architecture": arch, "os": "linux", "created": "2024-01-02T03:04:05Z", "config": config or {},
                                  "rootfs": {"type": "layers", "diff_ids": [sha(t) for t in tars]}}).encode()
        self.type = DOCKER + "distribution.manifest.v2+json" if docker else OCI + "manifest.v1+json"
        types = [DOCKER + "container.image.v1+json", DOCKER + "image.rootfs.diff.tar.gzip"] if docker else [OCI + "config.v1+json", OCI + "layer.v1.tar+gzip"]
        self.blobs = {sha(b): b for b in [self.config, *packed]}
        self.layers = [sha(p) for p in packed]

        def named(data, kind):
            return {"mediaType": kind, "digest": sha(data), "size": len(data)}
        self.value = {"schemaVersion": 2, "mediaType": self.type, "config": named(self.config, types[0]), "layers": [named(p, types[1]) for p in packed]} | more
        self.manifest = json.dumps(self.value).encode()
        self.digest = sha(self.manifest)


def index(*images):
    """(its bytes, their digest) for [(IMAGE, PLATFORM), ...]."""
    data = json.dumps({"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": [
        {"mediaType": i.type, "digest": i.digest, "size": len(i.manifest), "platform": p} for i, p in images]}).encode()
    return data, sha(data)


class Docker:
    """docker-registry(1). tls: a folder of authority(). users: {NAME: PASSWORD}."""
    def __init__(self, folder, tls=None, users=None):
        self.program = find("docker-registry")
        if not self.program:
            raise Skip("docker-registry is not installed (tools/deps test)")
        self.folder, self.port, self.tls, self.users = folder, free_port(), tls, users
        self.host = f"127.0.0.1:{self.port}"

    def __enter__(self):
        http_ = {"addr": self.host}
        if self.tls:
            http_["tls"] = {"certificate": f"{self.tls}/server.crt", "key": f"{self.tls}/server.key"}
        config = {"version": 0.1, "log": {"level": "error"}, "storage": {"filesystem": {"rootdirectory": f"{self.folder}/data"}}, "http": http_}
        if self.users:
            pathlib.Path(self.folder, "htpasswd").write_text(
                "".join(f"{n}:{crypt.crypt(p, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))}\n" for n, p in self.users.items()))
            config["auth"] = {"htpasswd": {"realm": "test", "path": f"{self.folder}/htpasswd"}}
        pathlib.Path(self.folder, "config.yml").write_text(json.dumps(config))
        with open(f"{self.folder}/log", "wb") as log:
            self.process = subprocess.Popen([self.program, "serve", f"{self.folder}/config.yml"], stdout=log, stderr=log, cwd=self.folder)

        def up():
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                return False
        if not wait_for(up, 20):
            self.__exit__()
            raise RuntimeError(pathlib.Path(self.folder, "log").read_text())
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=b"", **headers):
        if self.tls:
            c = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=20, context=ssl.create_default_context(cafile=f"{self.tls}/ca.crt"))
        else:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        if self.users:
            headers["Authorization"] = "Basic " + login(*next(iter(self.users.items())))
        c.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        r = c.getresponse()
        text = r.read()
        c.close()
        if r.status >= 300:
            raise RuntimeError(f"{method} {path}: {r.status} {text}")
        return r

    def push(self, name, tag, image):
        for digest, data in image.blobs.items():
            at = self.ask("POST", f"/v2/{name}/blobs/uploads/").getheader("Location").partition(self.host)[2]
            self.ask("PUT", f"{at}{'&' if '?' in at else '?'}digest={digest}", data, Content_Type="application/octet-stream")
        self.ask("PUT", f"/v2/{name}/manifests/{tag or image.digest}", image.manifest, Content_Type=image.type)

    def push_index(self, name, tag, data):
        self.ask("PUT", f"/v2/{name}/manifests/{tag}", data, Content_Type=OCI + "index.v1+json")


def login(name, password):
    return base64.b64encode(f"{name}:{password}".encode()).decode()


class Liar:
    """A registry whose answers are values: manifests by tag or digest, blobs by digest. bytes: sent as they are. A function is
    called with the handler and answers itself."""
    def __init__(self, address="127.0.0.1"):
        self.manifests, self.blobs, self.seen = {}, {}, []
        liar = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.do_GET()

            def do_GET(self):
                liar.seen.append((self.path, dict(self.headers)))
                self.close_connection = True
                kind, _, what = self.path.rpartition("/")
                table = liar.manifests if kind.endswith("/manifests") else liar.blobs if kind.endswith("/blobs") else {"": b"{}"}
                answer = table.get(what)
                try:
                    if answer is None:
                        self.send_error(404)
                    elif callable(answer):
                        answer(self)
                    else:
                        self.answer(answer, json.loads(answer).get("mediaType") if table is liar.manifests else "application/octet-stream")
                except (OSError, ValueError):
                    pass

            def answer(self, data, kind, length=None, status=200):
                self.send_response(status)
                self.send_header("Content-Type", kind or OCI + "manifest.v1+json")
                self.send_header("Content-Length", str(len(data) if length is None else length))
                self.end_headers()
                self.wfile.write(data)

            def endless(self, kind, block=b"\0" * 65536, pause=0.0):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while not liar.ended:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block))
                    time.sleep(pause)

            def redirect(self, to):
                self.send_response(307)
                self.send_header("Location", to)
                self.send_header("Content-Length", "0")
                self.end_headers()

        self.ended = False
        self.server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.host = f"{address}:{self.port}"

    def has(self, image, tag="1"):
        self.blobs.update(image.blobs)
        self.manifests[tag] = self.manifests[image.digest] = image.manifest
        return self

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.server.shutdown()
        self.server.server_close()
