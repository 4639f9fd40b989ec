#!/usr/bin/env bats
# Behind a wall that another program builds: the same promises as behind our own.
load common

wall() {
	bawn run -q --backend bwrap "$@"
}

need_bwrap() {
	command -v bwrap >/dev/null || skip "bubblewrap is not installed (apt-get install bubblewrap)"
}

@test "every demanded control is in the receipt, and the result names the wall" {
	need_bwrap
	bawn run -q --backend bubblewrap --result r.json --rw . -- true
	[ "$(jq -r .backend r.json)" = bwrap ]
	[[ $(jq -r .walls r.json) == "bubblewrap: "*"Landlock"*"seccomp"* ]]
	[ "$(jq -c '.controls.demanded - .controls.enforced' r.json)" = '[]' ]
	bawn run -q --backend native --result n.json -- true
	[ "$(jq -c .controls.enforced r.json)" = "$(jq -c .controls.enforced n.json)" ]
}

@test "the command's status, output and input" {
	need_bwrap
	run -7 wall -- sh -c 'exit 7'
	run -143 wall -- sh -c 'kill -TERM $$'
	run -127 wall -- ./none
	[ "$(echo in | wall -- sh -c 'cat; echo out; echo err >&2' 2>err)" = $'in\nout' ]
	[ "$(cat err)" = err ]
}

@test "what no grant opens is not said to be opened by one" {
	need_bwrap
	run bawn run --backend bwrap -- sh -c 'echo 1 >/proc/sys/vm/swappiness; echo 1 >/etc/none'
	[[ $output == *"denied: writing '/proc/sys/vm/swappiness'"*"no grant makes it writable"* ]]
	[[ $output == *"denied: writing '/etc/none'"*"belongs to the system"* ]]
	[[ $output != *"--rw"* ]]
}

@test "denied paths are out of reach and the host's stay as they are" {
	need_bwrap
	echo secret >s.env
	mkdir d
	echo secret >d/f
	run wall --deny s.env --deny d --deny none -- sh -c 'cat s.env d/f; ls d; rm -f s.env; mv d e; ls'
	[[ $output != *secret* && $output == *"Permission denied"* ]]
	[ "$(cat s.env d/f)" = $'secret\nsecret' ]
	[ ! -e none ]
}

@test "protected names cannot be changed or made, and nothing is made for that" {
	need_bwrap
	mkdir -p .git/hooks
	echo mine >.git/config
	run wall -- sh -c 'echo x >.git/config; echo x >.git/hooks/pre-commit; mv .git g; mkdir .claude; touch ok'
	[ "$(cat .git/config)" = mine ]
	[ -z "$(ls .git/hooks)" ]
	[ ! -e .claude ] && [ -e ok ]
	[ "$(ls -A)" = $'.git\nok' ]
}

@test "nothing is executed from a directory that forbids it, not even by the loader" {
	need_bwrap
	mkdir bin
	cp /bin/echo bin/e
	run wall --deny-exec bin -- sh -c 'bin/e ran; for l in /lib*/ld-linux*; do $l ./bin/e ran; done; true'
	[[ $output != *$'\nran'* && $output != ran* ]]
}

@test "limits end the run and are named" {
	need_bwrap
	run --separate-stderr -124 bawn run --backend bwrap --timeout 500ms -- sh -c 'setsid sleep 1000 & sleep 1000'
	[[ $stderr == *"limits.time"* ]]
	run --separate-stderr bawn run --backend bwrap -m 64m -- sh -c 'x=$(head -c 200000000 /dev/zero | tr "\0" x); echo $x'
	[[ $stderr == *"limits.memory"* ]]
	run wall --disk 1m -- sh -c 'head -c 4000000 /dev/zero >/tmp/f'
	# full, or ended by who looks at all of it together
	[[ $output == *"No space left"* || $status -eq 137 ]]
	# each private directory has its size, all of them together have the limit
	run --separate-stderr -137 bawn run --backend bwrap --disk 8m -- \
		sh -c 'for d in /tmp /dev/shm; do head -c 7000000 /dev/zero >$d/f; done; sleep 100'
	[[ $stderr == *"limits.disk"* ]]
}

@test "a terminal of its own" {
	need_bwrap
	run wall --pty -- sh -c 'test -t 0 && tty'
	[[ $output == /dev/pts/* ]]
}

@test "no network, a port of the host's loopback, or the door" {
	need_bwrap
	command -v curl >/dev/null || skip "curl is not installed (apt-get install curl)"
	run -7 wall -- curl -s -m 5 http://127.0.0.1:9/
	run --separate-stderr bawn run --backend bwrap --net allowlist --allow-host good.example.org -- \
		curl -s -o /dev/null -w '%{http_code}' http://evil.example.net/
	[ "$output" = 403 ]
	[[ $stderr == *"'evil.example.net' is not on the allow list"* ]]
	run --separate-stderr bawn run --backend bwrap --net allowlist --allow-host good.example.org -- \
		curl -s --noproxy '*' -m 5 http://192.0.2.1/
	[ "$status" -ne 0 ]
	[[ $stderr == *"192.0.2.1"* ]]
}

@test "when bawn is killed, nothing of it stays" {
	need_bwrap
	local mark="sleep 98761.$$" # not that of the same test as another user
	"$BAWN" run -q --backend bwrap -- sh -c "setsid $mark & echo up; $mark" >out 3>&- &
	pid=$!
	await "$pid" grep -q up out
	kill -KILL "$pid"
	wait "$pid" || true
	for _ in $(seq 600); do pgrep -f "$mark" >/dev/null || break; sleep 0.1; done
	run -1 pgrep -af "$mark"
	run -1 pgrep -af "bwrap.*$base"
}

@test "a tool that is not there is named, with the way to get it" {
	if ! command -v nsjail >/dev/null; then
		run --separate-stderr -125 bawn run --backend nsjail -- true
		one_error
		[[ $stderr == *"'nsjail' is not installed"*"github.com/google/nsjail"* ]]
	fi
}

@test "a tool of the same name on PATH is not run" {
	need_bwrap
	mkdir fake
	printf '#!/bin/sh\ntouch %s/ran\nexit 1\n' "$base" >fake/bwrap
	chmod +x fake/bwrap
	PATH=$PWD/fake:$PATH bawn run -q --backend bwrap -- true
	[ ! -e "$base/ran" ]
}
