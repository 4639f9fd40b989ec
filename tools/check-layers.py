#!/usr/bin/env python3
"""Fail when a folder of src/ includes one that the data flow does not put before it."""
import pathlib
import re
import sys

BASE, POLICY = {"base"}, {"base", "policy"}
CALL = POLICY | {"call"}
INSPECT = CALL | {"inspect"}
VERDICT = INSPECT | {"verdict"}
PLAN = VERDICT | {"plan"}
ALLOWED = {  # folder: what it may include besides itself
    "base": set(),
    "policy": BASE,
    "call": POLICY,
    "inspect": CALL,
    "verdict": INSPECT,
    "plan": VERDICT,
    "backend": {"base", "plan", "call", "policy"},  # words of the plan; the policy itself is never read
    "supervise": {"base", "call", "plan", "backend"},
    "result": {"base", "call", "verdict", "plan", "backend", "supervise", "policy"},
    "audit": BASE,
    "secrets": BASE,  # the vault: a process of its own
    "egress": BASE,  # the door: a process of its own
    "box": PLAN | {"backend"},
    "pipeline": PLAN | {"backend", "supervise", "result", "audit", "secrets", "egress"},
    "serve": PLAN | {"backend", "supervise", "result", "audit", "secrets", "egress", "pipeline"},
    "api": PLAN | {"backend", "supervise", "result", "audit", "secrets", "egress", "pipeline"},
    "cli": PLAN | {"backend", "supervise", "result", "audit", "secrets", "egress", "pipeline", "serve", "box"},
}

root = pathlib.Path(sys.argv[1]) / "src"
bad = 0
for path in sorted(root.rglob("*.[ch]")):
    here = path.relative_to(root).parts[0]
    for n, line in enumerate(path.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+"([a-z_]+)/', line)
        if m and m[1] != here and m[1] not in ALLOWED.get(here, set()):
            print(f"{path}:{n}: {here}/ may not include {m[1]}/")
            bad += 1
sys.exit(bool(bad))
