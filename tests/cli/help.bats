#!/usr/bin/env bats
# Help texts, versions, and what a wrong call is told.
load common

@test "without a verb: overview on stderr, status 2" {
	run --separate-stderr -2 bawn
	[ -z "$output" ]
	[[ $stderr == *"bawn run [options] -- command"* ]]
}

@test "help, --help and -h print the same overview" {
	run --separate-stderr -0 bawn help
	first=$output
	[[ $first == *doctor* && -z $stderr ]]
	run -0 bawn --help
	[ "$output" = "$first" ]
	run -0 bawn -h
	[ "$output" = "$first" ]
}

@test "every verb has a help text, both ways, and every option in it" {
	while IFS=$'\t' read -r verb options; do
		# shellcheck disable=SC2086 # two words are two arguments
		run -0 bawn help $verb
		text=$output
		[[ $text == "usage: bawn $verb"* ]]
		# shellcheck disable=SC2086
		run -0 bawn $verb --help
		[ "$output" = "$text" ]
		for option in $options; do
			[[ $text == *"--$option"* ]]
		done
	done < <(bawn help --json | jq -r '.verbs[] | [.verb, ([.options[].name] | join(" "))] | @tsv')
}

@test "--help wins over what stands behind it, not over what is before it" {
	run -0 bawn run --help --memroy
	run -125 bawn run --memroy --help
}

@test "--help behind the command belongs to the command" {
	need_run
	run -0 bawn run printf %s --help
	[ "$output" = --help ]
}

@test "version" {
	run -0 bawn --version
	[[ ${lines[0]} =~ ^bawn\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	[[ $output == *"built: "* && $output == *"backends: "* ]]
	run -0 bawn version --json
	[ "$(jq -r .schema <<<"$output")" = bawn/version/v1 ]
}

@test "unknown verb: suggestion, status 2" {
	run --separate-stderr -2 bawn rnu -- true
	one_error
	[ "$stderr" = "bawn: unknown verb 'rnu', did you mean 'run'?" ]
	run --separate-stderr -2 bawn make
	one_error
	[[ $stderr == *"bawn run -- make"* ]]
}

@test "unknown part of a verb" {
	run --separate-stderr -2 bawn policy chek
	one_error
	[[ $stderr == *"did you mean 'policy check'?"* ]]
	run --separate-stderr -2 bawn audit
	one_error
	[[ $stderr == *show*verify*tail* ]]
}

@test "unknown option: the nearest is named, status 125 for run and explain" {
	run --separate-stderr -125 bawn run --memroy 1g -- true
	one_error
	[ "$stderr" = "bawn: unknown option '--memroy', did you mean '--memory'?" ]
	run --separate-stderr -125 bawn explain --time 1s
	one_error
	[[ $stderr == *"did you mean '--timeout'?"* ]]
	run --separate-stderr -2 bawn doctor --jsn
	one_error
	[[ $stderr == *"did you mean '--json'?"* ]]
	run --separate-stderr -125 bawn run --xyzzyxyzzy=1 -- true
	one_error
	[[ $stderr == *"unknown option '--xyzzyxyzzy'"*"bawn help run"* ]]
}

@test "abbreviations are not accepted" {
	run -125 bawn run --mem 1g -- true
}

@test "unknown short option" {
	run --separate-stderr -125 bawn run -Z -- true
	one_error
	[[ $stderr == *"'-Z'"* ]]
}

@test "missing values" {
	run --separate-stderr -125 bawn run --memory
	one_error
	[[ $stderr == *"option '--memory' needs a value"* ]]
	run --separate-stderr -125 bawn run --memory -- true
	one_error
	[[ $stderr == *"option '--memory' needs a value"* ]]
	run --separate-stderr -125 bawn run -m -- true
	one_error
	[[ $stderr == *"option '-m' needs a value"* ]]
}

@test "a flag takes no value" {
	run --separate-stderr -125 bawn run --quiet=yes -- true
	one_error
	[[ $stderr == *"'--quiet' takes no value"* ]]
}

@test "numbers are checked" {
	for bad in 0 -1 x 1x '' 99999999999999999999999; do
		run --separate-stderr -2 bawn audit show --last="$bad"
		one_error
		[[ $stderr == *"'--last'"* ]]
	done
}

@test "unexpected arguments" {
	run --separate-stderr -2 bawn doctor sandbx
	one_error
	[[ $stderr == *sandbx*sandbox* ]]
	run --separate-stderr -2 bawn policy show extra
	one_error
	run --separate-stderr -2 bawn version extra
	one_error
	run --separate-stderr -2 bawn completion tcsh
	one_error
}

@test "a failure under --json is JSON too" {
	run --separate-stderr -125 bawn run --json
	[ "$(jq -r .schema <<<"$output")" = bawn/error/v1 ]
	[ "$(jq -r .error.kind <<<"$output")" = usage ]
	[ "${#stderr_lines[@]}" -eq 1 ]
}

@test "hostile bytes in an argument do not reach the terminal" {
	run --separate-stderr -2 bawn "$(printf 'x\033[2Jy')"
	[[ $stderr != *$'\033'* ]]
	[[ $stderr == *'\x1b'* ]]
}

@test "no colours where nobody looks" {
	run -0 bawn help
	[[ $output != *$'\033'* ]]
	run --separate-stderr -2 bawn nosuchverb
	[[ $stderr != *$'\033'* ]]
}

@test "colours on a terminal, none with NO_COLOR or a dumb one" {
	command -v script >/dev/null || skip "there is no script(1) (apt-get install bsdutils)"
	run script -qec "env TERM=xterm '$BAWN' nosuchverb" /dev/null
	[[ $output == *$'\033[31m'* ]]
	run script -qec "env TERM=xterm NO_COLOR=1 '$BAWN' nosuchverb" /dev/null
	[[ $output == *nosuchverb* && $output != *$'\033'* ]]
	run script -qec "env TERM=dumb '$BAWN' nosuchverb" /dev/null
	[[ $output == *nosuchverb* && $output != *$'\033'* ]]
}

@test "standard output closed or full: status 1 and a line on stderr" {
	for verb in help version "policy init" "completion bash"; do
		run --separate-stderr -1 sh -c "exec \"\$0\" $verb >&-" "$BAWN"
		one_error
		[[ $stderr == *"standard output"* ]]
		run --separate-stderr -1 sh -c "exec \"\$0\" $verb >/dev/full" "$BAWN"
		one_error
		[[ $stderr == *"No space left"* ]]
	done
}

@test "a reader that went away: status 1 and a line on stderr, no signal" {
	mkfifo pipe
	exec 7<>pipe
	exec 8>pipe
	exec 7<&-
	run --separate-stderr -1 sh -c 'exec "$0" help >&8' "$BAWN"
	exec 8>&-
	one_error
	[[ $stderr == *"Broken pipe"* ]]
}

@test "no progress on a terminal that cannot take it back" {
	echo text >file
	run -0 env TERM=xterm python3 "$BATS_TEST_DIRNAME/terminal.py" -- "$BAWN" inspect .
	[[ $output == *$'\033[K'* ]]
	run -0 env TERM=dumb python3 "$BATS_TEST_DIRNAME/terminal.py" -- "$BAWN" inspect .
	[[ $output != *$'\033'* ]]
	run -0 env -u TERM python3 "$BATS_TEST_DIRNAME/terminal.py" -- "$BAWN" inspect .
	[[ $output != *$'\033'* ]]
}

@test "every verb has --help" {
	for verb in $(bawn help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		run -0 --separate-stderr bawn "$verb" --help
		[[ ${lines[0]} == "usage: bawn $verb"* && -z $stderr ]] || { echo "$verb: $output"; false; }
	done
}
