#!/usr/bin/python3
"""Puts what the integration tests read from the network into their cache, once: Debian source packages with their build
dependencies, the agents that npm has, and deno. Run by root (packages are installed); a test that runs as root calls it.

    /usr/bin/python3 tests/integration/fetch.py [sources|agents|deno]

The cache is $BELLJAR_TEST_CACHE, by default /var/cache/belljar-tests: readable by everybody, not in a home.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

CACHE = os.environ.get("BELLJAR_TEST_CACHE") or "/var/cache/belljar-tests"
SOURCES = f"{CACHE}/sources"
AGENTS = f"{CACHE}/agents"
DENO = f"{CACHE}/deno"
DENO_VERSION = "2.9.6"
PACKAGES = ("jq", "zlib")
# Versions that run on the node releases of today's distributions (20 and later), pinned so that a test means the same
# next year. Claude Code's own install script puts the program of this machine's kind in place.
VERSIONS = {"@anthropic-ai/claude-code": "2.1.197", "@openai/codex": "0.171.0", "@google/gemini-cli": "0.61.0"}


def execute(*argv, cwd="/", **env):
    r = subprocess.run(argv, cwd=cwd, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", **env}, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    if r.returncode:
        raise RuntimeError(f"{' '.join(argv)}: status {r.returncode}\n{r.stdout[-2000:]}")
    return r.stdout


def release():
    with open("/etc/os-release") as f:
        return re.search(r"^VERSION_CODENAME=\"?(\w+)", f.read(), re.M)[1]


def source_entries(target):
    """The machine's own apt sources of its own release, asked for sources instead of binaries."""
    n, codename = 0, release()
    places = ["/etc/apt/sources.list"] + [f"/etc/apt/sources.list.d/{x}" for x in sorted(os.listdir("/etc/apt/sources.list.d"))]
    for place in places:
        if not os.path.exists(place):
            continue
        with open(place) as f:
            text = f.read()
        if place.endswith(".sources"):
            kept = [re.sub(r"(?m)^Types:.*$", "Types: deb-src", x) for x in re.split(r"\n\s*\n", text)
                    if re.search(rf"(?m)^Suites:.*\b{codename}\b", x)
                    and re.search(rf"(?m)^Suites:(.*\s)?{codename}(-updates|-security)?(\s|$)", x)]
            name = f"{n}.sources"
            out = "\n\n".join(kept)
        elif place.endswith(".list"):
            lines = [re.sub(r"^deb\s", "deb-src ", x) for x in text.splitlines()
                     if re.match(rf"deb\s.*\s{codename}(-updates|-security)?\s", x)]
            name, out = f"{n}.list", "\n".join(lines)
        else:
            continue
        if out.strip():
            with open(f"{target}/{name}", "w") as f:
                f.write(out + "\n")
            n += 1
    if n == 0:
        raise RuntimeError(f"no apt source of {codename} is configured on this machine")


def download(options, package, place):
    """The newest version that can be had: a mirror may lack what its index names."""
    shown = execute("apt-cache", *options, "showsrc", "--only-source", package)
    versions = sorted(set(re.findall(r"(?m)^Version: (.*)$", shown)), reverse=True)
    for version in versions:
        try:
            return execute("apt-get", *options, "-q", "-o", "APT::Sandbox::User=root", "source", "--download-only",
                           f"{package}={version}", cwd=place)
        except RuntimeError as e:
            why = e
    raise RuntimeError(f"no source of {package} can be had: {why if versions else 'none is listed'}")


def fetch_sources():
    wanted = [p for p in PACKAGES if not os.path.exists(f"{SOURCES}/{p}/complete")]
    if not wanted:
        return
    os.makedirs(SOURCES, exist_ok=True)
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        for sub in ("parts", "lists/partial", "cache/archives/partial"):
            os.makedirs(f"{d}/{sub}")
        source_entries(f"{d}/parts")
        options = ("-o", f"Dir::Etc::SourceParts={d}/parts", "-o", "Dir::Etc::SourceList=/dev/null",
                   "-o", f"Dir::State::lists={d}/lists", "-o", f"Dir::Cache={d}/cache")
        execute("apt-get", *options, "-q", "update")
        for package in wanted:
            place = f"{SOURCES}/{package}"
            shutil.rmtree(place, ignore_errors=True)
            os.makedirs(place)
            download(options, package, place)
            # The dependencies come from the machine's own binary sources: apt reads them from the .dsc.
            dsc = next(x for x in os.listdir(place) if x.endswith(".dsc"))
            try:
                execute("apt-get", "-q", "-y", "--no-install-recommends", "-P", "nobiarch,nodoc", "build-dep", f"{place}/{dsc}")
            except RuntimeError:
                execute("apt-get", "-q", "update")
                execute("apt-get", "-q", "-y", "--no-install-recommends", "-P", "nobiarch,nodoc", "build-dep", f"{place}/{dsc}")
            with open(f"{place}/complete", "w"):
                pass
    os.chmod(SOURCES, 0o755)


def fetch_agents():
    os.makedirs(AGENTS, exist_ok=True)
    os.chmod(AGENTS, 0o755)
    for package, version in VERSIONS.items():
        if os.path.exists(f"{AGENTS}/lib/node_modules/{package}/package.json"):
            continue
        # Only Claude Code's install script is needed; the others' are native modules for features of a terminal.
        scripts = package == "@anthropic-ai/claude-code"
        execute("npm", "install", "-g", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", AGENTS,
                *(["--ignore-scripts"] if not scripts else []), f"{package}@{version}")
        if scripts and os.path.exists(script := f"{AGENTS}/lib/node_modules/{package}/install.cjs"):
            execute("node", script, cwd=os.path.dirname(script))
    execute("chmod", "-R", "a+rX", AGENTS)


def why_no_agents():
    """None once they are in the cache, which root fills while there is a network."""
    missing = [p for p in VERSIONS if not os.path.exists(f"{AGENTS}/lib/node_modules/{p}/package.json")]
    if missing and os.getuid() != 0:
        return f"{', '.join(missing)}: not in the cache; root fills it with fetch.py"
    try:
        if missing:
            fetch_agents()
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as e:
        return f"the harnesses cannot be fetched: {str(e).splitlines()[0]}"
    return None


def deno():
    """The program itself, as npm has it for this kind of machine; None where it is not in the cache."""
    folder = f"{DENO}/node_modules/@deno"
    found = [f"{folder}/{x}/deno" for x in os.listdir(folder)] if os.path.isdir(folder) else []
    return next((x for x in found if os.access(x, os.X_OK)), None)


def fetch_deno():
    if deno():
        return
    os.makedirs(DENO, exist_ok=True)
    execute("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts", "--prefix", DENO, f"deno@{DENO_VERSION}")
    execute("chmod", "-R", "a+rX", DENO)
    for program in [f"{DENO}/node_modules/@deno/{x}/deno" for x in os.listdir(f"{DENO}/node_modules/@deno")]:
        os.chmod(program, 0o755)


if __name__ == "__main__":
    os.umask(0o022)
    for what in sys.argv[1:] or ["sources", "agents", "deno"]:
        {"sources": fetch_sources, "agents": fetch_agents, "deno": fetch_deno}[what]()
