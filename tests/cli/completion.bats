#!/usr/bin/env bats
# Completion scripts: they parse, and they know what the program knows.
load common

complete_words() {
	bash --norc -c '
		source <("$0" completion bash)
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_bawn
		printf "%s\n" "${COMPREPLY[@]}"' "$BAWN" "$@"
}

@test "bash: parses" {
	bawn completion bash | bash -n
}

@test "zsh: parses" {
	command -v zsh >/dev/null || skip "zsh is not installed (apt-get install zsh)"
	bawn completion zsh | zsh -n
}

@test "fish: parses" {
	command -v fish >/dev/null || skip "fish is not installed (apt-get install fish)"
	bawn completion fish >c.fish
	fish --no-execute c.fish
}

@test "bash: verbs, parts, options, values" {
	run -0 complete_words bawn ex
	[ "$output" = explain ]
	run -0 complete_words bawn policy ch
	[ "$output" = check ]
	run -0 complete_words bawn run --mem
	[ "$output" = --memory ]
	run -0 complete_words bawn run --net cl
	[ "$output" = closed ]
	run -0 complete_words bawn run --allow-missing limit.m
	[ "$output" = limit.memory ]
	run -0 complete_words bawn audit tail --fo
	[ "$output" = --follow ]
	mkdir directory
	run -0 complete_words bawn run --workspace dir
	[ "$output" = directory ]
}

@test "every option is in every script" {
	for shell in bash zsh fish; do
		script=$(bawn completion "$shell")
		for option in $(bawn help --json | jq -r '.verbs[].options[].name' | sort -u); do
			grep -qE -- "(--|-l )$option([^a-z-]|\$)" <<<"$script"
		done
	done
}
