#!/bin/sh
# A container engine for the tests: `eval "$(tests/engine.sh start DIR)"` uses the daemon that answers,
# or starts dockerd with everything it owns below DIR and exports DOCKER_HOST; `tests/engine.sh stop DIR`
# ends what start began, by its process id. Makes the image bawn-test/busybox:1. Exit status 77, with the
# reason on standard error, when there can be none.
set -u

skip() {
	echo "engine: $*" >&2
	exit 77
}

answers() {
	timeout 10 docker version >/dev/null 2>&1
}

busybox_image() {
	docker image inspect bawn-test/busybox:1 >/dev/null 2>&1 && return
	tree=$1/busybox
	busybox=$(command -v busybox) || skip "no busybox (apt-get install busybox-static)"
	mkdir -p "$tree/bin" "$tree/tmp" "$tree/etc" "$tree/root"
	cp "$busybox" "$tree/bin/busybox"
	for applet in $("$busybox" --list); do
		[ "$applet" = busybox ] || ln -sf busybox "$tree/bin/$applet"
	done
	echo 'root:x:0:0:root:/root:/bin/sh' >"$tree/etc/passwd"
	echo bawn-test >"$tree/etc/bawn-test-image"
	chmod 1777 "$tree/tmp"
	tar -C "$tree" -c . | docker import - bawn-test/busybox:1 >/dev/null || skip "docker import failed"
}

# gVisor is offered as a runtime where it is installed.
daemon_config() {
	runsc=$(command -v runsc) && cat <<-END && return
		{"runtimes": {"runsc": {"path": "$runsc",
		  "runtimeArgs": ["--platform=ptrace", "--network=none", "--ignore-cgroups"]}}}
	END
	echo '{}'
}

start_daemon() {
	[ "$(id -u)" = 0 ] || skip "no daemon answers, and only root can start one: start dockerd and let this user speak to it"
	command -v dockerd >/dev/null || skip "no daemon answers, and there is no dockerd (apt-get install docker.io)"
	mkdir -p "$1/docker"
	daemon_config >"$1/docker/daemon.json"
	setsid dockerd --config-file "$1/docker/daemon.json" --data-root "$1/docker/data" \
		--exec-root "$1/docker/exec" --pidfile "$1/docker/pid" -H "unix://$1/docker/sock" \
		--bridge none --iptables=false --ip6tables=false >"$1/docker/log" 2>&1 </dev/null 3>&- 4>&- &
	echo $! >"$1/docker/started"
	DOCKER_HOST=unix://$1/docker/sock
	export DOCKER_HOST
	for _ in $(seq 300); do
		answers && return
		kill -0 "$(cat "$1/docker/started")" 2>/dev/null || break
		sleep 0.2
	done
	why=$(grep -v 'level=info' "$1/docker/log" | tail -n 1 | cut -c1-300)
	stop_daemon "$1"
	skip "dockerd does not start here: $why"
}

stop_daemon() {
	[ -f "$1/docker/started" ] || return 0
	pid=$(cat "$1/docker/started")
	kill "$pid" 2>/dev/null
	for _ in $(seq 300); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	kill -9 "$pid" 2>/dev/null
	# what a daemon that was killed leaves: processes that name our directory, and mounts in it
	for p in /proc/[0-9]*; do
		case $({ tr "\0" " " <"$p/cmdline"; } 2>/dev/null) in
		*"containerd"*" $1/docker/exec/"*) kill -9 "${p#/proc/}" 2>/dev/null ;;
		esac
	done
	grep -o " $1/docker/[^ ]*" /proc/self/mounts | sort -r | while read -r at; do
		umount -l "$at" 2>/dev/null
	done
	rm -rf "$1/docker" "$1/busybox"
}

[ $# = 2 ] || {
	echo "usage: engine.sh start|stop DIR" >&2
	exit 2
}
case $1 in
start)
	command -v docker >/dev/null || skip "there is no docker (apt-get install docker.io)"
	mkdir -p "$2"
	dir=$(cd "$2" && pwd) || exit 2
	answers || start_daemon "$dir"
	busybox_image "$dir"
	[ -z "${DOCKER_HOST:-}" ] || echo "export DOCKER_HOST='$DOCKER_HOST'"
	;;
stop)
	[ -d "$2" ] || exit 0
	stop_daemon "$(cd "$2" && pwd)"
	;;
*)
	echo "usage: engine.sh start|stop DIR" >&2
	exit 2
	;;
esac
