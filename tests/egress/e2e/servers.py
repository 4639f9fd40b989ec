#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The servers of a test's own internet: an authoritative DNS server that may lie, HTTP and TLS servers on addresses that
look public, and the things that must stay out of reach. Each writes what it saw into one log, a JSON object per line.
Started twice by internet.py: as `internet`, behind the host, and as `host`, beside bawn.
"""

import http.server
import json
import os
import re
import socket
import socketserver
import ssl
import struct
import sys
import threading
import time
import urllib.parse

GOOD, API, EVIL, DNS, DOH = "93.184.216.10", "93.184.216.11", "93.184.216.12", "9.9.9.9", "1.1.1.1"
GOOD6, EVIL6 = "2606:2800:220::10", "2606:2800:220::12"
HOST, ROUTER, METADATA = "10.77.0.1", "10.77.0.2", "169.254.169.254"
PUBLIC = [GOOD, API, EVIL, DNS, DOH, GOOD6, EVIL6]
A, CNAME, TXT, AAAA, HTTPS = 1, 5, 16, 28, 65


class Log:
    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def __call__(self, **what):
        os.write(self.fd, (json.dumps(what) + "\n").encode())


# ---- names ----------------------------------------------------------------------------------------------------------

class Zone:
    """What a name answers: a list of (type, value, ttl), None for NXDOMAIN, or "stall", "garbage"."""

    def __init__(self):
        self.asked = {}

    def fixed(self, name):
        both = [(A, GOOD, 60), (AAAA, GOOD6, 60)]
        table = {
            "api.example.com": [(A, API, 60)],
            "evil.example.net": [(A, EVIL, 60), (AAAA, EVIL6, 60)],
            "only4.example.org": [(A, GOOD, 60)],
            "only6.example.org": [(AAAA, GOOD6, 60)],
            "mixed.example.org": [(A, GOOD, 0), (A, "127.0.0.1", 0)],
            "mixed6.example.org": [(A, GOOD, 0), (AAAA, "::1", 0)],
            "chain.example.org": [(CNAME, "one.example.net", 60)],
            "one.example.net": [(CNAME, "two.example.com", 60)],
            "two.example.com": [(A, GOOD, 60)],
            "chainbad.example.org": [(CNAME, "inside.example.net", 60)],
            "inside.example.net": [(A, ROUTER, 60)],
            "loop.example.org": [(CNAME, "loop2.example.org", 60)],
            "loop2.example.org": [(CNAME, "loop.example.org", 60)],
            "nx.example.org": None,
            "stall.example.org": "stall",
            "garbage.example.org": "garbage",
        }
        if name in table:
            return table[name]
        if name == "example.org" or name.endswith(".example.org"):
            return both
        if name.endswith(".evil.example.net"):
            return [(A, EVIL, 60)]
        return None

    def answer(self, name):
        n = self.asked[name] = self.asked.get(name, 0) + 1
        m = re.fullmatch(r"ip-([0-9a-f]{8})\..*example\.org", name)
        if m:
            return [(A, socket.inet_ntoa(bytes.fromhex(m[1])), 0)]
        m = re.fullmatch(r"ip6-([0-9a-f]{32})\..*example\.org", name)
        if m:
            return [(AAAA, socket.inet_ntop(socket.AF_INET6, bytes.fromhex(m[1])), 0)]
        if name.startswith("rebind") and name.endswith(".example.org"):
            return [(A, GOOD if n % 2 else "127.0.0.1", 0)]
        return self.fixed(name)


def pack_name(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"


def unpack_name(data, at):
    labels = []
    while data[at]:
        labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
        at += data[at] + 1
    return ".".join(labels), at + 1


def reply(zone, log, query):
    name, at = unpack_name(query, 12)
    kind = struct.unpack("!H", query[at:at + 2])[0]
    name = name.lower()
    log(who="dns", name=name, type=kind)
    answers, head = [], 0x8580
    asked = name
    for _ in range(8):
        got = zone.answer(asked)
        if got == "stall":
            return None
        if got == "garbage":
            return query[:2] + b"\xff" * 20
        if got is None:
            head |= 3 if not answers else 0
            break
        for t, value, ttl in got:
            if t == CNAME:
                answers.append((asked, t, pack_name(value), ttl))
            elif t == kind:
                family = socket.AF_INET if t == A else socket.AF_INET6
                answers.append((asked, t, socket.inet_pton(family, value), ttl))
        if got and got[0][0] == CNAME and kind != CNAME:
            asked = got[0][1]
            continue
        break
    body = b"".join(pack_name(n) + struct.pack("!HHIH", t, 1, ttl, len(d)) + d for n, t, d, ttl in answers)
    return query[:2] + struct.pack("!HHHHH", head, 1, len(answers), 0, 0) + query[12:at + 4] + body


def serve_dns(address, zone, log):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((address, 53))
    tcp = socket.create_server((address, 53))

    def by_udp():
        while True:
            data, peer = udp.recvfrom(4096)
            try:
                answer = reply(zone, log, data)
            except (IndexError, struct.error):
                continue
            if answer:
                udp.sendto(answer, peer)

    def by_tcp():
        while True:
            c, _ = tcp.accept()
            with c:
                try:
                    n = struct.unpack("!H", c.recv(2, socket.MSG_WAITALL))[0]
                    answer = reply(zone, log, c.recv(n, socket.MSG_WAITALL))
                    c.sendall(struct.pack("!H", len(answer)) + answer)
                except (OSError, struct.error, TypeError, IndexError):
                    pass

    for f in (by_udp, by_tcp):
        threading.Thread(target=f, daemon=True).start()


# ---- http -----------------------------------------------------------------------------------------------------------

class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log = None
    secret = "hello"

    def log_message(self, *a):
        pass

    def answer(self, body, status=200, **headers):
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        at = self.connection.getsockname()
        n = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(n) if n else b""
        self.log(who="http", at=at[0], port=at[1], host=self.headers.get("Host"), method=self.command, path=self.path,
                 tls=isinstance(self.connection, ssl.SSLSocket), body=len(body), headers=str(self.headers),
                 text=body[:4096].decode("latin-1"))
        if url.path == "/redirect":
            self.answer(b"", 302, Location=query["to"][0])
        elif url.path == "/echo":
            self.answer(f"{self.secret} {self.path}\n{self.headers}".encode() + body)
        elif url.path == "/big":
            self.answer(b"x" * int(query["n"][0]))
        elif url.path.startswith("/files/"):
            self.path = urllib.parse.unquote(url.path[len("/files"):])
            super().do_GET()
        else:
            self.answer(f"{self.secret} from {at[0]} for {self.headers.get('Host')}\n".encode())

    do_POST = do_PUT = do_DELETE = do_GET

    def do_HEAD(self):
        self.do_GET()

    def list_directory(self, path):
        self.send_error(404)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256
    context = None

    def __init__(self, address, port, handler, context=None):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.context = context
        super().__init__((address, port), handler)

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "test", self.server_address[1]

    def finish_request(self, request, client_address):
        if self.context:
            try:
                request.settimeout(20)
                request = self.context.wrap_socket(request, server_side=True)
            except (OSError, ssl.SSLError):
                return
        try:
            super().finish_request(request, client_address)
        except (OSError, ssl.SSLError):
            pass

    def shutdown_request(self, request):
        try:
            super().shutdown_request(request)
        except OSError:
            pass

    def handle_error(self, request, client_address):
        pass


def serve_http(address, port, files, log, secret, context=None):
    kind = type("H", (Handler,), {"log": staticmethod(log), "secret": secret})
    server = Server(address, port, lambda *a: kind(*a, directory=files), context)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def serve_raw(address, port, log):
    """Says a line to whoever connects, as SSH and SMTP servers do, and notes what it was sent."""
    s = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)

    def one(c):
        with c:
            try:
                log(who="raw", at=address, port=port)
                c.sendall(b"raw hello\r\n")
                c.settimeout(5)
                got = c.recv(1000)
                log(who="raw", at=address, port=port, got=got.decode("latin-1"))
            except OSError:
                pass

    def loop():
        while True:
            threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()


def listen_udp(address, ports, log):
    for port in ports:
        s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((address, port))

        def loop(s=s, port=port):
            while True:
                s.recvfrom(4096)
                log(who="udp", at=address, port=port)

        threading.Thread(target=loop, daemon=True).start()


def internet(base, log):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{base}/leaf.pem", f"{base}/leaf.key")
    serve_dns(DNS, Zone(), log)
    for address in (GOOD, API, EVIL, GOOD6, EVIL6):
        secret = "stolen" if address in (EVIL, EVIL6) else "hello"
        serve_http(address, 80, f"{base}/files", log, secret)
        serve_http(address, 8080, f"{base}/files", log, secret)
        serve_http(address, 443, f"{base}/files", log, secret, context)
        serve_raw(address, 22, log)
        serve_raw(address, 25, log)
    for address in (DOH, EVIL):
        serve_raw(address, 853, log)
        listen_udp(address, (53, 123, 443, 5353), log)
    serve_raw(DOH, 53, log)
    serve_http(DOH, 443, f"{base}/files", log, "stolen", context)
    for address in (ROUTER, METADATA):
        serve_http(address, 80, f"{base}/files", log, "internal")


def host(base, log):
    for address in ("127.0.0.1", HOST, "::1"):
        serve_http(address, 80, f"{base}/files", log, "internal")
        serve_http(address, 8099, f"{base}/files", log, "internal")


def main():
    role, base = sys.argv[1:]
    sys.stdin.readline()  # the addresses are there
    {"internet": internet, "host": host}[role](base, Log(f"{base}/log"))
    print("ready", flush=True)
    sys.stdin.read()  # until whoever started us is gone
    os._exit(0)


if __name__ == "__main__":
    main()
