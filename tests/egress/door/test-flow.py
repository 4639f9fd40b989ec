#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long flows through a tunnel: nothing is lost at their end, nothing waits for them, and they do not outgrow a limit."""
import contextlib
import mmap
import os
import pathlib
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

import net
from net import read_head

PROGRAMS = [net.program(), net.program("bawn-egress-tls")]
MIB = 1 << 20
LONG = 64 * MIB
CHOICE = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control")


@contextlib.contextmanager
def tunnels(program, n=1, **config):
    """A door to one port of this host, and n connections through it: (client's end, server's end)."""
    with net.listener() as server:
        server.settimeout(net.WAIT)
        with net.Door(program, [("loopback", server.getsockname()[1], "127.0.0.1")], **config) as d:
            pairs = []
            for _ in range(n):
                s = d.connect("loopback")
                peer, _ = server.accept()
                peer.settimeout(net.WAIT)
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                pairs.append((s, peer))
            yield d, pairs
            for pair in pairs:
                for s in pair:
                    s.close()


def pour(s, size):
    piece = bytes(MIB)
    while size:
        n = min(size, MIB)
        s.sendall(memoryview(piece)[:n])
        size -= n


def pour_until_refused(s):
    with contextlib.suppress(OSError):
        pour(s, 1 << 50)


def drain(s, size):
    """How many of so many bytes came; they are not looked at."""
    room, got = bytearray(MIB), 0
    while got < size:
        n = s.recv_into(room, min(MIB, size - got), socket.MSG_TRUNC)
        if not n:
            break
        got += n
    return got


def flow(a, b, size):
    sender = threading.Thread(target=pour, args=(a, size))
    sender.start()
    got = drain(b, size)
    sender.join()
    assert got == size, (got, size)


def beat(a, b, n=51):
    """Median of the time that one byte there and one back take."""
    took = []
    for _ in range(n):
        begun = time.perf_counter()
        a.sendall(b".")
        assert b.recv(1) == b"."
        b.sendall(b",")
        assert a.recv(1) == b","
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


def slowed_down(program, down):
    """How many times as long a byte there and back takes after a long flow."""
    with tunnels(program) as (_, [(s, peer)]):
        a, b = (peer, s) if down else (s, peer)
        before = beat(a, b)
        flow(a, b, LONG)
        return beat(a, b) / before


def a_small_message_after_a_long_flow_does_not_wait(world):
    for program in PROGRAMS:
        for down in (True, False):
            best = min(slowed_down(program, down) for _ in range(3))
            print(f"# {os.path.basename(program)}: {best:.2f} times as long as before")
            assert best < 4


def the_last_odd_bytes_arrive_before_the_end(world):
    for program in PROGRAMS:
        for size in (LONG + 1, LONG + 17, 8 * MIB + 16_383):
            with tunnels(program, 2) as (_, [(s, peer), (t, other)]):
                for a, b in ((peer, s), (t, other)):
                    def send(a=a, size=size):
                        pour(a, size - 3)
                        a.sendall(b"end")
                        a.shutdown(socket.SHUT_WR)
                    sender = threading.Thread(target=send)
                    sender.start()
                    assert drain(b, size - 3) == size - 3
                    sender.join()
                    assert net.read_all(b) == b"end"
                    b.sendall(b"the other way is still open")
                    assert a.recv(100) == b"the other way is still open"


def a_long_flow_that_pauses_and_goes_on(world):
    with tunnels(PROGRAMS[0]) as (_, [(s, peer)]):
        for a, b in ((peer, s), (s, peer)):
            for size in (LONG, 1, LONG + 5, 70_000, LONG):
                flow(a, b, size)
                time.sleep(0.01)


class Flows:
    """Flows in processes of their own, so many and so fast that their sources are hardly ever empty."""

    def __init__(self, pairs):
        self.counts, self.pids = mmap.mmap(-1, 8 * len(pairs)), []
        for i, (a, b) in enumerate(pairs):
            self.start(self.pour, a)
            self.start(self.drain, b, i)
        end = time.monotonic() + net.WAIT
        while min(self.bytes) < LONG:
            assert time.monotonic() < end, "a flow does not begin"
            time.sleep(0.01)

    def start(self, work, *args):
        pid = os.fork()
        if not pid:
            with contextlib.suppress(OSError):
                work(*args)
            os._exit(0)
        self.pids.append(pid)

    @staticmethod
    def pour(s):
        s.setblocking(True)
        data = os.memfd_create("flow")
        os.pwrite(data, bytes(MIB), 0)
        while True:
            os.sendfile(s.fileno(), data, 0, MIB)

    def drain(self, s, i):
        s.setblocking(True)
        room, got = bytearray(MIB), 0
        while n := s.recv_into(room, MIB, socket.MSG_TRUNC):
            got += n
            struct.pack_into("Q", self.counts, 8 * i, got)

    @property
    def bytes(self):
        return struct.unpack(f"{len(self.counts) // 8}Q", self.counts[:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def others_have_their_turn_during_long_flows(world):
    """Not how long an answer takes, but how much of the flows goes before it. Who asks may not get a processor for a while:
    there are three times to show it."""
    for program in PROGRAMS:
        with tunnels(program, 5) as (_, [(t, other), *rest]), Flows([(b, a) for a, b in rest]) as f:
            rounds = []
            while len(rounds) < 3 and max(rounds, default=0) < 8:
                first, answers = sum(f.bytes), 0
                while sum(f.bytes) < first + 16 * LONG:
                    beat(t, other, 1)
                    answers += 1
                rounds.append(answers)
            print(f"# {os.path.basename(program)}: {rounds} answers in {16 * LONG // MIB} MiB each")
            assert max(rounds) >= 8, rounds


def a_long_flow_is_not_idle(world):
    for program in PROGRAMS:
        # longer than any of the processes waits for a processor
        with tunnels(program, 4, timeouts={"idle": 4000}) as (_, pairs), Flows([(b, a) for a, b in pairs]) as f:
            time.sleep(6)
            before = f.bytes
            end = time.monotonic() + net.WAIT
            while min(y - x for x, y in zip(before, f.bytes)) < LONG:
                assert time.monotonic() < end, "it was ended"
                time.sleep(0.01)


def a_reset_in_a_long_flow_is_passed_on(world):
    with tunnels(PROGRAMS[0], 2) as (d, [(s, peer), (t, other)]):
        sender = threading.Thread(target=pour_until_refused, args=(peer,))
        sender.start()
        assert drain(s, LONG) == LONG
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
        sender.join(net.WAIT)
        assert not sender.is_alive()
        beat(t, other, 3)


def a_budget_holds_in_a_long_flow(world):
    budget = LONG + 12_345
    for program in PROGRAMS:
        with net.Door(program, allow=["a.w.test:9"], host_bytes=budget) as d:
            s = d.connect()
            s.sendall(b"CONNECT a.w.test:9 HTTP/1.1\r\nHost: a.w.test:9\r\n\r\n")
            assert b" 200 " in read_head(s)
            pour_until_refused(s)
            assert d.wait("decision", {"decision": "deny"})["rule"] == "network.host_bytes"
            sent = d.wait("closed")["sent"]
            assert budget - 100 < sent <= budget, (sent, budget)  # the door's own answer is counted, too
            s.close()


def clients_are_not_paced(world):
    """Whatever the host's congestion control is, it is not used between two processes of one machine."""
    if not shutil.which("ss"):
        return "ss is not installed (apt-get install iproute2)"
    was = CHOICE.read_text().strip()
    for other in ("bbr", "cubic", "dctcp", "vegas"):
        try:
            CHOICE.write_text(other)
            break
        except OSError:
            pass
    if CHOICE.read_text().strip() == "reno":
        return "this kernel has no other congestion control to choose (modprobe tcp_bbr, or tcp_vegas)"
    try:
        for program in PROGRAMS:
            with tunnels(program) as (d, [(s, peer)]):
                def used(port):
                    return subprocess.run(["ss", "-tinH", "state", "established", "sport", f":{port}"],
                                          capture_output=True, text=True, check=True).stdout.split("\n\t")[1].split()[0]
                assert used(s.getsockname()[1]) == CHOICE.read_text().strip()
                assert used(d.ports["loopback"]) == "reno"
                assert used(peer.getpeername()[1]) == "reno"
            with net.Door(program, allow=["a.w.test:2222"]) as d:
                s = d.connect()
                s.sendall(b"CONNECT a.w.test:2222 HTTP/1.1\r\nHost: a.w.test:2222\r\n\r\n")
                assert b" 200 " in read_head(s)
                lines = subprocess.run(["ss", "-tinH", "state", "established", "dport", ":2222"], capture_output=True,
                                       text=True, check=True).stdout
                assert CHOICE.read_text().strip() in lines.split() and "reno" not in lines.split(), lines
                s.close()
    finally:
        CHOICE.write_text(was)


if __name__ == "__main__":
    sys.exit(net.main(globals()))
