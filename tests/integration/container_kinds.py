"""The kinds of ids that a caller can have for images (svc/ids.h), each with a store of its own: `range` for root, `one`
for everybody else, `subids` for who has a range of subuid(5).
"""
import os
import pathlib
import pwd
import re

from harness import BELLJAR, ROOT, TMP, case, environment, execute, find, note, workspace


class Ids:
    """A caller with a kind of ids, and its own store."""

    def __init__(self, name, prefix):
        self.name, self.prefix = name, prefix
        self.state = f"{TMP}/state-{name}"
        os.mkdir(self.state, 0o700)

    def belljar(self, *words, cwd=None, env=(), **kw):
        env = {**environment(XDG_STATE_HOME=self.state), **dict(env)}
        return execute([*self.prefix, BELLJAR, *words], cwd=cwd, env=env, **kw)

    def run(self, image, *argv, options=(), cwd=None, **kw):
        """belljar run in a new workspace, or in cwd."""
        words = ["run", "--image", image, "-q", *options, *(["--", *argv] if argv else [])]
        return self.belljar(*words, cwd=cwd or workspace(), **kw)

    def sh(self, script, image="plain", **kw):
        return self.run(image, "sh", "-euc", script, **kw)


def kinds():
    if ROOT:
        return [Ids("range", [])]
    have = [Ids("one", ["setpriv", "--no-new-privs"])]
    text = pathlib.Path("/etc/subuid").read_text(encoding="ascii") if os.path.exists("/etc/subuid") else ""
    name = pwd.getpwuid(os.geteuid()).pw_name
    nnp = re.search(r"^NoNewPrivs:\s+1", pathlib.Path("/proc/self/status").read_text(encoding="ascii"), re.M)
    if re.search(rf"^({re.escape(name)}|{os.geteuid()}):", text, re.M) and find("newuidmap") and not nnp:
        have.append(Ids("subids", []))
    else:
        note("no range of ids for this user (subuid(5), newuidmap): not tried")
    return have


def each_of(found, prepare):
    """A decorator of cases that take one kind: run once for each that prepare() has put into the list `found`."""
    why = []

    def once():
        if why:
            raise why[0]
        if not found:
            try:
                prepare()
            except Exception as e:
                why.append(e)
                raise

    def decorate(fn):
        def over_all():
            once()
            for k in found:
                fn(k)
        over_all.__name__ = fn.__name__
        return case(over_all)
    return decorate
