# Sourced after common.bash by the files that need a container engine: one daemon for all tests of a
# file, started here if none answers. Without one every test is skipped, and says why.

setup_file() {
	export ENGINE_DIR=$BATS_FILE_TMPDIR/engine ENGINE_WHY=
	local said
	# what is left is counted: root has a daemon that nobody else uses, where it can be had
	if said=$(DOCKER_HOST=unix://$ENGINE_DIR/none "$BATS_TEST_DIRNAME/../engine.sh" start "$ENGINE_DIR" 2>/dev/null) ||
		said=$("$BATS_TEST_DIRNAME/../engine.sh" start "$ENGINE_DIR" 2>"$BATS_FILE_TMPDIR/why"); then
		eval "$said"
	else
		ENGINE_WHY=$(cat "$BATS_FILE_TMPDIR/why")
		[ -n "$ENGINE_WHY" ] || ENGINE_WHY="engine.sh failed"
	fi
}

teardown_file() {
	"$BATS_TEST_DIRNAME/../engine.sh" stop "$ENGINE_DIR"
}

# What podman keeps below a user's home is read-only in places.
teardown() {
	cd /
	chmod -R u+w "$base" 2>/dev/null || true
	rm -rf "$base"
}

need_engine() {
	need_plain
	[ -z "$ENGINE_WHY" ] || skip "$ENGINE_WHY"
	# private directories of runs are made there, where nobody else's are
	export XDG_RUNTIME_DIR=$base/run
	mkdir -m 700 "$XDG_RUNTIME_DIR"
	# what is there before, so that what a test leaves is seen
	engine_before=$(in_engine)
}

# All containers and volumes.
in_engine() {
	docker ps --all --quiet --no-trunc | sort
	docker volume ls --quiet | sort
}

# Nothing of ours is left: no container, no volume, no private directory. With "soon", who was killed may need a
# moment for the last as well.
nothing_left() {
	for _ in $(seq 300); do
		[ "$(in_engine)" != "$engine_before" ] || { [ "${1:-}" = soon ] && [ -n "$(ls -A "$XDG_RUNTIME_DIR")" ]; } || break
		sleep 0.2
	done
	[ "$(in_engine)" = "$engine_before" ] || { docker ps --all; docker volume ls; false; }
	[ -z "$(ls -A "$XDG_RUNTIME_DIR")" ] || { ls -A "$XDG_RUNTIME_DIR"; false; }
}

image=bawn-test/busybox:1
