"""Small images made by hand, as OCI layouts: for rules of which every byte must be known. Standard library only.

    busybox()                                      the files of a root with busybox in it
    layout(folder, {"NAME": ([LAYER, ...], CONFIG)})   a layer: path -> bytes, File, Dir or Link, or the bytes of a tar; CONFIG
                                                   as the image specification has it ("Env", "Cmd", "User", ...)
"""
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile
import typing

from harness import Skip, find


class File(typing.NamedTuple):
    data: bytes = b""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0


class Dir(typing.NamedTuple):
    mode: int = 0o755
    uid: int = 0
    gid: int = 0


class Link(typing.NamedTuple):
    target: str


PASSWD = """root:x:0:0:root:/root:/bin/sh
daemon:x:1:1:daemon:/usr/sbin:/bin/false
db:x:70:70:a server:/var/lib/db:/bin/sh
app:x:1000:1000:An App,,,:/home/app:/bin/sh
nobody:x:65534:65534:nobody:/:/bin/false
"""
GROUP = """root:x:0:
daemon:x:1:
adm:x:4:root,app,db
wheel:x:10:root
db:x:70:
www-data:x:33:app
app:x:1000:
nogroup:x:65534:
"""


def busybox():
    path = find("busybox")
    if not path:
        raise Skip("busybox is not installed (tools/deps test)")
    data = pathlib.Path(path).read_bytes()
    if b"/ld-linux" in data or b"/ld-musl" in data:
        raise Skip("busybox is not linked statically (package busybox-static)")
    root = {"bin/busybox": File(data, 0o755), "etc/passwd": File(PASSWD.encode()), "etc/group": File(GROUP.encode()),
            "tmp": Dir(0o1777), "root": Dir(0o700), "home/app": Dir(0o755, 1000, 1000),
            "var/lib/db": Dir(0o700, 70, 70)}
    names = subprocess.run([path, "--list"], capture_output=True, text=True, check=True).stdout.split()
    root.update((f"bin/{name}", Link("busybox")) for name in names if name != "busybox")
    return root


def pack(files):
    """The tar of a layer. Parents come first, those that are not named with mode 755."""
    every = {}
    for path, entry in files.items():
        parts = path.split("/")
        for i in range(1, len(parts)):
            every.setdefault("/".join(parts[:i]), Dir())
        every[path] = entry
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(every):
            entry = every[path]
            entry = File(entry) if isinstance(entry, bytes) else entry
            info = tarfile.TarInfo(path)
            info.mtime = 1700000000
            if isinstance(entry, Link):
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.target, 0o777
            else:
                info.mode, info.uid, info.gid = entry.mode, entry.uid, entry.gid
            if isinstance(entry, Dir):
                info.type = tarfile.DIRTYPE
            data = entry.data if isinstance(entry, File) else b""
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def layout(folder, images):
    blobs = f"{folder}/blobs/sha256"
    os.makedirs(blobs)

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        pathlib.Path(blobs, digest).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    packed, index = {}, []
    for name, (layers, config) in images.items():
        found, ids = [], []
        for files in layers:
            if id(files) not in packed:
                tar = files if isinstance(files, bytes) else pack(files)
                packed[id(files)] = (blob(gzip.compress(tar, 1, mtime=0), "layer.v1.tar+gzip"),
                                     hashlib.sha256(tar).hexdigest())
            found.append(packed[id(files)][0])
            ids.append(f"sha256:{packed[id(files)][1]}")
        described = {"created": "2024-01-02T03:04:05Z", "architecture": "amd64", "os": "linux", "config": config,
                     "rootfs": {"type": "layers", "diff_ids": ids}}
        manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "config": blob(json.dumps(described).encode(), "config.v1+json"), "layers": found}
        index.append(blob(json.dumps(manifest).encode(), "manifest.v1+json")
                     | {"annotations": {"org.opencontainers.image.ref.name": name}})
    pathlib.Path(folder, "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": index}))
    pathlib.Path(folder, "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
