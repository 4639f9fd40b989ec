/* SPDX-License-Identifier: Apache-2.0 */
/* libwasmtime.so, loaded by name: bawn is built and installed without it. */
#include "backend/wasm/runner/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const char *wt_load(const char *library, struct wt_api *ret)
{
	static char why[256];
	static const char *const names[] = {
#define X(type, name, args) #name,
		WT_API(X)
#undef X
	};
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		(void)snprintf(why, sizeof(why), "%s",
			dlerror()); /* NOLINT(concurrency-mt-unsafe): no threads yet */
		return why;
	}
	_Static_assert(sizeof(*ret) == sizeof(names), "one pointer per name");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *f = dlsym(handle, names[i]);

		if (!f) {
			(void)snprintf(why, sizeof(why),
				"has no '%s'; wasmtime 49 or newer is needed", names[i]);
			return why;
		}
		memcpy((char *)ret + i * sizeof(f), &f, sizeof(f));
	}
	return NULL;
}
