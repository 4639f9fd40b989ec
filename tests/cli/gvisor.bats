#!/usr/bin/env bats
# gVisor, really run. What every backend promises is in tests/contract; this is what is its own: files come back
# through the host, and it says when one may not.

load common

# Skips where it cannot be had, with the reason.
need_gvisor() {
	need_plain
	command -v runsc >/dev/null || skip "runsc is not installed (apt-get install runsc, or gvisor.dev)"
	run bawn run --backend gvisor -- true
	[ "$status" -eq 0 ] || skip "gVisor cannot be used here: $output"
}

@test "changes come back, and the kernel is another one" {
	need_gvisor
	echo old >file
	echo gone >gone
	run bawn run --backend gvisor -- sh -c 'uname -r; cat file; echo new >file; mkdir -p a/b; echo x >a/b/c; rm gone'
	[ "$status" -eq 0 ]
	[ "${lines[0]}" != "$(uname -r)" ]
	[ "${lines[1]}" = old ]
	[ "$(cat file)" = new ]
	[ "$(cat a/b/c)" = x ]
	[ ! -e gone ]
}

@test "a workspace in a place that gVisor makes itself is refused with the reason" {
	need_gvisor
	[ -w /dev/shm ] || skip "/dev/shm cannot be written: mount a tmpfs there"
	place=$(mktemp -d /dev/shm/bawn-test.XXXXXX)
	run bawn run --backend gvisor --workspace "$place" -- true
	rmdir "$place"
	[ "$status" -eq 125 ]
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == *"'$place' cannot be had in gVisor"*"move it elsewhere"* ]]
}

@test "what fails keeps its status and its changes" {
	need_gvisor
	run bawn run --backend gvisor -- sh -c 'echo kept >kept; exit 7'
	[ "$status" -eq 7 ]
	[ "$(cat kept)" = kept ]
}

@test "a protected file cannot be changed, a guarded name does not come back" {
	need_gvisor
	mkdir .claude
	echo '{}' >.claude/settings.json
	run bawn run --backend gvisor -- sh -c 'echo evil >.claude/settings.json; echo evil >.mcp.json'
	[ "$(cat .claude/settings.json)" = '{}' ]
	[ ! -e .mcp.json ]
	[[ "$output" == *".mcp.json"* ]]
}

@test "a denied path is not there to be read" {
	need_gvisor
	echo secret >key
	run bawn run --backend gvisor --deny "$PWD/key" -- cat key
	[ "$status" -ne 0 ]
	[[ "$output" != *secret* ]]
	[ "$(cat key)" = secret ]
}

@test "a file that changed on the host meanwhile is kept, and that is said" {
	need_gvisor
	echo old >file
	mkfifo hold
	"$BAWN" run --backend gvisor -- sh -c 'echo inside >file; echo go; read -r x' <hold >out 2>err 3>&- &
	pid=$!
	exec 8>hold
	await "$pid" grep -q go out
	echo host >file
	exec 8>&-
	wait "$pid" || true # nothing was typed
	[ "$(cat file)" = host ]
	grep -q "meanwhile" err
}

@test "a timeout ends it, and what was done until then is here" {
	need_gvisor
	for time in 3s 20s 60s; do # it must get so far, which takes long on a busy machine
		run bawn run --backend gvisor --timeout $time -- sh -c 'echo kept >kept; sleep 1000'
		[ "$status" -eq 124 ]
		[ ! -e kept ] || break
	done
	[ "$(cat kept)" = kept ]
}

@test "a network is refused, not given" {
	need_gvisor
	run bawn run --backend gvisor --net allowlist --allow-host example.com -- true
	[ "$status" -eq 125 ]
	[[ "$output" == *"net.egress"* ]]
}

@test "nothing is left when bawn is killed" {
	need_gvisor
	"$BAWN" run --backend gvisor -- sh -c 'echo go; sleep 1000' >out 2>/dev/null 3>&- &
	pid=$!
	await "$pid" grep -q go out
	left=$(pgrep -f "bawn-$pid-" || true)
	[ -n "$left" ]
	kill -9 "$pid"
	for _ in $(seq 600); do
		pgrep -f "bawn-$pid-" >/dev/null || break
		sleep 0.1
	done
	! pgrep -f "bawn-$pid-"
	! ls -d /tmp/bawn-"$pid"-* /dev/shm/bawn-"$pid"-* /run/bawn-"$pid"-* 2>/dev/null
}

@test "special files in the workspace keep nothing from coming back" {
	need_gvisor
	mkfifo fifo
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
	[ "$(id -u)" -ne 0 ] || mknod null c 1 3
	echo x >gone
	run -0 bawn run -q --backend gvisor -- sh -c 'rm gone; echo new >made'
	[ ! -e gone ]
	[ "$(cat made)" = new ]
	[ -p fifo ] && [ -S sock ]
}

@test "a runsc that is too old for ls says so" {
	need_gvisor
	touch here
	run bawn run --backend gvisor -- ls -la
	if [ "$status" -eq 0 ]; then
		[[ "$output" != *"note: backend 'gvisor'"* ]]
	else
		[[ "$output" == *"note: backend 'gvisor': "*"ls"* ]]
		run bawn doctor capabilities --fresh
		[[ "$output" == *"too old for ls"* ]]
	fi
}

@test "what is read-only or hidden is so in gVisor's own root" {
	need_gvisor
	run bawn run --backend gvisor -- sh -c 'echo x >/usr/x; echo y >/etc/y; cat /etc/shadow; grep CapBnd /proc/self/status'
	[[ "$output" == *"/usr/x: "* && "$output" == *"/etc/y: "* && "$output" == *"/etc/shadow: Permission denied"* ]]
	[[ "$output" == *"CapBnd:"*"0000000000000000"* ]]
	[ ! -e /usr/x ] && [ ! -e /etc/y ]
}
