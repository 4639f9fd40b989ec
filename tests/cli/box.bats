#!/usr/bin/env bats
# bawn box against a real daemon. Every test leaves the daemon as it was.
load common
load engine

teardown() {
	[ -n "$ENGINE_WHY" ] || bawn box cleanup --all >/dev/null 2>&1 || true
	cd /
	rm -rf "$base"
}

# The engine's name of a box.
container() {
	bawn box status --json "$1" | jq -r .container
}

# Is it under way in the container $inside?
seen() {
	[[ $(docker top "$inside") == *"$1"* ]]
}

@test "create, exec, status, list, stop, start, rm" {
	need_engine
	run -0 bawn box create one --image $image
	[[ $output == "one: running"* ]]
	run -0 bawn box exec one -- sh -c 'cat /etc/bawn-test-image; echo made >file; pwd; id -u'
	[ "$output" = bawn-test$'\n'"$PWD"$'\n'"$(id -u)" ]
	[ "$(cat file)" = made ]
	run -0 bawn box list --json
	[ "$(jq -r '.schema, .boxes[0].name, .boxes[0].state, .boxes[0].project' <<<"$output")" = \
		"bawn/boxes/v1"$'\n'one$'\nrunning\n'"$PWD" ]
	run -0 bawn box status one
	run -0 bawn box stop one
	run -1 bawn box status one
	[[ $output == "one: stopped"* ]]
	run --separate-stderr -125 bawn box exec one -- true
	[[ $stderr == *"bawn box start"* ]]
	run -0 bawn box start one
	run -0 bawn box exec one -- true
	run -0 bawn box rm one
	run -0 bawn box list
	[ -z "$output" ]
	[ "$(find "$XDG_STATE_HOME/bawn/boxes" -mindepth 1 ! -name .lock)" = "" ]
	nothing_left
}

@test "exec is a run like any other" {
	need_engine
	bawn box create one --image $image >/dev/null
	run -3 --separate-stderr bawn box exec one -- sh -c 'echo out; echo err >&2; exit 3'
	[ "$output" = out ] && [ "$stderr" = err ]
	run -0 sh -c 'echo in | "$0" box exec one -- cat' "$BAWN"
	[ "$output" = in ]
	run -0 bawn box exec one -e A=b --json -- sh -c 'echo $A'
	[ "$(jq -r '.stdout, .backend, (.controls.missing | length)' <<<"$output")" = $'b\n\ndocker\n0' ]
	run -127 bawn box exec one -- no-such-command
	mkdir sub
	run -0 bawn box exec one --cwd sub -- pwd
	[ "$output" = "$PWD/sub" ]
	[ "$(bawn audit show --json | jq -r 'select(.event == "end") | .adapter' | sort -u)" = docker ]
}

@test "the timeout and the death of bawn end what runs inside, and nothing else" {
	need_engine
	bawn box create one --image $image >/dev/null
	inside=$(container one)
	"$BAWN" box exec one -- sleep 4713 3>&- &
	neighbour=$!
	await "$neighbour" seen "sleep 4713"
	run --separate-stderr -124 bawn box exec one --timeout 1s -- sh -c 'sleep 4712 & setsid sleep 4712 & sleep 4712'
	[[ $stderr == *limits.time* ]]
	[[ $(docker top "$inside") != *"sleep 4712"* ]]
	"$BAWN" box exec one -- sh -c 'setsid sleep 4712 & sleep 4712' 3>&- &
	pid=$!
	await "$pid" seen "sleep 4712"
	kill -KILL $pid
	wait $pid || true
	for _ in $(seq 600); do
		[[ $(docker top "$inside") == *"sleep 4712"* ]] || break
		sleep 0.1
	done
	[[ $(docker top "$inside") != *"sleep 4712"* ]]
	[[ $(docker top "$inside") == *"sleep 4713"* ]]
	run -0 bawn box exec one -- sh -c 'setsid sleep 4712 & exit 0'
	[[ $(docker top "$inside") != *"sleep 4712"* ]]
	kill -TERM $neighbour
	wait $neighbour || true
}

@test "runs in one box cannot touch each other" {
	need_engine
	bawn box create one --image $image >/dev/null
	inside=$(container one)
	"$BAWN" box exec one -- sleep 3000 3>&- &
	neighbour=$!
	await "$neighbour" seen "sleep 3000"
	run -0 bawn box exec one -- sh -c 'for p in $(pidof sleep) 1; do kill -9 $p 2>/dev/null && echo killed; cat /proc/$p/environ 2>/dev/null | grep -c . ; done; true'
	[[ $output != *killed* ]] && [[ $output != *[1-9]* ]]
	seen "sleep 3000"
	kill -TERM $neighbour
	wait $neighbour || true
}

@test "the container has no network, no capability, no host namespace, and nothing of the engine" {
	need_engine
	bawn box create one --image $image >/dev/null
	facts=$(docker inspect "$(container one)" | jq -c '.[0].HostConfig | [.NetworkMode, .Privileged, .CapDrop, .PidMode,
		.IpcMode, .UTSMode, .UsernsMode, .ReadonlyRootfs, .PublishAllPorts, (.SecurityOpt | map(split("=")[0]) | sort)]')
	[ "$facts" = '["none",false,["ALL"],"","none","","",true,false,["no-new-privileges","seccomp"]]' ]
	[ "$(docker inspect "$(container one)" | jq '.[0].HostConfig.CapAdd // [] | map(select(. != "SETFCAP" and . != "CAP_SETFCAP")) | length')" = 0 ]
	[[ $(docker inspect "$(container one)" | jq -r '.[0].Mounts[].Source') != *docker.sock* ]]
	run -0 bawn box exec one -- sh -c 'grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; grep -c : /proc/net/dev; cat /proc/keys 2>/dev/null | wc -l'
	[ "$output" = $'CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n1\n0' ]
}

@test "what is protected or denied after the box was made is so in the next run" {
	need_engine
	bawn box create one --image $image --deny "$PWD/secret" >/dev/null
	git init -q . && echo s >secret
	before=$(sha256sum .git/config)
	run -0 bawn box exec one -- sh -c 'echo evil >>.git/config; cat secret; true'
	[ "$(sha256sum .git/config)" = "$before" ]
	[[ $output != *s ]] || [[ $output == *denied* ]]
	run -0 bawn box exec one -- sh -c 'cat secret 2>/dev/null | wc -c'
	[ "$output" = 0 ]
}

@test "names, limits on their number, locks" {
	need_engine
	for name in '' -x A b/c ../x "$(printf 'x%.0s' {1..41})"; do
		run --separate-stderr -2 bawn box create -- "$name"
		[ -z "$output" ]
	done
	run --separate-stderr -125 bawn box exec
	run --separate-stderr -125 bawn box exec none -- true
	run --separate-stderr bawn box rm none
	[ "$status" -ne 0 ] && [[ $stderr == *"no box 'none'"* ]]
	bawn box create one --image $image >/dev/null
	run --separate-stderr bawn box create one --image $image
	[ "$status" -ne 0 ] && [[ $stderr == *"there is a box 'one' already"* ]]
	"$BAWN" box exec one -- sh -c 'touch up; sleep 600' 3>&- &
	await $! test -e up
	run --separate-stderr bawn box rm one
	[ "$status" -ne 0 ] && [[ $stderr == *"in use"* ]]
	run -0 bawn box rm --force one
	wait
	for i in $(seq 32); do
		sed "s/\"name\": \"one\"/\"name\": \"n$i\"/" >"$XDG_STATE_HOME/bawn/boxes/n$i.json" <<-END
			{"schema": "bawn/box-record/v1", "name": "one", "engine": "docker", "container": "bawn-box-x-$i",
			 "image": "", "image_id": "", "dockerfile": "", "project": "/", "dir": "$base/none", "stage": "",
			 "created": 1, "changed": 1, "ready": true, "policies": [], "settings": []}
		END
	done
	run --separate-stderr bawn box create more --image $image
	[ "$status" -ne 0 ] && [[ $stderr == *"32 boxes already"* ]]
	run -0 bawn box cleanup
	[[ $output == *"n32: removed"* ]]
	nothing_left
}

@test "two bawns at once: one box, one error" {
	need_engine
	"$BAWN" box create one --image $image >a 2>&1 3>&- &
	first=$!
	"$BAWN" box create one --image $image >b 2>&1 3>&- &
	second=$!
	good=0
	! wait $first || good=$((good + 1))
	! wait $second || good=$((good + 1))
	[ $good = 1 ]
	[ "$(docker ps --all --quiet --filter name=-one- | wc -l)" = 1 ]
	run -0 bawn box exec one -- true
}

@test "bawn is killed while it makes a box: cleanup finds what is left" {
	need_engine
	for pause in 0.02 0.1 0.2 0.3 0.5; do
		"$BAWN" box create "k${pause#*.}" --image $image >/dev/null 2>&1 3>&- &
		pid=$!
		sleep $pause
		kill -KILL $pid 2>/dev/null || true
		wait $pid || true
	done
	sleep 2 # what the daemon was told before is done later
	bawn box cleanup --all
	run -0 bawn box list
	[ -z "$output" ]
	[ "$(find "$XDG_STATE_HOME/bawn/boxes" -mindepth 1 -name 'bawn-box-*')" = "" ]
	nothing_left
}

@test "images by Dockerfile: built once, stale, rebuilt, swapped, forgotten" {
	need_engine
	mkdir env
	printf 'FROM %s\nRUN echo first >/etc/made\n' $image >env/Dockerfile
	run -1 bawn box image --check env
	run -0 bawn box image --json env
	[ "$(jq -c '[.present, .stale, .built]' <<<"$output")" = '[true,false,true]' ]
	first=$(jq -r .image <<<"$output")
	run -0 bawn box image --json env
	[ "$(jq -c '[.image, .built]' <<<"$output")" = "[\"$first\",false]" ]
	run -0 bawn box image --check env
	bawn box create dev -f env/Dockerfile >/dev/null
	echo work >precious
	[ "$(bawn box exec dev -- cat /etc/made)" = first ]
	printf 'FROM %s\nRUN echo second >/etc/made\n' $image >env/Dockerfile
	run -1 bawn box image --check --json env
	[ "$(jq -c '[.present, .stale]' <<<"$output")" = '[false,true]' ]
	run -0 bawn box rebuild --json env
	[ "$(jq -c '[.built, .swapped]' <<<"$output")" = '[true,["dev"]]' ]
	[ "$(bawn box exec dev -- sh -c 'cat /etc/made precious')" = $'second\nwork' ]
	[ -z "$(docker images --quiet "$first")" ]
	echo /extra >env/.dockerignore
	run -1 bawn box image --check env
	bawn box build env >/dev/null
	bawn box rm dev >/dev/null
	run -0 bawn box invalidate env
	run -1 bawn box image --check env
	for i in $(docker images --quiet bawn-env); do docker rmi -f "$i" >/dev/null; done
	nothing_left
}

@test "a build that fails says why and leaves nothing" {
	need_engine
	mkdir env
	printf 'FROM %s\nRUN exit 3\n' $image >env/Dockerfile
	run --separate-stderr -1 bawn box build env
	one_error
	[[ $stderr == *Dockerfile*"exit 3"* ]]
	run --separate-stderr -1 bawn box create x -f env/Dockerfile
	run --separate-stderr bawn box build none
	[ "$status" -ne 0 ] && one_error
	printf 'FROM %s\nRUN nc -w 2 1.1.1.1 80 </dev/null\n' $image >env/Dockerfile
	run --separate-stderr -1 bawn box build env
	run -0 bawn box list
	[ -z "$output" ]
	nothing_left
}

@test "swap: the new one runs before the old one goes" {
	need_engine
	bawn box create one --image $image >/dev/null
	old=$(container one)
	run --separate-stderr -1 bawn box swap one bawn-test/none:1
	[[ $stderr == *"stays as it was"* ]]
	[ "$(container one)" = "$old" ]
	run -0 bawn box exec one -- true
	printf 'FROM %s\nRUN echo other >/etc/other\n' $image >Dockerfile
	docker build -q -t bawn-test/other:1 . >/dev/null 2>&1
	run -0 bawn box swap one bawn-test/other:1
	[ "$(container one)" != "$old" ]
	[ "$(bawn box exec one -- cat /etc/other)" = other ]
	[ -z "$(docker ps --all --quiet --filter "name=$old")" ]
	bawn box rm one >/dev/null
	docker image rm bawn-test/other:1 >/dev/null
	nothing_left
}

@test "progress is shown to a person, and only to one" {
	need_engine
	command -v script >/dev/null || skip "there is no script(1) (apt-get install bsdutils)"
	printf 'FROM %s\nRUN echo x >/etc/made\n' $image >Dockerfile
	run -0 script -qec "'$BAWN' box build ." /dev/null
	[[ $output == *"bawn: Step 2/"* ]] || [[ $output == *"bawn: #"* ]]
	run --separate-stderr -0 bawn box rebuild .
	[ -z "$stderr" ]
	bawn box invalidate . >/dev/null
}

@test "cleanup by age" {
	need_engine
	bawn box create one --image $image >/dev/null
	run -0 bawn box cleanup --older-than 1h
	[ -z "$output" ]
	run -0 bawn box cleanup --older-than 0s
	[ "$output" = "one: removed" ]
	run --separate-stderr -2 bawn box cleanup --older-than soon
	nothing_left
}

@test "a container that somebody else removed: what to do is said" {
	need_engine
	bawn box create one
	docker rm -f "$(container one)" >/dev/null
	run --separate-stderr -1 bawn box start one
	[[ $stderr == *"'one'"*"is gone"*"bawn box rm one"* ]]
	run --separate-stderr -1 bawn box stop one
	[[ $stderr == *"is gone"* ]]
	bawn box rm one
	run -0 bawn box list
	[[ $output != *one* ]]
}
