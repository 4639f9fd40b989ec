#!/usr/bin/env bats
# Virtual machines: QEMU for real, Firecracker with a stand-in for its binary (fake-firecracker.py), which boots the
# kernel and the initrd that it is given. A boot takes seconds where the processor is emulated, so a run checks much.
load common

need_vm() {
	need_plain
	command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64 (apt-get install qemu-system-x86)"
	# a machine of the usual size takes longer to boot
	if [ "${1:-}" != usual ]; then
		mkdir -p "$XDG_CONFIG_HOME/bawn"
		echo 'limits: {memory: 512m}' >"$XDG_CONFIG_HOME/bawn/policy.yaml"
	fi
	[ -r "$(dirname "$BAWN")/vm/vmlinux" ] || skip "no kernel for virtual machines that we can read (tools/vm-kernel.sh build-deps/vm, where this user can go)"
}

# The stand-in, where bawn looks first: beside itself.
fake_firecracker() {
	mkdir -p "$base/bin"
	cp "$BAWN" "$(dirname "$BAWN")/bawn-inside" "$base/bin/"
	ln -s "$(realpath "$(dirname "$BAWN")/vm")" "$base/bin/vm"
	cp "$BATS_TEST_DIRNAME/fake-firecracker.py" "$base/bin/firecracker"
	chmod 755 "$base/bin/firecracker"
	BAWN=$base/bin/bawn
}

# What a command in a machine does to the workspace, and what it must not.
probe='uname -r >kernel; cat; cat in; echo changed >in; mkdir -p d/e; echo new >d/e/f; rm gone; ln -s in link
	cat secret/key; echo evil >.git/hooks/pre-commit; cat /etc/shadow; touch /usr/x; ls /sys/class/net; id -u >uid
	mount -t tmpfs none /mnt; exit 7'

make_workspace() {
	git init -q .
	mkdir secret
	echo SECRET >secret/key
	echo before >in
	echo x >gone
}

check_workspace() {
	[ "$status" -eq 7 ]
	[[ $output == $'from stdin\nbefore'* ]]
	[[ $output != *SECRET* && $output != *eth0* && $output != *root:* ]]
	[ "$(cat kernel)" != "$(uname -r)" ]
	[ "$(cat uid)" = "$(id -u)" ]
	[ "$(cat in)" = changed ]
	[ "$(cat d/e/f)" = new ]
	[ ! -e gone ]
	[ "$(readlink link)" = in ]
	[ ! -e .git/hooks/pre-commit ]
	[ "$(cat secret/key)" = SECRET ]
	[ ! -e /usr/x ]
	[ "$(stat -c %u d/e/f)" = "$(id -u)" ]
}

@test "qemu: a command runs in a machine of its own and its changes come back" {
	need_vm usual
	make_workspace
	run --separate-stderr bawn run --backend qemu --deny "$PWD/secret" -- sh -c "$probe" <<<"from stdin"
	check_workspace
	[[ $stderr == *"denied: "* ]]
}

@test "qemu: a worktree whose repository lies deep in it, and the files that no one can send" {
	need_vm
	git init -q --bare a/b/repo
	echo "gitdir: a/b/repo" >.git
	mkdir -p a/c/d
	echo deep >a/c/d/f
	run --separate-stderr bawn run --backend qemu --rw "$PWD/a/c/d" -- sh -c 'cat a/c/d/f; echo new >a/c/d/g; echo x >a/h
		mkfifo fifo a/c/d/pipe; mkfifo made; rm made'
	[ "$status" -eq 0 ]
	[ "$output" = deep ]
	[ "$(cat a/c/d/g)" = new ]
	[ "$(cat a/h)" = x ]
	[ ! -e fifo ] && [ ! -e a/c/d/pipe ]
	[[ $stderr == *"'$PWD/fifo'"* && $stderr == *"'$PWD/a/c/d/pipe'"* && $stderr != *made* ]]
}

@test "qemu: time, output and memory are limited, and the result says by what" {
	need_vm
	run --separate-stderr bawn run --json --backend qemu --timeout 300s --output-limit 2000 -- sh -c 'echo hi; yes'
	[ "$(jq -r .limit <<<"$output")" = output ]
	[ "$(jq -r .level <<<"$output")" = vm ]
	[[ $(jq -r .walls <<<"$output") == *"QEMU microvm"* ]]
	[ "$(jq '.controls.missing | length' <<<"$output")" -eq 0 ]
	run --separate-stderr bawn run -q --backend qemu --timeout 1s -- sh -c 'echo up; sleep 1000'
	[ "$status" -eq 124 ]
	run --separate-stderr bawn run -q --backend qemu --memory 64M -- sh -c 'dd if=/dev/zero of=/dev/null bs=200M count=1 && echo survived'
	[ "$status" -ne 0 ]
	[[ $output != *survived* ]]
}

@test "qemu: nothing is left when bawn is killed" {
	need_vm
	"$BAWN" run -q --backend qemu -- sh -c 'echo up; sleep 1000' >out 2>err &
	pid=$!
	await "$pid" test -s out
	[ "$(cat out)" = up ]
	kids=$(pgrep -P "$pid")
	[ -n "$kids" ]
	kill -KILL "$pid"
	for _ in $(seq 600); do
		left=$(ls -d /tmp/bawn-"$pid"-* 2>/dev/null || true)
		for k in $kids; do
			kill -0 "$k" 2>/dev/null && left+=" $k"
		done
		[ -n "$left" ] || break
		sleep 0.1
	done
	[ -z "$left" ]
}

@test "qemu: a kernel that is missing, garbage or broken is one line" {
	need_vm
	kernel=$base/kernel
	printf 'enforcement: {vm: {kernel: %s}}\n' "$kernel" >"$base/p.yaml"
	run --separate-stderr bawn run --policy "$base/p.yaml" --backend qemu -- true
	[ "$status" -eq 125 ]
	one_error
	[[ $stderr == *"'$kernel'"*"No such file"* ]]
	head -c 100000 /dev/urandom >"$kernel"
	run --separate-stderr bawn run --policy "$base/p.yaml" --backend qemu -- true
	[ "$status" -eq 125 ]
	one_error
	[[ $stderr == *"is no kernel"* ]]
	head -c 2000000 "$(dirname "$BAWN")/vm/vmlinux" >"$kernel"
	run --separate-stderr bawn run --policy "$base/p.yaml" --backend qemu -- true
	[ "$status" -eq 125 ]
	one_error
	[[ $stderr == *"the virtual machine did not start"* ]]
	# whole, but nothing of its modules is beside it
	cp "$(dirname "$BAWN")/vm/vmlinux" "$kernel"
	run --separate-stderr bawn run --policy "$base/p.yaml" --backend qemu -- true
	[ "$status" -eq 125 ]
	one_error
	[[ $stderr == *"this kernel has no virtio_"* || $stderr == *"this kernel has no fuse"* ]]
}

@test "qemu: what a machine cannot have is refused" {
	need_vm
	run --separate-stderr bawn run --backend qemu --net allowlist --allow-host example.com -- true
	[ "$status" -eq 125 ]
	one_error
	[[ $stderr == *"net.egress"* ]]
}

@test "firecracker: the same, through its API and its vsock" {
	need_vm
	fake_firecracker
	make_workspace
	run --separate-stderr bawn run --backend firecracker --deny "$PWD/secret" -- sh -c "$probe" <<<"from stdin"
	check_workspace
}

# The jailer is for root; who is not does without it.
fake_jailer() {
	[ "$(id -u)" -eq 0 ] || skip "the jailer needs root: cli/vm as root runs it"
	fake_firecracker
	cp "$BATS_TEST_DIRNAME/fake-jailer.py" "$base/bin/jailer"
	chmod 755 "$base/bin/jailer"
}

# Whatever the jailer made: directories, control groups, processes of its user.
left_of() {
	ls -d /tmp/bawn-"$1"-* 2>/dev/null || true
	for group in $(sed -n 's/^GROUP //p' "$base/bin/jailer.log"); do
		[ ! -d "$group" ] || echo "$group"
	done
	pgrep -U "$(sed -n 's/.* --uid \([0-9]*\) .*/\1/p' "$base/bin/jailer.log")" || true
}

@test "firecracker: through its jailer, of which nothing is left" {
	need_vm
	fake_jailer
	make_workspace
	run --separate-stderr bawn run --backend firecracker --result "$base/r.json" --deny "$PWD/secret" -- sh -c "$probe" <<<"from stdin"
	check_workspace
	[[ $(jq -r .walls "$base/r.json") == *"Firecracker"*"in its jailer"* ]]
	[ "$(grep -c ^JAILER "$base/bin/jailer.log")" -eq 1 ]
	jailer=$(grep ^JAILER "$base/bin/jailer.log")
	[[ $jailer == *" --exec-file $base/bin/firecracker "*" --chroot-base-dir /tmp/bawn-"*" --resource-limit no-file=1024 "* ]]
	[[ $jailer == *" --new-pid-ns "*" -- --api-sock /api" && $jailer != *" --daemonize"* ]]
	# nothing but what Firecracker needs
	[ "$(grep ^ROOT "$base/bin/jailer.log")" = "ROOT firecracker initrd kernel vsock_1025" ]
	[ -z "$(left_of "$(sed -n 's/.* --id bawn-\([0-9]*\)-.*/\1/p' "$base/bin/jailer.log")")" ]
}

@test "firecracker: nothing of its jailer is left when bawn is killed" {
	need_vm
	fake_jailer
	"$BAWN" run -q --backend firecracker -- sh -c 'echo up; sleep 1000' >out 2>err 3>&- &
	pid=$!
	await "$pid" test -s out
	[ "$(cat out)" = up ]
	[ -n "$(left_of "$pid")" ]
	kill -KILL "$pid"
	for _ in $(seq 600); do
		[ -n "$(left_of "$pid")" ] || break
		sleep 0.1
	done
	[ -z "$(left_of "$pid")" ]
}

@test "firecracker: a jailer that refuses or is garbage is one line" {
	need_vm
	fake_jailer
	sed -i 's/^def main():/def main():\n    fail("not today")/' "$base/bin/jailer"
	run --separate-stderr bawn run --backend firecracker -- true
	[ "$status" -eq 125 ]
	one_error
	[[ $stderr == *"Firecracker ended: jailer: not today"* ]]
	head -c 1000 /dev/urandom >"$base/bin/jailer"
	run --separate-stderr bawn run --backend firecracker -- true
	[ "$status" -eq 125 ]
	one_error
	[[ $stderr == *"cannot run '$base/bin/jailer': Exec format error"* ]]
}

@test "firecracker: refusals, deaths and absence are one line" {
	need_vm
	if [ ! -e /usr/local/bin/firecracker ] && [ ! -e /usr/bin/firecracker ]; then
		run --separate-stderr bawn run --backend firecracker -- true
		[ "$status" -eq 125 ]
		one_error
		[[ $stderr == *"'firecracker' is not installed"* ]]
	fi
	fake_firecracker
	for how in refuses dies; do
		sed -i "s/^FAULT = .*/FAULT = \"$how\"/" "$base/bin/firecracker"
		run --separate-stderr bawn run --backend firecracker -- true
		[ "$status" -eq 125 ]
		one_error
		case $how in
		refuses) [[ $stderr == *"PUT /boot-source was refused (400): The kernel file cannot be opened"* ]] ;;
		dies) [[ $stderr == *"Firecracker ended"* ]] ;;
		esac
	done
}

@test "qemu: the system of an image instead of this host's" {
	need_vm
	command -v mke2fs >/dev/null || skip "no mke2fs (apt-get install e2fsprogs)"
	busybox=$(command -v busybox) && [[ $(file -L "$busybox") == *static* ]] || skip "no static busybox (apt-get install busybox-static)"
	mkdir -p "$base/root/bin" "$base/root/etc"
	cp "$busybox" "$base/root/bin/busybox"
	for p in sh cat ls; do
		ln -s busybox "$base/root/bin/$p"
	done
	echo image >"$base/root/etc/which"
	mke2fs -q -t ext4 -d "$base/root" "$base/root.ext4" 16M
	printf 'enforcement: {vm: {rootfs: %s}}\n' "$base/root.ext4" >"$base/p.yaml"
	echo before >in
	run --separate-stderr bawn run -q --policy "$base/p.yaml" --backend qemu -- sh -c 'cat /etc/which in; ls /usr; echo x >/etc/which; echo after >in'
	[ "${lines[0]}" = image ]
	[ "${lines[1]}" = before ]
	[ "${#lines[@]}" -eq 2 ]
	[ "$(cat in)" = after ]
	[[ $stderr == *"Read-only file system"* ]]
}

@test "qemu: a machine that ends does not take along what it still had to send" {
	need_vm
	# long names: half a megabyte of them is more than its devices hold
	run -0 bawn run -q --backend qemu -- sh -c 'p=$(printf %0230d 0); i=0; while [ $i -lt 2000 ]; do : >$p$i; i=$((i+1)); done'
	[ "$(ls | wc -l)" -eq 2000 ]
}
