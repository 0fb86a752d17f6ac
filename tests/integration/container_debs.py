"""Debian packages that container-debian and network-clients install inside, each set with everything that the image lacks for it, in the
tests' cache: $BELLJAR_TEST_CACHE/debs/SET/*.deb. Root fills it from the machine's own apt sources, once.
"""
import os
import shutil
import subprocess
import tempfile

CACHE = os.environ.get("BELLJAR_TEST_CACHE") or "/var/cache/belljar-tests"
DEBS = f"{CACHE}/debs"
SETS = {"hello": ["hello"], "servers": ["postgresql", "nginx-light"], "pip": ["python3-pip"], "npm": ["npm"],
        "clients": ["ca-certificates", "curl", "wget", "git", "openssh-client", "nodejs", "python3-requests", "postgresql-client", "redis-tools"],
        "compiler": ["build-essential"], "build": ["build-essential", "debhelper"]}
# What a set needs beside its own files.
BASE = {"build": "compiler"}


def fetch(status):
    """status: the image's /var/lib/dpkg/status."""
    for name, packages in SETS.items():
        place = f"{DEBS}/{name}"
        if os.path.exists(f"{place}/complete"):
            continue
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(f"{place}/partial")
        with tempfile.TemporaryDirectory() as d:
            # The machine's own state is neither read nor changed, but for the lists of what there is.
            shutil.copy(status, f"{d}/status")
            argv = ["apt-get", "-q", "-y", "--no-install-recommends", "--download-only", "-o",
                    f"Dir::State::status={d}/status",
                    "-o", f"Dir::Cache::archives={place}", "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1",
                    "install", *packages]
            for attempt in (1, 2):
                r = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                   timeout=600)
                if r.returncode == 0:
                    break
                if attempt == 1:
                    subprocess.run(["apt-get", "-q", "update"], stdin=subprocess.DEVNULL, capture_output=True,
                                   check=False, timeout=300)
            else:
                raise RuntimeError(f"{' '.join(packages)} cannot be downloaded\n{r.stdout[-1500:]}{r.stderr[-1500:]}")
        shutil.rmtree(f"{place}/partial", ignore_errors=True)
        for entry in os.listdir(f"{DEBS}/{BASE[name]}") if name in BASE else ():
            if entry.endswith(".deb") and os.path.exists(f"{place}/{entry}"):
                os.unlink(f"{place}/{entry}")
        for entry in os.listdir(place):
            os.chmod(f"{place}/{entry}", 0o644)
        with open(f"{place}/complete", "w", encoding="ascii"):
            pass
    for place in (DEBS, *(f"{DEBS}/{name}" for name in SETS)):
        os.chmod(place, 0o755)
