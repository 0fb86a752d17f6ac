#!/usr/bin/python3
"""What a root file system holds, as JSON: of one directory, or of an image's layers, topmost first, merged as overlayfs does.

    image_list.py [--shift N] DIR...        prints {path: [kind, mode, uid, gid, mtime, what]} (what: target or SHA-256)

--shift N: N is taken from the owners. Paths are percent-encoded bytes. Run where the owners are to be seen: as root, or in the
user namespace of the image.
"""
import hashlib
import json
import os
import stat
import sys
import urllib.parse


def entry(path, shift):
    st = os.lstat(path)
    kind = {stat.S_IFDIR: "dir", stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFCHR: "char", stat.S_IFBLK: "block",
            stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket"}[stat.S_IFMT(st.st_mode)]
    what = None
    if kind == "link":
        what = urllib.parse.quote(os.readlink(path))
    elif kind == "file":
        h = hashlib.sha256()
        with open(path, "rb") as f:
            while block := f.read(1 << 20):
                h.update(block)
        what = h.hexdigest()
    attributes = {}
    if kind in ("file", "dir"):
        attributes = {n: os.getxattr(path, n).decode("latin1") for n in os.listxattr(path) if n.startswith("user.")
                      and not n.startswith("user.overlay.")}
    return [kind, stat.S_IMODE(st.st_mode) if kind != "link" else 0, st.st_uid - shift, st.st_gid - shift, int(st.st_mtime), what, attributes]


def is_whiteout(path):
    st = os.lstat(path)
    return stat.S_ISCHR(st.st_mode) and st.st_rdev == 0


def is_opaque(path):
    try:
        return os.getxattr(path, "user.overlay.opaque") == b"y"
    except OSError:
        return False


def merge(dirs, shift):
    found = {}

    def walk(rel, layers):
        """layers: the directories of one path, topmost first; the lower ones are seen through the upper ones."""
        found[urllib.parse.quote(rel) or "."] = entry(layers[0], shift)
        seen, hidden = {}, set()
        for d in layers:
            for name in os.listdir(d):
                path = os.path.join(d, name)
                if name in hidden:
                    continue
                if is_whiteout(path):
                    hidden.add(name)
                elif os.path.isdir(path) and not os.path.islink(path):
                    seen.setdefault(name, []).append(path)
                    if is_opaque(path):
                        hidden.add(name)
                else:
                    if name not in seen:
                        found[urllib.parse.quote(os.path.join(rel, name))] = entry(path, shift)
                    hidden.add(name)
        for name, below in seen.items():
            walk(os.path.join(rel, name), below)

    walk(b"", [os.fsencode(d) for d in dirs])
    return found


if __name__ == "__main__":
    args, by = sys.argv[1:], 0
    if args[:1] == ["--shift"]:
        by, args = int(args[1], 0), args[2:]
    json.dump(merge(args, by), sys.stdout)
