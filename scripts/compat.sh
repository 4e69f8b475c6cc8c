#!/usr/bin/env bash
# Runs the contract of the stores against S3 servers of other makers: Ceph RGW, rclone and gofakes3.
# Starts them on free ports, with all files in one temporary folder, and stops and removes everything at the end.
# Ceph comes from apt; where it cannot be had, that is said and the others are tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh
# shellcheck source=scripts/tools.sh
source scripts/tools.sh
# shellcheck source=scripts/services.sh
source scripts/services.sh
# shellcheck source=scripts/compat-servers.sh
source scripts/compat-servers.sh

trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

need_go
while read -r name; do unset "$name"; done < <(compgen -e | grep -E '^(S3_|AWS_|RCLONE_|CEPH_)' || true)
rclone=$(rclone_path)
gofakes3=$(gofakes3_path)

make_work_folder
go build -o "$work/testenv" ./scripts/testenv
TEST_S3_ACCESS_KEY_ID=test-$("$work/testenv" secret | cut -c1-12)
TEST_S3_SECRET_ACCESS_KEY=$("$work/testenv" secret)
export TEST_S3_ACCESS_KEY_ID TEST_S3_SECRET_ACCESS_KEY

start_rclone "$rclone"
start_gofakes3 "$gofakes3"
if have_ceph; then
	start_rgw
else
	say "Ceph RGW is left out: apt does not give radosgw, ceph-mon and ceph-osd on this machine"
fi

run go test -count=1 -v ./storage -run '^TestCompat$' "$@"
