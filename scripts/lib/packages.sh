# What the tests need from package registries, kept between runs in one folder. Sourced by scripts/test.
# shellcheck shell=bash

policy_file=
cluster_conf=

# The folder must be readable by the servers' user, which a home directory often is not, and ours alone to write.
open_cache() {
  cache=${ONEBELL_TEST_CACHE:-/var/tmp/onebell-tests-$(id -u)}
  umask 022
  mkdir -p -- "$cache"
  [[ -d $cache && -O $cache && ! -L $cache ]] ||
    fail "$cache is not a folder of this user" "remove it, or name another with ONEBELL_TEST_CACHE"
  chmod 755 -- "$cache"
  as_server test -x "$cache" ||
    fail "$cache is not readable by the user ${server_user:-$USER}" "name a folder that everybody may read with ONEBELL_TEST_CACHE"
  exec 9>"$cache/lock"
  if command -v flock >/dev/null; then
    flock -n 9 || { say "waiting for another run's set-up"; flock 9; }
  fi
}

close_cache() { exec 9>&-; }

# apt_install REASON PACKAGE…
apt_install() {
  local reason=$1
  shift
  command -v apt-get >/dev/null || fail "$reason is missing, and this system has no apt-get" "install it by hand: Debian calls it $*"
  [[ $(id -u) == 0 ]] || fail "$reason is missing, and only root can install it" "as root: apt-get install --no-install-recommends $*"
  say "$reason is missing: installing $*"
  if [[ ! -e /usr/sbin/policy-rc.d ]]; then # a package installed for tests must not start a service
    policy_file=/usr/sbin/policy-rc.d
    printf '#!/bin/sh\nexit 101\n' >"$policy_file"
    chmod 755 "$policy_file"
  fi
  apt_get update || fail "apt-get update failed" "see its message above; check the network and /etc/apt"
  if [[ " $* " == *" postgresql-"* ]]; then no_main_cluster; fi
  apt_get install -y --no-install-recommends "$@" || fail "apt-get could not install $*" "see its message above"
  undo_packages
}

# Waits for another apt-get: the option covers dpkg's lock, the loop the lists' one.
apt_get() {
  local try log
  log=$(mktemp)
  for try in {1..60}; do
    if DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@" </dev/null 9>&- >"$log" 2>&1; then
      rm -f -- "$log"
      return 0
    fi
    grep -q 'Could not get lock' "$log" || break
    [[ $try != 1 ]] || say "waiting for another apt-get"
    sleep 5
  done
  cat "$log" >&2
  rm -f -- "$log"
  return 1
}

# Debian's package would create a cluster of its own; the tests never use it, so none is left behind.
no_main_cluster() {
  local conf=/etc/postgresql-common/createcluster.conf
  apt_get install -y --no-install-recommends postgresql-common || fail "apt-get could not install postgresql-common" "see its message above"
  [[ -e $conf ]] || return 0
  cp -p -- "$conf" "$conf.onebell"
  cluster_conf=$conf
  echo 'create_main_cluster = false' >>"$conf"
}

# Puts back what an installation changed for its own time; also after a failure.
undo_packages() {
  [[ -z $policy_file ]] || rm -f -- "$policy_file"
  policy_file=
  [[ -z $cluster_conf ]] || mv -f -- "$cluster_conf.onebell" "$cluster_conf"
  cluster_conf=
}

need_compiler() {
  command -v cargo >/dev/null || fail "cargo is missing" "install Rust as rust-toolchain.toml names it"
  command -v cc >/dev/null || apt_install "a C compiler" gcc libc6-dev
}

find_python() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -m pip --version >/dev/null 2>&1; then
      python=$("$candidate" -c 'import sys; print(sys.executable)')
      return 0
    fi
  done
  return 1
}

# wheel NAME VERSION: installs a Python package into a folder of the cache; sets $wheel to it.
wheel() {
  wheel=$cache/$1-$2
  if [[ -d $wheel ]]; then return 0; fi
  if ! find_python; then
    apt_install "Python's pip" python3 python3-pip
    find_python || fail "python3 -m pip does not work" "repair Python's pip, or install python3-pip"
  fi
  local fresh
  fresh=$(mktemp -d -- "$cache/fresh.XXXXXX")
  say "downloading $1 $2"
  "$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-compile --only-binary :all: \
    --target "$fresh" "$1==$2" 9>&- >&2 ||
    { rm -rf -- "$fresh"; fail "pip could not install $1 $2" "see its message above; check the network and that a wheel for this machine exists"; }
  chmod -R a+rX -- "$fresh"
  mv -- "$fresh" "$wheel"
}

# The mail server that the demo's sums are checked against.
find_aiosmtpd() {
  wheel aiosmtpd 1.4.6
  [[ -n ${python-} ]] || find_python || python=$(command -v python3) || { apt_install Python python3; python=$(command -v python3); }
  local launcher=$cache/python-with-aiosmtpd
  printf '#!/bin/sh\nPYTHONPATH=%q exec %q "$@"\n' "$wheel" "$python" >"$launcher.new"
  chmod 755 "$launcher.new"
  mv -f -- "$launcher.new" "$launcher"
  "$launcher" -c 'import aiosmtpd.controller' ||
    fail "aiosmtpd does not load under $python" "remove $wheel and run again"
  export ONEBELL_TEST_AIOSMTPD=$launcher
}

# PgBouncer 1.18 does not track prepared statements: the hard case. Newer ones are welcome too.
find_pgbouncer() {
  local candidate
  for candidate in "${ONEBELL_TEST_PGBOUNCER-}" "$(command -v pgbouncer || true)" /usr/sbin/pgbouncer; do
    if [[ -n $candidate ]] && as_server "$candidate" --version >/dev/null 2>&1; then
      export ONEBELL_TEST_PGBOUNCER=$candidate
      return 0
    fi
  done
  apt_install PgBouncer pgbouncer
  as_server /usr/sbin/pgbouncer --version >/dev/null || fail "the installed pgbouncer does not run" "see its message above"
  export ONEBELL_TEST_PGBOUNCER=/usr/sbin/pgbouncer
}

# A library that shifts the clock of one process.
find_faketime() {
  local candidate try
  for try in once again; do
    for candidate in "${ONEBELL_TEST_FAKETIME-}" /usr/lib/*/faketime/libfaketime.so.1 /usr/lib/faketime/libfaketime.so.1; do
      if [[ -n $candidate && -r $candidate ]]; then
        export ONEBELL_TEST_FAKETIME=$candidate
        return 0
      fi
    done
    [[ $try == again ]] || apt_install libfaketime libfaketime
  done
  fail "libfaketime was installed and is not found" "name the library with ONEBELL_TEST_FAKETIME"
}
