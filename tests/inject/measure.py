#!/usr/bin/env python3
"""measure.py BAWN [--list] [--pins FILE] [--skip]

How much of the attacks in attacks.txt is found, and how much of the harmless texts in benign.txt is flagged, by
`BAWN inspect --batch content`. These texts are never trained on. With --pins: fails when less is found or more flagged than FILE
says. --list shows the texts that are missed or flagged."""
import argparse
import base64
import codecs
import collections
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).parent
FLAGGED = 0.30
MORSE = dict(zip("abcdefghijklmnopqrstuvwxyz0123456789.,:/@-'", (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.. ----- .---- ..--- "
    "...-- ....- ..... -.... --... ---.. ----. .-.-.- --..-- ---... -..-. .--.-. -....- .----.").split()))
LOOKALIKE = str.maketrans("aeopcxyi", "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456")


def lines64(x):
    b = base64.b64encode(x.encode()).decode()
    return "\n".join(b[i:i + 40] for i in range(0, len(b), 40))


ENCODE = {
    "base64": lambda x: "checksum: " + base64.b64encode(x.encode()).decode(),
    "base64lines": lines64,
    "base32": lambda x: base64.b32encode(x.encode()).decode(),
    "hex": lambda x: x.encode().hex(),
    "binary": lambda x: " ".join(f"{b:08b}" for b in x.encode()),
    "rot13": lambda x: codecs.encode(x, "rot13"),
    "reverse": lambda x: x[::-1],
    "wordsreversed": lambda x: " ".join(reversed(x.split())),
    "url": lambda x: "".join(f"%{b:02X}" for b in x.encode()),
    "entities": lambda x: "".join(f"&#{ord(c)};" for c in x),
    "escape": lambda x: "".join(f"\\u{ord(c):04x}" for c in x),
    "zerowidth": lambda x: "\u200b".join(x),
    "tags": lambda x: "fine so far" + "".join(chr(0xE0000 + ord(c)) for c in x),
    "fullwidth": lambda x: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in x),
    "homoglyph": lambda x: x.translate(LOOKALIKE),
    "spaced": lambda x: "   ".join(" ".join(w) for w in x.split()),
    "dotted": lambda x: "  ".join(".".join(w) for w in x.split()),
    "leet": lambda x: x.translate(str.maketrans("aeiost", "431057")),
    "morse": lambda x: " / ".join(" ".join(MORSE.get(c, c) for c in w.lower()) for w in x.split()),
    "hidden": lambda x: f'<span style="font-size:0;color:#fff">{x}</span>',
    "atbash": lambda x: "".join(chr(219 - ord(c)) if "a" <= c <= "z" else chr(155 - ord(c)) if "A" <= c <= "Z" else c for c in x),
}


def sections(name):
    """[(head, lines)] of a file of sections."""
    out = []
    for line in (HERE / name).read_text(encoding="utf-8").split("\n"):
        head = re.match(r"\[([a-z0-9 -]+)(?:: ([a-z0-9: ]+))?\]$", line)
        if head:
            out.append((head[1], (head[2] or "").split(), []))
        elif out:
            out[-1][2].append(line)
    return out


def carriers():
    return {name: "\n".join(body).strip("\n") for name, _, body in sections("carriers.txt")}


def plant(carrier, text):
    """As the carrier would hold it: escaped in JSON, indented with its place."""
    if carrier.lstrip().startswith("{"):
        text = json.dumps(text)[1:-1]
    return carrier.replace("@@", text)


def texts():
    """(label, budget, kind, text)"""
    have = carriers()
    for name, ways, body in sections("attacks.txt"):
        for i, x in enumerate(x.replace("\\n", "\n") for x in body if x.strip()):
            way = ways[i % len(ways)]
            if way.startswith("as:"):
                yield 1, "attack", name, ENCODE[way[3:]](x)
            else:
                yield 1, "attack", name, x if way == "bare" else plant(have[way], x)
    for name, ways, body in sections("benign.txt"):
        budget, kind = name.split()
        for i, x in enumerate(x.replace("\\n", "\n") for x in body if x.strip()):
            way = ways[i % len(ways)]
            yield 0, budget, kind, x if way == "bare" else plant(have[way], x)
    for name, c in have.items():
        yield 0, "natural", "carriers", c.replace("@@", "")


def scores(program, rows):
    lines = "".join(json.dumps({"id": str(i), "text": r[3]}) + "\n" for i, r in enumerate(rows))
    out = subprocess.run([program, "inspect", "--batch", "content", "--detect", "injection"], input=lines.encode(),
                         stdout=subprocess.PIPE, check=False).stdout.decode()
    got = {int(d["id"]): d for d in map(json.loads, out.splitlines())}
    if len(got) != len(rows):
        sys.exit(f"{program} answered {len(got)} of {len(rows)} texts")
    return [got[i]["confidence"] for i in range(len(rows))]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("bawn")
    a.add_argument("--list", action="store_true")
    a.add_argument("--pins")
    z = a.parse_args()
    rows = list(texts())
    n, hit = collections.Counter(), collections.Counter()
    for (label, budget, kind, text), c in zip(rows, scores(z.bawn, rows)):
        for key in ((label, budget, kind), (label, budget, "all")):
            n[key] += 1
            hit[key] += c >= FLAGGED
        if z.list and (c >= FLAGGED) != bool(label):
            print("%.2f %s %s: %s" % (c, budget, kind, json.dumps(text, ensure_ascii=False)))
    pins = {}
    if z.pins:
        pins = {tuple(x.split()[:2]): int(x.split()[2]) for x in pathlib.Path(z.pins).read_text().split("\n") if x and x[0] != "#"}
    bad = 0
    for label, budget, kind in sorted(n, key=lambda k: (k[2] == "all", -k[0], k[1])):
        key = (label, budget, kind)
        pin = pins.get((budget, kind))
        wrong = pin is not None and (hit[key] < pin if label else hit[key] > pin)
        bad += wrong
        print("%s %-10s %-16s %3d of %3d  %5.1f %%%s" % (
            "-+"[label], budget, kind, hit[key], n[key], 100 * hit[key] / n[key], f"  pinned at {pin}" if wrong else ""))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
