#!/usr/bin/env bats
# bawn run as a caller sees it: statuses, streams, results.
load common

@test "the command's exit status is ours" {
	need_run
	run -0 bawn run -- true
	run -1 bawn run -- false
	run -42 bawn run -- sh -c 'exit 42'
}

@test "-- may be left out; options behind the command are its own" {
	need_run
	run -0 bawn run echo -n --json
	[ "$output" = --json ]
	run -0 bawn run -q -- echo -- x
	[ "$output" = "-- x" ]
}

@test "standard streams pass through, apart" {
	need_run
	run --separate-stderr -0 bawn run -- sh -c 'echo out; echo err >&2'
	[ "$output" = out ]
	[ "$stderr" = err ]
	run -0 sh -c 'echo in | "$0" run -- cat' "$BAWN"
	[ "$output" = in ]
}

@test "standard input closed is no input" {
	need_run
	run -0 sh -c '"$0" run -- cat <&-' "$BAWN"
	[ -z "$output" ]
}

@test "not found: 127; not executable: 126" {
	need_run
	run --separate-stderr -127 bawn run -- ./no-such-command
	[[ $stderr == "bawn: "*no-such-command* ]]
	echo data >plain
	run --separate-stderr -126 bawn run -- ./plain
	[[ $stderr == "bawn: "* ]]
}

@test "a script without an interpreter line is the shell's" {
	need_run
	printf 'sleep 0.2\necho to the end\nexit 5\n' >script
	chmod +x script
	run -5 bawn run -- ./script
	[ "$output" = "to the end" ]
}

@test "timed out: 124, and the limit is named" {
	need_run
	run --separate-stderr -124 bawn run --timeout 200ms -- sleep 30
	[[ $stderr == *time* ]]
	run --separate-stderr -124 bawn run --json --timeout=200ms -- sleep 30
	[ "$(jq -r .limit <<<"$output")" = time ]
}

@test "ended by a signal: 128+N" {
	need_run
	run -143 bawn run -- sh -c 'kill -TERM $$'
}

@test "SIGTERM to bawn reaches the command" {
	need_run
	"$BAWN" run -- sh -c 'trap "exit 9" TERM; : >ready; n=0; while [ $n -lt 4000 ]; do sleep 0.05; n=$((n + 1)); done' &
	pid=$!
	await "$pid" test -e ready
	kill -TERM "$pid"
	tries=0
	while kill -0 "$pid" 2>/dev/null && [ $tries -lt 2400 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
	kill -KILL "$pid" 2>/dev/null || true
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 9 ]
}

@test "where no file may grow nothing runs, and it says why; the command's own signals are as ever" {
	need_run
	run sh -c '(ulimit -f 0; "$0" run -- touch ran; echo "status $?") 2>&1 | cat' "$BAWN"
	[[ $output == *"File too large"*"status 125"* ]]
	[ ! -e ran ]
	run -0 bawn run -- grep SigIgn /proc/self/status
	[ $((0x${output##*[[:space:]]} >> 24 & 1)) -eq 0 ] # SIGXFSZ
}

@test "SIGUSR1 and SIGUSR2 to bawn reach the command, and nothing ends for it" {
	need_run
	run -7 sh -c '"$0" run -- sh -c "trap \"echo one\" USR1; trap \"echo two; exit 7\" USR2; echo ready; n=0; while [ \$n -lt 4000 ]; do sleep 0.05; n=\$((n + 1)); done" >log &
		p=$!; until grep -q ready log; do sleep 0.05; done; kill -USR1 $p; until grep -q one log || ! kill -0 $p; do sleep 0.05; done; kill -USR2 $p; wait $p' "$BAWN"
	[[ $(cat log) == *one*two* ]]
}

@test "no command: 125" {
	run --separate-stderr -125 bawn run
	one_error
	run --separate-stderr -125 bawn run --
	one_error
}

@test "standard output or error closed: nothing runs, 125" {
	run --separate-stderr -125 sh -c '"$0" run -- touch ran >&-' "$BAWN"
	one_error
	[[ $stderr == *"standard output is closed"* ]]
	run -125 sh -c '"$0" run -- touch ran 2>&-' "$BAWN"
	[ ! -e ran ]
}

@test "a workspace that does not exist: 125" {
	run --separate-stderr -125 bawn run --workspace /no/such/place -- true
	one_error
	[[ $stderr == *"/no/such/place"* ]]
}

@test "a path that is too long is an error, not a crash" {
	long=$(printf '%05000d' 0)
	run --separate-stderr -125 bawn run --workspace "$long" -- true
	[[ $stderr == "bawn: "* ]]
	run --separate-stderr -125 bawn run --ro "/$long" -- true
	[[ $stderr == "bawn: "* ]]
	run --separate-stderr -125 bawn run --result "/$long" -- true
	[[ $stderr == "bawn: "* ]]
}

@test "a wrong value names the option" {
	run --separate-stderr -125 bawn run --memory lots -- true
	[[ $stderr == "bawn: "*--memory*lots* ]]
	run --separate-stderr -125 bawn run --net sometimes -- true
	[[ $stderr == "bawn: "*--net*sometimes* ]]
	run --separate-stderr -125 bawn run --allow-missing nonsense -- true
	[[ $stderr == "bawn: "*nonsense* ]]
	run --separate-stderr -125 bawn run --env =x -- true
	one_error
}

@test "--json: one object, output inside" {
	need_run
	run --separate-stderr -3 bawn run --json -- sh -c 'echo out; echo err >&2; exit 3'
	[ "${#lines[@]}" -eq 1 ] || jq -s -e 'length == 1' <<<"$output"
	[ "$(jq -r .schema <<<"$output")" = bawn/result/v1 ]
	[[ $(jq -r '.. | strings' <<<"$output") == *out* ]]
	[ -z "$stderr" ]
}

@test "--json: bytes that are not UTF-8 still give valid JSON" {
	need_run
	run --separate-stderr -0 bawn run --json -- printf '\377\000\033'
	jq -e . <<<"$output"
}

@test "--json that cannot be written is noticed" {
	need_run
	run --separate-stderr -1 sh -c '"$0" run --json -- true >/dev/full' "$BAWN"
	one_error
}

@test "--json of a refused call says why" {
	run --separate-stderr -125 bawn run --json --memory lots -- true
	[ "$(jq -r .error.kind <<<"$output")" = policy ]
	[[ $stderr == "bawn: "* ]]
}

@test "--result: beside the output" {
	need_run
	run -5 bawn run --result "$base/result.json" -- sh -c 'echo out; exit 5'
	[ "$output" = out ]
	[ "$(jq -r .schema "$base/result.json")" = bawn/result/v1 ]
}

@test "--result: a longer file from before leaves nothing behind" {
	need_run
	head -c 100000 /dev/zero | tr '\0' x >"$base/result.json"
	run -0 bawn run --result "$base/result.json" -- true
	jq -e . "$base/result.json"
}

@test "--result: a descriptor" {
	need_run
	run -0 sh -c '"$0" run --result /dev/fd/7 -- true 7>"$1/fd.json"' "$BAWN" "$base"
	jq -e . "$base/fd.json"
}

@test "--result that cannot be opened: nothing runs, 125" {
	mkfifo "$base/pipe"
	echo precious >"$base/precious"
	ln -s "$base/precious" "$base/link"
	for bad in - /no/such/dir/file "$base" "$base/pipe" "$base/link" /dev/fd/99; do
		run --separate-stderr -125 bawn run --result "$bad" -- touch ran
		one_error
		[ ! -e ran ]
	done
	[ "$(cat "$base/precious")" = precious ]
}

@test "--result that the command removes is noticed" {
	need_run
	run --separate-stderr -1 bawn run --result result.json -- sh -c 'rm result.json; echo x >result.json'
	[[ $stderr == *"replaced or removed"* ]]
	[ "$(cat result.json)" = x ]
}

@test "--quiet: errors are still shown" {
	run --separate-stderr -125 bawn run -q --memory lots -- true
	[[ $stderr == "bawn: "* ]]
}

@test "--verbose names backend and run" {
	need_run
	run --separate-stderr -0 bawn run -v -- true
	[[ $stderr =~ "bawn: run "[0-9a-f]{32}" in '" ]]
}

@test "--env passes and sets" {
	need_run
	SECRET_OF_MINE=1 PASSED=2 run -0 bawn run --env PASSED -e SET=3 -- env
	[[ $output == *PASSED=2* && $output == *SET=3* && $output != *SECRET_OF_MINE* ]]
}

@test "--cwd and --workspace" {
	need_run
	mkdir -p sub/deep
	run -0 bawn run --cwd sub/deep -- pwd
	[ "$output" = "$(realpath sub/deep)" ]
	run -0 bawn run -w sub -C deep -- pwd
	[ "$output" = "$(realpath sub/deep)" ]
	run -125 bawn run --cwd / -- true
}

@test "--rw of a protected name lifts the protection of that name only" {
	need_run
	mkdir -p .git/hooks .claude
	run bawn run -- touch .git/hooks/pre-commit
	[ "$status" -ne 0 ]
	run -0 bawn run --rw .git/hooks -- touch .git/hooks/pre-commit
	run bawn run --rw .git/hooks -- touch .claude/x
	[ "$status" -ne 0 ]
}

@test "a denial suggests what would help, or nothing" {
	git init -q .
	run --separate-stderr bawn run -- mkdir .claude
	[[ $stderr == *"allow it with --unprotect .claude" ]]
	run -0 bawn run --unprotect .claude -- mkdir .claude
	run --separate-stderr bawn run -- touch .claude/x
	[[ $stderr == *"allow it with --rw .claude" ]]
	run -0 bawn run --rw .claude -- touch .claude/x
	# ours: no option will ever allow it
	export XDG_STATE_HOME=$base/work/state
	run --separate-stderr bawn run -- sh -c 'echo x >state/bawn/audit.jsonl; echo x >state/bawn/vault; mv state gone'
	[[ $stderr == *denied:* && $stderr != *"allow it with"* ]]
	bawn audit verify
	mkdir ../log
	echo "audit: {path: $base/log/audit.jsonl}" >../audit.yaml
	bawn run --policy ../audit.yaml -- true
	run bawn run --policy ../audit.yaml --rw ../log/audit.jsonl --rw ../log/audit.jsonl.head -- sh -c 'echo x >>../log/audit.jsonl; echo x >>../log/audit.jsonl.head'
	bawn audit verify --file ../log/audit.jsonl
}

@test "a name that a mount keeps: who renames something onto it or away is told why" {
	git init -q .
	echo s >secret
	echo x >file
	run --separate-stderr bawn run -- git config alias.x '!true'
	[ "$status" -ne 0 ]
	[[ $stderr == *"denied: changing '$PWD/.git/config'"*"--rw .git/config"* ]]
	run --separate-stderr bawn run -- mv .git/config elsewhere
	[ "$status" -ne 0 ]
	[[ $stderr == *"denied: changing '$PWD/.git/config'"* ]]
	run --separate-stderr bawn run --deny secret -- mv file secret
	[ "$status" -ne 0 ]
	[[ $stderr == *"denied: changing '$PWD/secret'"*"filesystem.deny"* ]]
	# from one mount to another: nobody's business
	run --separate-stderr -0 bawn run -- sh -c 'echo a >/tmp/a && mv /tmp/a .'
	[ -z "$stderr" ]
}

@test "a command that fails for a file that is denied or not there is told so, but not if it exists" {
	mkdir "$HOME/.ssh"
	echo k >"$HOME/.ssh/id"
	run --separate-stderr bawn run -- cat "$HOME/.ssh/id"
	[ "$status" -eq 1 ]
	[[ $stderr == *"bawn: note: '$HOME/.ssh/id' is denied to the command (rule filesystem.deny: $HOME/.ssh)"* ]]
	there=$stderr
	rm -r "$HOME/.ssh"
	run --separate-stderr bawn run -- cat "$HOME/.ssh/id"
	[ "$stderr" = "$there" ]
	run --separate-stderr bawn run -- cat /srv/nowhere/x
	[[ $stderr == *"'/srv/nowhere/x' is not part of this sandbox"*"--ro '/srv/nowhere/x'"* ]]
	run bawn run --pty -- cat /srv/nowhere/x
	[[ $output == *"'/srv/nowhere/x' is not part of this sandbox"* ]]
	run --separate-stderr bawn run --json -- cat /srv/nowhere/x
	jq -e '.notes[0] | contains("not part of this sandbox")' <<<"$output"
	run --separate-stderr bawn run -- cat missing
	[[ $stderr != *bawn:* ]]
}

@test "a grant of what is denied is said to have no effect" {
	mkdir "$HOME/.ssh"
	run -0 --separate-stderr bawn run --ro "$HOME/.ssh" -- true
	[[ $stderr == *"'$HOME/.ssh' is granted, but it is denied as well"* ]]
	run -0 --separate-stderr bawn run --ro "$HOME" -- true
	[ -z "$stderr" ]
}

@test "what a stronger layer protects, no grant releases" {
	mkdir deploy "$XDG_CONFIG_HOME/bawn"
	echo 'filesystem: {protect: [deploy]}' >"$XDG_CONFIG_HOME/bawn/policy.yaml"
	run --separate-stderr bawn run --rw deploy -- touch deploy/x
	[ ! -e deploy/x ]
	[[ $stderr == *"protected (deploy), and no option allows it"* ]]
	mkdir deploy/sub
	run bawn run --rw deploy/sub -- touch deploy/sub/x
	[ ! -e deploy/sub/x ]
	run --separate-stderr -125 bawn run --unprotect deploy -- touch deploy/x
	[[ $stderr == *"would widen"* ]]
	[ ! -e deploy/x ]
}

@test "--pty gives a terminal" {
	need_run
	run bawn run -- test -t 1
	[ "$status" -ne 0 ]
	run -0 bawn run --pty -- test -t 1
}

@test "a backend that does not exist: 125 and its name" {
	run --separate-stderr -125 bawn run --backend nosuch -- true
	[[ $stderr == "bawn: "*nosuch* ]]
}

@test "a wall begun before the policy was read is gone where the policy names another" {
	echo 'backend: landlock' >../other.yaml
	"$BAWN" run -q --policy ../other.yaml --result ../r.json -- sh -c ': >ready; while [ -e ready ]; do sleep 0.05; done' &
	pid=$!
	await "$pid" test -e ready
	count=$(pgrep -cx -P "$pid" bawn-init)
	rm ready
	wait "$pid"
	[ "$(jq -r .backend ../r.json)" = landlock ]
	[ "$count" = 1 ]
	echo 'backend: nosuch' >../other.yaml
	run -125 bawn run -q --policy ../other.yaml -- true
}

@test "sandbox.fallback stands in for a backend that cannot be used, and says so" {
	echo 'sandbox: {preferred: apple-container, fallback: [seatbelt, native]}' >../fallback.yaml
	run --separate-stderr -0 bawn run --policy ../fallback.yaml --result ../r.json -- echo ran
	[ "$output" = ran ]
	[[ $stderr == *"backend 'native' stood in for 'apple-container'"* ]]
	[ "$(jq -r '.backend, (.tried | keys | join(" "))' ../r.json | paste -sd' ')" = "native apple-container seatbelt" ]
	run -0 bawn audit show --json
	[[ $output == *'"tried":{"apple-container":'* ]]
	run --separate-stderr -125 bawn run --policy ../fallback.yaml --backend apple-container -- touch ran
	[ ! -e ran ]
	echo 'sandbox: {preferred: apple-container, fallback: [seatbelt]}' >../fallback.yaml
	run --separate-stderr -125 bawn run --policy ../fallback.yaml -- touch ran
	[[ $stderr == *"no backend that the policy names will do"* ]]
	[ ! -e ran ]
}

@test "nothing is left in the workspace" {
	need_run
	bawn run -- true
	bawn run --json -- sh -c 'exit 1' >/dev/null || true
	[ -z "$(ls -A)" ]
}

@test "a workspace and a home below /var/tmp" {
	local dir
	dir=$(mktemp -d /var/tmp/bawn-cli.XXXXXX)
	mkdir "$dir/ws" "$dir/home"
	cd "$dir/ws"
	HOME=$dir/home run -0 bawn run -- sh -c 'pwd; touch here ~/there; ls'
	[ "${lines[0]}" = "$dir/ws" ]
	[ -e "$dir/ws/here" ]
	[ ! -e "$dir/home/there" ]
	cd /
	rm -rf "$dir"
}

@test "a home that does not exist is not made" {
	unset XDG_STATE_HOME
	HOME=$PWD/none run -125 --separate-stderr bawn run -- true
	[[ $stderr == *"cannot create the directory of audit log '$PWD/none/"*"set audit.path"* ]]
	[ ! -e none ]
}

@test "a directory of the system is no workspace" {
	for dir in / /usr /etc /proc /dev; do
		run -125 --separate-stderr bawn run --workspace "$dir" -- true
		[[ $stderr == *"cannot be '$dir'"* ]]
	done
}

@test "no isolation is said aloud" {
	run -0 --separate-stderr bawn run --level none -- true
	[[ $stderr == *"NOT CONFINED"* ]]
}

@test "an image is for backends that have images" {
	for args in "--backend native" "--backend bwrap" "--backend qemu" "--isolation maximum" "--level none"; do
		run --separate-stderr -125 bawn run $args --image some:1 -- touch ran
		[[ $stderr == *"'some:1'"*--image*"nothing was run"* ]]
	done
	run --separate-stderr -125 bawn run --image "" -- touch ran
	[[ $stderr == *"--image names no image"* ]]
	[ ! -e ran ]
}

@test "with the whole file system no name leads around the wall" {
	need_run
	mkdir "$HOME/secret"
	echo found >"$HOME/secret/file"
	printf 'filesystem: {mode: full, deny: [%s]}\n' "$HOME/secret" >"$base/full.yaml"
	# shellcheck disable=SC2016 # for the shell inside
	run -0 bawn run -q --backend native --policy "$base/full.yaml" -- sh -c 'cat "/usr/..'"$HOME"'/secret/file"
		cat /usr/../proc/1/comm; [ "$(ls -id /)" = "$(ls -id /usr/.. | sed s,usr/..,,)" ] && echo same'
	[[ $output != *found* ]]
	[[ $output == *"bawn-init"*same* ]]
	run bawn run -q --backend native --policy "$base/full.yaml" -- sh -c 'echo x >>"/usr/..'"$XDG_STATE_HOME"'/bawn/audit.jsonl"; ls /usr/../dev/kmsg'
	[ "$status" -ne 0 ]
	run -0 bawn audit verify
}

@test "what is denied cannot be moved to where it is not" {
	need_run
	mkdir -p sub/dir keys
	echo found | tee sub/dir/file >keys/a.pem
	printf 'filesystem: {deny: [%s, "%s"]}\n' "$PWD/sub/dir" "$PWD/keys/*.pem" >"$base/deny.yaml"
	for backend in native landlock; do
		run bawn run -q --backend "$backend" --policy "$base/deny.yaml" -- sh -c 'mv sub away; mv keys away'
		run bawn run -q --backend "$backend" --policy "$base/deny.yaml" -- sh -c 'cat away/dir/file away/a.pem away/keys/a.pem'
		[[ $output != *found* ]]
		run -0 bawn run -q --backend "$backend" --policy "$base/deny.yaml" -- sh -c 'touch sub/new && mv sub/new keys/new && rm keys/new'
	done
}

@test "a policy may deny system calls that the wall is made with" {
	need_run
	printf 'syscalls: {deny: [recvmsg, prlimit64, setrlimit, sched_setaffinity, sched_yield]}\n' >deny.yaml
	run -0 bawn run --policy deny.yaml -- echo well
	[ "$output" = well ]
}

@test "what is denied is not granted in part, nor is a workspace in it" {
	need_run
	mkdir -p "$base/data/part"
	echo precious >"$base/data/part/file"
	run -0 bawn run --ro "$base/data/part" -- cat "$base/data/part/file"
	[ "$output" = precious ]
	run --separate-stderr -1 bawn run --deny "$base/data" --ro "$base/data/part" -- cat "$base/data/part/file"
	[[ $output != *precious* && $stderr == *"is denied as well"* ]]
	# whoever denied it
	printf 'filesystem:\n  deny: [%s]\n' "$base/data" >"$base/above.yaml"
	mkdir -p "$XDG_CONFIG_HOME/bawn" && cp "$base/above.yaml" "$XDG_CONFIG_HOME/bawn/policy.yaml"
	run --separate-stderr -1 bawn run --rw "$base/data/part" -- cat "$base/data/part/file"
	[[ $output != *precious* ]]
	run --separate-stderr -125 bawn run -w "$base/data/part" -- cat file
	[[ $output != *precious* && $stderr == *"lies in the denied path"* ]]
}

@test "/var/tmp and what is in it can be granted" {
	need_run
	dir=$(mktemp -d /var/tmp/bawn-cli.XXXXXX)
	echo there >"$dir/file"
	run -0 bawn run --rw /var/tmp -- sh -c 'cat "$0"/file && echo new >"$0"/new' "$dir"
	[ "$output" = there ] && [ "$(cat "$dir/new")" = new ]
	run -0 bawn run -w "$dir" -- sh -c 'cat file && echo private >/var/tmp/bawn-cli-private'
	[ "$output" = there ] && [ ! -e /var/tmp/bawn-cli-private ]
	rm -r "$dir"
}

@test "a denial suggests what would help" {
	need_run
	run --separate-stderr bawn run -- sh -c 'echo x >/bawn-nothing-there'
	[[ $stderr == *"if it is made on the host before, the operator can allow it with --rw /bawn-nothing-there"* ]]
	run --separate-stderr bawn run -- sh -c 'echo x >/dev/tty'
	[[ $stderr == *"with --pty"* ]]
}

@test "grants that cannot be: one line" {
	for o in "--device /etc/passwd" "--unix-socket /etc/passwd" "--rw /dev" "--ro /proc" "--rw /sys" "--deny /" "--deny /proc"; do
		run --separate-stderr -125 bawn run $o -- true
		one_error
	done
}

@test "output that cannot be written is said to be lost" {
	need_run
	run --separate-stderr -1 sh -c '"$0" run -- echo x >/dev/full' "$BAWN"
	[[ $stderr == *"output could not be passed on: No space left on device"* ]]
	run --separate-stderr -3 sh -c '"$0" run -- sh -c "echo x; sleep 0.2; exit 3" >/dev/full' "$BAWN"
}

@test "the output limit: 137, also if the command had ended by itself" {
	need_run
	for i in 1 2 3 4 5 6; do
		run --separate-stderr -137 bawn run --output-limit 1 -- echo text
		[ "$output" = t ]
	done
}

@test "programs that do not want to be dumped can make files as well" {
	need_run
	command -v python3 >/dev/null || skip "needs python3 (apt-get install python3)"
	run -0 bawn run -- python3 -c 'import ctypes, os; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); os.mkdir("made"); open("made/file", "w")'
	[ -f made/file ]
	! command -v ssh-agent >/dev/null || run -0 bawn run -- ssh-agent true
}

@test "a sandbox inside a sandbox is refused in one line" {
	need_run
	need_plain
	run --separate-stderr -125 bawn run -q --ro "$(dirname "$BAWN")" -- "$BAWN" run -- echo inner
	one_error
	[[ $stderr == *"in a sandbox of bawn's already"* ]]
	BAWN_SANDBOX=x run -0 bawn run -- echo outside
}

@test "without user namespaces landlock is taken, whatever else is installed" {
	need_run
	none=(unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh)
	"${none[@]}" true 2>/dev/null || skip "needs user namespaces that can be taken away (unshare -Ur)"
	run --separate-stderr -0 "${none[@]}" "$BAWN" run --json -- echo hi
	[ "$(jq -r .stdout <<<"$output")" = hi ]
	[[ $(jq -r .backend <<<"$output") == @(landlock|chroot) ]]
}

@test "a time without a unit is asked about" {
	run --separate-stderr -125 bawn run --timeout 30 -- true
	one_error
	[[ $stderr == *"30s for seconds"* ]]
}

@test "a current directory that is gone is named as such" {
	mkdir gone && cd gone && rmdir ../gone
	run --separate-stderr -125 bawn run -- true
	one_error
	[[ $stderr == *"does not exist any more"* ]]
}

@test "another program of the name than outside: said when it fails" {
	need_run
	mkdir "$base/first"
	printf '#!/bin/sh\necho first\n' >"$base/first/ls"
	chmod +x "$base/first/ls"
	PATH=$base/first:$PATH run --separate-stderr -2 bawn run -- ls ./not-there
	[[ $stderr == *"'ls' is '"*"/ls' here: '$base/first/ls', which PATH names first"* ]]
	PATH=$base/first:$PATH run --separate-stderr -0 bawn run -- ls .
	[ -z "$stderr" ]
	PATH=$base/first:$PATH run --separate-stderr -0 bawn run --ro "$base/first" -- ls .
	[ "$output" = first ]
	# a link is not there either, whatever it leads to
	ln -sf /bin/ls "$base/first/ls"
	PATH=$base/first:$PATH run --separate-stderr -0 bawn run -- ls -d /
	[ "$output" = / ]
	PATH=$base/first:$PATH run --separate-stderr -0 bawn run --ro "$base/first" -- ls -d /
	run --separate-stderr -127 bawn run --backend native -- "$base/first/ls"
	[[ $stderr == *"outside the sandbox"*"--ro"* ]]
}

@test "a line for a shell in one word: said how it is run" {
	need_run
	run --separate-stderr -127 bawn run -- 'ls -l'
	[[ $stderr == *"sh -c"* ]]
	run --separate-stderr -127 bawn run -- cd /
	[[ $stderr == *"sh -c"* ]]
}

@test "a program can look up the name of its host" {
	need_run
	command -v python3 >/dev/null || skip "needs python3 (apt-get install python3)"
	run -0 bawn run -- python3 -c 'import socket; print(socket.getaddrinfo(socket.gethostname(), 80)[0][4][0])'
	[[ $output == 127.* || $output == ::1 ]]
}

@test "in a part of a repository: nothing is said about git unless something fails" {
	need_run
	git init -q . && mkdir part && cd part
	run --separate-stderr -0 bawn run -- echo hi
	[ -z "$stderr" ]
	run --separate-stderr -128 bawn run -- git status
	[[ $stderr == *"the repository lies outside the workspace"* ]]
}

@test "whoever starts it may ignore its children" {
	need_run
	command -v python3 >/dev/null || skip "needs python3 (apt-get install python3)"
	run -7 timeout 120 python3 -c 'import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])' \
		"$BAWN" run -- sh -c 'sh -c true; exit 7'
}

@test "a file that is not ours to write: no grant is suggested" {
	need_run
	mkdir closed && touch closed/file && chmod 0555 closed
	if [ "$(id -u)" = 0 ]; then chown 12345 closed; fi
	run --separate-stderr bawn run -- sh -c 'echo x >closed/new'
	[ "$(id -u)" = 0 ] || chmod 0755 closed
	[ ! -e closed/new ]
	[[ $stderr == *"its owner or its permissions do not allow it"* && $stderr != *"--rw"* ]]
}
