#!/usr/bin/env bats
# macOS's sandbox, on a system that is none: the profile can be seen, nothing is run.
load common

@test "it is refused elsewhere, by name and in the table" {
	[ "$(uname)" != Darwin ] || skip "this is macOS: for other systems"
	run --separate-stderr -125 bawn run --backend seatbelt -- touch ran
	one_error
	[[ $stderr == *macOS* ]]
	[ ! -e ran ]
}

@test "explain shows the profile, as text and in JSON" {
	run --separate-stderr bawn explain --backend seatbelt --deny "$PWD/secret" -- true
	[[ $output == *"Seatbelt profile"*"(version 1)"*"(deny default)"* ]]
	[[ $output == *"(allow file-read* file-write* (subpath \"$PWD\")"* ]]
	run --separate-stderr bawn explain --backend seatbelt --json -- true
	jq -e '.seatbelt_profile | contains("(deny network*)")' <<<"$output"
	jq -e '.would_run == false' <<<"$output"
	run --separate-stderr bawn explain --json -- true
	jq -e 'has("seatbelt_profile") | not' <<<"$output"
}
