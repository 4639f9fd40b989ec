#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that do anything, in any order, many at once: the door stays, decides, and forgets them."""
import os
import random
import socket
import struct
import sys

import net
from net import read_answer

PROGRAM = net.program()
ROUNDS = int(os.environ.get("ROUNDS", "1500"))

PIECES = [
    b"GET http://a.w.test/hello HTTP/1.1\r\nHost: a.w.test\r\n\r\n",
    b"GET http://a.w.test/once HTTP/1.1\r\nHost: a.w.test\r\n\r\n",
    b"GET http://b.w.test/chunked HTTP/1.1\r\nHost: b.w.test\r\nConnection: close\r\n\r\n",
    b"GET http://a.w.test/big/300000 HTTP/1.1\r\nHost: a.w.test\r\n\r\n",
    b"GET http://a.w.test/short HTTP/1.1\r\nHost: a.w.test\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"POST http://a.w.test/echo HTTP/1.1\r\nHost: a.w.test\r\nContent-Length: 5\r\n\r\nhello",
    b"POST http://a.w.test/echo HTTP/1.1\r\nHost: a.w.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"GET http://a.w.test/ws HTTP/1.1\r\nHost: a.w.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"GET http://nx.w.test/ HTTP/1.1\r\nHost: nx.w.test\r\n\r\n",
    b"GET http://loop.w.test/ HTTP/1.1\r\nHost: loop.w.test\r\n\r\n",
    b"CONNECT a.w.test:443 HTTP/1.1\r\nHost: a.w.test:443\r\n\r\n",
    b"CONNECT a.w.test:80 HTTP/1.1\r\nHost: a.w.test:80\r\n\r\n",
    b"CONNECT a.w.test:2222 HTTP/1.1\r\nHost: a.w.test:2222\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nHost: a.w.test\r\n\r\n",
    b"\5\1\0", b"\5\1\0\3\x08a.w.test\x08\xae", b"\5\2\0\2", b"\4\1\x08\xae\0\0\0\1me\0a.w.test\0",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 300, b"SSH-2.0-me\r\n", b"\0" * 100, b"\r\n\r\n",
]


def one(rng, d):
    """A connection that says some of that, cut and changed at random; returned while it is open."""
    s = d.connect()
    data = b"".join(rng.choice(PIECES) for _ in range(rng.randint(1, 4)))
    if rng.random() < 0.3:
        data = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = bytes(data)
    if rng.random() < 0.3:
        data = data[:rng.randrange(1, len(data) + 1)]
    try:
        if rng.random() < 0.5:
            s.sendall(data)
        else:
            at = rng.randrange(len(data) + 1)
            s.sendall(data[:at])
            s.sendall(data[at:])
        how = rng.random()
        if how < 0.2:
            s.shutdown(socket.SHUT_WR)
        elif how < 0.4:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
            return None
        elif how < 0.7:
            s.setblocking(False)
            s.recv(rng.randint(1, 65536))
    except OSError:
        pass
    return s


def anything_goes_and_nothing_breaks(world):
    seed = int(os.environ.get("SEED", "1"))
    rng = random.Random(seed)
    with net.Door(PROGRAM, allow=["*.w.test", "a.w.test:2222"], timeouts={"head": 500, "idle": 4000, "dial": 4000}) as d:
        crowd = []
        for i in range(ROUNDS):
            crowd.append(one(rng, d))
            if len(crowd) > 200:
                c = crowd.pop(rng.randrange(len(crowd)))
                if c:
                    c.close()
            if i % 100 == 99:
                d.pull()
                d.events.clear()
                d.reload(allow=["*.w.test", "a.w.test:2222"] + [f"x{i}.w.test"])
            if i % 250 == 249:
                with d.connect() as s:
                    s.sendall(PIECES[0])
                    assert read_answer(s)[2] == b"hello\n", f"seed {seed}, round {i}"
        for c in crowd:
            if c:
                c.close()
        assert d.process.poll() is None, f"seed {seed}"
        # everything it held for them is given back
        for _ in range(600):
            if len(os.listdir(f"/proc/{d.pid}/fd")) < 100 + 64 * 2:
                break
            socket.create_connection(("127.0.0.1", d.port), timeout=net.WAIT).close()
            __import__("time").sleep(0.1)
        assert len(os.listdir(f"/proc/{d.pid}/fd")) < 100 + 64 * 2
        with d.connect() as s:
            s.sendall(PIECES[0])
            assert read_answer(s)[2] == b"hello\n"
    assert d.process.returncode == 0, (seed, d.process.returncode)


if __name__ == "__main__":
    sys.exit(net.main(globals()))
