# shellcheck shell=bash
# Words that the other scripts share: how they speak and where they cache tools. Sourced, never run.

# Tools live outside the repository, each under the version of Go that built it: staticcheck reads only what its own
# Go understands.
tools_cache() {
	printf '%s/afterimage-tools/%s\n' "${XDG_CACHE_HOME:-$HOME/.cache}" "$(go env GOVERSION)"
}

say() { printf '%s\n' "== $*" >&2; }

die() {
	printf '%s\n' "error: $*" >&2
	exit 1
}

need_go() {
	command -v go >/dev/null || die "go is not in PATH: install Go 1.26 or newer"
}
