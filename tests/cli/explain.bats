#!/usr/bin/env bats
# bawn explain and bawn doctor: what would be, without doing it.
load common

# Trying every wall takes long, a virtual machine's for one: it is done once, and the tests have what was remembered.
setup_file() {
	local status=0
	mkdir -m 700 "$BATS_FILE_TMPDIR/state"
	XDG_STATE_HOME=$BATS_FILE_TMPDIR/state bawn doctor >"$BATS_FILE_TMPDIR/text" || status=$?
	echo "$status" >"$BATS_FILE_TMPDIR/status"
}

doctor_before() {
	cp -rp "$BATS_FILE_TMPDIR/state/." "$XDG_STATE_HOME/"
}

@test "explain: a line for every control" {
	need_run
	run --separate-stderr -0 bawn explain -- make
	for control in $(bawn help --json | jq -r '.controls[]'); do
		grep -q "^$control " <<<"$output"
	done
	[[ $output == *CONTROL*STATE*"ENFORCED BY"*DETAIL* ]]
	[ -z "$stderr" ]
}

@test "explain: runs nothing, records nothing" {
	need_run
	rm -rf "$XDG_STATE_HOME/bawn"
	run -0 bawn explain -- touch ran
	[ ! -e ran ]
	[ ! -e "$XDG_STATE_HOME/bawn/audit.jsonl" ]
}

@test "explain --json" {
	need_run
	run --separate-stderr -0 bawn explain --json --memory 1g -- sh -c 'echo "a b"'
	[ "$(jq -r .schema <<<"$output")" = bawn/plan/v1 ]
	[ "$(jq -r .would_run <<<"$output")" = true ]
	[ "$(jq -r .plan.limits.memory <<<"$output")" = 1073741824 ]
	[ "$(jq -c .command <<<"$output")" = '["sh","-c","echo \"a b\""]' ]
	[ "$(jq -r '.controls | length' <<<"$output")" -eq "$(bawn help --json | jq '.controls | length')" ]
	[ "$(jq -r '.plan.mounts | length' <<<"$output")" -gt 0 ]
}

@test "explain --json: run_as runs it the same way" {
	need_run
	mapfile -t argv < <(bawn explain --json -e NAME=value -- sh -c 'echo $NAME' | jq -r '.run_as[]')
	run -0 "${argv[@]}"
	[ "$output" = value ]
}

@test "explain: values of variables are not shown" {
	need_run
	run -0 bawn explain -e TOKEN=swordfish
	[[ $output == *TOKEN* && $output != *swordfish* ]]
}

@test "explain: refused is 125 and says why" {
	run --separate-stderr -125 bawn explain --memory lots -- true
	[[ $stderr == "bawn: "*lots* ]]
	run --separate-stderr -125 bawn explain --json --memory lots -- true
	[ "$(jq -r .would_run <<<"$output")" = false ]
	[ "$(jq -r .error.kind <<<"$output")" = policy ]
}

@test "doctor: exit status says whether a run is possible" {
	expected=0
	bawn run -q -- true 2>/dev/null || expected=1
	[ "$(cat "$BATS_FILE_TMPDIR/status")" -eq "$expected" ]
	grep -q bwrap "$BATS_FILE_TMPDIR/text"
	doctor_before
	run "-$expected" bawn doctor
	[[ $output == *"--fresh tries again"* ]]
	run "-$expected" bawn doctor sandbox
	[[ $output == *kernel* && $output == *Landlock* && $output == *protected* ]]
	run "-$expected" bawn doctor capabilities
	[[ $output == *native* ]]
}

@test "doctor --json" {
	doctor_before
	run --separate-stderr bawn doctor --json
	[ "$(jq -r .schema <<<"$output")" = bawn/doctor/v1 ]
	jq -e '.backends | length > 0' <<<"$output"
	jq -e '.backends[] | select(.available | not) | .reason | length > 0' <<<"$output" ||
		jq -e 'all(.backends[]; .available)' <<<"$output"
	[ "$(jq -r .sandbox.kernel <<<"$output")" = "$(uname -r)" ]
	jq -e '.. | strings | select(. == "net.egress")' <<<"$output" >/dev/null
	run --separate-stderr bawn doctor sandbox --json
	jq -e 'has("backends") | not' <<<"$output"
}

@test "doctor finds the policy files" {
	doctor_before
	mkdir "$XDG_CONFIG_HOME/bawn"
	echo 'limits: {memory: 1g}' >"$XDG_CONFIG_HOME/bawn/policy.yaml"
	echo 'limits: {memory: 512m}' >.bawn.yaml
	run --separate-stderr bawn doctor --json
	jq -e --arg f "$XDG_CONFIG_HOME/bawn/policy.yaml" '.sandbox.policy_files | index($f) != null' <<<"$output"
	jq -e --arg f "$(realpath .bawn.yaml)" '.sandbox.policy_files | index($f) != null' <<<"$output"
}

@test "doctor --export-seccomp: whole instructions, the same to a file and to standard output" {
	bawn doctor --export-seccomp filter.bpf
	size=$(stat -c %s filter.bpf)
	[ "$size" -ge 64 ]
	[ $((size % 8)) -eq 0 ]
	bawn doctor --export-seccomp - | cmp - filter.bpf
	run --separate-stderr -1 sh -c 'exec "$0" doctor --export-seccomp - >&-' "$BAWN"
	one_error
	run --separate-stderr -1 bawn doctor --export-seccomp /no/such/dir/x
	one_error
}
