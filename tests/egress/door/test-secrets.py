#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets that stay outside: the door puts them into requests to the hosts they are bound to, and nowhere else."""
import base64
import gzip
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import warnings

import net
from net import read_all, read_answer, read_head

warnings.simplefilter("ignore", DeprecationWarning)  # of TLS 1.1, which is what is tested
PROGRAM = net.program("bawn-egress-tls")
HOLDER = "bawn-secret-token-0123456789abcdef0123456789abcdef"
VALUE = "the real t0ken/+="
OTHER = "bawn-secret-other-fedcba9876543210fedcba9876543210"
OTHER_VALUE = "an0ther$value"


def secret(**more):
    return {"name": "TOKEN", "placeholder": HOLDER, "value": VALUE, "hosts": ["a.w.test"], **more}


def door(net_world, secrets=None, **config):
    listen = config.pop("listen", ("proxy",))
    return net.Door(PROGRAM, listen, **{"allow": ["*.w.test"], "roots": str(net_world.dir / "roots"),
                                        "secrets": secrets or [secret()], **config})


def tunnel(d, target):
    s = d.connect()
    s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    return s, int(read_head(s).split()[1])


def context(pem, *protocols):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ctx.load_verify_locations(cadata=pem)
    if protocols:
        ctx.set_alpn_protocols(list(protocols))
    return ctx


def secure(d, host="a.w.test", port=443, pem=None, protocols=()):
    s, status = tunnel(d, f"{host}:{port}")
    assert status == 200, status
    return context(pem or d.ca, *protocols).wrap_socket(s, server_hostname=host, suppress_ragged_eofs=False)


def ask(t, path="/hello", host="a.w.test", method="GET", body=b"", **headers):
    h = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
    if body:
        h += f"Content-Length: {len(body)}\r\n"
    t.sendall(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{h}\r\n".encode() + body)


def get(t, *args, **named):
    ask(t, *args, **named)
    return read_answer(t)


def headers_seen(net_world, i=-1):
    return {k.lower(): v for k, v in net_world.tell()["http"][i]["headers"]}


def everything(net_world):
    return json.dumps(net_world.tell())


def the_value_goes_into_the_header_of_the_bound_host(world):
    with door(world) as d:
        world.reset()
        status, _, body = get(secure(d), Authorization=f"Bearer {HOLDER}")
        assert status == 200 and body == b"hello\n"
        h = headers_seen(world)
        assert h["authorization"] == f"Bearer {VALUE}" and h["host"] == "a.w.test", h
        e = d.wait("injected")
        assert e == {"injected": "a.w.test", "port": 443, "rule": "TOKEN"}, e


def also_inside_basic_and_more_than_once(world):
    with door(world, [secret(), secret(name="OTHER", placeholder=OTHER, value=OTHER_VALUE)]) as d:
        t = secure(d)
        world.reset()
        basic = base64.b64encode(f"user:{HOLDER}".encode()).decode()
        assert get(t, Authorization=f"Basic {basic}")[0] == 200
        assert headers_seen(world)["authorization"] == "Basic " + base64.b64encode(f"user:{VALUE}".encode()).decode()
        assert get(t, Authorization=f"X {HOLDER}{OTHER},{HOLDER}")[0] == 200
        assert headers_seen(world)["authorization"] == f"X {VALUE}{OTHER_VALUE},{VALUE}"
        d.pull(1)
        assert sorted(e["rule"] for e in d.events if "injected" in e) == ["OTHER", "TOKEN", "TOKEN"], d.events
        assert get(t, Authorization="Basic not!base64")[0] == 200
        assert headers_seen(world)["authorization"] == "Basic not!base64"


def only_bound_headers_get_it(world):
    with door(world, [secret(headers=["X-Api-Key", "private-token"])]) as d:
        world.reset()
        get(secure(d), x_api_key=HOLDER, PRIVATE_TOKEN=f"t={HOLDER}", Authorization=f"Bearer {HOLDER}", Cookie=HOLDER)
        h = headers_seen(world)
        assert h["x-api-key"] == VALUE and h["private-token"] == f"t={VALUE}", h
        assert h["authorization"] == f"Bearer {HOLDER}" and h["cookie"] == HOLDER, h


def elsewhere_in_a_request_the_placeholder_is_only_text(world):
    with door(world) as d:
        t = secure(d)
        world.reset()
        get(t, f"/hello?q={HOLDER}", X_Other=HOLDER, Referer=f"https://a.w.test/{HOLDER}")
        body = f"token={HOLDER}".encode()
        assert get(t, "/echo", method="POST", body=body)[2] == body
        packed = gzip.compress(body)
        assert get(t, "/echo", method="POST", body=packed, Content_Encoding="gzip")[2] == packed
        t.sendall(b"POST /echo HTTP/1.1\r\nHost: a.w.test\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
                  % (len(body), body))
        assert read_answer(t)[2] == body
        got = everything(world)
        assert VALUE not in got and HOLDER in got
        d.pull()
        assert not [e for e in d.events if "injected" in e]


def other_hosts_get_the_placeholder(world):
    pem = (world.dir / "crt").read_text()
    with door(world, allow=["*.w.test:*"]) as d:
        world.reset()
        t = secure(d, "b.w.test", pem=pem)  # the world's own certificate: nothing ends here
        assert get(t, host="b.w.test", Authorization=f"Bearer {HOLDER}")[0] == 200
        t = secure(d, "a.w.test", 8443, pem)
        assert get(t, host="a.w.test:8443", Authorization=f"Bearer {HOLDER}")[0] == 200
        s = d.connect()  # in the clear
        s.sendall(f"GET http://a.w.test/hello HTTP/1.1\r\nHost: a.w.test\r\nAuthorization: {HOLDER}\r\n\r\n".encode())
        assert read_answer(s)[0] == 200
        for port in (80, 8080):
            s, _ = tunnel(d, f"a.w.test:{port}")
            ask(s, Authorization=HOLDER)
            assert read_answer(s)[0] == 200
        got = world.tell()["http"]
        assert len(got) == 5 and VALUE not in json.dumps(got), got
        assert all(HOLDER in json.dumps(x) for x in got)


def a_redirect_to_another_host_gets_the_placeholder(world):
    with door(world) as d:
        world.reset()
        status, h, _ = get(secure(d), "/mirror?at=location&from=x-none", Authorization=f"Bearer {HOLDER}")
        assert status == 302 and h["location"].startswith("https://other.w.test/"), h
        t = secure(d, "other.w.test", pem=(world.dir / "crt").read_text())
        get(t, host="other.w.test", Authorization=f"Bearer {HOLDER}")
        got = world.tell()["http"]
        assert VALUE in json.dumps(got[0]) and VALUE not in json.dumps(got[1]) and HOLDER in json.dumps(got[1]), got


def what_a_server_sends_back_is_masked(world):
    with door(world) as d:
        t = secure(d)
        for way in ("raw", "base64", "base64url", "hex", "HEX", "url", "percent", "json"):
            for before in (0, 1, 2, 40):
                for cut in (0, 1, 3, 7, 64):
                    query = f"/mirror?as={way}&before={before}&cut={cut}"
                    status, _, body = get(t, query, Authorization=f"Bearer {HOLDER}")
                    assert status == 200 and hides(body), (query, body)
                    assert b"*****" in body, (query, body)


def hides(data):
    """Nothing in it from which the value could be made."""
    value = VALUE.encode()
    texts = [value, value.hex().encode(), value.hex().upper().encode(), base64.b64encode(value)[:-4]]
    for n in (1, 2):
        texts.append(base64.b64encode(b"x" * n + value)[4:-4])
    return not any(t in data for t in texts)


def lengths_hold_and_the_rest_stays(world):
    with door(world) as d:
        t = secure(d)
        status, h, body = get(t, "/mirror", Authorization=f"<{HOLDER}>")
        assert status == 200 and int(h["content-length"]) == len(VALUE) + 2, h
        assert body == b"<" + b"*" * len(VALUE) + b">", body
        body = b"nothing of interest, " * 5000
        assert get(t, "/echo", method="POST", body=body)[2] == body
        body = (VALUE[:-1] + "!" + VALUE[1:] + VALUE).encode()
        assert get(t, "/echo", method="POST", body=body)[2] == body[:-len(VALUE)] + b"*" * len(VALUE)


def what_waits_does_not_tell_how_a_value_begins(world):
    with door(world) as d:
        def early(text):
            """What arrives of it before the server goes on."""
            t = secure(d)
            ask(t, "/drip?t=" + urllib.parse.quote(text))
            assert "chunked" in str(read_head(t)).lower()
            t.settimeout(2)
            got = b""
            try:
                while True:
                    got += t.recv(65536)
            except TimeoutError:
                return got
        for before in ("", "x" * 300, "a line\n", "a line\n" + "x" * 40):
            right, wrong = early(before + VALUE[:9]), early(before + VALUE[:8] + "!")
            assert len(right) == len(wrong), (before, right, wrong)
        assert b"a line\n" in early("a line\n"), "lines wait"


def heads_are_masked_too(world):
    with door(world, [secret(value="tok3n-without-blanks")]) as d:
        for at in ("reason", "location", "cookie", "name", "early"):
            s = secure(d)
            ask(s, f"/mirror?at={at}", Authorization=HOLDER)
            data = read_head(s) + (read_head(s) if at == "early" else b"")
            assert b"tok3n-without" not in data and b"*" * 20 in data, (at, data)
        s = secure(d)
        ask(s, "/mirror?at=trailer", Authorization=HOLDER)
        data = b""
        while not data.endswith(b"0\r\n\r\n"):
            data += s.recv(1)
        assert b"tok3n" not in data and b"X-Last" not in data, data


def values_of_earlier_requests_and_of_other_secrets_are_masked(world):
    with door(world, [secret(), secret(name="OTHER", placeholder=OTHER, value=OTHER_VALUE, hosts=["b.w.test"])]) as d:
        t = secure(d)
        for value in (VALUE, OTHER_VALUE):
            got = get(t, "/echo", method="POST", body=value.encode())[2]
            assert got == b"*" * len(value), got


def compressed_answers_and_parts_are_refused(world):
    with door(world) as d:
        for name in ("gzip", "br", "x-gzip"):
            status, _, body = get(secure(d), f"/mirror?gzip={name}", Authorization=HOLDER)
            assert status == 502 and b"compressed" in body, body
            assert d.wait("decision", {"decision": "deny"})["rule"] == "secrets"
        world.reset()
        status, _, _ = get(secure(d), Accept_Encoding="gzip, br", Range="bytes=0-3", If_Range='"x"')
        h = headers_seen(world)
        assert status == 200 and h["accept-encoding"] == "identity" and "range" not in h and "if-range" not in h, h


def answers_in_other_character_sets_are_refused(world):
    """A value in UTF-16 is not the value's bytes."""
    quote = urllib.parse.quote
    with door(world) as d:
        for kind in ("text/plain; charset=utf-16", 'text/html;charset="UTF-16LE"', "text/plain; Charset = utf-32",
                     "text/plain; charset=utf-8; charset=utf-7", "application/json; charset=ibm037", "text/plain; charset="):
            status, _, body = get(secure(d), "/mirror?type=" + quote(kind), Authorization=HOLDER)
            assert status == 502 and b"character set" in body, (kind, status, body)
            assert d.wait("decision", {"decision": "deny"})["rule"] == "secrets"
        for kind in ("text/plain; charset=utf-8", "text/html; charset=ISO-8859-15", "application/json", 'a/b; charset="us-ascii"'):
            status, _, body = get(secure(d), "/mirror?type=" + quote(kind), Authorization=HOLDER)
            assert status == 200 and VALUE.encode() not in body and b"***" in body, (kind, status, body)
        world.reset()
        assert get(secure(d), Accept_Charset="utf-16")[0] == 200
        assert "accept-charset" not in headers_seen(world)


def requests_of_one_connection_do_not_mix(world):
    with door(world) as d:
        world.reset()
        t = secure(d)
        get(t, Authorization=HOLDER)
        get(t)
        get(t, Authorization="mine")
        t.sendall(f"GET /hello HTTP/1.1\r\nHost: a.w.test\r\nAuthorization: {HOLDER}\r\n\r\n"
                  "GET /hello HTTP/1.1\r\nHost: a.w.test\r\nX-A: 1\r\n\r\n".encode())
        assert read_answer(t)[0] == 200 and read_answer(t)[0] == 200
        got = [dict(x["headers"]).get("Authorization") for x in world.tell()["http"]]
        assert got == [VALUE, None, "mine", VALUE, None], got
        assert world.tell()["connections"] == 1


def clients_share_no_connection_to_a_bound_host(world):
    with door(world) as d:
        world.reset()
        for _ in range(3):
            t = secure(d)
            get(t, Authorization=HOLDER)
            t.close()
        assert world.tell()["connections"] == 3
        many = [secure(d) for _ in range(20)]
        for i, t in enumerate(many):
            ask(t, "/echo", method="POST", body=b"%d" % i, Authorization=HOLDER if i % 2 else "none")
        for i, t in enumerate(many):
            assert read_answer(t)[2] == b"%d" % i


def http_2_is_refused_clearly(world):
    with door(world) as d:
        world.reset()
        s, _ = tunnel(d, "a.w.test:443")
        try:
            context(d.ca, "h2").wrap_socket(s, server_hostname="a.w.test")
            raise AssertionError("a handshake without a protocol")
        except ssl.SSLError as e:
            assert "application protocol" in str(e).lower().replace("_", " "), e
        e = d.wait("decision", {"decision": "deny"})
        assert e["rule"] == "secrets" and "HTTP/2" in e["reason"], e
        t = secure(d, protocols=("h2", "http/1.1"))
        assert t.selected_alpn_protocol() == "http/1.1" and get(t)[0] == 200
        t = secure(d)  # knows it beforehand
        t.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
        assert read_answer(t)[0] in (400, 405, 501, 505)
        assert all("PRI" not in x["line"] for x in world.tell()["http"])


def what_cannot_be_looked_into_is_refused(world):
    with door(world) as d:
        world.reset()
        status, _, body = get(secure(d), method="TRACE", Authorization=HOLDER)
        assert status in (403, 405, 501), status
        status, _, body = get(secure(d), "/ws", Connection="Upgrade", Upgrade="websocket", Authorization=HOLDER)
        assert status == 403 and b"WebSocket" in body, body
        status, _, body = get(secure(d), host="b.w.test", Authorization=HOLDER)
        assert status == 403 and b"Host" in body, body
        t = secure(d)
        t.sendall(b"CONNECT a.w.test:443 HTTP/1.1\r\nHost: a.w.test:443\r\n\r\n")
        assert read_answer(t)[0] == 403
        t = secure(d)
        t.sendall(b"GET / HTTP/1.1\r\nHost: a.w.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        assert read_answer(t)[0] == 400
        assert world.tell()["http"] == []
        s, _ = tunnel(d, "a.w.test:443")
        s.sendall(b"GET / HTTP/1.1\r\nHost: a.w.test\r\n\r\n")
        assert read_all(s)[:1] in (b"", b"<", b"\x15")


def servers_must_prove_who_they_are(world):
    ports = {443: "x.y.w.test", 4431: "a.w.test", 4432: "a.w.test", 4433: "a.w.test", 2222: "a.w.test"}
    hosts = [f"{h}:{p}" for p, h in ports.items()]
    for port, host in ports.items():
        # who never answers is waited for but a moment
        with door(world, [secret(hosts=hosts)], allow=hosts, timeouts={"dial": 700} if port == 4433 else {}) as d:
            world.reset()
            status, _, body = get(secure(d, host, port), host=host, Authorization=HOLDER)
            assert status == (504 if port == 4433 else 502), (port, status, body)
            word = {443: b"hostname mismatch", 4432: b"expired", 4433: b"in time"}.get(port, b"no TLS")
            assert word in body, (port, body)
            e = d.wait("decision", {"decision": "deny"})
            assert e["rule"] == "secrets", e
            assert VALUE not in everything(world)
    strange = world.dir / "strange"
    with door(world) as d:
        strange.write_text(d.ca)
    with door(world, roots=str(strange)) as d:
        status, _, body = get(secure(d), Authorization=HOLDER)
        assert status == 502 and b"self-signed" in body, body
        assert VALUE not in everything(world)


def a_cut_answer_is_not_taken_for_a_whole_one(world):
    with door(world, [secret(hosts=["a.w.test:4434", "a.w.test"])], allow=["a.w.test:*"]) as d:
        t = secure(d, port=4434)
        ask(t, Authorization=HOLDER)
        try:
            read_head(t)
            while t.recv(100):
                pass
            raise AssertionError("a proper end")
        except (ssl.SSLError, ConnectionResetError):
            pass
        t = secure(d)
        ask(t, "/mirror?at=close&as=raw", Authorization=HOLDER)
        head = read_head(t)
        assert b"200" in head
        assert read_all(t) == b"*" * len(VALUE)


def old_clients_and_other_names_are_refused(world):
    with door(world) as d:
        s, _ = tunnel(d, "a.w.test:443")
        ctx = context(d.ca)
        ctx.set_ciphers("ALL:@SECLEVEL=0")
        ctx.minimum_version, ctx.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        try:
            ctx.wrap_socket(s, server_hostname="a.w.test")
            raise AssertionError("TLS 1.1")
        except (ssl.SSLError, ConnectionResetError):
            pass
        s, _ = tunnel(d, "a.w.test:443")
        try:
            context(d.ca).wrap_socket(s, server_hostname="b.w.test")
            raise AssertionError("another name")
        except (ssl.SSLError, ConnectionResetError):
            pass
        while "SNI" not in d.wait("decision", {"decision": "deny"})["reason"]:
            pass
        s, _ = tunnel(d, "a.w.test:443")
        try:
            context((world.dir / "crt").read_text()).wrap_socket(s, server_hostname="a.w.test")
            raise AssertionError("a client that does not know the authority")
        except ssl.SSLError:
            pass
        s.close()
        e = d.wait("decision", {"decision": "deny"})
        assert "SSL_CERT_FILE" in e["reason"], e


def certificates_are_for_one_host(world):
    hosts = ["a.w.test", "*.deep.w.test", "93.184.215.14"]
    with door(world, [secret(hosts=hosts)], allow=["*.w.test", "93.184.215.14"]) as d, door(world) as other:
        assert d.ca != other.ca
        for host in ("a.w.test", "deep.w.test", "x.deep.w.test", "93.184.215.14"):
            s, _ = tunnel(d, f"{host}:443")
            t = context(d.ca).wrap_socket(s, server_hostname=host)
            names = [v for _, v in t.getpeercert()["subjectAltName"]]
            assert names == [host], names
            der = t.getpeercert(True)
        leaf, root = world.dir / "leaf", world.dir / "root"
        leaf.write_text(ssl.DER_cert_to_PEM_cert(der))
        root.write_text(d.ca)
        check = lambda *more: subprocess.run(["openssl", "verify", "-x509_strict", "-CAfile", str(root), *more, str(leaf)],  # noqa: E731
                                             capture_output=True, check=False).returncode
        assert check("-verify_ip", "93.184.215.14") == 0
        assert check("-verify_hostname", "a.w.test") != 0
        root.write_text(other.ca)
        assert check() != 0


def the_authority_cannot_vouch_for_others(world):
    """With its very key: the constraints are in its certificate."""
    with door(world, [secret(hosts=["a.w.test", "*.deep.w.test"])]) as d:
        text = subprocess.run(["openssl", "x509", "-noout", "-ext", "nameConstraints,basicConstraints", "-dates"],
                              input=d.ca.encode(), capture_output=True, check=True).stdout.decode()
        assert "Name Constraints: critical" in text and "DNS:a.w.test" in text and "DNS:deep.w.test" in text, text
        assert "IP:0.0.0.0/0.0.0.0" in text and "pathlen:0" in text, text
        dates = dict(x.split("=", 1) for x in text.split("\n") if x.startswith("not"))
        life = ssl.cert_time_to_seconds(dates["notAfter"]) - time.time()
        assert 0 < life <= 86400, life


def the_door_keeps_its_keys(world):
    with door(world) as d:
        get(secure(d), Authorization=HOLDER)
        powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "cat"]
        with subprocess.Popen([*powerless[:-1], "sleep", "60"]) as other:
            comm = None
            while comm != "sleep\n":  # it has given up its powers
                with open(f"/proc/{other.pid}/comm", encoding="ascii") as f:
                    comm = f.read()
            seen = {pid: [subprocess.run([*powerless, f"/proc/{pid}/{x}"], capture_output=True, check=False).returncode
                          for x in ("environ", "maps")] for pid in (other.pid, d.pid)}
            other.kill()
        assert seen[other.pid] == [0, 0], "nobody's memory can be read here"
        assert seen[d.pid] == [1, 1] or os.environ.get("BAWN_SANITIZED"), seen
        assert b"PRIVATE KEY" not in d.said and d.ca.count("BEGIN") == 1
        with open(f"/proc/{d.pid}/cmdline", "rb") as f:
            assert VALUE.encode() not in f.read()


def a_binding_opens_nothing(world):
    with door(world, [secret(hosts=["a.w.test", "b.w.test"])], allow=["b.w.test"]) as d:
        world.reset()
        assert tunnel(d, "a.w.test:443")[1] == 403
        assert world.tell()["dns"] == []
    with door(world, allow=["GET a.w.test/hello", "GET a.w.test/echo*"]) as d:
        t = secure(d)
        assert get(t, Authorization=HOLDER)[0] == 200
        status, _, body = get(t, "/mirror", Authorization=HOLDER)
        assert status == 403 and b"path" in body, body
        assert get(secure(d), "/echo", method="POST", body=b"x", Authorization=HOLDER)[0] == 403
    with door(world, [secret(hosts=["priv.w.test"])]) as d:
        status, _, body = get(secure(d, "priv.w.test"), host="priv.w.test", Authorization=HOLDER)
        assert status == 403 and b"10.0.0.1" in body, body


def other_ways_in_end_in_the_same_place(world):
    with door(world, listen=("proxy", "capture", "dns-udp")) as d:
        world.reset()
        s = d.connect()
        s.sendall(b"\5\1\0")
        assert s.recv(2) == b"\5\0"
        s.sendall(b"\5\1\0\3\x08a.w.test" + struct.pack(">H", 443))
        assert s.recv(10)[1] == 0
        t = context(d.ca).wrap_socket(s, server_hostname="a.w.test")
        assert get(t, Authorization=HOLDER)[0] == 200
        assert headers_seen(world)["authorization"] == VALUE
        t = context(d.ca).wrap_socket(tunnel(d, "a.w.test:443")[0], server_hostname="a.w.test")
        assert get(t, Authorization=HOLDER)[0] == 200


def in_the_clear_only_where_port_80_is_named(world):
    for hosts, want in ((["a.w.test:80"], VALUE), (["a.w.test"], HOLDER), (["a.w.test:*"], HOLDER)):
        with door(world, [secret(hosts=hosts)]) as d:
            world.reset()
            s = d.connect()
            s.sendall(f"GET http://a.w.test/mirror HTTP/1.1\r\nHost: a.w.test\r\nAuthorization: {HOLDER}\r\n\r\n".encode())
            body = read_answer(s)[2]
            assert headers_seen(world)["authorization"] == want, hosts
            assert body == (b"*" * len(VALUE) if want == VALUE else HOLDER.encode()), body
    with door(world, [secret(hosts=["a.w.test:80", "a.w.test:8080"])], allow=["a.w.test:*"]) as d:
        world.reset()
        s = d.connect()
        s.sendall(f"GET http://a.w.test:8080/hello HTTP/1.1\r\nHost: a.w.test:8080\r\nAuthorization: {HOLDER}\r\n\r\n".encode())
        read_answer(s)
        assert headers_seen(world)["authorization"] == HOLDER
        s = d.connect()
        s.sendall(b"GET http://a.w.test:443/hello HTTP/1.1\r\nHost: a.w.test:443\r\n\r\n")
        read_answer(s)


def slow_clients_and_big_answers(world):
    with door(world, timeouts={"head": 3000}) as d:
        slow = [tunnel(d, "a.w.test:443")[0] for _ in range(50)]
        begun = [tunnel(d, "a.w.test:443")[0] for _ in range(50)]
        for s in begun:
            s.sendall(b"\x16\x03\x01\x02\x00\x01")
        idle = secure(d)
        n = 8 << 20
        t = secure(d)
        ask(t, f"/big/{n}", Authorization=HOLDER)
        read_head(t)
        got = 0
        while got < n:
            data = t.recv(1 << 20)
            assert data and data.count(b"x") == len(data)
            got += len(data)
        assert get(t)[0] == 200
        for s in begun:
            s.settimeout(net.WAIT)
            assert read_all(s)[:1] in (b"", b"<", b"\x15")
        idle.settimeout(net.WAIT)
        assert idle.recv(1) == b""  # it asked for nothing
        for s in slow:
            s.close()
        stuck = secure(d)
        ask(stuck, "/big/200000000", Authorization=HOLDER)
        time.sleep(0.5)
        with open(f"/proc/{d.pid}/status", encoding="ascii") as f:
            rss = next(int(x.split()[1]) for x in f if x.startswith("VmRSS"))
        assert os.environ.get("BAWN_SANITIZED") or rss < 40000, rss
        assert get(secure(d))[0] == 200
        stuck.close()


def who_reads_late_gets_everything(world):
    n = 12000000
    with door(world) as d:
        for pause in (1, 0.3):
            t = secure(d)
            ask(t, f"/big/{n}", Authorization=HOLDER)
            time.sleep(pause)
            head = read_head(t)
            got = 0
            while got < n:
                got += len(t.recv(65536))
                if got % 500000 < 65536:
                    time.sleep(pause / 100)
            assert got == n and b"200" in head
            assert get(t, Authorization=HOLDER)[0] == 200


def big_uploads_pass(world):
    with door(world) as d:
        body = os.urandom(3 << 20)
        got = get(secure(d), "/echo", method="POST", body=body, Authorization=HOLDER)[2]
        assert got == body


def nothing_that_is_told_has_the_value_in_it(world):
    with door(world, host_bytes=100000) as d:
        t = secure(d)
        get(t, "/mirror", Authorization=HOLDER)
        get(secure(d), "/mirror?gzip=gzip", Authorization=HOLDER)
        get(secure(d), f"/{VALUE.replace(' ', '')}", method="TRACE", Authorization=HOLDER)
        try:  # beyond the budget
            get(secure(d), "/big/99999999", Authorization=HOLDER)
        except OSError:
            pass
        d.stats()
        d.pull(1)
        assert VALUE.encode() not in d.said and b"injected" in d.said, d.said


def a_reload_keeps_them(world):
    with door(world) as d:
        config = {k: v for k, v in d.config.items() if k != "secrets"}
        d.send({"config": dict(config, allow=["a.w.test"])})
        d.wait("reloaded")
        world.reset()
        get(secure(d), Authorization=HOLDER)
        assert headers_seen(world)["authorization"] == VALUE
        d.send({"config": d.config})
        assert "once" in d.wait("error")["error"]
        assert get(secure(d))[0] == 200


def bad_secrets_are_refused_before_anything_runs(world):
    bad = [{"value": ""}, {"value": "a\r\nb"}, {"value": "a\0b"}, {"value": "ü"}, {"value": "x" * 8193}, {"hosts": []},
           {"hosts": ["*"]}, {"hosts": ["10.0.0.0/8"]}, {"hosts": ["GET a.w.test"]}, {"hosts": ["a.w.test/path"]},
           {"hosts": ["*.com"]}, {"placeholder": "short"}, {"placeholder": "with blanks in it, long"}, {"name": "a b"},
           {"headers": ["host"]}, {"headers": ["Content-Length"]}, {"headers": ["proxy-authorization"]}, {"headers": ["a b"]},
           {"value": HOLDER + "x"}, {"extra": 1}, {"hosts": "a.w.test"}, {"headers": ["connection"]}]
    for change in bad:
        try:
            with door(world, [secret(**change)]):
                raise RuntimeError(f"accepted: {change}")
        except AssertionError as e:
            assert VALUE not in str(e) and str(e) != "", e
    for secrets in ([secret(), secret(name="B")], [secret(name=f"S{i}", placeholder=f"{HOLDER}{i:03}") for i in range(33)],
                    [secret(name=f"S{i}", placeholder=f"{HOLDER}{i:03}", value="y" * 8000) for i in range(5)]):
        try:
            with door(world, secrets):
                raise RuntimeError("accepted")
        except AssertionError as e:
            assert "y" * 100 not in str(e)
    for roots in ("/nonexistent", "/etc/passwd", str(world.dir)):
        try:
            with door(world, roots=roots):
                raise RuntimeError(f"accepted: {roots}")
        except AssertionError as e:
            assert roots in str(e), e


def the_door_without_tls_takes_none(world):
    try:
        with net.Door(net.program(), secrets=[secret()]):
            raise RuntimeError("accepted")
    except AssertionError as e:
        assert "TLS" in str(e), e


def run(net_world, d, line, **more):
    """A real client, told of the proxy and of the authority as bawn tells it."""
    file = net_world.dir / "client-ca"
    file.write_text(d.ca)
    proxy = f"http://127.0.0.1:{d.port}"
    env = {"PATH": os.environ["PATH"], "HOME": str(net_world.dir), "https_proxy": proxy, "HTTPS_PROXY": proxy,
           "SSL_CERT_FILE": str(file), "CURL_CA_BUNDLE": str(file), "NODE_EXTRA_CA_CERTS": str(file),
           "GIT_SSL_CAINFO": str(file), "GIT_TERMINAL_PROMPT": "0", "TOKEN": HOLDER, "DOOR_PORT": str(d.port), **more}
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=60, check=False)


def curl(world):
    if not shutil.which("curl"):
        return "curl is not installed (apt-get install curl)"
    with door(world) as d:
        for extra in ([], ["--http1.1"], ["--http2"], ["--socks5-hostname", f"127.0.0.1:{d.port}"], ["--compressed"]):
            world.reset()
            r = run(world, d, ["curl", "-sS", "-H", f"Authorization: Bearer {HOLDER}", *extra, "https://a.w.test/mirror"])
            assert r.returncode == 0 and r.stdout == "Bearer " + "*" * len(VALUE), (extra, r)
            assert headers_seen(world)["authorization"] == f"Bearer {VALUE}"
        r = run(world, d, ["curl", "-sS", "-u", f"user:{HOLDER}", "https://a.w.test/mirror"])
        assert r.returncode == 0 and base64.b64encode(VALUE.encode()).decode()[4:-4] not in r.stdout, r
        r = run(world, d, ["curl", "-sSL", "-H", f"Authorization: Bearer {HOLDER}", "--oauth2-bearer", HOLDER,
                           "--location-trusted", "-k", "https://a.w.test/mirror?at=location"])
        assert VALUE not in r.stdout and VALUE not in json.dumps(world.tell()["http"][-1]), r
    return None


def python_clients(world):
    code = ("import os, urllib.request as u; q = u.Request('https://a.w.test/mirror', headers={'Authorization': os.environ['TOKEN']});"
            "print(u.urlopen(q).read().decode())")
    with door(world) as d:
        world.reset()
        r = run(world, d, [sys.executable, "-c", code])
        assert r.returncode == 0 and r.stdout == "*" * len(VALUE) + "\n", r
        assert headers_seen(world)["authorization"] == VALUE
    return None


NODE = """
const net = require('net'), tls = require('tls'), https = require('https');
const s = net.connect(+process.env.DOOR_PORT, '127.0.0.1', () => s.write('CONNECT a.w.test:443 HTTP/1.1\\r\\nHost: a.w.test:443\\r\\n\\r\\n'));
const agent = new https.Agent();
agent.createConnection = () => tls.connect({socket: s, servername: 'a.w.test', ALPNProtocols: ['h2', 'http/1.1']});
s.once('data', () => https.get({host: 'a.w.test', path: '/mirror', headers: {authorization: process.env.TOKEN}, agent},
  r => r.on('data', d => process.stdout.write(d)).on('end', () => process.exit(0))));
"""


def node(world):
    if not shutil.which("node"):
        return "node is not installed (apt-get install nodejs)"
    with door(world) as d:
        world.reset()
        r = run(world, d, ["node", "-e", NODE])
        assert r.returncode == 0 and r.stdout == "*" * len(VALUE), r
        assert headers_seen(world)["authorization"] == VALUE
    return None


def git_over_https_with_a_password(world):
    if not shutil.which("git"):
        return "git is not installed (apt-get install git)"
    base = os.environ["BAWN_TEST_GIT"]
    bare, work = os.path.join(base, "repo.git"), os.path.join(base, "work")
    quiet = {"check": True, "capture_output": True,
             "env": {"PATH": os.environ["PATH"], "HOME": base, "GIT_CONFIG_NOSYSTEM": "1"}}
    if not os.path.exists(bare):
        subprocess.run(["git", "init", "-q", "-b", "main", work], **quiet)
        with open(os.path.join(work, "file"), "w", encoding="ascii") as f:
            f.write("of the repository\n")
        subprocess.run(["git", "-C", work, "add", "."], **quiet)
        subprocess.run(["git", "-C", work, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"], **quiet)
        subprocess.run(["git", "clone", "-q", "--bare", work, bare], **quiet)
        subprocess.run(["git", "-C", bare, "update-server-info"], **quiet)
    with door(world) as d:
        to = tempfile.mkdtemp(dir=base)
        r = run(world, d, ["git", "clone", "-q", f"https://user:{HOLDER}@a.w.test/git/repo.git", to])
        assert r.returncode == 0, r
        with open(os.path.join(to, "file"), encoding="ascii") as f:
            assert f.read() == "of the repository\n"
        with open(os.path.join(to, ".git/config"), encoding="ascii") as f:
            assert VALUE not in f.read()
        r = run(world, d, ["git", "clone", "-q", "https://user:wrong@a.w.test/git/repo.git", to + "2"])
        assert r.returncode != 0
    return None


def many_at_once(world):
    """Threads with different secrets, hosts and sizes: each gets its own."""
    secrets = [secret(name=f"S{i}", placeholder=f"{HOLDER}-{i}-", value=f"value-number-{i}-", hosts=[f"h{i}.w.test"])
               for i in range(4)]
    wrong = []

    def client(d, i):
        try:
            t = secure(d, f"h{i}.w.test")
            for k in range(15):
                body = get(t, f"/mirror?cut={k % 5}&before={k}", host=f"h{i}.w.test", Authorization=f"{HOLDER}-{i}-{k}")[2]
                if body != b"x" * k + b"*" * 15 + b"%d" % k:
                    wrong.append((i, k, body))
        except Exception as e:  # told below
            wrong.append((i, e))

    with door(world, secrets) as d:
        world.reset()
        threads = [threading.Thread(target=client, args=(d, i % 4)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong, wrong[:3]
        for x in world.tell()["http"]:
            h = dict(x["headers"])
            assert h["Authorization"].startswith(f"value-number-{h['Host'][1]}-"), h


def places(pid, text):
    """Where in the memory of a process a text is; None if it cannot be read."""
    found = []
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            where, mode = line.split()[:2]
            begin, end = (int(x, 16) for x in where.split("-"))
            if mode[0] != "r" or "[v" in line:
                continue
            memory.seek(begin)
            data, at = memory.read(end - begin), -1
            while (at := data.find(text.encode(), at + 1)) >= 0:
                found.append(begin + at)
    return found


def a_value_is_in_one_place_of_the_door_only(world):
    """Blocks that it went through are wiped, of requests as of answers that were masked."""
    with door(world) as d:
        try:
            before = places(d.pid, VALUE)
        except OSError:
            return "the memory of the door cannot be read, as it should be: root's run looks into it"
        assert len(before) == 1, before
        t = secure(d)
        for path in ("/hello", "/mirror", "/mirror?cut=3", "/mirror?before=40000", "/mirror?at=location"):
            for _ in range(3):
                assert get(t, path, Authorization=f"Bearer {HOLDER}")[0] in (200, 302)
                assert places(d.pid, VALUE) == before, path
        assert get(t, "/mirror?from=body", method="POST", body=VALUE.encode() * 5000, X_None=HOLDER)[0] == 200
        t.close()
        d.wait("closed")
        assert places(d.pid, VALUE) == before


if __name__ == "__main__":
    net.enter()  # this program again, in namespaces of its own: what is made before that is made twice
    with tempfile.TemporaryDirectory(prefix="bawn-git-") as top:
        os.environ["BAWN_TEST_GIT"] = top
        code = net.main(globals())
    sys.exit(code)
