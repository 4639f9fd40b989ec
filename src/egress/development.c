/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The development default: where package managers and version control fetch from. Patterns cover a
 * whole domain, because indexes and files usually have hosts of their own. The address rules keep
 * internal networks closed whatever stands here.
 */
#include "egress/rules.h"

static const char *const hosts[] = {
	/* sources */
	"*.github.com",
	"*.githubusercontent.com",
	"*.gitlab.com",
	"*.bitbucket.org",
	"*.codeberg.org",
	"*.sr.ht",
	"*.kernel.org",
	"*.gnu.org",
	/* JavaScript */
	"*.npmjs.org",
	"*.npmjs.com",
	"*.yarnpkg.com",
	"*.nodejs.org",
	"*.jsr.io",
	"*.deno.land",
	/* Python */
	"*.pypi.org",
	"*.pythonhosted.org",
	"*.python.org",
	"*.anaconda.org",
	/* Rust, Go */
	"*.crates.io",
	"*.rust-lang.org",
	"*.golang.org",
	"*.go.dev",
	/* JVM, .NET, Ruby, PHP, Perl, Haskell, Elixir */
	"*.maven.org",
	"*.gradle.org",
	"*.nuget.org",
	"*.rubygems.org",
	"*.packagist.org",
	"*.cpan.org",
	"*.haskell.org",
	"*.hex.pm",
	/* distributions */
	"*.debian.org",
	"*.ubuntu.com",
	"*.alpinelinux.org",
	"*.archlinux.org",
	"*.fedoraproject.org",
	"*.opensuse.org",
	"*.nixos.org",
	NULL,
};

const char *const *bawn_egress_development_hosts(void)
{
	return hosts;
}
