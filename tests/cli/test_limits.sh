#!/bin/sh
# What is said of a memory limit that is too small: a limit that works at once, the same whatever was given, and
# "the smallest" only where one byte less does not work.   test_limits.sh KNNG
knng=$1
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname -- "$0")/common.sh"
need_numpy

"$python" - <<'PY'
import gzip
import numpy as np
r = np.random.default_rng(3)
x = r.standard_normal((500, 8)).astype("f4")
np.save("x.npy", x)
np.save("q.npy", x[:50] + 1)
np.save("columns.npy", np.asfortranarray(x))
np.save("b.npy", r.integers(0, 256, (3000, 200)).astype("u1"))
# Rows that take much more than the work on them: best left in their file, or held under the least limit that holds them.
np.save("left.npy", r.integers(0, 256, (2500, 400)).astype("u1"))
np.save("held.npy", r.integers(0, 256, (2500, 170)).astype("u1"))
# Columns are held twice while rows are read, here beside others.
np.save("few.npy", r.standard_normal((220, 300)).astype("f4"))
np.save("many_columns.npy", np.asfortranarray(r.standard_normal((800, 300)).astype("f4")))
gzip.open("x.npy.gz", "wb").write(open("x.npy", "rb").read())
PY
expect 0 "$knng" build x.npy -k 3 -q -o x.npz
expect 0 "$knng" build x.npy -k 3 -q -o x.knng
expect 0 "$knng" build b.npy -k 3 -q -o b.knng

# try_limits KIND LIMITS COMMAND...: under all of LIMITS the same is said, which is true; KIND: smallest or enough.
try_limits() {
  kind=$1 limits=$2 said=
  shift 2
  for limit in $limits; do
    expect 5 "$@" --max-memory "$limit"
    line=$(sed -n 's/^knng: --max-memory [0-9]* is too small: //p' err)
    [ -n "$line" ] || die "not one line about --max-memory: $* --max-memory $limit"
    [ "${said:=$line}" = "$line" ] || die "not '$said' as under other limits: $* --max-memory $limit"
  done
  case $kind:$said in
    smallest:"the smallest that works is "* | enough:*" would do") ;;
    *) die "'$said' is not of kind $kind: $*" ;;
  esac
  number=$(echo "$said" | tr -dc 0-9)
  expect 0 "$@" --max-memory "$number"
  case $said in "the smallest"*) expect 5 "$@" --max-memory "$((number - 1))" ;; esac
}

few='1 500 10KB 20KB' more='1 500 10KB 20KB 100KB 700KB'
export KNNG_DEVICE=cpu
try_limits smallest "$few 50KB" "$knng" build x.npy -k 3 -q
[ "$number" -lt 72000 ] || die "$number for what works with 71000"
try_limits smallest "$few 50KB" "$knng" estimate x.npy -k 3
try_limits smallest "$few" "$knng" estimate x.npy -k 3 --queries 500
try_limits smallest "$few" "$knng" build columns.npy -k 3 -q
try_limits smallest "$few" "$knng" build x.npy.gz -k 3 -q
try_limits smallest "$more" "$knng" build b.npy -k 3 -q
try_limits smallest "$more" "$knng" build b.npy -k 3 -q -m spearman
try_limits smallest "$more 1MB" "$knng" build x.npy -k 100 -q
try_limits smallest "$few" "$knng" build x.npy q.npy -k 3 -q
try_limits smallest "$few" "$knng" build x.npy.gz q.npy -k 3 -q
try_limits smallest "$more" "$knng" build left.npy -k 1 -q
[ "$number" -lt 1333336 ] || die "$number, though less leaves the rows in their file"
try_limits smallest "$few 100KB 500KB" "$knng" build held.npy -k 1 -q
[ "$number" -eq 566668 ] || die "$number, not the least that holds the rows"
try_limits smallest "$few" "$knng" estimate held.npy -k 10
try_limits enough "$more" "$knng" estimate left.npy left.npy -k 1
try_limits enough "$more" "$knng" build held.npy held.npy -k 1 -q
try_limits enough "$few" "$knng" query x.npy q.npy -k 3 -q -o q.npz
expect 5 "$knng" query x.npy q.npy -k 3 -q -o q.npz --max-memory "$((number - 1))"
try_limits enough "$few" "$knng" query x.npy.gz q.npy -k 3 -q -o q.npz
try_limits enough "$more 28700 40KB 56KB 780KB" "$knng" query b.npy b.npy -k 3 -q -o q.npz
try_limits enough "$more" "$knng" query few.npy many_columns.npy -k 1 -q -o q.npz
try_limits enough "$more" "$knng" query left.npy left.npy -k 1 -q -o q.npz

try_limits enough '1 500 1000 4000' "$knng" info x.npy
try_limits enough '1 500 10KB' "$knng" info x.npy.gz
try_limits enough '1 500 10KB' "$knng" info columns.npy
try_limits enough '1 500 10KB' "$knng" info x.npz
try_limits enough '1 500 10KB' "$knng" info x.knng
try_limits enough '1 500 10KB' "$knng" convert x.npz -o converted.knng -q
try_limits enough '1 500 10KB' "$knng" convert x.knng -o converted.npz -q
try_limits enough "$few" "$knng" info x.npz --report
try_limits enough "$few" "$knng" info x.knng --report
try_limits enough '1 500 1000 10KB' "$knng" check x.npz x.npy
try_limits enough '1 500 1000 10KB' "$knng" check x.npz x.npy.gz -q
# With room for the rows they are held, and the check needs more than with rows in their file.
try_limits enough '22KB 27KB' "$knng" check x.npz x.npy
[ "$number" -gt 27000 ] || die "$number for more than 27 KB"
try_limits enough '1 500 10KB' "$knng" check b.knng b.npy --rows 100

# However the limit is given, and what it is called then.
refused 5 'max_host_bytes=10000 is too small: the smallest that works is' "$knng" build x.npy -k 3 --set max_host_bytes=10KB -o least.npz
said=$(sed 's/.*: //' err)
refused 5 "max_host_bytes=10000 (environment variable KNNG_MAX_HOST_BYTES) is too small: $said" env KNNG_MAX_HOST_BYTES=10000 "$knng" build x.npy -k 3 -o least.npz
variable='max_host_bytes=1000 (environment variable KNNG_MAX_HOST_BYTES) is too small: '
refused 5 "$variable" env KNNG_MAX_HOST_BYTES=1000 "$knng" check x.npz x.npy
grep -q ' would do$' err || die 'no limit for check'
# Warnings of a check come once.
expect 5 "$knng" check x.npz x.npy -m manhattan --max-memory 22KB
[ "$(grep -c 'warning' err)" -le 1 ] || die 'a warning for each limit that was tried'
# Another fault that is found on the way is reported instead.
refused 2 "'q.npy': rows have 8 columns" "$knng" query b.npy q.npy -k 3 -o least.npz --max-memory 1
refused 2 'k=500 needs at least 501 rows' "$knng" build x.npy -k 500 -o least.npz --max-memory 1
