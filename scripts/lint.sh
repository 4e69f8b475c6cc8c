#!/usr/bin/env bash
# Checks the form of the code: gofmt, go vet, staticcheck.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh
# shellcheck source=scripts/tools.sh
source scripts/tools.sh

need_go

say "gofmt"
unformatted=$(gofmt -l .)
[[ -z $unformatted ]] || die "these files are not formatted; run \`gofmt -w\` on them:"$'\n'"$unformatted"

say "go vet"
go vet ./...

staticcheck=$(staticcheck_path)
say "staticcheck"
"$staticcheck" ./...
