#!/usr/bin/env python3
"""Compare the address classes of the door with Python's ipaddress, on boundaries and at random.

Where the two differ on purpose stands in DIFFERENCES; any other difference fails, and so does a row
that no address needed.
"""
import ipaddress
import random
import subprocess
import sys

IP4, IP6 = ipaddress.IPv4Address, ipaddress.IPv6Address

# network, whether we call it public where Python does not (+) or the other way round (-), why.
# "?" before the sign: depends on the version of Python, so it may go unused.
DIFFERENCES = [
    # IPv4
    ("168.63.129.16/32", "-", "Azure's wire server: metadata at an address that looks public"),
    ("192.88.99.0/24", "-", "6to4 relays, deprecated: no server is there"),
    ("192.0.0.0/24", "?-", "protocol assignments (versions that know only parts of it, or except anycast)"),
    # IPv6
    ("2001::/23", "?-", "protocol assignments: those that Python excepts (AMT, AS112, ORCHID, drones) are no servers"),
    ("3fff::/20", "?-", "documentation, since RFC 9637"),
    # IPv4 inside IPv6: the inside counts
    ("::ffff:0:0/96", "?+", "mapped: the kernel dials the IPv4 address inside, which is public"),
    ("64:ff9b::/96", "?-", "NAT64: what is inside is not public"),
    ("64:ff9b::/96", "?+", "NAT64: what is inside is public (versions that call the range reserved)"),
    ("2002::/16", "?+", "6to4: what is inside is public"),
    ("2002::/16", "?-", "6to4: what is inside is not public (versions that call the range global)"),
]


def isatap(a):
    return a.version == 6 and (int(a) >> 32) & 0xFCFFFFFF == 0x5EFE


def python_public(a):
    return a.is_global and not (a.is_multicast or a.is_reserved or a.is_unspecified or a.is_loopback
                                or a.is_link_local or getattr(a, "is_site_local", False))


def inner(a):
    """The IPv4 addresses inside, as Python finds them (and NAT64, which it does not know)."""
    if a.version == 4:
        return []
    found = [a.ipv4_mapped] if a.ipv4_mapped else []
    if a.sixtofour:
        found.append(a.sixtofour)
    if a.teredo:
        found += list(a.teredo)
    if a in ipaddress.ip_network("64:ff9b::/96") or isatap(a):
        found.append(IP4(int(a) & 0xFFFFFFFF))
    return found


def addresses():
    rnd = random.Random(20)
    nets = [ipaddress.ip_network(n) for n, _, _ in DIFFERENCES]
    nets += [ipaddress.ip_network(n) for n in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 "
        "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 100.100.100.200/32 "
        "169.254.169.254/32 192.31.196.0/24 192.52.193.0/24 192.175.48.0/24 "
        "::/128 ::1/128 ::/96 ::ffff:0:0:0/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2000::/3 2001::/32 2001:1::1/128 "
        "2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2620:4f:8000::/48 "
        "5f00::/16 fc00::/7 fd00:ec2::/32 fe80::/10 fec0::/10 ff00::/8").split()]
    for net in nets:
        make, top = (IP4, 2**32) if net.version == 4 else (IP6, 2**128)
        first, last = int(net[0]), int(net[-1])
        for edge in (first - 1, first, first + 1, last - 1, last, last + 1):
            yield make(edge % top)
        for _ in range(300):
            yield make(rnd.randint(first, last))
    for top in range(256):
        for low in (0, 1, 0xFFFFFF, 0x800000):
            yield IP4(top << 24 | low)
    for _ in range(40000):
        yield IP4(rnd.getrandbits(32))
        yield IP6(rnd.getrandbits(128))
        yield IP6(1 << 125 | rnd.getrandbits(125))
    special = [a for a in (IP4(rnd.getrandbits(32)) for _ in range(2000))]
    special += [IP4(s) for s in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "8.8.8.8", "0.0.0.0")]
    for v4 in special:
        n = int(v4)
        yield IP6(0xFFFF << 32 | n)
        yield IP6(0x64FF9B << 96 | n)
        yield IP6(0x2002 << 112 | n << 80 | rnd.getrandbits(80))
        yield IP6(0x20010000 << 96 | n << 64 | rnd.getrandbits(64))
        yield IP6(0x20010000 << 96 | rnd.getrandbits(64) << 32 | n ^ 0xFFFFFFFF)
        yield IP6(0x2600 << 112 | 0x5EFE << 32 | n)
        yield IP6(n)


# What Python has a word for must have the same one here.
WORDS = [
    ("is_unspecified", {"unspecified"}),
    ("is_loopback", {"loopback"}),
    ("is_link_local", {"link-local", "cloud metadata"}),
    ("is_site_local", {"private"}),
    ("is_multicast", {"multicast"}),
]


def main():
    todo = list(dict.fromkeys(addresses()))
    out = subprocess.run([sys.argv[1]], input="".join(f"{a}\n" for a in todo), text=True, check=True,
                         stdout=subprocess.PIPE).stdout.splitlines()
    if len(out) != len(todo):
        sys.exit(f"{len(todo)} addresses, {len(out)} classes")
    ours = dict(zip(todo, out))
    used = [0] * len(DIFFERENCES)
    rows = [(ipaddress.ip_network(n), sign, why) for n, sign, why in DIFFERENCES]
    bad = []
    for a, name in ours.items():
        wrapped = inner(a)
        for word, classes in WORDS:
            if not wrapped and getattr(a, word, False) and name not in classes:
                bad.append(f"{a}: {name}, but {word}")
        # Worse inside than outside: never public, whoever is right about the outside.
        hidden = any(not python_public(i) for i in wrapped)
        if hidden and name == "public":
            bad.append(f"{a}: public, but it holds {wrapped}")
        if (name == "public") == python_public(a) or (isatap(a) and hidden):
            continue
        sign = "+" if name == "public" else "-"
        hits = [i for i, (net, s, _) in enumerate(rows) if a in net and s[-1] == sign]
        # A special IPv4 address is as special inside of IPv6.
        v4 = [w for w in wrapped if sign == "-" and any(w in n and s[-1] == "-" for n, s, _ in rows if n.version == 4)]
        for i in hits:
            used[i] += 1
        if not hits and not v4:
            bad.append(f"{a}: {name} here, {'not ' if sign == '+' else ''}public in Python")
    for (net, sign, why), n in zip(rows, used):
        print(f"# {net!s:20} {sign:2} {n:6} addresses: {why}")
        if not n and not sign.startswith("?"):
            bad.append(f"{net} {sign} is not a difference")
    print(f"# {len(ours)} addresses, Python {sys.version.split()[0]}")
    for line in bad[:40]:
        print(f"# {line}")
    print("1..1\n" + ("not ok" if bad else "ok") + " 1 - same as ipaddress but for the table")
    sys.exit(bool(bad))


main()
