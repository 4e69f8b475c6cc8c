# shellcheck shell=bash
# The servers of compat.sh. Sourced by it. Keys are made for each run and die with it, so `ps` may show them.

readonly RCLONE_VERSION=v1.76.0
readonly GOFAKES3_VERSION=v1.2.0

gofakes3_path() { go_tool gofakes3 "$GOFAKES3_VERSION" github.com/johannesboyne/gofakes3/cmd/gofakes3; }

# rclone_path builds rclone with the local backend alone: all of them take ten times as long.
rclone_path() {
	local path build
	path=$(tools_cache)/rclone-s3-$RCLONE_VERSION
	if [[ ! -x $path ]]; then
		say "building rclone $RCLONE_VERSION (once, into ${path%/*})"
		mkdir -p "${path%/*}"
		build=$(mktemp -d "${path%/*}/build.XXXXXX")
		cat >"$build/main.go" <<-'END'
			package main

			import (
				_ "github.com/rclone/rclone/backend/local"
				"github.com/rclone/rclone/cmd"
				_ "github.com/rclone/rclone/cmd/serve/s3"
			)

			func main() { cmd.Main() }
		END
		if ! (cd "$build" && export GOFLAGS='' && go mod init compat && go get "github.com/rclone/rclone/backend/local@$RCLONE_VERSION" \
			"github.com/rclone/rclone/cmd@$RCLONE_VERSION" "github.com/rclone/rclone/cmd/serve/s3@$RCLONE_VERSION" &&
			go build -o rclone .) >&2; then
			rm -rf "$build"
			die "build rclone $RCLONE_VERSION: see above"
		fi
		mv "$build/rclone" "$path"
		rm -rf "$build"
	fi
	printf '%s\n' "$path"
}

# wait_for_port PID PORT LOG until somebody listens there.
wait_for_port() {
	local tries=0
	until (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; do
		if ! alive "$1" || ((tries++ > 600)); then
			die "it did not start:"$'\n'"$(tail -n 20 "$3")"
		fi
		sleep 0.1
	done
}

start_rclone() {
	local port
	port=$("$work/testenv" port)
	say "starting rclone serve s3"
	mkdir "$work/rclone"
	serve "$work/rclone.log" "$1" serve s3 --addr "127.0.0.1:$port" \
		--auth-key "$TEST_S3_ACCESS_KEY_ID,$TEST_S3_SECRET_ACCESS_KEY" "$work/rclone"
	wait_for_port "$server_pid" "$port" "$work/rclone.log"
	export TEST_COMPAT_RCLONE=http://127.0.0.1:$port
}

start_gofakes3() {
	local port
	port=$("$work/testenv" port)
	say "starting gofakes3"
	serve "$work/gofakes3.log" "$1" -backend memory -host "127.0.0.1:$port"
	wait_for_port "$server_pid" "$port" "$work/gofakes3.log"
	export TEST_COMPAT_GOFAKES3=http://127.0.0.1:$port
}

ceph_programs() {
	local name
	for name in radosgw radosgw-admin ceph-mon ceph-osd ceph monmaptool; do
		command -v "$name" >/dev/null || return 1
	done
}

# have_ceph in a subshell, since installing may die.
have_ceph() { ceph_programs || (install_packages radosgw ceph-mon ceph-osd) && ceph_programs; }

# start_rgw starts the smallest cluster that serves objects: one monitor, one disk in memory, one gateway.
start_rgw() {
	local dir=$work/ceph disk mon_port port
	disk=$(cat /proc/sys/kernel/random/uuid)
	mon_port=$("$work/testenv" port)
	port=$("$work/testenv" port)
	say "starting $(radosgw --version | cut -d' ' -f1-3)"
	mkdir "$dir" "$dir/osd"
	ceph_settings "$dir" "$mon_port" >"$dir/ceph.conf"
	export CEPH_CONF=$dir/ceph.conf

	monmaptool --create --addv a "[v1:127.0.0.1:$mon_port]" --fsid "$(sed -n 's/^fsid = //p' "$CEPH_CONF")" "$dir/monmap" >/dev/null
	ceph-mon --mkfs -i a --monmap "$dir/monmap"
	serve "$dir/mon.log" ceph-mon -i a -f
	timeout 60 ceph osd new "$disk" >/dev/null || die "start Ceph's monitor:"$'\n'"$(tail -n 20 "$dir/mon.log")"
	ceph-osd -i 0 --mkfs --osd-uuid "$disk" 2>"$dir/mkfs.log" || die "make Ceph's disk:"$'\n'"$(cat "$dir/mkfs.log")"
	serve "$dir/osd.log" ceph-osd -i 0 -f
	timeout 90 radosgw-admin user create --uid test --display-name test --access-key "$TEST_S3_ACCESS_KEY_ID" \
		--secret "$TEST_S3_SECRET_ACCESS_KEY" >"$dir/user.log" 2>&1 || die "make a user of Ceph RGW:"$'\n'"$(tail -n 20 "$dir/user.log")"
	serve "$dir/rgw.log" radosgw -n client.rgw -f --rgw-frontends "beast endpoint=127.0.0.1:$port"
	wait_for_port "$server_pid" "$port" "$dir/rgw.log"
	export TEST_COMPAT_RGW=http://127.0.0.1:$port
}

ceph_settings() {
	cat <<-END
		[global]
		fsid = $(cat /proc/sys/kernel/random/uuid)
		mon host = [v1:127.0.0.1:$2]
		auth cluster required = none
		auth service required = none
		auth client required = none
		run dir = $1
		admin socket = $1/\$name.asok
		pid file =
		log file =
		mon cluster log file =
		keyring = $1/keyring
		mon data = $1/mon
		mon data avail crit = 1
		mon allow pool size one = true
		osd data = $1/osd
		osd objectstore = memstore
		memstore device bytes = 2147483648
		osd crush chooseleaf type = 0
		osd pool default size = 1
		osd pool default min size = 1
		osd pool default pg num = 1
		osd pool default pgp num = 1
		rgw data = $1/rgw
	END
}
