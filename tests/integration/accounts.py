"""Servers for the lab of tests/lab that know who asks: GitHub (git over https, and what gh asks of its API), a registry with a
private npm package, services that want a key in a header field, as Basic or in the query, and the models of providers.py. Each
takes one credential, made when the test runs, answers anything else with 401, and keeps what it was asked.

    service = accounts.Service(certificate, folder)     # on port 443; folder: for the repositories
    service.keys["github.com"]                          # the credential that this host takes
    service.requests, service.log()                     # as providers.Server has them; "refused" is why, or None
    service.during = fn                                 # called once, with the first request that it lets in, before that is answered
    service.head("acme/tool")                           # the commit at the end of a repository's main branch

Standard library and git only.
"""
import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import threading
import urllib.parse

import credentials
import lab
import providers

GITHUB, API, REGISTRY, FIELD, BASIC, QUERY = "github.com", "api.github.com", "packages.acme.test", "field.test", "basic.test", "query.test"
PACKAGE, VERSION = "@acme/thing", "1.2.3"
REPOSITORIES = ("acme/tool", "acme/read", "acme/hidden")


# ---- what a request shows ----

def field(request, name):
    return next((v for k, v in request["headers"].items() if k.lower() == name), "")


def authorization(request, *schemes):
    scheme, _, value = field(request, "authorization").partition(" ")
    return value if scheme.lower() in schemes else ""


def password(request, user=None):
    """That of Basic, and only of one user where it is named."""
    try:
        name, _, word = base64.b64decode(authorization(request, "basic"), validate=True).decode().partition(":")
    except ValueError:
        return ""
    return word if user in (None, name) else ""


def query(request, key):
    return (urllib.parse.parse_qs(request["path"].partition("?")[2]).get(key) or [""])[0]


TAKES = {       # host: (kind of credential, where it stands)
    GITHUB: ("github", password),
    API: ("github", lambda r: authorization(r, "token", "bearer")),
    REGISTRY: ("npm", lambda r: authorization(r, "bearer")),
    FIELD: ("word", lambda r: field(r, "x-api-key")),
    BASIC: ("odd", lambda r: password(r, "agent")),
    QUERY: ("odd", lambda r: query(r, "key")),
    "api.anthropic.com": ("anthropic", lambda r: field(r, "x-api-key")),
    "api.openai.com": ("openai", lambda r: authorization(r, "bearer")),
    "generativelanguage.googleapis.com": ("google", lambda r: field(r, "x-goog-api-key")),
}


# ---- what is answered ----

def mirror(server, request, body):
    """All that came, as a server in trouble shows it: in a field of the answer and in its content."""
    text = json.dumps({"path": request.path, "headers": dict(request.headers)})
    request.reply(200, "application/json", text.encode(), X_Came=" ".join(request.headers.values()).encode("ascii", "replace").decode())


def git(server, request, _):
    body = server.requests[-1]["body"]
    head = {k.lower(): v for k, v in request.headers.items()}
    r = subprocess.run(["git", "http-backend"], env=lab.git_environment(server.folder, request.command, request.path, head, len(body)), input=body,
                       capture_output=True, timeout=60, check=False)
    status, lines, answer = lab.git_parts(r.stdout)
    fields = dict(x.decode().split(": ", 1) for x in lines)
    request.reply(int(status.split()[0]), fields.pop("Content-Type", "text/plain"), answer, **{k.replace("-", "_"): v for k, v in fields.items()})


def repository(name):
    owner, _, short = name.partition("/")
    return {"id": "R_1", "name": short, "full_name": name, "nameWithOwner": name, "private": True, "owner": {"login": owner, "id": "O_1"},
            "description": f"the repository {name}", "url": f"https://{GITHUB}/{name}", "hasIssuesEnabled": True,
            "defaultBranchRef": {"name": "main"}, "default_branch": "main", "viewerPermission": "READ", "isPrivate": True}


def rest(server, request, body):
    name = "/".join(request.path.split("?")[0].split("/")[2:4])
    if name not in REPOSITORIES:
        return request.json({"message": "Not Found"}, 404)
    return request.json(repository(name))


def readme(server, request, body):
    text = base64.b64encode(b"# read me\n").decode()
    return request.json({"name": "README.md", "path": "README.md", "encoding": "base64", "content": text, "html_url": "", "sha": "0" * 40, "size": 10})


def graphql(server, request, body):
    """gh's own questions: about a repository, and its pull requests."""
    variables, text = body.get("variables") or {}, body["query"]
    name = f"{variables.get('owner')}/{variables.get('name') or variables.get('repo')}"
    if name not in REPOSITORIES:
        return request.json({"data": {"repository": None}, "errors": [{"type": "NOT_FOUND", "path": ["repository"], "message": "Could not resolve to a Repository"}]})
    answer = repository(name)
    if "pullRequests" in text:
        answer["pullRequests"] = {"totalCount": 1, "pageInfo": {"hasNextPage": False, "endCursor": None}, "nodes": [
            {"number": 7, "title": "a change", "state": "OPEN", "url": f"https://{GITHUB}/{name}/pull/7", "headRefName": "topic",
             "headRepositoryOwner": {"id": "O_1", "login": "acme"}, "isCrossRepository": False, "isDraft": False, "createdAt": "2026-01-01T00:00:00Z"}]}
    return request.json({"data": {"repository": answer}})


def package_file():
    """A package as npm has them."""
    files = {"package/package.json": json.dumps({"name": PACKAGE, "version": VERSION, "main": "index.js"}), "package/index.js": "module.exports = 'a private thing';\n"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def package_about(server, request, body):
    data = server.package
    dist = {"tarball": f"https://{REGISTRY}/{PACKAGE}/-/thing-{VERSION}.tgz", "shasum": hashlib.sha1(data).hexdigest(),
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}
    return request.json({"name": PACKAGE, "dist-tags": {"latest": VERSION}, "versions": {VERSION: {"name": PACKAGE, "version": VERSION, "main": "index.js", "dist": dist}}})


APIS = (
    (GITHUB, "GET", r"/acme/\w+\.git/info/refs", git), (GITHUB, "POST", r"/acme/\w+\.git/git-(upload|receive)-pack", git),
    (API, "GET", r"/repos/acme/\w+/readme", readme), (API, "GET", r"/repos/acme/\w+", rest), (API, "DELETE", r"/repos/acme/\w+", rest),
    (API, "POST", r"/graphql", graphql),
    (REGISTRY, "GET", r"/@acme(/|%2[fF])thing", package_about), (REGISTRY, "PUT", r"/@acme(/|%2[fF])thing", lambda s, r, b: r.json({"ok": True}, 201)),
    (REGISTRY, "GET", rf"/@acme/thing/-/thing-{VERSION}\.tgz", lambda s, r, b: r.reply(200, "application/octet-stream", s.package)),
    *((host, method, r"/.*", mirror) for host in (FIELD, BASIC, QUERY) for method in ("GET", "POST")),
)


class Service(providers.Server):
    def __init__(self, certificate, folder):
        self.folder, self.package = folder, package_file()
        self.keys = {host: credentials.make(kind) for host, (kind, _) in TAKES.items()}
        self.keys[API] = self.keys[GITHUB]
        for name in REPOSITORIES:
            self.make_repository(name)
        super().__init__(certificate)
        self.apis += APIS
        self.refuse, self.during, self.lock = self.why_not, None, threading.Lock()

    def why_not(self, request):
        if request["host"] not in TAKES:
            return None
        shown = TAKES[request["host"]][1](request)
        if shown != self.keys[request["host"]]:
            return "not this credential" if shown else "no credential"
        with self.lock:
            during, self.during = self.during, None
        if during:
            during()
        return None

    def git(self, *argv, cwd=None):
        who = {f"GIT_{x}_{y}": "a@b" for x in ("AUTHOR", "COMMITTER") for y in ("NAME", "EMAIL")}
        return subprocess.run(["git", *argv], cwd=cwd or self.folder, env={"PATH": lab.PATH, "HOME": self.folder, "GIT_CONFIG_NOSYSTEM": "1", **who},
                              capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    def make_repository(self, name):
        place, first = os.path.join(self.folder, name + ".git"), os.path.join(self.folder, "first")
        if not os.path.exists(first):
            self.git("init", "-q", "-b", "main", first)
            with open(os.path.join(first, "file"), "w", encoding="ascii") as f:
                f.write("a private file\n")
            self.git("add", "file", cwd=first)
            self.git("commit", "-q", "-m", "first", cwd=first)
        self.git("clone", "-q", "--bare", first, place)
        self.git("config", "http.receivepack", "true", cwd=place)

    def head(self, name):
        return self.git("rev-parse", "main", cwd=os.path.join(self.folder, name + ".git"))

    def asked(self, host, method=None, path=""):
        """Requests that it got, let in or not."""
        return [r for r in self.requests if r["host"] == host and method in (None, r["method"]) and path in r["path"]]

    def let_in(self, host, method=None, path=""):
        return [r for r in self.asked(host, method, path) if not r["refused"]]

    def whole(self, host):
        """Those that came to their end. One that is refused for what its body has is cut where that begins: the head may have come."""
        return [r for r in self.asked(host) if len(r["body"]) == int(field(r, "content-length") or len(r["body"]))]

    def saw(self, needles):
        """Requests in which one of them stands, in whatever part."""
        return [f"{r['method']} {r['host']}{r['path']}: {sorted(found)}" for r in self.requests
                if (found := {n for text in (r["path"], *r["headers"], *r["headers"].values(), r["body"], credentials.unpacked(r["body"]))
                              for n in credentials.search(text, needles)})]
