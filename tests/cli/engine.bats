#!/usr/bin/env bats
# The docker backend against a real daemon. Every test leaves the daemon as it was.
load common
load engine

@test "a run sees what a native run sees" {
	need_engine
	need_run
	mkdir .git && echo '[core]' >.git/config
	look='ls -d /bin /lib /usr /etc/passwd /home /root /mnt 2>/dev/null; readlink /bin /lib; id -u; pwd; hostname
		cat /etc/hosts; ls -A "$HOME"; ls -A /tmp | grep -v "^bawn-cli"; env | grep -v "^BAWN_SANDBOX" | sort'
	native=$(bawn run -q --backend native -- sh -c "$look")
	docker=$(bawn run -q --backend docker -- sh -c "$look")
	[ "$native" = "$docker" ] || { diff <(echo "$native") <(echo "$docker"); false; }
	nothing_left
}

@test "statuses, streams and the result" {
	need_engine
	run -0 --separate-stderr bawn run --backend docker -- sh -c 'echo out; echo err >&2'
	[ "$output" = out ]
	[ "$stderr" = err ]
	run -7 bawn run --backend docker -- sh -c 'exit 7'
	run -143 bawn run --backend docker -- sh -c 'kill -TERM $$'
	run -127 bawn run --backend docker -- no-such-command
	run -127 bawn run --backend docker --image $image -- no-such-command
	run -0 sh -c 'echo in | "$0" run --backend docker -- cat' "$BAWN"
	[ "$output" = in ]
	run -0 bawn run --backend docker --json -- true
	[ "$(jq -r .backend,.level <<<"$output")" = $'docker\ncontainer' ]
	[ "$(jq -c .controls.missing <<<"$output")" = '[]' ]
	nothing_left
}

@test "who asks for a container gets one in which ls works" {
	need_engine
	need_run
	touch here
	for _ in found-out remembered; do # that a runsc is too old for it
		run -0 bawn run --isolation container --result r.json -- ls -la
		[[ $output == *here* && $output != *"Invalid argument"* ]]
	done
	[[ $(jq -r .backend r.json) != gvisor || $(jq -c .notes r.json) == '[]' ]]
	nothing_left
}

@test "an image's system, and the workspace" {
	need_engine
	run -0 bawn run --backend docker --image $image -- sh -c 'cat /etc/bawn-test-image; echo new >made; ls -d /home /usr/share 2>/dev/null; true'
	[ "$output" = bawn-test ]
	[ "$(cat made)" = new ]
	run -0 bawn run -q --backend docker --image $image -- sh -c 'touch /etc/x /bin/x /x 2>/dev/null; ls /etc/x /bin/x /x 2>/dev/null; true'
	[ -z "$output" ]
	nothing_left
}

@test "the network is none, or the door" {
	need_engine
	run -0 bawn run -q --backend docker --image $image -- sh -c 'grep -c : /proc/net/dev; nc -w 2 1.1.1.1 80 </dev/null && echo reached; true'
	[ "${lines[0]}" = 1 ] && [[ $output != *reached* ]]
	echo 'enforcement: {docker: {network: bridge}}' >../net.yaml
	run --separate-stderr -125 bawn run --policy ../net.yaml --backend docker -- touch ran
	[[ $stderr == *net.yaml:1:*bridge*enforcement.docker.network* ]]
	[ ! -e ran ]
	run --separate-stderr -0 bawn run --json --backend docker --net allowlist --allow-host example.org -- true
	[ "$(jq '.controls.enforced | index("net.egress") != null' <<<"$output")" = true ]
	nothing_left
}

@test "limits are named and end everything inside" {
	need_engine
	run --separate-stderr -124 bawn run --backend docker --timeout 1s -- sh -c 'sleep 60 & sleep 60'
	[[ $stderr == *limits.time* ]]
	run --separate-stderr -137 bawn run --json --backend docker --image $image --memory 64M -- \
		sh -c 'x=x; while :; do x=$x$x; done'
	[ "$(jq -r .limit <<<"$output")" = memory ]
	run --separate-stderr bawn run --json --backend docker --pids 20 -- sh -c 'i=0; while [ $i -lt 100 ]; do sleep 30 & i=$((i+1)); done; wait'
	[ "$(jq -r .limit <<<"$output")" = processes ]
	nothing_left
}

@test "protected and denied paths" {
	need_engine
	git init -q . && mkdir secret && echo s >secret/key && echo s >.env
	before=$(sha256sum .git/config)
	run -0 bawn run -q --backend docker --deny "$PWD/secret" --deny "$PWD/.env" -- sh -c '
		echo evil >>.git/config; mkdir .claude; echo x >.mcp.json; cat secret/key .env; cp /etc/shadow .; true'
	[ "$(sha256sum .git/config)" = "$before" ]
	[ ! -e .claude ] && [ ! -e .mcp.json ] && [ ! -e shadow ]
	[[ $output != *s$'\n'* ]]
	nothing_left
}

@test "an engine's socket is never shown" {
	need_engine
	[[ ${DOCKER_HOST:-unix:///var/run/docker.sock} == unix://* ]] || skip "the daemon is not at a socket: unset DOCKER_HOST"
	socket=${DOCKER_HOST:-unix:///var/run/docker.sock}
	socket=${socket#unix://}
	run --separate-stderr -125 bawn run --backend docker --ro "${socket%/*}" -- touch ran
	[[ $stderr == *"engine's socket"* ]]
	ln -s "$socket" link
	run --separate-stderr -125 bawn run --backend docker --unix-socket "$socket" -- touch ran
	[[ $stderr == *"engine's socket"* ]]
	[ ! -e ran ]
	nothing_left
}

@test "an image that does not exist: one line, 125" {
	need_engine
	run --separate-stderr -125 bawn run --backend docker --image bawn-test/none:1 -- touch ran
	one_error
	[[ $stderr == *bawn-test/none:1*"docker pull"* ]]
	run --separate-stderr -125 bawn run --backend docker --image --privileged -- touch ran
	one_error
	[ ! -e ran ]
	nothing_left
}

@test "what an image says about its user, directory, entry point and volumes does not count" {
	need_engine
	mkdir ctx
	cat >ctx/Dockerfile <<-END
		FROM $image
		WORKDIR /proc/self/fd/8
		USER 12345
		ENTRYPOINT ["/bin/sh", "-c", "echo pwned"]
		ENV LD_PRELOAD=/evil
		VOLUME /vol
	END
	docker build -q -t bawn-test/odd:1 ctx 2>/dev/null
	run -0 bawn run -q --backend docker --image bawn-test/odd:1 -- sh -c 'pwd; id -u; echo "$LD_PRELOAD"; touch /vol/x 2>/dev/null || echo no'
	docker image rm bawn-test/odd:1 >/dev/null
	[ "$output" = "$PWD"$'\n'"$(id -u)"$'\n\n'no ]
	nothing_left
}

@test "a start directory that leads through a descriptor is refused" {
	need_engine
	ln -s /proc/self/fd/7 strange
	run --separate-stderr -125 bawn run --backend docker --cwd strange -- true
	run --separate-stderr -125 bawn run --backend docker --cwd /proc/self/fd/7 -- true
	nothing_left
}

@test "bawn is killed: nothing stays" {
	need_engine
	bawn run -q --backend docker -- true
	local mark="sleep 4711.$$"
	for pause in 0.02 0.05 0.1 0.2 0.4 0.8; do
		# shellcheck disable=SC2086 # two words
		"$BAWN" run --backend docker -- $mark 3>&- &
		pid=$!
		sleep $pause
		kill -KILL $pid 2>/dev/null || true
		wait $pid || true
	done
	sleep 3 # what the daemon was told before is done later
	nothing_left soon
	for _ in $(seq 600); do pgrep -f "^$mark" >/dev/null || break; sleep 0.1; done
	run -1 pgrep -af "^$mark"
}

@test "the daemon does not answer: 125, and what to do" {
	command -v docker >/dev/null || skip "there is no docker (apt-get install docker.io)"
	run --separate-stderr -125 env DOCKER_HOST="unix://$base/none" "$BAWN" run --backend docker -- touch ran
	one_error
	[[ $stderr == *"does not answer"* ]]
	[ ! -e ran ]
}

@test "the daemon dies in the middle" {
	need_engine
	[ "$(id -u)" = 0 ] || skip "only root starts daemons: run the suite as root"
	eval "$(DOCKER_HOST=unix://$base/none "$BATS_TEST_DIRNAME/../engine.sh" start "$base/own")"
	bawn run -q --backend docker -- true
	(
		while [ ! -e started ]; do sleep 0.1; done
		kill -KILL "$(cat "$base/own/docker/started")"
		touch dead
	) 3>&- &
	run bawn run -q --backend docker -- sh -c 'touch started; until [ -e dead ]; do sleep 0.1; done; sleep 1; echo end'
	[ "$status" -eq 0 ] && [ "$output" = end ]
	run --separate-stderr -125 bawn run --backend docker -- true
	one_error
	"$BATS_TEST_DIRNAME/../engine.sh" stop "$base/own"
	[ -z "$(ls -A "$XDG_RUNTIME_DIR")" ]
}

@test "a disk that is full" {
	need_engine
	[ "$(id -u)" = 0 ] || skip "only root starts daemons: run the suite as root"
	mkdir "$base/small"
	mount -t tmpfs -o size=24m none "$base/small" || skip "no file system can be mounted here: needs CAP_SYS_ADMIN"
	if said=$(DOCKER_HOST=unix://$base/none "$BATS_TEST_DIRNAME/../engine.sh" start "$base/small"); then
		eval "$said"
		bawn run -q --backend docker -- true || true
		dd if=/dev/zero of="$base/small/fill" bs=64k 2>/dev/null || true
		run --separate-stderr bawn run --backend docker -- touch ran
		full=$status lines=${#stderr_lines[@]} left=$(docker ps --all --quiet)
		rm "$base/small/fill"
	fi
	"$BATS_TEST_DIRNAME/../engine.sh" stop "$base/small"
	umount "$base/small"
	[ -n "$said" ] || skip "no daemon starts on a small disk: needs one that does with 24 MB"
	[ "$full" = 125 ] && [ "$lines" = 1 ] && [ ! -e ran ] && [ -z "$left" ]
}

@test "mounts of the policy, and which cannot be" {
	need_engine
	mkdir "$base/data" "$HOME/.ssh" && echo there >"$base/data/x"
	printf 'enforcement:\n  docker:\n    mounts: [{source: %s, target: /data}]\n' "$base/data" >../m.yaml
	run -0 bawn run -q --policy ../m.yaml --backend docker -- sh -c 'cat /data/x; echo w 2>/dev/null >/data/y; true'
	[ "$output" = there ] && [ ! -e "$base/data/y" ]
	printf 'enforcement:\n  docker:\n    mounts: [{source: %s, target: /data}]\n' "$HOME" >../m.yaml
	run --separate-stderr -125 bawn run --policy ../m.yaml --backend docker -- touch ran
	[[ $stderr == *"denied path"* ]] && [ ! -e ran ]
	nothing_left
}

@test "an ordinary user, and an engine that is theirs to use" {
	need_engine
	[ "$(id -u)" = 0 ] || skip "for root only: cli/engine runs it"
	[[ $DOCKER_HOST == *"$ENGINE_DIR"* ]] || skip "the daemon is somebody else's: needs a host where root can start one"
	chmod 666 "${DOCKER_HOST#unix://}"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "${BATS_FILE_TMPDIR%/*}" "$ENGINE_DIR" "$ENGINE_DIR/docker"
	mkdir "$base/bin" && cp "$BAWN" "${BAWN%/*}"/bawn-inside "$base/bin"
	chown -R 54321:54321 "$base"
	run -0 setpriv --reuid=54321 --regid=54321 --clear-groups "$base/bin/bawn" run -q --backend docker -- \
		sh -c 'id -u; echo mine >f; grep CapEff /proc/self/status'
	[ "$output" = $'54321\nCapEff:\t0000000000000000' ]
	[ "$(stat -c %u f)" = 54321 ]
	nothing_left
}

@test "another runtime that the daemon does not know" {
	need_engine
	echo 'enforcement: {docker: {runtime: no-such-runtime}}' >../r.yaml
	run --separate-stderr -125 bawn run --policy ../r.yaml --backend docker -- touch ran
	one_error
	[[ $stderr == *no-such-runtime* ]] && [ ! -e ran ]
	nothing_left
}

@test "doctor says what the engines can do" {
	need_engine
	run -0 bawn doctor capabilities --json
	[ "$(jq -r '.backends[] | select(.name == "docker") | .controls | length > 15' <<<"$output")" = true ]
	[[ $(jq -r '.backends[] | select(.name == "apple-container") | .reason' <<<"$output") == *macOS* ]]
	nothing_left
}

# Containers whose bawn is gone. Others' that are alive are not ours to judge; those of a bawn that was killed go soon.
no_podman_orphans() {
	local name pid left
	for _ in $(seq 300); do
		left=
		for name in $(podman ps --all --format '{{.Names}}' --filter name='^bawn-[0-9]'); do
			pid=${name#bawn-}
			kill -0 "${pid%%-*}" 2>/dev/null || left+=" $name"
		done
		[ -n "$left" ] || return 0
		sleep 0.2
	done
	echo "left:$left"
	false
}

@test "podman, where it works" {
	command -v podman >/dev/null || skip "there is no podman (apt-get install podman)"
	run --separate-stderr bawn run --backend podman -- sh -c 'echo out; exit 3'
	if [ "$status" = 125 ]; then
		one_error
		skip "$stderr"
	fi
	[ "$status" = 3 ] && [ "$output" = out ]
	run -0 bawn run -q --backend podman --rw /etc -- test -w /etc/hosts -a -w /etc
	run --separate-stderr -124 bawn run --backend podman --timeout 1s -- sleep 60
	run --separate-stderr -125 bawn run --backend podman --image bawn-test/none:1 -- true
	one_error
	no_podman_orphans
}

@test "a workspace that is exchanged while the container starts" {
	need_engine
	mkdir -p ../swap/parent/ws ../swap/other/ws
	echo canary >../swap/other/ws/secret
	cd ../swap
	ln -s other link
	# the private directory is made after the plan and before the engine is asked
	(until [ -n "$(ls -A "$XDG_RUNTIME_DIR")" ]; do :; done; mv parent gone; mv link parent) &
	run -125 bawn run --backend docker --workspace "$PWD/parent/ws" -- sh -c 'cat secret; echo planted >planted'
	wait
	# exchanged, a symlink by now, or not there in between: it depends on when it was looked at
	[[ $output == *"parent/ws"* ]]
	[[ $output != *canary* ]]
	[ ! -e other/ws/planted ]
	nothing_left
}

@test "podman: bawn is killed at any time and leaves no process" {
	need_engine
	command -v podman >/dev/null || skip "there is no podman (apt-get install podman)"
	why=$(bawn run -q --backend podman -- true 2>&1) || skip "podman does not work here: $why"
	for ms in 100 150 200 250 300 350 400; do
		"$BAWN" run -q --backend podman -- sleep 60 >/dev/null 2>&1 3>&- 4>&- &
		pid=$!
		sleep 0.$ms
		kill -KILL $pid
		wait $pid || true
		pids+=" $pid"
	done
	for _ in $(seq 600); do
		left=$(for pid in $pids; do pgrep -f "bawn-$pid-[0-9a-f]{12}" || true; done)
		[ -n "$left" ] || break
		sleep 0.1
	done
	[ -z "$left" ] || { ps -o pid,args $left; false; }
	nothing_left soon
}
