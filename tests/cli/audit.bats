#!/usr/bin/env bats
# bawn audit.
load common

three_runs() {
	need_run
	rm -rf "$XDG_STATE_HOME/bawn"
	bawn run -- true
	bawn run -q -- false || true
	bawn run -- true
	log=$XDG_STATE_HOME/bawn/audit.jsonl
	[ -f "$log" ]
}

@test "show: a table; --json: the records themselves" {
	three_runs
	run --separate-stderr -0 bawn audit show
	[[ ${lines[0]} == *SEQ*TIME*EVENT*RUN*BACKEND*COMMAND*OUTCOME* ]]
	[ "${#lines[@]}" -eq $(($(wc -l <"$log") + 1)) ]
	run --separate-stderr -0 bawn audit show --json
	[ "$output" = "$(cat "$log")" ]
}

@test "show: filters" {
	three_runs
	run -0 bawn audit show --json --last 2
	[ "${#lines[@]}" -eq 2 ]
	id=$(head -n 1 "$log" | jq -r .run)
	run -0 bawn audit show --json --run "$id"
	[ "$(jq -r .run <<<"$output" | sort -u)" = "$id" ]
	run -0 bawn audit show --json --since 1h
	[ "${#lines[@]}" -eq "$(wc -l <"$log")" ]
	run -0 bawn audit show --json --event nosuchevent
	[ -z "$output" ]
}

@test "a refused run is on record" {
	run -125 bawn run --backend nosuch -- true
	run -0 bawn audit show --json
	[ "${#lines[@]}" -ge 1 ]
}

@test "commands are hashed, not stored" {
	need_run
	bawn run -- true swordfish
	run -1 grep -r swordfish "$XDG_STATE_HOME"
}

@test "verify: intact" {
	three_runs
	run --separate-stderr -0 bawn audit verify
	[[ $output == *intact* && $output == *"$(tail -n 1 "$log" | jq -r .hash)"* ]]
	run -0 bawn audit verify --json
	[ "$(jq -r .intact <<<"$output")" = true ]
	[ "$(jq -r .records <<<"$output")" -eq "$(wc -l <"$log")" ]
}

@test "verify: an edited record is found" {
	three_runs
	sed -i '2s/"event":"[a-z]/"event":"z/' "$log"
	run --separate-stderr -1 bawn audit verify
	[[ $stderr == "bawn: "*"line 2"* ]]
	run --separate-stderr -1 bawn audit verify --json
	[ "$(jq -r .bad_line <<<"$output")" -eq 2 ]
}

@test "verify: a cut tail is found" {
	three_runs
	sed -i '$d' "$log"
	run -1 bawn audit verify
}

@test "verify --expect: a record noted elsewhere" {
	three_runs
	note=$(sed -n 2p "$log" | jq -r '"\(.seq):\(.hash)"')
	run -0 bawn audit verify --expect "$note"
	other=0
	[[ $note != *0 ]] || other=1
	run -1 bawn audit verify --expect "${note%?}$other"
	run -2 bawn audit verify --expect "nonsense"
}

@test "verify and show --file" {
	three_runs
	cp "$log" copy.jsonl
	cp "$log.head" copy.jsonl.head
	chmod 600 copy.jsonl copy.jsonl.head
	run -0 bawn audit verify --file copy.jsonl
	run -1 bawn audit verify --file nope.jsonl
	run -0 bawn audit show --file copy.jsonl --json
	[ "$output" = "$(cat "$log")" ]
}

@test "tail: the last, and those to come" {
	three_runs
	run -0 bawn audit tail --json -n 1
	[ "$output" = "$(tail -n 1 "$log")" ]
	"$BAWN" audit tail --json -f -n 1 >seen &
	pid=$!
	await "$pid" test -s seen
	bawn run -- true
	last=$(tail -n 1 "$log")
	await "$pid" grep -qxF "$last" seen || true
	kill -INT "$pid" || true
	kill -TERM "$pid" || true
	wait "$pid" || true
	grep -qxF "$last" seen
}

@test "a broken policy of the workspace does not hide the log" {
	three_runs
	echo 'nonsense: [' >.bawn.yaml
	run -0 bawn audit verify
}

@test "where there is no log there is no table" {
	run -1 --separate-stderr bawn audit show --file none
	one_error
}

@test "a table that cannot be written is not a log that cannot be read" {
	need_run
	bawn run -- true
	for i in 1 2 3 4 5 6; do cat "$XDG_STATE_HOME/bawn/audit.jsonl" >>many; done
	run --separate-stderr -1 sh -c '"$0" audit show --json >/dev/full' "$BAWN"
	[[ $stderr == "bawn: writing to standard output: No space left on device" ]]
	for i in $(seq 12); do cat many many many >more; mv more many; [ "$(wc -c <many)" -lt 200000 ] || break; done
	run --separate-stderr -1 sh -c '"$0" audit show --file many >/dev/full' "$BAWN"
	[[ $stderr == "bawn: writing to standard output: No space left on device" ]]
}
