#!/usr/bin/python3
"""Presets and the list of relays as C, so that no program depends on finding files that fit its version.

  embed.py relays FILE            the names, as table_relays[] (model/table-layout.h); as trip_fetchers[] (model/tripwire.h) those below
                                  a heading that says that they fetch
  embed.py presets FILE...        NAME.yaml as text, as network_presets[] (model/network-preset.h); and as network_recipes[], known
                                  as FOLDER/NAME, those in a folder beside this file
"""
import os, re, sys


def quoted(text):
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return "\n".join(f'        "{line}\\n"' for line in out.splitlines())


def relays(path):
    names, fetchers, fetch = [], [], False
    for line in open(path, encoding="ascii"):
        fetch = "they fetch" in line if line.startswith("#") else fetch
        name = line.split("#")[0].strip()
        names += [name] if name else []
        fetchers += [name] if name and fetch else []
    if not fetchers:
        sys.exit(f"{path}: none fetches")
    for n in names:
        if not re.fullmatch(r"([a-z0-9_]([a-z0-9_-]{0,62})\.)+[a-z][a-z0-9-]*", n):
            sys.exit(f"{path}: {n} is not a name in small letters")
    if len(set(names)) != len(names):
        sys.exit(f"{path}: doubled: {sorted(n for n in set(names) if names.count(n) > 1)}")
    print('#include "model/table-layout.h"\n#include "model/tripwire.h"')
    for array, of in (("table_relays", names), ("trip_fetchers", fetchers)):
        print(f"\nconst char *const {array}[] = {{")
        print("\n".join(f'        "{n}",' for n in sorted(of)) + "\n        NULL,\n};")


def presets(paths):
    top = os.path.dirname(os.path.abspath(__file__))
    names = {os.path.relpath(os.path.abspath(p), top).removesuffix(".yaml"): p for p in paths}
    print('#include <stddef.h>\n\n#include "model/network-preset.h"')
    for array, of in (("network_presets", lambda n: "/" not in n), ("network_recipes", lambda n: "/" in n)):
        print(f"\nconst struct network_preset {array}[] = {{")
        for name in sorted(filter(of, names)):
            print(f'        {{"{name}",\n{quoted(open(names[name], encoding="utf-8").read())}}},')
        print("        {NULL, NULL},\n};")


if sys.argv[1] == "relays":
    relays(sys.argv[2])
else:
    presets(sys.argv[2:])
