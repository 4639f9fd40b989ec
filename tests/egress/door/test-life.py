#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Addresses, resolvers, budgets, limits, reload, and the end of the door."""
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time

import net
from net import read_all, read_answer

PROGRAM = net.program()


def door(listen=("proxy",), **config):
    return net.Door(PROGRAM, listen, **{"allow": ["*.w.test"], **config})


def get(s, url, method="GET"):
    s.sendall(f"{method} {url} HTTP/1.1\r\nHost: {url.split('/')[2]}\r\n\r\n".encode())


def once(d, url):
    with d.connect() as s:
        get(s, url)
        return read_answer(s)


def internal_addresses_are_refused_whatever_the_name_server_says(world):
    with door() as d:
        for host in ("priv", "loop", "meta", "own", "cgnat", "mixed", "mixed6", "mapped", "nat64", "cnameloop"):
            world.reset()
            status, _, body = once(d, f"http://{host}.w.test/hello")
            assert status == 403, (host, status, body)
            e = d.wait("decision")
            assert e["decision"] == "deny" and e["address"], e
            assert world.tell()["connections"] == 0, host


def spellings_of_loopback_are_refused(world):
    with door(mode="open", allow=[]) as d:
        for host in ("0x7f000001", "0177.0.0.1", "2130706433", "127.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
                     "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::1]", "[::]", "0", "169.254.169.254", "198.51.100.1",
                     "10.1.2.3", "[fe80::1%25eth0]"):
            assert once(d, f"http://{host}/hello")[0] in (400, 403), host


def names_of_this_host_are_refused(world):
    with door(mode="open", allow=[]) as d:
        for host in ("localhost", "LOCALHOST."):
            assert once(d, f"http://{host}/hello")[0] in (403, 502), host
        assert once(d, "http://a.w.test/hello")[0] == 200


def a_rule_that_names_a_private_address_permits_it(world):
    with door(allow=["10.9.9.9:80", "127.0.0.1:80"], timeouts={"dial": 300}) as d:
        assert once(d, "http://10.9.9.9/")[0] in (502, 504)  # permitted, but nobody is there
        assert once(d, "http://127.0.0.1/")[0] == 403
        assert once(d, "http://10.9.9.8/")[0] == 403


def the_checked_address_is_the_one_that_is_dialled(world):
    with door() as d:
        world.reset()
        assert once(d, "http://rebind.w.test/close")[0] == 200
        assert once(d, "http://rebind.w.test/hello")[0] == 403
        assert world.tell()["connections"] == 1
        assert len([q for q in world.tell()["dns"] if q[1] == 1]) == 2  # one question for each dial


def aliases_are_followed(world):
    with door() as d:
        assert once(d, "http://cname.w.test/hello")[0] == 200


def a_name_is_asked_for_once_while_its_answer_holds(world):
    with door() as d:
        world.reset()
        for _ in range(5):
            assert once(d, "http://a.w.test/close")[0] == 200
        assert len([q for q in world.tell()["dns"] if q[1] == 1]) == 1
        for _ in range(3):
            assert once(d, "http://ttl0.w.test/close")[0] == 200
        assert len([q for q in world.tell()["dns"] if q == ["ttl0.w.test", 1]]) == 3


def the_next_address_is_tried(world):
    with door(timeouts={"dial": 9000}) as d:
        status, _, body = once(d, "http://two.w.test/hello")
        assert (status, body) == (200, b"hello\n"), body


def too_many_addresses_are_refused(world):
    with door() as d:
        assert once(d, "http://many.w.test/hello")[0] == 502


def resolvers_that_fail_stall_or_are_absent(world):
    for host, want, why, wait in (("nx", 502, b"no such name", {}), ("broken", 502, b"cannot resolve", {}),
                                  ("stall", 504, b"in time", {"resolve": 400})):
        with door(timeouts=wait) as d:
            status, _, body = once(d, f"http://{host}.w.test/hello")
            assert status == want and why in body, (host, status, body)
    for where in ("93.184.215.14:5353", "198.51.100.77:53"):
        with door(timeouts={"resolve": 500}, resolver=[where]) as d:
            assert once(d, "http://a.w.test/hello")[0] in (502, 504), where


def servers_that_are_not_there(world):
    with door(allow=["refused.w.test:81"]) as d:
        status, _, body = once(d, "http://refused.w.test:81/")
        assert status == 502 and b"refused" in body, body
    with door(timeouts={"idle": 700}) as d:
        assert once(d, "http://a.w.test/hang")[0] == 504


def bytes_per_host(world):
    with door(host_bytes=100000) as d:
        with d.connect() as s:
            get(s, "http://a.w.test/big/5000000")
            got = len(read_all(s))
            assert got < 1_000_000, got
        status, _, body = once(d, "http://a.w.test/hello")
        assert status == 403 and b"budget" in body, body
        assert once(d, "http://b.w.test/hello")[0] == 200
    with door(host_bytes=100000, allow=["a.w.test:9"]) as d:
        s = d.connect()
        s.sendall(b"CONNECT a.w.test:9 HTTP/1.1\r\nHost: a.w.test:9\r\n\r\n")
        assert b" 200 " in net.read_head(s)
        try:
            for _ in range(1000):
                s.sendall(b"\0" * 10000)
        except OSError:
            pass
        assert d.wait("decision", {"decision": "deny"})["rule"] == "network.host_bytes"
        assert d.wait("closed")["sent"] <= 100000
        s.close()


def requests_per_second_and_host(world):
    with door(host_rate=2) as d:
        codes = []
        while len(codes) < 12 or (429 not in codes and len(codes) < 200):  # some are faster than two per second
            codes.append(once(d, "http://a.w.test/hello")[0])
        assert codes[:4] == [200] * 4 and 429 in codes, codes
        assert once(d, "http://b.w.test/hello")[0] == 200


def slow_heads_are_ended(world):
    with door(timeouts={"head": 600, "idle": 600}) as d:
        slow = [d.connect() for _ in range(20)]
        ended = set()
        end = time.monotonic() + net.WAIT
        while len(ended) < len(slow) and time.monotonic() < end:
            for i, s in enumerate(slow):
                if i in ended:
                    continue
                try:
                    s.sendall(b"G")
                    s.setblocking(False)
                    if b"408" in s.recv(1000) or True:
                        ended.add(i)
                except BlockingIOError:
                    pass
                except OSError:
                    ended.add(i)
            assert once(d, "http://a.w.test/hello")[0] == 200  # others are served meanwhile
            time.sleep(0.05)
        assert len(ended) == len(slow)
        silent = d.connect()
        assert read_all(silent) == b""


def a_client_that_does_not_read_holds_little(world):
    with door() as d:
        stuck = []
        for _ in range(20):
            s = d.connect()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            get(s, "http://a.w.test/big/50000000")
            stuck.append(s)
        time.sleep(1)
        assert once(d, "http://a.w.test/hello")[0] == 200
        kib = rss(d.pid)
        assert kib < 20 * 1024, kib


def rss(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


def many_connections(world):
    idle, active = 10000, 1000
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit < 13500:
        idle = max(100, limit - 3500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    net.sh("sysctl -q -w net.ipv4.ip_local_port_range='1024 65535' 2>/dev/null || true")
    with door(allow=["*.w.test", "a.w.test:2222"]) as d:
        before = rss(d.pid)
        crowd = [d.connect() for _ in range(idle)]
        # each has asked once and keeps its connection
        assert once(d, "http://a.w.test/hello")[0] == 200
        kib = (rss(d.pid) - before) / idle
        print(f"# {idle} idle connections: {kib:.2f} KiB each")
        assert kib < 8, kib
        busy = []
        for _ in range(active):
            s = d.connect()
            s.sendall(b"CONNECT a.w.test:2222 HTTP/1.1\r\nHost: a.w.test:2222\r\n\r\n")
            busy.append(s)
        for s in busy:
            assert b" 200 " in net.read_head(s)
            assert s.recv(7) == b"READY\r\n"
        for _ in range(3):
            for i, s in enumerate(busy):
                s.sendall(b"ping %d" % i)
            for i, s in enumerate(busy):
                assert s.recv(100) == b"ping %d" % i
        kib = (rss(d.pid) - before) / (idle + active)
        print(f"# and {active} tunnels in use: {kib:.2f} KiB each")
        assert kib < 16, kib
        for s in crowd + busy:
            s.close()
        assert once(d, "http://a.w.test/hello")[0] == 200
    if idle < 10000:
        print(f"# only {idle} idle ones: this user may open {limit} files")


def rules_change_and_connections_stay(world):
    with door(allow=["a.w.test", "a.w.test:2222"]) as d:
        s = d.connect()
        s.sendall(b"CONNECT a.w.test:2222 HTTP/1.1\r\nHost: a.w.test:2222\r\n\r\n")
        assert b" 200 " in net.read_head(s)
        assert s.recv(7) == b"READY\r\n"
        kept = d.connect()
        get(kept, "http://a.w.test/hello")
        assert read_answer(kept)[0] == 200
        d.reload(allow=["b.w.test"])
        d.wait("reloaded")
        s.sendall(b"still here")
        assert s.recv(100) == b"still here"
        get(kept, "http://a.w.test/hello")
        assert read_answer(kept)[0] == 403
        assert once(d, "http://b.w.test/hello")[0] == 200
        d.reload(allow=[f"{i}.w.test" for i in range(1500)] + ["GET c.w.test/x*", "bücher.example", "b.w.test"])
        d.wait("reloaded")
        assert once(d, "http://b.w.test/hello")[0] == 200
        d.reload(allow=["b.w.test"])
        d.wait("reloaded")
        d.reload(allow=["*.com"])
        assert "*.com" in d.wait("error")["error"]
        assert once(d, "http://b.w.test/hello")[0] == 200
        d.config["nonsense"] = 1
        d.reload(allow=["c.w.test"])
        assert "nonsense" in d.wait("error")["error"]


def statistics(world):
    with door(allow=["a.w.test"]) as d:
        once(d, "http://a.w.test/hello")
        once(d, "http://a.w.test/hello")
        once(d, "http://b.w.test/hello")
        total, hosts = d.stats()
        assert total["allowed"] == 2 and total["blocked"] == 1 and total["received"] > 0, total
        assert hosts["a.w.test"]["allowed"] == 2 and hosts["b.w.test"]["blocked"] == 1, hosts
        d.send({"stop": True})
        assert d.wait("stats")
        assert d.process.wait(net.WAIT) == 0


def a_host_that_does_not_read_is_told_how_much_it_missed(world):
    with door(allow=[]) as d:
        with d.connect():
            pass
        for _ in range(300):
            with d.connect() as s:
                s.sendall(b"GET http://%s.w.test/ HTTP/1.1\r\nHost: %s.w.test\r\n\r\n" % ((b"x" * 60,) * 2))
                assert read_answer(s)[0] == 403
        total, _ = d.stats()
        assert total["blocked"] == 300, total


def it_never_outlives_its_parent(world):
    code = ("import sys, net, os; d = net.Door(sys.argv[1]); "
            "print(d.pid, flush=True); os.read(0, 1)")
    env = dict(os.environ, PYTHONPATH=str(net.HERE))
    p = subprocess.Popen([sys.executable, "-c", code, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env,
                         text=True)
    pid = int(p.stdout.readline())
    p.send_signal(signal.SIGKILL)
    p.wait()
    end = time.monotonic() + net.WAIT
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{pid}")


def the_end_of_the_conversation_ends_it(world):
    d = door()
    s = d.connect()
    d.control.close()
    d.process.wait(net.WAIT)
    assert read_all(s) in (b"", b"<RST>")


def nothing_is_accepted_before_it_is_confined(world):
    for messages in ([{"go": True}], [{"config": {"mode": "open"}}, {"config": {}}], [{"listen": "proxy"}],
                     [{"config": {"mode": "sometimes"}}], [{"config": {"mode": "deny", "allow": ["a b c"]}}],
                     [{"config": {"mode": "deny", "token": ""}}], [[]]):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        p = net.start(PROGRAM, theirs)
        theirs.close()
        ours.settimeout(net.WAIT)
        for m in messages:
            ours.send(__import__("json").dumps(m).encode())
        assert b'"error"' in ours.recv(65536), messages
        ours.close()
        p.wait(net.WAIT)


def it_is_confined(world):
    with door() as d:
        once(d, "http://a.w.test/hello")
        with open(f"/proc/{d.pid}/status", encoding="ascii") as f:
            status = {k: v.strip() for k, _, v in (line.partition(":") for line in f)}
        assert int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0, status["CapEff"]
        assert status["NoNewPrivs"] == "1"
        if os.environ.get("BAWN_SANITIZED"):
            return "sanitizers need system calls that the filter refuses: make test runs it"
        assert status["Seccomp"] == "2", status["Seccomp"]
        for fd in os.listdir(f"/proc/{d.pid}/fd"):
            try:
                to = os.readlink(f"/proc/{d.pid}/fd/{fd}")
            except FileNotFoundError:
                continue  # closed meanwhile
            assert int(fd) in (1, 2) or re.match(r"socket:|pipe:|anon_inode:|/dev/null", to), to
    return None


def it_is_not_started_by_hand(world):
    p = subprocess.run([PROGRAM], capture_output=True, timeout=net.WAIT, stdin=subprocess.DEVNULL, check=False)
    assert p.returncode == 2 and b"bawn" in p.stderr


if __name__ == "__main__":
    sys.exit(net.main(globals()))
