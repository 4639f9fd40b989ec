#!/usr/bin/env bats
# The chroot backend: root's wall where there are no user namespaces. Its promises are the contract's and the escape
# suite's; here is what is its own.
load common

need_root() {
	[ "$(id -u)" = 0 ] || skip "only root can build this wall: run the suite as root"
}

@test "for others than root it is refused with the reason" {
	[ "$(id -u)" != 0 ] || skip "this is for others than root: cli-user/chroot runs it"
	run --separate-stderr -125 bawn run --backend chroot -- true
	[[ $stderr == *root* ]]
}

@test "no capabilities, no groups, a root of its own" {
	need_root
	run -0 setpriv --groups 4,20 "$BAWN" run --backend chroot -- sh -c 'grep -E "^(Cap|Groups|NoNewPrivs)" /proc/self/status; ls /'
	[[ $output == *CapEff:*0000000000000000* ]]
	[[ $output == *CapBnd:*0000000000000000* ]]
	[[ $output == *NoNewPrivs:*1* ]]
	[[ $output != *Groups:*20* ]]
	[[ $output != *boot* ]]
}

@test "there is no way back to the old root" {
	need_root
	mkdir "$base/outside"
	echo canary >"$base/outside/file"
	run bawn run --backend chroot -- sh -c "
		cat $base/outside/file; cd /../../..; cat .$base/outside/file; cat /proc/1/root$base/outside/file
		cat /proc/self/root/..$base/outside/file; chroot . cat $base/outside/file; ls -d $base/outside"
	[[ $output != *canary* ]]
	[ "$(cat "$base/outside/file")" = canary ]
}

@test "it stands where user namespaces are forbidden" {
	need_root
	none=(unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' sh)
	if "${none[@]}" unshare -U true 2>/dev/null; then
		skip "user namespaces cannot be switched off here: needs a kernel where unshare -Ur may write max_user_namespaces"
	fi
	run --separate-stderr -125 "${none[@]}" "$BAWN" run --backend native -- true
	[[ $stderr == *"user namespaces"* ]]
	run --separate-stderr -0 "${none[@]}" "$BAWN" run --backend chroot --json -- true
	[ "$(jq -r .backend <<<"$output")" = chroot ]
	[[ "$(jq -r .walls <<<"$output")" == *chroot*Landlock*seccomp* ]]
	run -0 "${none[@]}" "$BAWN" run --backend chroot -- sh -c 'echo x >made; tail -n +3 /proc/net/dev | cut -d: -f1'
	[ "${output// /}" = lo ]
	[ -e made ]
}
