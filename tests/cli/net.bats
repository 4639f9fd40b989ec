#!/usr/bin/env bats
# The network from the command line: modes, rules, what is said. No test here needs a network of the host: what is
# not allowed is never resolved.
load common

need_curl() {
	command -v curl >/dev/null || skip "curl is not installed (apt-get install curl)"
}

@test "bad rules are refused, with the place" {
	run --separate-stderr -125 bawn run --net allowlist --allow-host 'http://x.example.org' -- true
	one_error
	[[ $stderr == *"--allow-host"*"no scheme"* ]]
	run --separate-stderr -125 bawn run --net allowlist --allow-host '*.com' -- true
	one_error
	run --separate-stderr -125 bawn run --block-host 'a b c' -- true
	one_error
	printf 'network:\n  mode: allowlist\n  allow_hosts: [ok.example.org, "bad..example.org"]\n' >p.yaml
	run --separate-stderr -1 bawn policy check p.yaml
	[[ $stderr == *"p.yaml:3:33: bad host"* ]]
	run --separate-stderr -125 bawn run --policy p.yaml -- true
	[[ $stderr == *"p.yaml:3:33: bad host"* ]]
}

@test "a repository cannot widen the network" {
	printf 'network: {mode: open}\n' >.bawn.yaml
	run --separate-stderr -125 bawn run -- true
	[[ $stderr == *"would widen"* ]]
	printf 'network: {allow_hosts: [evil.example.net]}\n' >.bawn.yaml
	run --separate-stderr -125 bawn run --net allowlist --allow-host good.example.org -- true
	[[ $stderr == *"would widen"* ]]
	printf 'network: {mode: deny}\n' >.bawn.yaml
	bawn run -q --net allowlist --allow-host good.example.org -- true
}

@test "explain shows the door" {
	bawn explain --net allowlist --allow-host '*.Example.org' --allow-host GET\ x.example.com/a/* --block-host y.example.org \
		-- true >text
	grep -q 'net.egress .*enforced' text
	grep -q 'net.ssrf .*enforced' text
	grep -q 'allow *\*.example.org$' text
	grep -q 'block *y.example.org$' text
	bawn explain --json --net allowlist --allow-host '*.Example.org' -- true >json
	[ "$(jq -c .plan.egress.allow json)" = '["*.example.org"]' ]
	[ "$(jq -r .plan.egress.mode json)" = allowlist ]
	[ "$(bawn explain --json -- true | jq -c .plan.egress)" = null ]
}

@test "modes and their names" {
	for mode in allowlist blocklist open allow-all development; do
		bawn run -q --net "$mode" -- true
	done
	[ "$(bawn explain --json --net development -- true | jq -c '.plan.egress | [.mode, .development]')" = \
		'["allowlist",true]' ]
	[ "$(bawn explain --json --net allow-all -- true | jq -r .plan.egress.mode)" = open ]
	run --separate-stderr -125 bawn run --net sometimes -- true
	one_error
}

@test "what is set inside" {
	run -0 bawn run --net allowlist -- sh -c 'cat /etc/resolv.conf; echo "$HTTP_PROXY $https_proxy $NO_PROXY"'
	[[ $output == *"nameserver 127.0.0.1"* ]]
	[[ $output == *"http://127.0.0.1:63128 http://127.0.0.1:63128 localhost,127.0.0.1,::1"* ]]
	run -0 bawn run -- sh -c 'echo "[$HTTP_PROXY]"'
	[ "$output" = "[]" ]
	# the host's own file is as it was
	run -1 grep -qx 'nameserver 127.0.0.1' /etc/resolv.conf
}

@test "a denial is said, recorded and in the result" {
	need_curl
	run --separate-stderr -22 bawn run --result r.json --net allowlist --allow-host good.example.org -- \
		curl -sSf http://evil.example.net/
	[[ $stderr == *"bawn: denied: "*"evil.example.net"*"--allow-host"* ]]
	[ "$(jq -r '.denials[0].control' r.json)" = net.egress ]
	[ "$(jq -r '.network.blocked' r.json)" -ge 1 ]
	run -0 bawn audit show --json --event network
	[[ $output == *evil.example.net* ]]
	run -0 bawn audit verify
}

@test "a refusal comes at once and is well formed" {
	need_curl
	run -0 bawn run -q --net allowlist -- curl -s -m 20 -o body -w '%{http_code}' http://evil.example.net/
	[ "$output" = 403 ]
	grep -q 'evil.example.net' body
	run -56 bawn run -q --net allowlist -- curl -s -m 20 https://evil.example.net/
	run -6 bawn run -q --net allowlist -- curl -s -m 20 --noproxy '*' https://evil.example.net/
}

@test "hosts without a mode are remarked upon" {
	run --separate-stderr -0 bawn run --allow-host good.example.org -- true
	[[ $stderr == *"note: network.allow_hosts has no effect"* ]]
}

@test "the landlock backend refuses and says why" {
	run --separate-stderr -125 bawn run --backend landlock --net allowlist -- true
	one_error
	[[ $stderr == *net.egress*"network namespace"* ]]
}

@test "without the door's program nothing runs" {
	[ ! -e /usr/libexec/bawn/bawn-egress ] || skip "bawn is installed: /usr/libexec/bawn/bawn-egress would be found; remove it"
	mkdir lone
	cp "$BAWN" lone/bawn
	run --separate-stderr -125 lone/bawn run --net allowlist -- echo ran
	one_error
	[[ $stderr == *bawn-egress* ]]
	run -0 lone/bawn run -- echo ran
}

