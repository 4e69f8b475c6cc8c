# shellcheck shell=bash
# Starts and stops the services for the tests. Sourced by with-services.sh.
# What runs in the background is a process group of its own (set -m): Ctrl-C reaches only the script, which then stops
# the others in order, with all their children.

work=''        # the temporary folder that holds every file of this run
command_pid='' # process group of the command that runs now

# make_work_folder also moves TMPDIR, so that what a killed test leaves is removed with the rest.
make_work_folder() {
	work=$(mktemp -d "$(roomy_folder)/afterimage-test.XXXXXX")
	# The PostgreSQL user has to walk through it, and through tmp for the servers that tests start; the folders inside
	# are closed.
	chmod 711 "$work"
	mkdir -m 711 "$work/tmp"
	mkdir -m 700 "$work/s3" "$work/s3tls"
	export TMPDIR=$work/tmp
}

# roomy_folder is memory where there is plenty of it: the tests write thousands of small databases, and each commit
# would wait for the disk.
roomy_folder() {
	local free
	free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1 || true)
	if [[ -z ${TMPDIR:-} ]] && ((${free:-0} > 6 * 1024 * 1024)) && runs_programs /dev/shm; then
		echo /dev/shm
	else
		echo "${TMPDIR:-/tmp}"
	fi
}

# runs_programs FOLDER: containers often mount it without that right.
runs_programs() {
	local probe status=0
	probe=$(mktemp "$1/afterimage-probe.XXXXXX" 2>/dev/null) || return 1
	printf '#!/bin/sh\n' >"$probe"
	chmod +x "$probe"
	"$probe" 2>/dev/null || status=1
	rm -f "$probe"
	return "$status"
}

# run COMMAND... in the background, so that a signal is answered at once and not when the command ends.
run() {
	local status=0
	set -m
	"$@" </dev/null &
	set +m
	command_pid=$!
	wait "$command_pid" || status=$?
	kill -KILL -- "-$command_pid" 2>/dev/null || true # children that it left behind
	command_pid=''
	return "$status"
}

# serve LOG COMMAND... starts a server and sets server_pid.
serve() {
	local log=$1
	shift
	set -m
	"$@" </dev/null >"$log" 2>&1 &
	set +m
	server_pid=$!
}

alive() { kill -0 -- "$1" 2>/dev/null; }

# stop_group SIGNAL PID sends the signal to the group, waits up to 10 s and then kills what is left.
stop_group() {
	local signal=$1 pid=$2 tries=0
	kill "-$signal" -- "-$pid" 2>/dev/null || return 0
	while kill -0 -- "-$pid" 2>/dev/null && ((tries++ < 100)); do sleep 0.1; done
	kill -KILL -- "-$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

clean_up() {
	local status=$? pid
	trap '' HUP INT TERM
	trap - EXIT
	[[ -z $command_pid ]] || stop_group TERM "$command_pid"
	for pid in $(jobs -p); do
		stop_group INT "$pid" # for PostgreSQL a fast shutdown
	done
	allow_system_cluster
	if [[ -n $work ]]; then
		chmod -R u+w "$work/tmp" 2>/dev/null || true # tests make folders read-only
		rm -rf "$work"
	fi
	exit "$status"
}

# choose_postgres_user: PostgreSQL refuses to run as root.
choose_postgres_user() {
	local user=postgres
	as_postgres=()
	((EUID == 0)) || return 0
	command -v runuser >/dev/null || die "runuser is missing (package util-linux): PostgreSQL does not run as root"
	id -u "$user" >/dev/null 2>&1 || user=nobody
	as_postgres=(runuser -u "$user" --)
	chown -R "$user" "$1"
}

# start_postgres: data is thrown away at the end, so nothing is synced to disk (fsync off).
start_postgres() {
	local bin dir=$work/pg secret port try
	bin=$(postgres_bin)
	secret=$("$work/testenv" secret)
	mkdir -m 700 "$dir"
	printf '%s\n' "$secret" >"$dir/password"
	choose_postgres_user "$dir"

	say "starting $("$bin/postgres" --version)"
	# From /, since the unprivileged user may not enter the checkout.
	(cd / && "${as_postgres[@]}" "$bin/initdb" -D "$dir/data" -U postgres -E UTF8 --locale=C -A scram-sha-256 \
		--pwfile="$dir/password" --no-sync >"$work/initdb.log" 2>&1) ||
		die "initdb in $dir:"$'\n'"$(cat "$work/initdb.log")"

	for try in 1 2 3; do
		port=$("$work/testenv" port)
		serve "$work/postgres.log" "${as_postgres[@]}" "$bin/postgres" -D "$dir/data" -k "$dir" -h 127.0.0.1 \
			-p "$port" -F -c max_connections=200
		TEST_POSTGRES_URL="postgres://postgres:$secret@127.0.0.1:$port/postgres?sslmode=disable"
		if wait_for_postgres "$server_pid" "$bin" "$dir/data"; then
			export TEST_POSTGRES_URL
			return
		fi
		say "PostgreSQL did not start on port $port (try $try of 3)"
	done
	die "start PostgreSQL:"$'\n'"$(tail -n 20 "$work/postgres.log")"
}

# wait_for_postgres asks whoever answers where its data is: another server could have taken the port.
wait_for_postgres() {
	local pid=$1 bin=$2 data=$3 tries=0
	while alive "$pid" && ((tries++ < 300)); do
		if [[ $(psql_value "$bin" 'SHOW data_directory') == "$data" ]]; then
			return 0
		fi
		sleep 0.1
	done
	return 1
}

psql_value() { "$1/psql" -XAtq -c "$2" "$TEST_POSTGRES_URL" 2>/dev/null || true; }

# start_stores BINARY starts one S3 server over http and one over https, with keys made for this run.
start_stores() {
	local binary=$1
	TEST_S3_ACCESS_KEY_ID=test-$("$work/testenv" secret | cut -c1-12)
	TEST_S3_SECRET_ACCESS_KEY=$("$work/testenv" secret)
	TEST_S3_CA_FILE=$work/ca.pem
	"$work/testenv" cert "$work/ca.pem" "$work/server.pem" "$work/server-key.pem"

	say "starting versitygw over http and https"
	start_store "$binary" http "$work/s3" ''
	TEST_S3_ENDPOINT=$store_url
	start_store "$binary" https "$work/s3tls" "$TEST_S3_CA_FILE"
	TEST_S3_ENDPOINT_TLS=$store_url
	export TEST_S3_ACCESS_KEY_ID TEST_S3_SECRET_ACCESS_KEY TEST_S3_CA_FILE TEST_S3_ENDPOINT TEST_S3_ENDPOINT_TLS
}

# start_store BINARY SCHEME FOLDER CA sets store_url. The health path is a secret of this run: only our server knows it.
start_store() {
	local binary=$1 scheme=$2 folder=$3 ca=$4 log=$work/$2.log health port try options=() sidecar=()
	health=/health-$("$work/testenv" secret)
	[[ $scheme == http ]] || options=(--cert "$work/server.pem" --key "$work/server-key.pem")
	mkdir -m 700 "$folder/objects" "$folder/meta"
	for try in 1 2 3; do
		port=$("$work/testenv" port)
		# Keys by environment, so that `ps` does not show them.
		ROOT_ACCESS_KEY=$TEST_S3_ACCESS_KEY_ID ROOT_SECRET_KEY=$TEST_S3_SECRET_ACCESS_KEY serve "$log" \
			"$binary" --port "127.0.0.1:$port" --health "$health" --quiet --keep-alive "${options[@]}" \
			posix "${sidecar[@]}" "$folder/objects"
		store_url=$scheme://127.0.0.1:$port
		if "$work/testenv" wait "$server_pid" "$store_url$health" "$ca"; then
			return
		fi
		if grep -qi xattr "$log"; then
			sidecar=(--sidecar "$folder/meta") # this file system has no extended attributes
		fi
		say "versitygw did not start on port $port (try $try of 3)"
	done
	die "start versitygw over $scheme:"$'\n'"$(tail -n 20 "$log")"
}
