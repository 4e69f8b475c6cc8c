# shellcheck shell=bash
# Finds the tools that the checks and tests use and installs what is missing. Sourced after lib.sh.
# Go tools are built at pinned versions into the cache, as is OpenAI's npm package; PostgreSQL, PgBouncer, Chromium,
# Node.js, a font and a C compiler come from apt.

readonly STATICCHECK_VERSION=v0.8.2
readonly VERSITYGW_VERSION=v1.8.0
readonly OPENAI_NPM_VERSION=6.30.1 # 7 needs a newer Node.js than distributions have
readonly OPENAPI_NPM=(@seriousme/openapi-schema-validator@2.11.0 openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3)
readonly AXE_VERSION=4.14.1
readonly POSTGRES_MAJOR=15

# go_tool NAME VERSION PACKAGE prints the path of a tool, which it builds the first time.
go_tool() {
	local name=$1 version=$2 package=$3 cache path build
	cache=$(tools_cache)
	path=$cache/$name-$version
	if [[ ! -x $path ]]; then
		say "building $name $version (once, into $cache)"
		mkdir -p "$cache"
		build=$(mktemp -d "$cache/build.XXXXXX")
		# A rename at the end, so that an interrupted build or a second run never leaves half a tool.
		if ! GOFLAGS='' GOBIN=$build go install "$package@$version" >&2; then
			rm -rf "$build"
			die "build $name $version: see above"
		fi
		mv "$build/$name" "$path"
		rm -rf "$build"
	fi
	printf '%s\n' "$path"
}

staticcheck_path() { go_tool staticcheck "$STATICCHECK_VERSION" honnef.co/go/tools/cmd/staticcheck; }
versitygw_path() { go_tool versitygw "$VERSITYGW_VERSION" github.com/versity/versitygw/cmd/versitygw; }

# openai_go_client prints the path of testclients/main.go as a program. It is built again when the folder changes, and
# without optimizations, which would take most of the time.
openai_go_client() {
	local cache path
	cache=$(tools_cache)
	path=$cache/openai-go-client-$(cat testclients/go.mod testclients/go.sum testclients/*.go | sha256sum | cut -c1-16)
	if [[ ! -x $path ]]; then
		say "building the client on OpenAI's Go library (into $cache)"
		mkdir -p "$cache"
		rm -f "$cache"/openai-go-client-*
		GOFLAGS='' go -C testclients build -gcflags='github.com/openai/...=-N -l' -o "$path.$$" . >&2 || return
		mv "$path.$$" "$path"
	fi
	printf '%s\n' "$path"
}

# npm_folder NAME PACKAGE@VERSION... prints a folder of npm packages, which it installs the first time.
npm_folder() {
	local name=$1 cache path build
	shift
	cache=$(tools_cache)
	path=$cache/$name
	if [[ ! -d $path ]]; then
		say "installing $* from npm (once, into $cache)"
		mkdir -p "$cache"
		build=$(mktemp -d "$cache/build.XXXXXX")
		npm install --prefix "$build" --silent --ignore-scripts --no-audit --no-fund "$@" >&2 || return
		mv "$build" "$path"
	fi
	printf '%s\n' "$path/node_modules"
}

openai_npm() { npm_folder "openai-npm-$OPENAI_NPM_VERSION" "openai@$OPENAI_NPM_VERSION"; }

# openapi_npm has what judges our OpenAPI description, makes a client of it and compiles that.
openapi_npm() { npm_folder "openapi-npm-1" "${OPENAPI_NPM[@]}"; }

# axe_core prints the path of the script that finds what a page keeps from people who cannot see, hear or point.
axe_core() { printf '%s/axe-core/axe.min.js\n' "$(npm_folder "axe-core-npm-$AXE_VERSION" "axe-core@$AXE_VERSION")"; }

# postgres_bin prints the folder of the PostgreSQL binaries: the pinned major version, else the newest that is newer.
postgres_bin() {
	local dir major best='' best_major=0
	for dir in "/usr/lib/postgresql/$POSTGRES_MAJOR/bin" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin \
		"$(dirname "$(command -v initdb || echo /none/initdb)")"; do
		[[ -x $dir/initdb && -x $dir/postgres && -x $dir/psql ]] || continue
		major=$("$dir/postgres" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/')
		if ((major == POSTGRES_MAJOR)); then
			printf '%s\n' "$dir"
			return
		fi
		if ((major > POSTGRES_MAJOR && major > best_major)); then
			best=$dir best_major=$major
		fi
	done
	[[ -n $best ]] && printf '%s\n' "$best"
}

# pgbouncer_path: Debian keeps it in /usr/sbin, which is not in everybody's PATH.
pgbouncer_path() { PATH=$PATH:/usr/sbin:/usr/local/sbin command -v pgbouncer; }

# chromium_path prints a browser that starts. Ubuntu's chromium-browser may be a stub that only asks for snap.
chromium_path() {
	local name path
	for name in ${TEST_CHROMIUM:+"$TEST_CHROMIUM"} chromium chromium-browser google-chrome-stable google-chrome; do
		path=$(command -v "$name") || continue
		if "$path" --version >/dev/null 2>&1; then
			printf '%s\n' "$path"
			return
		fi
	done
	return 1
}

# has_cjk_font: without one Chinese text is drawn as boxes and the browser tests measure the wrong widths.
has_cjk_font() {
	command -v fc-list >/dev/null && [[ -n $(fc-list :lang=zh family) ]]
}

# has_c_compiler: the race detector needs cgo.
has_c_compiler() {
	local compiler
	read -r compiler _ < <(go env CC)
	command -v "$compiler" >/dev/null
}

# require_system_tools makes sure that what comes from the system is there, and asks for all of it at once.
require_system_tools() {
	local missing=()
	has_c_compiler || missing+=(gcc libc6-dev)
	postgres_bin >/dev/null || missing+=("$(postgres_package)")
	pgbouncer_path >/dev/null || missing+=(pgbouncer)
	chromium_path >/dev/null || missing+=(chromium)
	has_cjk_font || missing+=(fontconfig fonts-noto-cjk)
	command -v curl >/dev/null || missing+=(curl)
	command -v node >/dev/null || missing+=(nodejs)
	command -v npm >/dev/null || missing+=(npm)
	((${#missing[@]} == 0)) && return
	install_packages "${missing[@]}"
	has_c_compiler || die "a C compiler is still missing after installing gcc: the race detector needs one"
	postgres_bin >/dev/null || die "PostgreSQL $POSTGRES_MAJOR or newer is still missing after installing it"
	pgbouncer_path >/dev/null || die "pgbouncer is still missing after installing it"
	chromium_path >/dev/null ||
		die "no Chromium that starts: install chromium or google-chrome, or set TEST_CHROMIUM to its path"
}

# postgres_package: the pinned version where the distribution has it, else the one it ships.
postgres_package() {
	if ! command -v apt-cache >/dev/null || [[ -n $(apt-cache madison "postgresql-$POSTGRES_MAJOR" 2>/dev/null) ]]; then
		printf 'postgresql-%s\n' "$POSTGRES_MAJOR"
	else
		printf 'postgresql\n'
	fi
}

as_root=() # sudo, where it is needed

# install_packages NAME... by apt, as root or through sudo; elsewhere it says what to install.
install_packages() {
	command -v apt-get >/dev/null ||
		die "missing: $* (names as in Debian). This is not a Debian-like system: install them with its package manager" \
			"(PostgreSQL $POSTGRES_MAJOR or newer: only the programs, no running server) and run this again"
	if ((EUID != 0)); then
		if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
			die "missing: $*. Neither root nor sudo without a password: run" \
				"\`apt-get install --no-install-recommends $*\` as root and run this again"
		fi
		as_root=(sudo)
	fi
	say "installing $*"
	forbid_system_cluster
	apt_install "$@" || die "install $*: see what apt says above"
	allow_system_cluster
}

readonly CLUSTER_DIR=/etc/postgresql-common/createcluster.d
readonly CLUSTER_FILE=$CLUSTER_DIR/afterimage-test.conf

# forbid_system_cluster tells Debian not to create and start a PostgreSQL server of its own on installing.
forbid_system_cluster() {
	"${as_root[@]}" mkdir -p "$CLUSTER_DIR"
	printf 'create_main_cluster = false\n' | "${as_root[@]}" tee "$CLUSTER_FILE" >/dev/null
}

# allow_system_cluster takes that back; it may be called at any time.
allow_system_cluster() {
	[[ ! -e $CLUSTER_FILE ]] || "${as_root[@]}" rm -f "$CLUSTER_FILE"
}

# apt_install tries what is known first, then with fresh package lists; another apt may hold the locks meanwhile.
apt_install() {
	local try
	apt_get install --no-install-recommends "$@" && return
	for try in 1 2 3 4 5; do
		if apt_get update && apt_get install --no-install-recommends "$@"; then
			return
		fi
		say "apt did not succeed (try $try of 5)"
		((try == 5)) || sleep 10
	done
	return 1
}

apt_get() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@" >&2
}
