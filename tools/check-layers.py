#!/usr/bin/env python3
"""The layer law: a file includes only from its own folder and from layers below it; roles never include each other.

Run by the build on every change. Prints each violation as FILE:LINE and fails.
"""
import pathlib
import re
import sys

ORDER = ["base", "sys", "proto", "model", "svc", "role"]
# proto and model do no I/O: they see nothing of sys.
HIDDEN = {"proto": {"sys"}, "model": {"sys"}}


def layer_of(rel):
    parts = rel.parts
    return (parts[0], parts[1] if parts[0] == "role" else None)


def main():
    args = sys.argv[1:]
    stamp = None
    if args[:1] == ["--stamp"]:
        stamp, args = args[1], args[2:]
    root = pathlib.Path(args[0])
    bad = 0
    for path in sorted(root.rglob("*.[ch]")):
        layer, role = layer_of(path.relative_to(root))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not m:
                continue
            target = pathlib.PurePath(m.group(1))
            if len(target.parts) < 2 or target.parts[0] not in ORDER:
                if (path.parent / m.group(1)).exists() or target.suffix == ".inc" or "generated" in target.parts:
                    continue
                print(f"{path}:{number}: {target} is not named from src/")
                bad += 1
                continue
            other, other_role = layer_of(target)
            why = None
            if ORDER.index(other) > ORDER.index(layer):
                why = f"{layer} must not include from {other}"
            elif other in HIDDEN.get(layer, ()):
                why = f"{layer} is pure and must not include from {other}"
            elif other == "role" and other_role != role:
                why = f"role {role} must not include from role {other_role}"
            if why:
                print(f"{path}:{number}: {target}: {why}")
                bad += 1
    if bad:
        sys.exit(1)
    if stamp:
        pathlib.Path(stamp).write_text("ok\n")


main()
