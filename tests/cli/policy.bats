#!/usr/bin/env bats
# bawn policy.
load common

@test "check: right files are OK" {
	echo 'limits: {memory: 1g}' >a.yaml
	echo 'network: {mode: deny}' >b.yaml
	run --separate-stderr -0 bawn policy check a.yaml b.yaml
	[ "${lines[0]}" = "a.yaml: OK" ]
	[ "${lines[1]}" = "b.yaml: OK" ]
	[ -z "$stderr" ]
}

@test "check: wrong files say where" {
	printf 'limits:\n  memroy: 1g\n' >bad.yaml
	echo 'limits: {memory: 1g}' >good.yaml
	run --separate-stderr -1 bawn policy check bad.yaml good.yaml
	[ "$output" = "good.yaml: OK" ]
	[[ $stderr == "bawn: "*bad.yaml:2:3:*memroy*memory* ]]
}

@test "check: no such file" {
	run --separate-stderr -1 bawn policy check nope.yaml
	[[ $stderr == "bawn: "*nope.yaml* ]]
}

@test "check without a file looks at the layers here" {
	run -0 bawn policy check
	printf 'limits:\n  memory: lots\n' >.bawn.yaml
	run --separate-stderr -1 bawn policy check
	[[ $stderr == "bawn: "*.bawn.yaml:2:* ]]
}

@test "check --json" {
	echo 'nonsense: 1' >bad.yaml
	run --separate-stderr -1 bawn policy check --json bad.yaml
	[ "$(jq -r .schema <<<"$output")" = bawn/policy-check/v1 ]
	[ "$(jq -r .ok <<<"$output")" = false ]
	[ "$(jq -r '.files[0].error.kind' <<<"$output")" = policy ]
}

@test "show: flags and the layer behind each value" {
	run --separate-stderr -0 bawn policy show --memory 1g --net closed
	grep -q 'memory: .*1g\|memory: .*1073741824' <<<"$output"
	[[ $output == *closed* && $output == *--net* ]]
}

@test "show --json is JSON" {
	run --separate-stderr -0 bawn policy show --json
	jq -e . <<<"$output"
}

@test "show: a workspace cannot widen" {
	echo 'network: {mode: open}' >.bawn.yaml
	run --separate-stderr -1 bawn policy show
	[[ $stderr == "bawn: "*.bawn.yaml:1:* ]]
}

@test "init: to standard output, to a file, never over one" {
	bawn policy init >printed.yaml
	run --separate-stderr -0 bawn policy init written.yaml
	[ -z "$output" ]
	cmp printed.yaml written.yaml
	echo precious >mine.yaml
	run --separate-stderr -1 bawn policy init mine.yaml
	one_error
	[ "$(cat mine.yaml)" = precious ]
	run -0 bawn policy init --force mine.yaml
	cmp printed.yaml mine.yaml
	ln -s mine.yaml link.yaml
	run -1 bawn policy init --force link.yaml
}

@test "init: what it writes is a right policy with every setting" {
	bawn policy init p.yaml
	run --separate-stderr -0 bawn policy check p.yaml
	for key in $(bawn help --json | jq -r '.settings[]'); do
		grep -q "${key##*.}:" p.yaml
	done
}
