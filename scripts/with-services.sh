#!/usr/bin/env bash
# Runs a command with the services that the tests use: `scripts/with-services.sh go test ./records`.
# Starts its own PostgreSQL and two versitygw (http and https) on free ports, with all files in one temporary folder,
# tells the command about them by TEST_* variables, and stops and removes everything when the command ends, fails or is
# interrupted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh
# shellcheck source=scripts/tools.sh
source scripts/tools.sh
# shellcheck source=scripts/services.sh
source scripts/services.sh

(($# > 0)) || die "usage: scripts/with-services.sh COMMAND [ARGUMENT...]"

trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Settings of the person who runs this must not steer the tests.
forget_settings() {
	local name
	while read -r name; do
		case $name in
		AFTERIMAGE_* | IMAGE_ARCHIVE_* | S3_* | OPENAI_* | AWS_* | DATABASE_URL*) unset "$name" ;;
		PG* | VGW_* | LOGFILE | WEBHOOK) unset "$name" ;; # PostgreSQL's and versitygw's own
		esac
	done < <(compgen -e)
}

need_go
forget_settings
require_system_tools
versitygw=$(versitygw_path)
TEST_CHROMIUM=$(chromium_path)
# With these a test starts servers of its own, to stop and kill them.
TEST_POSTGRES_BIN=$(postgres_bin)
TEST_PGBOUNCER=$(pgbouncer_path)
TEST_VERSITYGW=$versitygw
# OpenAI's own clients; without them only their test fails.
TEST_OPENAI_GO=$(openai_go_client) || say "OpenAI's Go library could not be built"
TEST_OPENAI_NPM=$(openai_npm) || say "OpenAI's npm package could not be installed"
# What judges our OpenAPI description and makes a client of it; likewise.
TEST_OPENAPI_NPM=$(openapi_npm) || say "the tools for OpenAPI could not be installed"
TEST_AXE=$(axe_core) || say "axe-core could not be installed"
export TEST_AXE TEST_CHROMIUM TEST_POSTGRES_BIN TEST_PGBOUNCER TEST_VERSITYGW TEST_OPENAI_GO TEST_OPENAI_NPM TEST_OPENAPI_NPM

make_work_folder
go build -o "$work/testenv" ./scripts/testenv
start_postgres
start_stores "$versitygw"

say "running $*"
run "$@"
