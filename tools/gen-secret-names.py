#!/usr/bin/env python3
"""gen-secret-names.py OUT RULES.yaml…: the names of all rules for secrets as a C header, so that a policy can be held to them."""
import re
import sys

names = set()
for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as f:
        names.update(re.findall(r"^- id: secret\.(\S+)$", f.read(), re.M))
with open(sys.argv[1], "w", encoding="utf-8") as f:
    f.write("".join(f'"{n}",\n' for n in sorted(names)))
