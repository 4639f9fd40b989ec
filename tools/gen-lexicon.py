#!/usr/bin/env python3
"""Turn rules/data/inject-lexicon.txt into a C header: numbers of the classes, a perfect hash table from the hash of
a word or phrase to its classes, and which hashes may be of two words that a phrase begins with, by their first bits. The hash is the one of src/inspect/inject/inject.h (phrases joined). gen-lexicon.py IN OUT [NAME]:
the macros begin with NAME, LEX if none is given, and the tables are named by it."""
import sys

BUCKET_BITS = 11
PAIR_BITS = 15
FACTOR = 0x9E3779B1
STARTS = 63  # the class of what longer phrases start with
# Words that nearly every English sentence or order has, long enough that what rot13 or reading backwards makes of them is no word.
HIDDEN = """the and you your this that with from all not for will have when any must should into file files data key keys token tokens email
message messages user ignore previous previously instructions instruction system prompt disregard forget password passwords assistant agent
reveal secret secrets everything prior above send delete execute command commands please before after without then instead inform tell
mention them what about which their other only every first also reply answer response content address contents always never""".split()
WORDS = {"dna", "era", "ton", "rof", "sel", "net", "yek", "hpo", "ner", "nag"}  # what came out and does mean something


def word_hash(word):
    word = word.encode()
    h = len(word)
    for i in range(0, max(len(word), 1), 8):
        x = int.from_bytes(word[i:i + 8], "little")
        x |= (x & 0x4040404040404040) >> 1
        h = ((h ^ x) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        h ^= h >> 32
    return (h ^ h >> 15) & 0xFFFFFFFF


def phrase_hash(phrase):
    words = phrase.split()
    h = word_hash(words[0])
    for w in words[1:]:
        h = (h * 31 + word_hash(w)) & 0xFFFFFFFF
    return h, len(words)


def read(path):
    names, entries, pairs = [], {}, set()
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, rest = line.split(":", 1)
        if name not in names:
            names.append(name)
        for entry in rest.split(","):
            entry = " ".join(entry.replace("-", " ").split())
            if not entry:
                continue
            h, n = phrase_hash(entry)
            if not h or n > 3:
                sys.exit(f"{path}: '{entry}' is no word or short phrase")
            old = entries.setdefault(h, [entry, 0])
            if old[0] != entry:
                sys.exit(f"{path}: '{entry}' and '{old[0]}' have one hash")
            old[1] |= 1 << names.index(name)
            words = entry.split()
            if len(words) > 1:
                pairs.add(phrase_hash(" ".join(words[:2]))[0])
            for k in range(1, len(words)):
                start = " ".join(words[:k])
                entries.setdefault(phrase_hash(start)[0], [start, 0])[1] |= 1 << STARTS
    for name, turn in () if "TURNED" not in names else (("TURNED", rot13), ("REVERSED", lambda w: w[::-1])):
        for word in map(turn, HIDDEN):
            h = phrase_hash(word)[0]
            if word not in WORDS and h not in entries:
                entries[h] = [word, 1 << names.index(name)]
    return names, entries, pairs


def rot13(word):
    return "".join(chr((ord(c) - 84) % 26 + 97) for c in word)


def place(h, shift, bits):
    return (((h ^ shift) * FACTOR) & 0xFFFFFFFF) >> (32 - bits)


def rest(h, shifts, bits):
    """What of the product does not go into the place. Together they are the hash: the factor is odd, and a shift leaves the
    bits alone that choose it."""
    return ((h ^ shifts[h >> (32 - BUCKET_BITS)]) * FACTOR) & ((1 << (32 - bits)) - 1)


def perfect(hashes):
    """A table in which every hash has one place: the number its bucket is shifted by is chosen so that nothing collides."""
    bits = max(len(hashes) * 9 // 8, 2).bit_length()
    for bits in range(bits, bits + 4):
        buckets = [[] for _ in range(1 << BUCKET_BITS)]
        for h in sorted(hashes):
            buckets[h >> (32 - BUCKET_BITS)].append(h)
        table, shifts = {}, [0] * len(buckets)
        for b in sorted(range(len(buckets)), key=lambda b: -len(buckets[b])):
            for shift in range(1 << 16):
                places = {place(h, shift, bits) for h in buckets[b]}
                if len(places) == len(buckets[b]) and not places & table.keys():
                    break
            else:
                break
            shifts[b] = shift
            table.update((place(h, shift, bits), h) for h in buckets[b])
        else:
            return bits, shifts, table
    sys.exit("no table can be made of these words")


def main():
    names, entries, pairs = read(sys.argv[1])
    up = sys.argv[3] if len(sys.argv) > 3 else "LEX"
    table_name = "lexicon" if up == "LEX" else up.lower()
    bits, shifts, table = perfect(entries)
    masks = sorted({mask for _, mask in entries.values()} | {0})
    if len(names) > STARTS or len(masks) > 1 << bits:
        sys.exit(f"{sys.argv[1]}: more than the table holds")
    out = [f"/* Generated by tools/gen-lexicon.py from rules/data/{sys.argv[1].rsplit('/', 1)[-1]}. */", "#pragma once", "#include <stdint.h>", ""]
    for i, n in enumerate(names):
        out.append(f"#define {up}_{n} {i}u")
    out.append(f"#define {up}_STARTS {STARTS}u")
    out.append(f"#ifdef {up}_TABLE")
    out.append(f"#define {up}_FACTOR {FACTOR}u")
    out.append(f"#define {up}_BUCKET {32 - BUCKET_BITS}u")
    out.append(f"#define {up}_SLOT {32 - bits}u")
    out.append(f"#define {up}_TAG {bits}u")
    out.append(f"#define {up}_CLASSES {(1 << bits) - 1}u")
    out.append(f"#define {up}_REST {(1 << (32 - bits)) - 1}u")
    out.append(f"static const uint32_t {table_name}[{1 << bits}] = {{")
    out += [f"[{at}] = {rest(h, shifts, bits) << bits | masks.index(entries[h][1])}u," for at, h in sorted(table.items())]
    out.append("};")
    out.append(f"static const uint64_t {table_name}_classes[{len(masks)}] = {{")
    out += [f"{m}u," for m in masks]
    out.append("};")
    out.append(f"static const uint16_t {table_name}_shift[{len(shifts)}] = {{")
    out += [", ".join(map(str, shifts[i:i + 16])) + "," for i in range(0, len(shifts), 16)]
    out.append("};")
    bits = [0] * (1 << PAIR_BITS - 6)
    for h in pairs:
        h >>= 32 - PAIR_BITS
        bits[h >> 6] |= 1 << (h & 63)
    out.append(f"#define {up}_PAIR {32 - PAIR_BITS}u")
    out.append(f"static const uint64_t {table_name}_pairs[{len(bits)}] = {{")
    out += [", ".join(f"{m}u" for m in bits[i:i + 4]) + "," for i in range(0, len(bits), 4)]
    out.append("};")
    out.append("#endif")
    open(sys.argv[2], "w", encoding="utf-8").write("\n".join(out) + "\n")


main()
