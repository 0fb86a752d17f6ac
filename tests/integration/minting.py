"""What tests of minted tokens share: the lab of tests/lab with providers that make them (issuers.py) and a server that takes them, and
runs with such a secret, after which is looked for what it is asked with and for the token. Enters the lab where it is imported; where
there is none, the test is skipped.

    x = Ran("name", "curl ...", OAUTH2_SECRET, [S.client_secret], env={"CLIENT_SECRET": S.client_secret})
    x.rc, x.err, x.status, x.held       # held: what the variable has inside
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import traceback

HERE_ = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(HERE_, "../lab"), HERE_]
import lab  # noqa: E402

WHY_NOT = lab.why_not()
if WHY_NOT:
    print(f"ok 1 - a lab # SKIP {WHY_NOT}\n1..1\n# done")
    sys.exit(0)
lab.enter()
import accounts  # noqa: E402
import credentials  # noqa: E402
import issuers  # noqa: E402

BAD = "bad.test"        # a provider of the test's own, at a port of its own
for name in (issuers.ISSUER, issuers.TAKER, accounts.GITHUB, accounts.API, BAD):
    lab.NAMES.append(name)
    lab.ZONE[name] = {"A": ["93.184.216.40"]}
NET = lab.Lab(skip=(443,))
from harness import BELLJAR, TMP, check, environment, note, processes, wait_for, workspace  # noqa: E402

SERVICES = os.path.join(TMP, "services")
os.mkdir(SERVICES)
S = issuers.Issuer(os.path.join(NET.tls, "cert.pem"), SERVICES)
OAUTH2 = {"token_url": f"https://{issuers.ISSUER}/token", "client_id": S.client, "scope": "read list", "revoke_url": f"https://{issuers.ISSUER}/revoke"}
OAUTH2_SECRET = {"from": "env:CLIENT_SECRET", "env": "API_TOKEN", "oauth2": OAUTH2}
APP = {"app_id": int(issuers.APP), "installation_id": int(issuers.INSTALLATION), "repositories": ["tool"]}
TAKER_RULE = {"host": issuers.TAKER, "secret": "it"}
GET = "curl -sS -m 30 -o %s -w '%s %%{http_code}\\n' -H \"Authorization: Bearer $API_TOKEN\" https://api.test/%s\n"


def get(name, path=None):
    return GET % (f"out-{name}", name, path or name)


class Ran:
    """One run. long: what the token is asked with, in whatever the secret's source is."""
    def __init__(self, name, script, secret, long, rules=(TAKER_RULE,), env=None, options=(), meanwhile=None, program=BELLJAR, **answers):
        self.name, self.place, self.state, self.long = name, workspace(name), os.path.join(TMP, f"state-{name}"), long
        home = os.path.join(TMP, f"home-{name}")
        os.mkdir(self.state, 0o700)
        os.mkdir(home)
        policy = os.path.join(TMP, f"policy-{name}.yaml")
        pathlib.Path(policy).write_text(json.dumps({"version": 1, "network": list(rules), "secrets": {"it": secret}}))
        S.forget()
        S.tokens.clear()
        S.reset()
        vars(S).update(answers)
        S.during, self.memory, self.left = self.look if S.seconds > 60 else None, None, []    # it takes longer than such a token lives
        self.looks = bool(S.during)
        self.env = environment(XDG_STATE_HOME=self.state) | {"HOME": home}
        argv = [program, "run", *options, "-f", policy, "--", "bash", "-c", "printenv API_TOKEN >held; cat /proc/self/environ >environ\n" + script]
        self.stderr = os.path.join(TMP, f"err-{name}")
        with open(self.stderr, "wb") as err:
            self.p = subprocess.Popen(argv, cwd=self.place, env=self.env | (env or {}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, text=True, start_new_session=True)
        try:
            if meanwhile:
                meanwhile(self)
            self.out, self.err = self.p.communicate(timeout=60)[0], self.said()
        except BaseException:
            os.killpg(self.p.pid, 9)
            self.p.communicate()
            raise
        self.rc, self.status = self.p.returncode, dict(line.split(" ", 1) for line in self.out.splitlines() if " " in line)
        self.held = self.made("held").strip()

    def said(self):
        """So far, on its stderr."""
        return pathlib.Path(self.stderr).read_text(errors="replace")

    def made(self, name):
        with contextlib.suppress(StopIteration):
            return next(p for p in sorted(pathlib.Path(self.state).rglob(name)) if p.is_file()).read_text()
        return ""

    def ident(self):
        return wait_for(lambda: next((p.parent.name for p in pathlib.Path(self.state).rglob("plan.json")), None), 20)

    def look(self):
        """While a request is under way: where the credentials are."""
        for _ in range(5):
            try:
                return self.look_around()
            except Exception:  # noqa: BLE001 - this is the server's thread; what was not seen is missed later
                why = traceback.format_exc()
        return note(why)

    def look_around(self):
        needles = {"token": [n for t in S.tokens for n in credentials.encodings(t)], "long": [n for t in self.long for n in credentials.encodings(t)]}
        pids = [p for p in credentials.family(os.getpid()) if p != os.getpid()]
        kinds = {p: pathlib.Path(f"/proc/{p}/comm").read_text().strip() for p in pids}
        self.left = credentials.search_files([self.state, self.place], sum(needles.values(), []))
        memory = {}
        for what, which in needles.items():
            hits = credentials.search_processes(pids, which, execute=lab.as_root)
            memory[what] = {kind: [(where, n) for pid, where, n in hits if kinds[pid] == kind] for kind in set(kinds.values())}
        self.memory = memory

    def secret_line(self):
        return next((line for line in self.err.splitlines() if line.startswith("belljar: secret it: could")), "")

    def __str__(self):
        return f"status {self.rc}\nstdout: {self.out[-1500:]}\nstderr: {self.err[-2500:]}\n{S.log()}\nheld {self.held}\ntokens {S.tokens}"

    __repr__ = __str__


# Until go(): each asks the server that takes tokens.
WAIT = "for i in $(seq 300); do curl -s -m 60 -o /dev/null -w '%{http_code}' https://api.test/go | grep -q 202 || break; sleep 0.1; done\n"


def go():
    S.go = True


def nowhere(x):
    """What holds for each run that came to a request."""
    tokens = [n for t in S.tokens for n in credentials.encodings(t)]
    long = [n for t in x.long for n in credentials.encodings(t)]
    check(x.held and x.held not in S.tokens and x.held not in x.long, f"{x.name}: inside there is a placeholder", x)
    if x.looks:
        nobody_else(x)
    files = x.left + credentials.search_files([x.state, x.place], tokens + long)
    check(not files, f"{x.name}: no file has either, in no form", files[:10])
    check(not credentials.search(x.out + x.err, tokens + long), f"{x.name}: nor has what was printed", x)
    saw = S.saw(credentials.encodings(x.held))
    check(not saw, f"{x.name}: no server saw the placeholder", saw)
    elsewhere = [r for r in S.requests if r["host"] not in (issuers.ISSUER, accounts.API) and credentials.search(str(r["headers"]) + r["path"], long)]
    check(not elsewhere, f"{x.name}: what it is asked with went to its provider alone", elsewhere)


def nobody_else(x):
    """The memory of all its processes, while a request was under way."""
    check(x.memory, f"{x.name}: its memory was looked at", x)
    have = {what: {k for k, hits in kinds.items() if hits} for what, kinds in (x.memory or {}).items()}
    seen = set((x.memory or {}).get("token", ()))
    check({"belljar-super", "belljar-init", "belljar-gate", "belljar-broker", "belljar-provide"} <= seen and have.get("token", set()) <= {"belljar-broker", "belljar-tool", "belljar", "belljar-provide"}
          and "belljar-broker" in have.get("token", set()), f"{x.name}: the token is in the memory of its broker, its provider and the command line, and of nobody else", [seen, have])
    check("belljar-provide" in have.get("long", set()) and have.get("long", set()) <= {"belljar-provide"}, f"{x.name}: what it is asked with in that of its provider alone", have)


def lineage(pid):
    """All processes beneath pid."""
    every, found = processes(), {pid}
    while more := {p[0] for p in every if p[1] in found} - found:
        found |= more
    return [p for p in every if p[0] in found]


def left():
    """Belljar's beneath this one."""
    return [p for p in lineage(os.getpid()) if p[0] != os.getpid() and "belljar" in p[3].split(" ")[0]]


def gone():
    return S.tokens and all(t["revoked"] for t in S.tokens.values())
