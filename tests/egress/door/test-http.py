#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plain HTTP through the door: forwarding, denials, framing."""
import base64
import sys

import net
from net import read_all, read_answer, read_head

PROGRAM = net.program()


def get(s, url, method="GET", headers=(), body=b"", version="1.1"):
    host = url.split("/")[2]
    lines = [f"{method} {url} HTTP/{version}", f"Host: {host}", *headers]
    s.sendall("\r\n".join([*lines, "", ""]).encode() + body)


def once(door, url, *args, **kw):
    with door.connect() as s:
        get(s, url, *args, **kw)
        return read_answer(s)


def door(**config):
    return net.Door(PROGRAM, **{"allow": ["*.w.test"], **config})


def an_allowed_request_is_forwarded(world):
    with door() as d:
        world.reset()
        status, _, body = once(d, "http://a.w.test/hello?x=1")
        assert (status, body) == (200, b"hello\n"), (status, body)
        e = d.wait("decision")
        assert e["decision"] == "allow" and e["host"] == "a.w.test" and e["address"] == "93.184.215.14", e
        assert e["rule"] == "*.w.test" and e["way"] == "http" and e["method"] == "GET", e
        assert world.tell()["http"][0]["line"] == "GET /hello?x=1 HTTP/1.1"


def a_denied_request_is_answered_at_once_and_its_name_never_resolved(world):
    with door(allow=["a.w.test"]) as d:
        world.reset()
        status, h, body = once(d, "http://secret.evil.w.test/x")
        assert status == 403 and b"secret.evil.w.test" in body and b"--allow-host" in body, body
        assert h["connection"] == "close"
        e = d.wait("decision")
        assert e["decision"] == "deny" and e["host"] == "secret.evil.w.test", e
        assert world.tell()["dns"] == []


def an_empty_list_allows_nothing(world):
    for mode in ("allowlist", "deny", "closed"):
        with door(mode=mode, allow=[]) as d:
            assert once(d, "http://a.w.test/hello")[0] == 403


def modes_and_blocks(world):
    with door(mode="open", allow=[]) as d:
        assert once(d, "http://a.w.test/hello")[0] == 200
    with door(mode="blocklist", allow=[], block=["*.bad.w.test"]) as d:
        assert once(d, "http://a.w.test/hello")[0] == 200
        assert once(d, "http://x.bad.w.test/hello")[0] == 403
    with door(block=["b.w.test"]) as d:
        assert once(d, "http://b.w.test/hello")[0] == 403
        assert once(d, "http://B.W.TEST./hello")[0] == 403


def every_request_of_a_connection_is_decided(world):
    with door(allow=["a.w.test"]) as d, d.connect() as s:
        for _ in range(3):
            get(s, "http://a.w.test/hello")
            assert read_answer(s)[0] == 200
        get(s, "http://b.w.test/hello")
        assert read_answer(s)[0] == 403


def a_connection_goes_on_to_another_host(world):
    with door() as d, d.connect() as s:
        world.reset()
        for host in ("a.w.test", "b.w.test", "a.w.test"):
            get(s, f"http://{host}/hello")
            assert read_answer(s)[0] == 200
        assert [dict(x["headers"])["Host"] for x in world.tell()["http"]] == ["a.w.test", "b.w.test", "a.w.test"]


def a_kept_connection_is_used_again(world):
    with door() as d, d.connect() as s:
        world.reset()
        for _ in range(5):
            get(s, "http://a.w.test/hello")
            assert read_answer(s)[2] == b"hello\n"
        assert world.tell()["connections"] == 1


def a_server_that_goes_away_meanwhile_is_asked_again(world):
    with door() as d:
        for _ in range(20):
            status, _, body = once(d, "http://a.w.test/once")
            assert (status, body) == (200, b"once"), (status, body)
        with d.connect() as s:
            for _ in range(20):
                get(s, "http://a.w.test/once")
                assert read_answer(s)[2] == b"once"


def clients_share_idle_connections_to_a_server(world):
    with door() as d:
        world.reset()
        for _ in range(10):
            assert once(d, "http://a.w.test/hello")[0] == 200
        assert world.tell()["connections"] <= 5  # the door may see the next client before the last one's end
        d.reload(allow=["b.w.test"])
        d.wait("reloaded")
        assert once(d, "http://a.w.test/hello")[0] == 403
        world.reset()
        assert once(d, "http://b.w.test/hello")[0] == 200
        assert world.tell()["connections"] == 1  # a new one, under the new rules


def pipelined_requests_are_answered_in_turn(world):
    with door() as d, d.connect() as s:
        for i in range(5):
            get(s, f"http://a.w.test/echo?{i}", "POST", ["Content-Length: 1"], str(i).encode())
        assert [read_answer(s)[2] for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]


def methods_and_paths(world):
    with door(allow=["GET,HEAD a.w.test/hello*"]) as d:
        assert once(d, "http://a.w.test/hello")[0] == 200
        assert once(d, "http://a.w.test/echo")[0] == 403
        assert once(d, "http://a.w.test/hello", "POST", ["Content-Length: 0"])[0] == 403
        with d.connect() as s:
            s.sendall(b"CONNECT a.w.test:443 HTTP/1.1\r\nHost: a.w.test:443\r\n\r\n")
            assert b" 403 " in read_head(s)


def ports(world):
    with door(allow=["a.w.test", "b.w.test:8080"]) as d:
        assert once(d, "http://a.w.test:8080/hello")[0] == 403
        assert once(d, "http://b.w.test:8080/hello")[0] == 200
        assert once(d, "http://b.w.test/hello")[0] == 403


def bodies_pass_both_ways(world):
    with door() as d:
        big = bytes(range(256)) * 4096
        assert once(d, "http://a.w.test/echo", "POST", [f"Content-Length: {len(big)}"], big)[2] == big
        chunks = b"".join(b"%x\r\n%s\r\n" % (n, b"y" * n) for n in (1, 70000, 3)) + b"0\r\n\r\n"
        assert once(d, "http://a.w.test/echo", "POST", ["Transfer-Encoding: chunked"], chunks)[2] == b"y" * 70004
        assert once(d, "http://a.w.test/chunked")[2] == b"hello\n"
        assert len(once(d, "http://a.w.test/big/3000000")[2]) == 3000000
        assert once(d, "http://a.w.test/nothing")[0] == 204
        with d.connect() as s:
            get(s, "http://a.w.test/hello", "HEAD")
            assert b"Content-Length: 10" in read_head(s)
            get(s, "http://a.w.test/hello")
            assert read_answer(s)[2] == b"hello\n"


def a_body_until_the_end_closes(world):
    with door() as d, d.connect() as s:
        get(s, "http://a.w.test/close")
        data = read_all(s)
        assert data.endswith(b"\r\n\r\nuntil the end") and b"Connection: close" in data, data


def a_body_cut_short_is_seen_as_such(world):
    with door() as d, d.connect() as s:
        get(s, "http://a.w.test/short")
        assert read_all(s).endswith(b"<RST>")


def continue_and_early_hints_pass(world):
    with door() as d, d.connect() as s:
        get(s, "http://a.w.test/echo", "POST", ["Content-Length: 3", "Expect: 100-continue"])
        assert b"100 Continue" in read_head(s)
        s.sendall(b"abc")
        assert read_answer(s)[2] == b"abc"
        get(s, "http://a.w.test/early")
        assert b" 103 " in read_head(s)
        assert read_answer(s)[2] == b"late"


def what_is_meant_for_this_hop_stays_here(world):
    with door(token="geheim") as d:
        world.reset()
        auth = "Proxy-Authorization: Basic " + base64.b64encode(b"any:geheim").decode()
        status, h, _ = once(d, "http://a.w.test/hop", headers=[
            auth, "Connection: X-Mine, keep-alive", "X-Mine: 1", "X-Other: 2", "Keep-Alive: 5", "TE: trailers",
            "Proxy-Connection: keep-alive", "Upgrade: h2c", "HTTP2-Settings: AAA"])
        assert status == 200 and "x-secret" not in h and "proxy-authenticate" not in h and h["x-open"] == "2", h
        names = [k.lower() for k, _ in world.tell()["http"][0]["headers"]]
        assert sorted(names) == ["host", "x-other"], names


def without_the_token_nothing_passes(world):
    with door(token="geheim") as d:
        assert once(d, "http://a.w.test/hello")[0] == 407
        for wrong in ("Basic " + base64.b64encode(b"any:falsch").decode(), "Basic geheim", "Bearer geheimx", "geheim",
                      "Basic " + base64.b64encode(b"any:").decode(), "Basic ====", "Bearer "):
            assert once(d, "http://a.w.test/hello", headers=["Proxy-Authorization: " + wrong])[0] == 407, wrong
        assert once(d, "http://a.w.test/hello", headers=["Proxy-Authorization: Bearer geheim"])[0] == 200
        with d.connect() as s:
            s.sendall(b"CONNECT a.w.test:443 HTTP/1.1\r\nHost: a.w.test:443\r\n\r\n")
            assert b" 407 " in read_head(s)


BAD = {
    "length and chunks": b"POST http://a.w.test/echo HTTP/1.1\r\nHost: a.w.test\r\nContent-Length: 4\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST http://a.w.test/echo HTTP/1.1\r\nHost: a.w.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "two hosts": b"GET http://a.w.test/hello HTTP/1.1\r\nHost: a.w.test\r\nHost: b.w.test\r\n\r\n",
    "another host": b"GET http://a.w.test/hello HTTP/1.1\r\nHost: b.w.test\r\n\r\n",
    "folding": b"GET http://a.w.test/hello HTTP/1.1\r\nHost: a.w.test\r\nX: 1\r\n 2\r\n\r\n",
    "bare LF": b"GET http://a.w.test/hello HTTP/1.1\nHost: a.w.test\n\n",
    "blank before colon": b"GET http://a.w.test/hello HTTP/1.1\r\nHost: a.w.test\r\nContent-Length : 0\r\n\r\n",
    "chunked twice": b"POST http://a.w.test/echo HTTP/1.1\r\nHost: a.w.test\r\nTransfer-Encoding: chunked\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "odd coding": b"POST http://a.w.test/echo HTTP/1.1\r\nHost: a.w.test\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "userinfo": b"GET http://a.w.test@b.w.test/hello HTTP/1.1\r\nHost: b.w.test\r\n\r\n",
    "NUL": b"GET http://a.w.test/he\0llo HTTP/1.1\r\nHost: a.w.test\r\n\r\n",
    "long head": b"GET http://a.w.test/hello HTTP/1.1\r\nHost: a.w.test\r\nX: " + b"x" * 40000 + b"\r\n\r\n",
    "version 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "https": b"GET https://a.w.test/hello HTTP/1.1\r\nHost: a.w.test\r\n\r\n",
    "origin form": b"GET /hello HTTP/1.1\r\nHost: a.w.test\r\n\r\n",
}


def what_two_could_read_differently_is_refused(world):
    with door() as d:
        for what, text in BAD.items():
            world.reset()
            with d.connect() as s:
                s.sendall(text)
                status, h, _ = read_answer(s)
                assert 400 <= status < 600 and h.get("connection") == "close", (what, status)
            assert world.tell()["http"] == [], what
            assert d.wait("decision", {"decision": "deny"})["reason"], what


def malformed_chunks_end_the_connection(world):
    with door() as d:
        for bad in (b"zz\r\n", b"3;ext=1\r\nabc\r\n0\r\n\r\n", b"3\r\nabcX", b"-1\r\n", b"3\nabc\n0\n\n"):
            with d.connect() as s:
                get(s, "http://a.w.test/echo", "POST", ["Transfer-Encoding: chunked"], bad)
                status, _, _ = read_answer(s)
                assert status in (400, 0), (bad, status)


def answers_that_are_malformed_do_not_pass(world):
    with door() as d:
        for path in ("evil-cl-te", "evil-head", "evil-101", "garbage", "silent"):
            status, h, _ = once(d, "http://a.w.test/" + path)
            assert status == 502 and h["connection"] == "close", (path, status)
        with d.connect() as s:
            get(s, "http://a.w.test/evil-chunk")
            assert read_all(s).endswith(b"<RST>")


def a_redirect_is_a_new_request(world):
    with door(allow=["a.w.test"]) as d, d.connect() as s:
        get(s, "http://a.w.test/redirect")
        status, h, _ = read_answer(s)
        assert status == 302 and h["location"] == "http://other.w.test/secret"
        get(s, h["location"])
        assert read_answer(s)[0] == 403


def websockets_pass_where_a_tunnel_may(world):
    ask = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    with door() as d, d.connect() as s:
        get(s, "http://a.w.test/ws", headers=ask)
        assert b" 101 " in read_head(s)
        s.sendall(b"frame")
        assert s.recv(100) == b"frame"
    with door(allow=["GET a.w.test"]) as d:
        assert once(d, "http://a.w.test/ws", headers=ask)[2] == b"no upgrade"
        assert once(d, "http://a.w.test/ws", headers=["Connection: Upgrade", "Upgrade: h2c"])[2] == b"no upgrade"


def an_old_client_gets_an_old_answer(world):
    with door() as d, d.connect() as s:
        get(s, "http://a.w.test/hello", version="1.0")
        data = read_all(s)
        assert data.endswith(b"hello\n") and b"Connection: close" in data, data


def half_a_request_is_not_passed_as_a_whole(world):
    with door() as d, d.connect() as s:
        get(s, "http://a.w.test/echo", "POST", ["Content-Length: 100"], b"half")
        s.shutdown(1)
        assert read_answer(s)[0] == 0


def a_client_that_stops_sending_still_gets_its_answer(world):
    with door() as d, d.connect() as s:
        get(s, "http://a.w.test/hello")
        s.shutdown(1)
        assert read_answer(s)[2] == b"hello\n"


def ipv6_is_like_ipv4(world):
    with door() as d:
        assert once(d, "http://six.w.test/hello")[0] == 200
        assert d.wait("decision")["address"] == "2606:2800:21f::14"
    with door(allow=["[2606:2800:21f::14]"]) as d:
        assert once(d, "http://[2606:2800:21f:0::14]/hello")[0] == 200


if __name__ == "__main__":
    sys.exit(net.main(globals()))
