#!/usr/bin/env bats
# `bawn proxy` as its user sees it. What it lets through is tested on networks of its own in tests/egress.
load common

teardown() {
	[ -z "${pid:-}" ] || kill -9 "$pid" 2>/dev/null || true
	cd /
	rm -rf "$base"
}

# Start it in the background; $port and $token are set when it is ready.
start() {
	"$BAWN" proxy --json "$@" >out 2>err &
	pid=$!
	for _ in $(seq 2400); do
		[ -s out ] && break
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.05
	done
	port=$(jq -r 'select(.event == "ready") | .port' out)
	token=$(jq -r 'select(.event == "ready") | .token' out)
	[ -n "$port" ]
}

# Wait until a line of `out` matches a jq filter.
event() {
	for _ in $(seq 2400); do
		jq -e -s "any(.[]; $1)" out >/dev/null && return
		sleep 0.05
	done
	cat out err
	false
}

ask() {
	curl -s -o body -w '%{http_code}' --max-time 60 --noproxy '' -x "http://u:${2-$token}@127.0.0.1:$port" "$1"
}

need_curl() {
	command -v curl >/dev/null || skip "curl is not installed (apt-get install curl)"
}

@test "prints variables that a shell can read" {
	"$BAWN" proxy --allow-host example.org >out 2>err &
	pid=$!
	for _ in $(seq 2400); do
		[ "$(wc -l <out)" -ge 8 ] && break
		sleep 0.05
	done
	env -i sh -c '. ./out; env' >vars
	grep -qE '^HTTPS_PROXY=http://bawn:[0-9a-f]{48}@127\.0\.0\.1:[0-9]+$' vars
	grep -qE '^ALL_PROXY=socks5h://bawn:' vars
	grep -qE '^no_proxy=$' vars
	if command -v curl >/dev/null; then
		curl -s -o /dev/null --noproxy '' -x "$(sed -n "s/^export http_proxy='\(.*\)'/\1/p" out)" http://no.example/
		for _ in $(seq 2400); do
			grep -q deny err && break
			sleep 0.05
		done
		grep -qE '^20[0-9-]+T[0-9:]+Z deny  http GET no\.example:80 \(.*--allow-host' err
	fi
	kill "$pid"
	wait "$pid"
	grep -q "in all" err
}

@test "refuses with a reason, and without the token" {
	need_curl
	start --allow-host example.org
	[ "$(ask http://not-allowed.example/)" = 403 ]
	grep -q -- "--allow-host" body
	grep -q "not-allowed.example" body
	[ "$(ask http://example.org/ wrong)" = 407 ]
	[ "$(ask http://127.0.0.1:1/)" = 403 ]
	event '.decision == "deny" and .host == "not-allowed.example"'
}

@test "reads the rules again and keeps the old ones if they are wrong" {
	need_curl
	printf 'network:\n  mode: allowlist\n  block_hosts: [one.example]\n' >policy.yaml
	start --policy policy.yaml
	printf 'network:\n  mode: blocklist\n  allow_hosts: []\n  block_hosts: [two.example]\n' >policy.yaml
	kill -HUP "$pid"
	event '.event == "reloaded" and .ok'
	[ "$(ask http://two.example/)" = 403 ]
	event '.host == "two.example" and .rule == "two.example"'
	echo 'network: {mode: sometimes}' >policy.yaml
	kill -HUP "$pid"
	for _ in $(seq 2400); do
		grep -q "old rules stay" err && break
		sleep 0.05
	done
	grep -q "old rules stay" err
	kill -0 "$pid"
	[ "$(ask http://two.example/)" = 403 ]
}

@test "statistics on request and at the end" {
	need_curl
	start
	[ "$(ask http://a.example/)" = 403 ]
	kill -USR1 "$pid"
	event '.event == "statistics" and .blocked == 1'
	event '.event == "host" and .host == "a.example"'
	kill "$pid"
	wait "$pid"
}

@test "a port in use is a clear error, a wrong one too" {
	start --port 0
	run -1 --separate-stderr bawn proxy --port "$port"
	one_error
	[[ $stderr == *"port $port is in use"* ]]
	run -2 --separate-stderr bawn proxy --port 70000
	one_error
	run -2 --separate-stderr bawn proxy --port x
	one_error
	run -2 --separate-stderr bawn proxy argument
	one_error
}

@test "rules that make no sense are errors before anything listens" {
	for rule in '*.com' 'a b c' 'host:99999'; do
		run -1 --separate-stderr timeout 120 "$BAWN" proxy --allow-host "$rule"
		one_error
	done
	run -1 --separate-stderr timeout 120 "$BAWN" proxy --mode sometimes
	one_error
	run -1 --separate-stderr timeout 120 "$BAWN" proxy --policy nowhere.yaml
	one_error
	run -1 --separate-stderr timeout 120 "$BAWN" proxy --resolver nonsense
	one_error
}

@test "the proxy's process does not outlive it" {
	start
	door=$(pgrep -P "$pid" -x bawn-egress)
	kill -9 "$pid"
	for _ in $(seq 2400); do
		kill -0 "$door" 2>/dev/null || break
		sleep 0.05
	done
	! kill -0 "$door"
	pid=
}

@test "without the proxy's process nothing goes on" {
	start
	kill -9 "$(pgrep -P "$pid" -x bawn-egress)"
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 1 ]
	grep -q "nothing gets through" err
	pid=
}
