#!/usr/bin/env bash
# Runs every check and test against real services: `scripts/test.sh`, or the tests alone that its arguments name,
# which go to `go test`: `scripts/test.sh ./storage -run TestPut`.
# TEST_LONG=1 adds the long tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=scripts/lib.sh
source scripts/lib.sh
# shellcheck source=scripts/tools.sh
source scripts/tools.sh
need_go

args=("$@")
if (($# == 0)); then
	# The first time it is mostly downloads, which fit beside the checks.
	{ versitygw_path && { openai_go_client || true; }; } >/dev/null &
	trap wait EXIT # also when a check fails: nothing goes on behind our back
	# With -race, as the tests are built: so every dependency is compiled once.
	GOFLAGS="${GOFLAGS:-} -race" scripts/lint.sh
	wait "$!"
	trap - EXIT
	args=(./...)
fi

timeout=9m
if [[ -n ${TEST_LONG:-} ]]; then
	timeout=60m
fi

# With CI=true a test fails where it would skip for want of a service.
CI=true exec scripts/with-services.sh go test -race -count=1 -timeout "$timeout" "${args[@]}"
