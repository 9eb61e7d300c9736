# shellcheck shell=sh
# For the tests of this folder to source: a working directory that goes away, and expectations that name what failed.
# shellcheck disable=SC2034 # used by those who source this
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
source_root=$(CDPATH='' cd -- "$here/../.." && pwd)
case ${knng-/} in
  /*) ;;
  *) knng=$PWD/$knng ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python=/usr/bin/python3
need_numpy() {
  "$python" -c 'import numpy' 2>/dev/null && return 0
  echo "skipped: $python with numpy is needed (python3-numpy)"
  exit 77
}

# Whether HDF5 files can be made and read here.
has_hdf5() { [ -e "${KNNG_BACKEND_DIR:-}/libknng_hdf5.so" ] && "$python" -c 'import h5py' 2>/dev/null; }

die() {
  echo "FAILED: $*" >&2
  [ ! -f out ] || sed 's/^/  stdout: /' out >&2
  [ ! -f err ] || sed 's/^/  stderr: /' err >&2
  exit 1
}

# expect CODE COMMAND...: the exit code; standard output and error are left in the files out and err.
expect() {
  expected=$1
  shift
  code=0
  "$@" >out 2>err </dev/null || code=$?
  [ "$code" -eq "$expected" ] || die "exit code $code instead of $expected: $*"
}

# refused CODE TEXT COMMAND...: nothing on standard output, one line "knng: ...TEXT..." on standard error.
refused() {
  refused_code=$1 refused_text=$2
  shift 2
  expect "$refused_code" "$@"
  [ ! -s out ] || die "something on standard output: $*"
  [ "$(wc -l <err)" -eq 1 ] || die "not one line on standard error: $*"
  grep -q '^knng: ' err || die "the line does not begin with knng: $*"
  grep -qF -- "$refused_text" err || die "the line does not say '$refused_text': $*"
}

out_has() { grep -qE -- "$1" out || die "standard output has no line like '$1'"; }
silent() { if [ -s out ] || [ -s err ]; then die "not silent: $*"; fi; }
