/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line of an engine depends on besides the plan: who we are, what this host has.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "backend/near/engine.h"
#include "base/io.h"

/* NOLINTBEGIN(concurrency-mt-unsafe): no threads */

/*
 * A daemon of the caller's own sees the caller as root: whoever is root inside is nobody else than
 * the caller outside.
 */
static bool is_rootless_docker(void)
{
	const char *host = getenv("DOCKER_HOST");
	const char *path = host && !strncmp(host, "unix://", 7) ? host + 7 : NULL;
	struct stat st;

	return geteuid() != 0 && path && stat(path, &st) == 0 && st.st_uid == geteuid();
}

/* A context in docker's configuration may lead elsewhere; that is for docker to find out. */
static bool has_context(void)
{
	const char *dir = getenv("DOCKER_CONFIG");
	const char *home = getenv("HOME");
	_cleanup_buf_ struct bawn_buf text = {0};
	char path[512];
	int r;

	if (getenv("DOCKER_CONTEXT"))
		return true;
	(void)snprintf(path, sizeof(path), "%s%s/config.json",
		dir    ? dir
		: home ? home
		       : "",
		dir ? "" : "/.docker");
	r = bawn_read_file(AT_FDCWD, path, 1 << 20, &text);
	return r < 0 ? r != -ENOENT && r != -ENOTDIR
		     : text.data && strstr(text.data, "\"currentContext\"");
}

static const char *daemon_socket(void)
{
	const char *host = getenv("DOCKER_HOST");

	if (host && *host)
		return !strncmp(host, "unix:///", 8) && strlen(host) < 100 ? host + 7 : NULL;
	return has_context() ? NULL : "/var/run/docker.sock";
}

static bool is_there(const char *name)
{
	static const char *const dirs[] = {
		"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin"};
	char path[256];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/*
 * crun refuses a host whose controllers are of the first kind while a hierarchy of the second kind
 * offers some as well; runc does not mind.
 */
static bool is_hybrid(void)
{
	char text[256] = "";

	return bawn_read_small(AT_FDCWD, "/sys/fs/cgroup/unified/cgroup.controllers", text,
		       sizeof(text)) > 0 &&
	       text[0] > ' ';
}

/* podman lowers its own to 32768 processes before it sets the container's. */
static uint64_t hard_limit(__rlimit_resource_t what, uint64_t most)
{
	struct rlimit rl = {0};

	if (getrlimit(what, &rl) < 0 || rl.rlim_max > most)
		return most;
	return rl.rlim_max;
}

void bawn_engine_look(enum bawn_engine_kind kind, struct bawn_engine_host *ret)
{
	int n = get_nprocs();

	*ret = (struct bawn_engine_host){.uid = geteuid(),
		.gid = getegid(),
		.processors = n > 0 ? (unsigned)n : 1,
		.files = hard_limit(RLIMIT_NOFILE, 1048576),
		.procs = hard_limit(RLIMIT_NPROC, 32768),
		.runtime = ""};
	if (kind == BAWN_ENGINE_DOCKER)
		ret->socket = daemon_socket();
	if (kind == BAWN_ENGINE_DOCKER && is_rootless_docker())
		ret->uid = ret->gid = 0;
	if (kind == BAWN_ENGINE_PODMAN && is_hybrid() && is_there("runc"))
		ret->runtime = "runc";
	ret->keep_id = kind == BAWN_ENGINE_PODMAN && geteuid() != 0;
}

/* NOLINTEND(concurrency-mt-unsafe) */
