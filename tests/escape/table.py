# SPDX-License-Identifier: Apache-2.0
"""
What the escape suite saw, as a table: a line per row of attacks, a column per wall. {"tiers": [...], "rows": {row: {tier:
{"ok": n, "fail": n, "skip": n, "none": n}}}, "why": {"identity/tier": reason}, "unclaimed": {tier: {reason: [rows]}},
"skipped": the same}.
"""

LEGEND = ("A number is how many cases passed, as root and as a user together; failed and skipped ones are named beside it. \"not\n"
          "claimed\": the wall's receipt lacks the control that the row is about, so a policy that demands it is refused there and\n"
          "nothing runs; that is listed below. An empty cell: the row is about another kind of wall.")


def cell(c):
    if not c:
        return ""
    text = [f"**{c['fail']} failed**"] if c["fail"] else []
    if c["ok"]:
        text.insert(0, str(c["ok"]))
    if c["skip"]:
        text.append(f"{c['skip']} skipped")
    if c["none"]:
        text.append("not claimed" if not text else f"{c['none']} not claimed")
    return ", ".join(text)


def markdown(data):
    """Lines of a table, and lists of what was not tried and why."""
    rows = {int(r): v for r, v in data["rows"].items() if int(r)}
    tiers = [t for t in data["tiers"] if any(c.get(t) for c in rows.values())]
    out = [LEGEND, "", "| row | " + " | ".join(tiers) + " |", "|---" * (len(tiers) + 1) + "|"]
    for row in sorted(rows):
        out.append(f"| {row} | " + " | ".join(cell(rows[row].get(t)) for t in tiers) + " |")
    for name, title in (("unclaimed", "Not claimed, and by which receipt:"), ("skipped", "Skipped, and why:")):
        found = data.get(name) or {}
        if any(found.values()):
            out += ["", title, ""]
        for tier in [t for t in data["tiers"] if found.get(t)]:
            for why, which in sorted(found[tier].items()):
                out.append(f"- {tier}: {why} (row {', '.join(str(r) for r in sorted(set(which)))})")
    if data["why"]:
        out += ["", "Not tried, since not to be had:", "", *[f"- {k}: {v[:160]}" for k, v in sorted(data["why"].items())]]
    return out
