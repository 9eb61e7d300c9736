#!/bin/sh
# A list that is wrong ends the command with an exit code of its own, and nothing is written.
#   test_wrong_list.sh KNNG   (with simulated devices in KNNG_BACKEND_DIR)
knng=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

i=0
: >rows
while [ $i -lt 200 ]; do
  printf '%b' "\\0$(printf %o $((i * 37 % 251)))\\0$(printf %o $((i * 91 % 251)))" >>rows
  i=$((i + 1))
done
{ printf '\223NUMPY\001\000\166\000'; printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (40, 10), }"; cat rows; } >x.npy

set -- "$knng" build x.npy -k 5 -o graph.npz -q --device cuda:0 --set engine=tiled --set selector=quick
KNNG_FAKE_BEHAVIOUR="0:drops=11"
export KNNG_FAKE_BEHAVIOUR
expect 0 "$@" --set check_rows=0
rm graph.npz
expect 8 "$@" --set check_rows=40
grep -q "check_rows" err || die "the setting is not named: $(cat err)"
[ ! -e graph.npz ] || die "a graph was written"
KNNG_FAKE_BEHAVIOUR="" expect 0 "$@" --set check_rows=40
