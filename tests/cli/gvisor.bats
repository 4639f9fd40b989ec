#!/usr/bin/env bats
# gVisor without an engine, from the command line.
load common

need_gvisor() {
	command -v runsc >/dev/null || skip "there is no runsc (apt-get install runsc)"
	bawn run -q --backend gvisor -- true || skip "gVisor does not work here"
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
