#!/usr/bin/env bats
# What the program knows and what the man pages say are the same things.
load common

# The page as text, without overstrikes.
page() {
	if [ "$1" = bawn-policy.5 ]; then
		python3 "$SOURCE_ROOT/tools/gen-policy-man.py" "$SOURCE_ROOT/man/bawn-policy.5.in" \
			"$SOURCE_ROOT/src/policy/fields.def" "$SOURCE_ROOT/src/policy/policy.h"
	else
		cat "$SOURCE_ROOT/man/$1"
	fi | mandoc -T ascii -O width=200 | sed 's/.\x08//g'
}

need_mandoc() {
	command -v mandoc >/dev/null || skip "mandoc is not installed (apt-get install mandoc)"
}

@test "pages are clean" {
	need_mandoc
	page bawn-policy.5 >/dev/null
	python3 "$SOURCE_ROOT/tools/gen-policy-man.py" "$SOURCE_ROOT/man/bawn-policy.5.in" \
		"$SOURCE_ROOT/src/policy/fields.def" "$SOURCE_ROOT/src/policy/policy.h" >bawn-policy.5
	run -0 mandoc -T lint -W warning "$SOURCE_ROOT"/man/*.[1-9] bawn-policy.5
	[ -z "$output" ]
}

@test "every option of every verb is in its page, and none more" {
	need_mandoc
	while IFS=$'\t' read -r verb options; do
		name=bawn-${verb%% *}.1
		[ -e "$SOURCE_ROOT/man/$name" ] || name=bawn.1
		page "$name" >text
		for option in $options; do
			grep -qE -- "--$option( |,|\$)" text || { echo "$name lacks --$option"; false; }
		done
	done < <(bawn help --json | jq -r '.verbs[] | [.verb, ([.options[].name] | join(" "))] | @tsv')
	known=" $(bawn help --json | jq -r '[.verbs[].options[].name] | join(" ")') version seccomp "
	for file in "$SOURCE_ROOT"/man/*.1; do
		for option in $(page "${file##*/}" | grep -oE -- '(^| )--[a-z][a-z-]*' | tr -d ' '); do
			[[ $known == *" ${option#--} "* ]] || { echo "$file: $option is unknown"; false; }
		done
	done
}

@test "every verb is in bawn(1)" {
	need_mandoc
	page bawn.1 >text
	for verb in $(bawn help --json | jq -r '.verbs[].verb | split(" ")[0]' | sort -u); do
		grep -qE "^ +$verb( |\$)" text
	done
}

@test "every setting is in bawn-policy(5), and every setting of an option exists" {
	need_mandoc
	page bawn-policy.5 >text
	settings=" $(bawn help --json | jq -r '.settings | join(" ")') "
	for key in $settings; do
		grep -qE "^ +${key//./\\.}( |\$)" text || { echo "bawn-policy.5 lacks $key"; false; }
	done
	for key in $(bawn help --json | jq -r '.verbs[].options[].setting | values'); do
		[[ $settings == *" $key "* ]] || { echo "no setting $key"; false; }
	done
}

@test "every control, error kind and exit status is in bawn-errors(7)" {
	need_mandoc
	page bawn-errors.7 >text
	for word in $(bawn help --json | jq -r '.controls[], .error_kinds[], .exit_statuses[]'); do
		grep -qE "^ +${word//./\\.}( |\+N|\$)" text || { echo "bawn-errors.7 lacks $word"; false; }
	done
}

@test "exit statuses are in bawn-run(1)" {
	need_mandoc
	page bawn-run.1 >text
	for word in $(bawn help --json | jq -r '.exit_statuses[]'); do
		grep -qE "^ +$word( |\+N|\$)" text
	done
}

@test "every function of the library is in bawn(3), and none more" {
	need_mandoc
	page bawn.3 >text
	mapfile -t api < <(grep -oE '^BAWN_API .*\b(bawn_[a-z_]+)\(' "$SOURCE_ROOT/include/bawn/bawn.h" |
		grep -oE 'bawn_[a-z_]+\(' | tr -d '(' | sort -u)
	[ "${#api[@]}" -gt 5 ]
	for name in "${api[@]}"; do
		grep -qE "\\b$name\\(" text || { echo "bawn.3 lacks $name"; false; }
	done
	for name in $(grep -oE 'bawn_[a-z_]+\(' text | tr -d '(' | sort -u); do
		[[ " ${api[*]} " == *" $name "* ]] || { echo "bawn.3: $name is unknown"; false; }
	done
}

# Text between fences, of the documents given; $1 is the word behind the opening fence.
blocks() {
	awk -v want="$1" '/^```/ { on = !inside && substr($0, 4) == want; inside = !inside; next } on' "${@:2}"
}

@test "every option in the documents is known" {
	known=" $(bawn help --json | jq -r '[.verbs[].options[].name] | join(" ")') "
	seen=0
	# behind "bawn" on a line, or alone in backquotes; not what stands behind the command's own --
	for option in $({
		grep -hoE '`--[a-z][a-z-]*' "$SOURCE_ROOT"/*.md "$SOURCE_ROOT"/docs/*.md
		grep -hE '\bbawn [a-z]' "$SOURCE_ROOT"/README.md "$SOURCE_ROOT"/docs/*.md "$SOURCE_ROOT/SECURITY.md" |
			sed -E 's/ -- .*//' | grep -oE -- ' --[a-z][a-z-]*'
	} | tr -d '` ' | sort -u); do
		seen=$((seen + 1))
		[[ $known == *" ${option#--} "* ]] || { echo "$option is unknown"; false; }
	done
	[ "$seen" -gt 10 ]
}

@test "every verb in the documents is known" {
	known=" $(bawn help --json | jq -r '[.verbs[].verb | split(" ")[0]] | join(" ")') "
	seen=0
	for verb in $(for lang in '' yaml; do blocks "$lang" "$SOURCE_ROOT"/README.md "$SOURCE_ROOT"/docs/*.md; done |
		grep -oE '^(\$ )?bawn [a-z]+' | sed 's/.* //' | sort -u); do
		seen=$((seen + 1))
		[[ $known == *" $verb "* ]] || { echo "'bawn $verb' is unknown"; false; }
	done
	[ "$seen" -gt 2 ]
}

@test "every policy in the guide is right" {
	awk '/^```yaml/ { on = 1; n++; next } /^```/ { on = 0 } on { print > "policy-" n ".yaml" }' \
		"$SOURCE_ROOT/docs/POLICY.md"
	for path in $(cat policy-*.yaml | grep -oE '~/[A-Za-z0-9_./-]+'); do
		mkdir -p "$HOME/${path#??}"
	done
	[ "$(ls policy-*.yaml | wc -l)" -gt 10 ]
	for file in policy-*.yaml; do
		run -0 bawn policy check "$file"
	done
}

@test "links between the documents lead somewhere" {
	seen=0
	for file in "$SOURCE_ROOT"/*.md "$SOURCE_ROOT"/docs/*.md; do
		for link in $(grep -oE '\]\([^)#:]+\)' "$file" | tr -d '])('); do
			seen=$((seen + 1))
			[ -e "${file%/*}/$link" ] || { echo "$file: no $link"; false; }
		done
	done
	[ "$seen" -gt 5 ]
}

@test "the example in the README is the one in examples/" {
	diff <(sed '1,2d' "$SOURCE_ROOT/examples/embed.c") <(blocks c "$SOURCE_ROOT/README.md")
}
