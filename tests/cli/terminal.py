#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""terminal.py [PROMPT=ANSWER]... -- command...: run a command on a terminal of its own, answer its prompts in this order, print
what the terminal showed and exit with the command's status. An answer is typed when its prompt is there."""
import os
import pty
import select
import signal
import sys
import time

at = sys.argv.index("--")
answers = [a.split("=", 1) for a in sys.argv[1:at]]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[at + 1], sys.argv[at + 1:])
shown, rest, end = b"", b"", time.monotonic() + 60
while time.monotonic() < end:
    if answers and answers[0][0].encode() in rest:
        rest = rest.split(answers[0][0].encode(), 1)[1]
        os.write(fd, answers.pop(0)[1].encode() + b"\n")
    if not select.select([fd], [], [], 0.1)[0]:
        continue
    try:
        got = os.read(fd, 65536)
    except OSError:
        break
    if not got:
        break
    shown += got
    rest += got
else:
    os.kill(pid, signal.SIGKILL)
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
sys.stdout.flush()
status = os.waitpid(pid, 0)[1]
if answers:
    print("unanswered:", answers)
    sys.exit(99)
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
