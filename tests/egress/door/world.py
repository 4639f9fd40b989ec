# SPDX-License-Identifier: Apache-2.0
"""The world outside: a name server and servers with public-looking addresses, in a network namespace of its own.

Started as a process by net.py. Tells on a side door (port 9000 of its end of the link) what it was asked.
"""
import asyncio
import base64
import gzip
import json
import logging
import os
import socket
import ssl
import struct
import sys
import urllib.parse
import warnings

MAIN, SECOND, MAIN6, DNS = "93.184.215.14", "93.184.215.15", "2606:2800:21f::14", "93.184.215.53"
LINK = "198.51.100.2"
seen = {"dns": [], "http": [], "connections": 0}
rebinding = {"n": 0}


# --- names ---

def records(name, kind):
    """(rcode, [(owner, type, ttl, data)]) or None for silence."""
    a4 = lambda addr, ttl=60, owner=name: (owner, 1, ttl, socket.inet_pton(socket.AF_INET, addr))  # noqa: E731
    a6 = lambda addr, ttl=60, owner=name: (owner, 28, ttl, socket.inet_pton(socket.AF_INET6, addr))  # noqa: E731
    host = name.split(".")[0]
    if host == "stall":
        return None
    if host == "nx":
        return 3, []
    if host == "broken":
        return 2, []
    v4 = {"priv": ["10.0.0.1"], "loop": ["127.0.0.1"], "meta": ["169.254.169.254"], "own": ["198.51.100.1"],
          "mixed": [MAIN, "127.0.0.1"], "two": ["93.184.215.99", MAIN], "cgnat": ["100.64.1.1"], "six": [],
          "refused": ["93.184.215.16"], "many": [f"93.184.215.{i}" for i in range(60, 90)]}.get(host, [MAIN])
    v6 = {"six": [MAIN6], "mixed6": ["::1"], "mapped": ["::ffff:127.0.0.1"], "nat64": ["64:ff9b::7f00:1"],
          "both": [MAIN6]}.get(host, [])
    if host == "rebind":
        rebinding["n"] += kind == 1
        v4 = [MAIN if rebinding["n"] <= 1 else "127.0.0.1"]
    if host == "cname":
        target = "target.w.test"
        return 0, [(name, 5, 60, wire(target))] + ([a4(MAIN, owner=target)] if kind == 1 else [])
    if host == "cnameloop":
        target = "loop.w.test"
        return 0, [(name, 5, 60, wire(target))] + ([a4("127.0.0.1", owner=target)] if kind == 1 else [])
    ttl = 0 if host in ("rebind", "ttl0") else 60
    return 0, [a4(x, ttl) for x in v4] if kind == 1 else [a6(x, ttl) for x in v6] if kind == 28 else []


def wire(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"


def dns_answer(query):
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("ascii", "replace"))
        at += 1 + query[at]
    kind = struct.unpack(">H", query[at + 1:at + 3])[0]
    question = query[12:at + 5]
    name = ".".join(labels).lower()
    seen["dns"].append([name, kind])
    found = records(name, kind)
    if found is None:
        return None
    code, rows = found
    body = b"".join(wire(owner) + struct.pack(">HHIH", t, 1, ttl, len(d)) + d for owner, t, ttl, d in rows)
    return query[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(rows), 0, 0) + question + body


class Udp(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        answer = dns_answer(data)
        if answer:
            self.transport.sendto(answer, addr)


# --- servers ---

async def read_request(r):
    head = await r.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    headers = [tuple(x.split(": ", 1)) for x in lines[1:] if x]
    h = {k.lower(): v for k, v in headers}
    seen["http"].append({"line": lines[0], "headers": headers})
    if method == "PRI":
        raise ValueError("HTTP/2")
    if h.get("expect") == "100-continue":
        return method, path, h, None
    return method, path, h, await read_body(r, h)


async def read_body(r, h):
    if h.get("transfer-encoding") == "chunked":
        body = b""
        while True:
            n = int(await r.readline(), 16)
            body += await r.readexactly(n)
            await r.readline()
            if not n:
                return body
    return await r.readexactly(int(h.get("content-length", 0)))


def plain(body, more="", status="200 OK"):
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


FIXED = {
    "/hello": plain(b"hello\n"),
    "/nothing": b"HTTP/1.1 204 No Content\r\n\r\n",
    "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n\n\r\n0\r\n\r\n",
    "/hop": plain(b"x", "Connection: X-Secret\r\nX-Secret: 1\r\nProxy-Authenticate: y\r\nX-Open: 2\r\n"),
    "/early": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + plain(b"late"),
    "/redirect": plain(b"", "Location: http://other.w.test/secret\r\n", "302 Found"),
    "/evil-cl-te": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "/evil-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    "/evil-head": b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    "/evil-101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
}
CLOSING = {
    "/garbage": b"SSH-2.0-thing\r\n",
    "/close": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end",
    "/short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "/silent": b"",
}


def written(text, way, before):
    """A text as servers write it, with so many bytes in front."""
    data = b"x" * before + text
    return {"raw": lambda: data, "base64": lambda: base64.b64encode(data),
            "base64url": lambda: base64.urlsafe_b64encode(data), "hex": lambda: data.hex().encode(),
            "HEX": lambda: data.hex().upper().encode(),
            "url": lambda: urllib.parse.quote(data, safe="").encode(),
            "percent": lambda: b"".join(b"%%%02x" % x for x in data),
            "json": lambda: json.dumps({"got": data.decode()}).replace("/", "\\/").encode()}[way]()


async def mirror(w, query, h, body):
    """Sends back a header or the body: ?from= &as= &before= &at= &cut= &type= &gzip="""
    q = dict(urllib.parse.parse_qsl(query))
    text = body if q.get("from") == "body" else h.get(q.get("from", "authorization"), "").encode()
    data = written(text, q.get("as", "raw"), int(q.get("before", 0)))
    at, cut, more, status, last = q.get("at", "body"), int(q.get("cut", 0)), "", "200 OK", "\r\n"
    line = data.decode()
    if at == "early":
        w.write(f"HTTP/1.1 103 Early Hints\r\nLink: <{line}>\r\n\r\n".encode())
    elif at == "reason":
        status = "200 " + line
    elif at == "location":
        status, more = "302 Found", f"Location: https://other.w.test/?t={line}\r\n"
    elif at == "cookie":
        more = f"Set-Cookie: session={line}; Secure\r\n"
    elif at == "name":
        more = f"X-{line}: 1\r\n"
    elif at == "trailer":
        last, cut = f"X-Last: {line}\r\n\r\n", 7
    if at not in ("body", "close"):
        data = b"it is elsewhere"
    if q.get("type"):
        more += f"Content-Type: {q['type']}\r\n"
    if q.get("gzip"):
        data, more = gzip.compress(data), more + f"Content-Encoding: {q['gzip']}\r\n"
    if at == "close":
        w.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + data)
    elif not cut:
        w.write(plain(data, more, status))
    else:
        w.write(f"HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n{more}\r\n".encode())
        for i in range(0, len(data), cut):
            piece = data[i:i + cut]
            w.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
            await w.drain()
        w.write(b"0\r\n" + last.encode())


def git(path, h):
    """A repository for those who know the password."""
    if h.get("authorization") != "Basic " + base64.b64encode(b"user:the real t0ken/+=").decode():
        return plain(b"who?", 'WWW-Authenticate: Basic realm="git"\r\n', "401 Unauthorized")
    name = os.path.join(os.environ.get("BAWN_TEST_GIT", ""), os.path.normpath(path[5:]).lstrip("/."))
    try:
        with open(name, "rb") as f:
            return plain(f.read())
    except OSError:
        return plain(b"no such file", "", "404 Not Found")


async def http(r, w):
    seen["connections"] += 1
    try:
        while True:
            method, path, h, body = await read_request(r)
            path, _, query = path.partition("?")
            if body is None:
                w.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = await read_body(r, h)
            if path in FIXED:
                w.write(FIXED[path] if method != "HEAD" else plain(b"x" * 10)[:-10])
            elif path in CLOSING:
                w.write(CLOSING[path])
                break
            elif path == "/mirror":
                await mirror(w, query, h, body)
                if "at=close" in query:
                    break
            elif path.startswith("/git/"):
                w.write(git(path, h))
            elif path == "/echo":
                w.write(plain(body, "X-Method: " + method + "\r\n"))
            elif path == "/drip":  # a text, and much later the rest
                text = dict(urllib.parse.parse_qsl(query))["t"].encode()
                w.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(text), text))
                await w.drain()
                await asyncio.sleep(4)
                w.write(b"4\r\nrest\r\n0\r\n\r\n")
            elif path == "/once":  # promises to stay, and goes
                w.write(plain(b"once"))
                break
            elif path == "/hang":
                await asyncio.sleep(60)
            elif path.startswith("/big/"):
                n = int(path[5:])
                w.write(f"HTTP/1.1 200 OK\r\nContent-Length: {n}\r\n\r\n".encode())
                while n and not w.is_closing():
                    w.write(b"x" * min(n, 65536))
                    n -= min(n, 65536)
                    await w.drain()
            elif path == "/ws":
                if h.get("upgrade") != "websocket":
                    w.write(plain(b"no upgrade"))
                    continue
                w.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
                while data := await r.read(65536):
                    w.write(data)
                break
            else:
                w.write(plain(b"no such page", "", "404 Not Found"))
            await w.drain()
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        pass
    w.close()


async def echo(r, w):
    """Speaks first, as SSH does; then gives back what it gets."""
    seen["connections"] += 1
    try:
        w.write(b"READY\r\n")
        while data := await r.read(65536):
            w.write(data)
            await w.drain()
    except ConnectionError:
        pass
    w.close()


async def stall(r, w):
    await asyncio.sleep(60)
    w.close()


async def cut_off(r, w):
    """An answer until the end of the connection, which then ends without a word."""
    await r.readuntil(b"\r\n\r\n")
    w.write(b"HTTP/1.1 200 OK\r\n\r\nhalf of")
    await w.drain()
    await asyncio.sleep(0.1)
    w.get_extra_info("socket")
    w.transport.abort()


async def sink(r, w):
    try:
        while await r.read(1 << 20):
            pass
        w.write(b"got it")
    except ConnectionError:
        pass
    w.close()


async def tell(r, w):
    what = (await r.readline()).strip()
    if what == b"reset":
        seen.update(dns=[], http=[], connections=0)
        rebinding["n"] = 0
    w.write(json.dumps(seen).encode())
    w.close()


async def main(cert):
    loop = asyncio.get_running_loop()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore", DeprecationWarning)  # of TLS 1.1
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    old.load_cert_chain(cert)
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    past = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    past.load_cert_chain(cert + ".past")
    await asyncio.start_server(http, MAIN, 4431, ssl=old)
    await asyncio.start_server(http, MAIN, 4432, ssl=past)
    await asyncio.start_server(stall, MAIN, 4433)
    await asyncio.start_server(cut_off, MAIN, 4434, ssl=tls)
    await loop.create_datagram_endpoint(Udp, local_addr=(DNS, 53))
    for addr in (MAIN, SECOND, MAIN6):
        await asyncio.start_server(http, addr, 80, backlog=4096)
        await asyncio.start_server(http, addr, 443, ssl=tls, backlog=4096)
        await asyncio.start_server(echo, addr, 2222, backlog=4096)
        await asyncio.start_server(http, addr, 8080, backlog=4096)
        await asyncio.start_server(http, addr, 8443, ssl=tls, backlog=4096)
        await asyncio.start_server(sink, addr, 9, backlog=4096)
    await asyncio.start_server(tell, LINK, 9000)
    print("ready", flush=True)
    await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
