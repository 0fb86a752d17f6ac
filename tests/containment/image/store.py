"""The image of the container tier's tests, imported once for a user and shared by the sandboxes of its tests.

BELLJAR_TIER: container, with the ids that the user has; container-one, with one, as for a user without a range.
BELLJAR_TEST_IMAGE: what make-image has made. BELLJAR_TEST_STORE: a folder that keeps it imported for the next program.
"""
import ctypes
import fcntl
import os
import subprocess
import sys

TIER = os.environ.get("BELLJAR_TIER") or "process"
CONTAINER = TIER != "process"
ONE_ID = TIER == "container-one"
# By the name of its tar, which is a hash of what it was made from.
IMAGE = os.path.splitext(os.path.basename(os.environ.get("BELLJAR_TEST_IMAGE") or "none"))[0]
# Files of an image belong to ids that an ordinary user has only inside.
AS_OWNER = ["unshare", "--user", "--map-root-user", "--map-auto"] if TIER == "container" and os.geteuid() != 0 else []


def give_up(why):
    print(f"Bail out! {why}", flush=True)
    sys.exit(2)


def find(belljar, tmp):
    """The store's folder, with IMAGE in it."""
    source = os.environ.get("BELLJAR_TEST_IMAGE")
    if not source or not os.access(source, os.R_OK):
        give_up("BELLJAR_TEST_IMAGE must name what tests/containment/image/make-image made")
    if ONE_ID:
        ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)     # no_new_privs, under which newuidmap has no rights
    state = os.path.join(os.environ.get("BELLJAR_TEST_STORE") or os.path.join(tmp, "store"), TIER)
    os.makedirs(state, exist_ok=True)
    with open(os.path.join(state, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        env = {**os.environ, "XDG_STATE_HOME": state}
        if subprocess.run([belljar, "image", "inspect", IMAGE], env=env, capture_output=True).returncode:
            r = subprocess.run([belljar, "image", "import", "--name", IMAGE, source], env=env, capture_output=True, text=True)
            if r.returncode:
                give_up(f"the image cannot be imported: {r.stderr.strip()}")
    return os.path.join(state, "belljar", "images")


def link(store, state):
    """Makes a state directory with that store."""
    for place in ("sandboxes", "unchanged"):
        os.makedirs(os.path.join(state, "belljar", place), 0o700)
    os.chmod(os.path.join(state, "belljar"), 0o711)
    os.symlink(store, os.path.join(state, "belljar", "images"))
