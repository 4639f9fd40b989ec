#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunnels: CONNECT, SOCKS and captured connections, and what may go through them."""
import socket
import ssl
import struct
import sys
import threading

import net
from net import read_all, read_answer, read_head

PROGRAM = net.program()


def door(listen=("proxy",), **config):
    return net.Door(PROGRAM, listen, **{"allow": ["*.w.test"], **config})


def connect(d, target):
    s = d.connect()
    s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    return s, int(read_head(s).split()[1])


def socks5(d, host, port, auth=None, command=1):
    """(socket, reply); None for a reply when no method was agreed on."""
    s = d.connect()
    s.sendall(b"\5\1\2" if auth else b"\5\1\0")
    method = s.recv(2)[1]
    if method == 255:
        return s, None
    if method == 2:
        user, password = auth
        s.sendall(b"\1" + bytes([len(user)]) + user + bytes([len(password)]) + password)
        if s.recv(2)[1]:
            return s, None
    try:
        addr = b"\1" + socket.inet_pton(socket.AF_INET, host)
    except OSError:
        addr = b"\4" + socket.inet_pton(socket.AF_INET6, host) if ":" in host else \
            b"\3" + bytes([len(host)]) + host.encode()
    s.sendall(bytes([5, command, 0]) + addr + struct.pack(">H", port))
    got = b""
    while len(got) < 10:
        more = s.recv(10 - len(got))
        if not more:
            break
        got += more
    return s, got[1] if len(got) == 10 else None


def was_reset(connect_to):
    try:
        return read_all(connect_to()) == b"<RST>"
    except ConnectionResetError:
        return True  # it came even before connect() was done


def hello(name):
    """A ClientHello as bytes."""
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ctx.check_hostname, ctx.verify_mode = False, ssl.CERT_NONE
    out = ssl.MemoryBIO()
    conn = ctx.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        conn.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def tls(s, name):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ctx.check_hostname, ctx.verify_mode = False, ssl.CERT_NONE
    t = ctx.wrap_socket(s, server_hostname=name)
    t.sendall(f"GET /hello HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
    return read_answer(t)


def tls_through_connect(world):
    with door() as d:
        s, status = connect(d, "a.w.test:443")
        assert status == 200
        assert tls(s, "a.w.test")[2] == b"hello\n"
        e = d.wait("decision")
        assert e["decision"] == "allow" and e["way"] == "connect" and e["port"] == 443, e
        s.close()


def denied_tunnels_say_why(world):
    with door(allow=["a.w.test"]) as d:
        world.reset()
        s = d.connect()
        s.sendall(b"CONNECT evil.w.test:443 HTTP/1.1\r\nHost: evil.w.test:443\r\n\r\n")
        status, _, body = read_answer(s)
        assert status == 403 and b"--allow-host" in body and b"evil.w.test" in body, body
        assert connect(d, "a.w.test:22")[1] == 403
        assert world.tell()["dns"] == []


def the_hello_must_name_the_host(world):
    with door() as d:
        for name in ("b.w.test", "a.w.test.evil.example", None):
            world.reset()
            s, status = connect(d, "a.w.test:443")
            assert status == 200
            s.sendall(hello(name))
            assert read_all(s)[:1] in (b"\x15", b"<"), name
            e = d.wait("decision", {"decision": "deny"})
            assert "SNI" in e["reason"], e
            assert world.tell()["http"] == []


def a_hello_in_small_pieces_is_read_too(world):
    with door() as d:
        s, _ = connect(d, "a.w.test:443")
        for i, b in enumerate(hello("b.w.test")):
            s.sendall(bytes([b]))
            if i > 80:
                break
        s.sendall(hello("b.w.test")[82:])
        assert read_all(s)[:1] in (b"\x15", b"<")
        s, _ = connect(d, "a.w.test:443")
        data = hello("a.w.test")
        for i in range(0, len(data), 50):
            s.sendall(data[i:i + 50])
        assert s.recv(5)[:1] == b"\x16"  # the server's hello


def only_tls_on_port_443(world):
    with door() as d:
        for data in (b"SSH-2.0-x\r\n", b"GET / HTTP/1.1\r\nHost: a.w.test\r\n\r\n", b"\x16\x03\x01\xff\xff\x02", b"\0" * 64):
            world.reset()
            s, status = connect(d, "a.w.test:443")
            assert status == 200
            s.sendall(data)
            try:
                s.shutdown(1)
            except OSError:
                pass  # it is reset already
            assert read_all(s) in (b"<RST>", b"", b"\x15\x03\x01\x00\x02\x02\x31"), data
            assert world.tell()["http"] == []


def ech_is_refused(world):
    with door() as d:
        data = bytearray(hello("a.w.test"))
        ext = b"\xfe\x0d\x00\x04abcd"
        # record, handshake and extension lengths grow by what is added at the end
        data += ext
        data[3:5] = struct.pack(">H", struct.unpack(">H", data[3:5])[0] + len(ext))
        data[6:9] = (int.from_bytes(data[6:9], "big") + len(ext)).to_bytes(3, "big")
        at = 9 + 2 + 32
        at += 1 + data[at]
        at += 2 + struct.unpack(">H", data[at:at + 2])[0]
        at += 1 + data[at]
        data[at:at + 2] = struct.pack(">H", struct.unpack(">H", data[at:at + 2])[0] + len(ext))
        s, _ = connect(d, "a.w.test:443")
        s.sendall(data)
        assert read_all(s)[:1] in (b"\x15", b"<")
        assert "ECH" in d.wait("decision", {"decision": "deny"})["reason"]


def tls_is_looked_at_on_other_ports_too(world):
    with door(allow=["a.w.test:8443"]) as d:
        s, _ = connect(d, "a.w.test:8443")
        assert tls(s, "a.w.test")[2] == b"hello\n"
        s, _ = connect(d, "a.w.test:8443")
        s.sendall(hello("b.w.test"))
        assert read_all(s)[:1] in (b"\x15", b"<")


def a_literal_needs_a_rule_of_its_own(world):
    with door(allow=["93.184.215.14"]) as d:
        s, status = connect(d, "93.184.215.14:443")
        assert status == 200
        assert tls(s, None)[2] == b"hello\n"
        assert connect(d, "93.184.215.15:443")[1] == 403
    for rule, host in (("93.184.215.14:*", "93.184.215.14"), ("[2606:2800:21f:0::14]:443", "[2606:2800:21f::14]")):
        with door(allow=[rule]) as d:
            s, status = connect(d, host + ":443")
            assert status == 200 and tls(s, None)[2] == b"hello\n", rule
    with door(allow=["93.184.215.0/24"]) as d:
        s, status = connect(d, "93.184.215.14:443")
        s.sendall(hello(None))
        assert read_all(s)[:1] in (b"\x15", b"<")


def http_in_a_tunnel_is_decided_by_request(world):
    with door(allow=["GET a.w.test/hello"]) as d:
        for s, status in (connect(d, "a.w.test:80"), socks5(d, "a.w.test", 80)):
            assert status in (200, 0)
            s.sendall(b"GET /hello HTTP/1.1\r\nHost: a.w.test\r\n\r\n")
            assert read_answer(s)[2] == b"hello\n"
            s.sendall(b"GET /echo HTTP/1.1\r\nHost: a.w.test\r\n\r\n")
            assert read_answer(s)[0] == 403
        for bad in (b"GET /hello HTTP/1.1\r\nHost: b.w.test\r\n\r\n", b"CONNECT b.w.test:443 HTTP/1.1\r\nHost: b.w.test:443\r\n\r\n",
                    b"GET http://b.w.test/hello HTTP/1.1\r\nHost: b.w.test\r\n\r\n", b"nonsense\r\n\r\n"):
            world.reset()
            s, _ = connect(d, "a.w.test:80")
            s.sendall(bad)
            assert read_answer(s)[0] in (400, 403), bad
            assert world.tell()["http"] == []


def a_server_that_goes_away_does_not_end_the_client(world):
    with door(allow=["a.w.test:80", "a.w.test:8080"]) as d:
        for port in (80, 8080):
            s, _ = connect(d, f"a.w.test:{port}")
            for _ in range(5):
                s.sendall(f"GET /once HTTP/1.1\r\nHost: a.w.test:{port}\r\n\r\n".encode())
                assert read_answer(s)[2] == b"once", port


def http_to_an_address_in_a_tunnel(world):
    with door(allow=["93.184.215.14", "b.w.test:8080"]) as d:
        s, status = connect(d, "93.184.215.14:80")
        assert status == 200
        s.sendall(b"GET /hello HTTP/1.1\r\nHost: 93.184.215.14\r\n\r\n")
        assert read_answer(s)[2] == b"hello\n"
        assert connect(d, "93.184.215.15:80")[1] == 403
        e = d.wait("decision", {"decision": "deny"})
        assert e["way"] == "connect" and e["host"] == "93.184.215.15", e
        s, _ = connect(d, "b.w.test:80")
        s.sendall(b"GET /hello HTTP/1.1\r\nHost: b.w.test\r\n\r\n")
        assert read_answer(s)[0] == 403


def http_on_other_ports_is_read_too(world):
    with door(allow=["a.w.test:8080"]) as d:
        s, _ = connect(d, "a.w.test:8080")
        s.sendall(b"GET /hello HTTP/1.1\r\nHost: a.w.test:8080\r\n\r\n")
        assert read_answer(s)[2] == b"hello\n"
        s.sendall(b"CONNECT b.w.test:443 HTTP/1.1\r\nHost: b.w.test:443\r\n\r\n")
        assert read_answer(s)[0] == 403
        s, _ = connect(d, "a.w.test:8080")
        s.sendall(b"GET /hello HTTP/1.1\r\nHost: b.w.test:8080\r\n\r\n")
        assert read_answer(s)[0] == 403


def other_protocols_pass_where_their_port_is_allowed(world):
    with door(allow=["a.w.test:2222"]) as d:
        s, _ = connect(d, "a.w.test:2222")
        assert s.recv(7) == b"READY\r\n"  # the server speaks first
        s.sendall(b"SSH-2.0-me\r\n")
        assert s.recv(100) == b"SSH-2.0-me\r\n"
        big = b"z" * 3_000_000
        s.settimeout(net.WAIT)
        got = 0
        s.setblocking(False)
        import select
        sent = 0
        while got < len(big):
            r, w, _ = select.select([s], [s] if sent < len(big) else [], [], net.WAIT)
            assert r or w
            if w:
                sent += s.send(big[sent:sent + 65536])
            if r:
                got += len(s.recv(65536))


def an_end_passes_in_each_direction_on_its_own(world):
    with door(allow=["a.w.test:9"]) as d:
        s, _ = connect(d, "a.w.test:9")
        s.sendall(b"x" * 1_000_000)
        s.shutdown(1)
        assert read_all(s) == b"got it"
        e = d.wait("closed")
        assert e["sent"] == 1_000_000 and e["received"] >= 6, e


def socks_in_all_versions(world):
    with door(allow=["a.w.test:2222", "93.184.215.14:2222", "[2606:2800:21f::14]:2222"]) as d:
        for host in ("a.w.test", "93.184.215.14", "2606:2800:21f::14"):
            s, reply = socks5(d, host, 2222)
            assert reply == 0 and s.recv(7) == b"READY\r\n", host
        for request in (b"\4\1\x08\xae" + socket.inet_aton("93.184.215.14") + b"me\0",
                        b"\4\1\x08\xae\0\0\0\1me\0a.w.test\0"):
            s = d.connect()
            s.sendall(request)
            assert s.recv(8)[:2] == b"\0\x5a"
            assert s.recv(7) == b"READY\r\n"
        assert d.wait("decision")["way"] == "socks"


def socks_denials(world):
    with door(allow=["a.w.test", "refused.w.test:81", "nx.w.test:81"]) as d:
        world.reset()
        assert socks5(d, "b.w.test", 443)[1] == 2
        assert socks5(d, "a.w.test", 22)[1] == 2
        assert socks5(d, "93.184.215.14", 443)[1] == 2
        assert world.tell()["dns"] == []
        assert socks5(d, "a.w.test", 443, command=2)[1] == 7
        assert socks5(d, "a.w.test", 443, command=3)[1] == 7
        assert socks5(d, "refused.w.test", 81)[1] == 5
        assert socks5(d, "nx.w.test", 81)[1] in (4, 5)
        s = d.connect()
        s.sendall(b"\4\1\x01\xbb\0\0\0\1me\0b.w.test\0")
        assert s.recv(8)[:2] == b"\0\x5b"
        for bad in (b"a\0b.w.test", b"a.w.test\r\n", b"a b.w.test", b"a@b.w.test", b"a%00.w.test", b"\\", b"#x"):
            s = d.connect()
            s.sendall(b"\5\1\0")
            s.recv(2)
            s.sendall(b"\5\1\0\3" + bytes([len(bad)]) + bad + b"\x01\xbb")
            got = read_all(s)
            assert got == b"" or got[1] != 0, bad


def socks_wants_the_token(world):
    with door(token="geheim", allow=["a.w.test:2222"]) as d:
        assert socks5(d, "a.w.test", 2222)[1] is None
        assert socks5(d, "a.w.test", 2222, (b"u", b"falsch"))[1] is None
        assert socks5(d, "a.w.test", 2222, (b"u", b"geheim"))[1] == 0
        s = d.connect()
        s.sendall(b"\4\1\x08\xae\0\0\0\1wrong\0a.w.test\0")
        assert s.recv(8)[:2] == b"\0\x5d"
        s = d.connect()
        s.sendall(b"\4\1\x08\xae\0\0\0\1geheim\0a.w.test\0")
        assert s.recv(8)[:2] == b"\0\x5a"


def early_bytes_are_kept(world):
    """A client that does not wait for the answer to CONNECT."""
    with door() as d:
        s = d.connect()
        s.sendall(b"CONNECT a.w.test:443 HTTP/1.1\r\nHost: a.w.test:443\r\n\r\n" + hello("a.w.test"))
        assert b" 200 " in read_head(s)
        assert s.recv(1) == b"\x16"
        s = d.connect()
        s.sendall(b"CONNECT a.w.test:443 HTTP/1.1\r\nHost: a.w.test:443\r\n\r\n" + hello("b.w.test"))
        assert b" 200 " in read_head(s)
        assert read_all(s)[:1] in (b"\x15", b"<")


def query(port, name, kind=1, tcp=False, extra=b""):
    """(rcode, [address])"""
    q = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(
        bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0" + struct.pack(">HH", kind, 1) + extra
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(net.WAIT)
    s.connect(("127.0.0.1", port))
    if tcp:
        s.sendall(struct.pack(">H", len(q)) + q)
        n = struct.unpack(">H", s.recv(2))[0]
        a = b""
        while len(a) < n:
            a += s.recv(n - len(a))
    else:
        s.send(q)
        a = s.recv(2000)
    s.close()
    assert a[:2] == q[:2]
    found = []
    at = len(q) - len(extra)
    for _ in range(struct.unpack(">H", a[6:8])[0]):
        at += 2 if a[at] >= 0xc0 else a.index(0, at) - at + 1
        t, _, _, n = struct.unpack(">HHIH", a[at:at + 10])
        at += 10
        found.append(socket.inet_ntop(socket.AF_INET if t == 1 else socket.AF_INET6, a[at:at + n]))
        at += n
    return a[3] & 15, found


CAPTURE = ["dns-udp", "dns-tcp"] + [("capture", p, "0.0.0.0") for p in (443, 80, 2222)]


def captured_names_lead_back(world):
    net.sh("ip route replace local 198.18.0.0/15 dev lo")
    with door(CAPTURE, allow=["a.w.test", "b.w.test:2222", "93.184.215.14:2222"]) as d:
        world.reset()
        dns = d.ports["dns-udp"]
        code, (addr,) = query(dns, "a.w.test")
        assert code == 0 and addr.startswith("198.18."), addr
        assert query(dns, "A.W.Test")[1] == [addr] and query(d.ports["dns-tcp"], "a.w.test", tcp=True)[1] == [addr]
        assert query(dns, "a.w.test", 28)[1][0].startswith("fd00:6261:776e:")
        assert world.tell()["dns"] == []
        s = socket.create_connection((addr, 443), timeout=net.WAIT)
        assert tls(s, "a.w.test")[2] == b"hello\n"
        e = d.wait("decision", {"way": "capture"})
        assert e["host"] == "a.w.test" and e["address"] == "93.184.215.14", e
        s = socket.create_connection((addr, 443), timeout=net.WAIT)
        s.sendall(hello("b.w.test"))
        assert read_all(s)[:1] in (b"\x15", b"<")
        s = socket.create_connection((addr, 80), timeout=net.WAIT)
        s.sendall(b"GET /hello HTTP/1.1\r\nHost: a.w.test\r\n\r\n")
        assert read_answer(s)[2] == b"hello\n"
        s.sendall(b"GET /hello HTTP/1.1\r\nHost: b.w.test\r\n\r\n")
        assert read_answer(s)[0] == 403
        code, (other,) = query(dns, "b.w.test")
        assert other != addr
        s = socket.create_connection((other, 2222), timeout=net.WAIT)
        assert s.recv(7) == b"READY\r\n"


def captured_addresses_that_mean_nothing_are_reset(world):
    net.sh("ip route replace local 198.18.0.0/15 dev lo")
    with door(CAPTURE, allow=["a.w.test"]) as d:
        world.reset()
        (addr,) = query(d.ports["dns-udp"], "a.w.test")[1]
        for where in ((addr, 2222), ("198.18.200.1", 443), ("127.0.0.1", 443)):
            assert was_reset(lambda: socket.create_connection(where, timeout=net.WAIT)), where  # noqa: B023
        assert world.tell() == {"dns": [], "http": [], "connections": 0}


def names_that_are_not_allowed_do_not_exist(world):
    with door(["dns-udp", "dns-tcp"], allow=["a.w.test", "*.ok.w.test"]) as d:
        world.reset()
        dns = d.ports["dns-udp"]
        assert query(dns, "secret.evil.w.test") == (3, [])
        assert query(dns, "x" * 60 + ".evil.w.test", tcp=False) == (3, [])
        assert query(d.ports["dns-tcp"], "evil.w.test", tcp=True) == (3, [])
        assert query(dns, "1.0.0.127.in-addr.arpa", 12)[1] == []
        for kind in (16, 65, 64, 15, 33, 255):
            assert query(dns, "a.w.test", kind)[1] == [], kind
        assert query(dns, "deep.ok.w.test")[0] == 0
        assert world.tell()["dns"] == []
        e = d.wait("decision", {"decision": "deny"})
        assert e["way"] == "dns" and e["host"] == "secret.evil.w.test", e


def questions_that_are_malformed_do_no_harm(world):
    with door(["dns-udp", "dns-tcp"]) as d:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect(("127.0.0.1", d.ports["dns-udp"]))
        for bad in (b"", b"x", b"\0" * 11, b"\0" * 12, b"\xff" * 512, b"\0\7\1\0\0\2" + b"\0" * 40, b"\0" * 3000):
            s.send(bad)
        assert query(d.ports["dns-udp"], "a.w.test")[0] == 0


def one_port_of_the_host_and_nothing_else(world):
    server = net.listener()
    port = server.getsockname()[1]
    with door([("loopback", port, "127.0.0.1")]) as d:
        s = d.connect("loopback")
        peer, _ = server.accept()
        s.sendall(b"GET / ping")
        assert peer.recv(100) == b"GET / ping"
        peer.sendall(b"pong")
        assert s.recv(100) == b"pong"
    with door([("loopback", port, "127.0.0.1")], mode="closed") as d:
        assert was_reset(lambda: d.connect("loopback"))


def the_end_of_a_long_flow_arrives(world):
    """In a long flow the door waits for much at once; the little at its end comes all the same, and what follows."""
    server = net.listener()
    server.settimeout(net.WAIT)
    with door([("loopback", server.getsockname()[1], "127.0.0.1")]) as d:
        s = d.connect("loopback")
        s.settimeout(net.WAIT)
        peer, _ = server.accept()
        peer.settimeout(net.WAIT)
        for a, b in ((peer, s), (s, peer)):
            for size in (24_000_017, 3, 24_000_001):
                sender = threading.Thread(target=a.sendall, args=(b"z" * size,))
                sender.start()
                left = size
                while left:
                    left -= len(b.recv(min(left, 1 << 20)))
                sender.join()
            b.sendall(b"thanks")
            assert a.recv(100) == b"thanks"


if __name__ == "__main__":
    sys.exit(net.main(globals()))
