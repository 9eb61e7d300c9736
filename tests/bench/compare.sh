#!/bin/sh
# Times libknng and other libraries side by side and prints one Markdown table of ratios.
#
#   sh tests/bench/compare.sh [options] DATA:N:D:K[:DTYPE] ...
#     -b DIR      build directory with bin/knng_bench (default: .build)
#     -r ROUNDS   each round runs libknng and then the peers; ratios are taken within a round (default: 3)
#     -w WARMUPS  builds and searches before the one that counts, in every round (default: 1)
#     -e ENGINES  libknng's engines, separated by commas (default: auto)
#     -p PEERS    faiss-knn, faiss-flat, sklearn, separated by commas (default: faiss-knn,sklearn)
#     -t THREADS  for all of them (default: as many as there are cores for this process)
#     -x OPTION   one more option of knng_bench, such as --no-amx (default: none)
#     -o CORETYPE OpenBLAS's kernels for the peers, where it does not know the processor (default: its own choice)
#     -v ROWS     rows of libknng's graph that are checked against the definition (default: 100)
#     -k DIR      keep data, graphs and JSON there (default: a temporary directory that is removed)
#
# Taking turns keeps the ratios right where a machine's speed drifts or other programs run. Needs Debian's python3-faiss,
# python3-sklearn, libopenblas0-pthread. Knows nothing of what the programs measure: table.py makes the table.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../.build
rounds=3 warmups=1 engines=auto peers=faiss-knn,sklearn threads=0 verify=100 option="" kernels="" keep=""
command="compare.sh $*"
while getopts b:r:w:e:p:t:x:o:v:k: letter; do
  case $letter in
    b) build=$OPTARG ;;
    r) rounds=$OPTARG ;;
    w) warmups=$OPTARG ;;
    e) engines=$OPTARG ;;
    p) peers=$OPTARG ;;
    t) threads=$OPTARG ;;
    x) option=$OPTARG ;;
    o) kernels=$OPTARG ;;
    v) verify=$OPTARG ;;
    k) keep=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { sed -n '4,16s/^# *//p' "$0" >&2; exit 2; }
bench=$build/bin/knng_bench
[ -x "$bench" ] || { echo "compare.sh: $bench is not there: ninja -C $build knng_bench" >&2; exit 2; }

if [ -n "$keep" ]; then
  mkdir -p "$keep"
  results=$keep
else
  results=$(mktemp -d)
  trap 'rm -rf "$results"' EXIT
  trap 'exit 130' INT TERM
fi

case_number=100  # so that names sort
for case in "$@"; do
  case_number=$((case_number + 1))
  IFS=: read -r data n d k dtype <<EOF
$case
EOF
  [ -n "$k" ] || { echo "compare.sh: $case: it takes DATA:N:D:K or DATA:N:D:K:DTYPE" >&2; exit 2; }
  round=0
  while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    echo "$case, round $round of $rounds" >&2
    rows=$results/rows.npy graph=$results/graph.npz
    to=$results/$case_number-$(printf %03d "$round")
    # The data, the graph and the comparisons are the same in every round.
    if [ "$round" -eq 1 ]; then
      "$bench" --data "$data" -n "$n" -d "$d" -k "$k" --dtype "${dtype:-f32}" --engine "$engines" --threads "$threads" \
        ${option:+"$option"} --warmup "$warmups" --runs 1 --verify "$verify" --write-data "$rows" --save-graph "$graph" \
        --json "$to-ours.json" >"$to-ours.txt" 2>/dev/null || { cat "$to-ours.txt" >&2; exit 1; }
      /usr/bin/python3 "$here/peers.py" "$rows" -k "$k" --peers "$peers" --threads "$threads" --warmup "$warmups" \
        --openblas "$kernels" --runs 1 --graph "$graph" --json "$to-peers.json" >"$to-peers.txt"
    else
      "$bench" --data "$data" -n "$n" -d "$d" -k "$k" --dtype "${dtype:-f32}" --engine "$engines" --threads "$threads" \
        ${option:+"$option"} --warmup "$warmups" --runs 1 --json "$to-ours.json" >"$to-ours.txt" 2>/dev/null
      /usr/bin/python3 "$here/peers.py" "$rows" -k "$k" --peers "$peers" --threads "$threads" --warmup "$warmups" \
        --openblas "$kernels" --runs 1 --json "$to-peers.json" >"$to-peers.txt"
    fi
  done
done
rm -f "$results/rows.npy" "$results/graph.npz"
/usr/bin/python3 "$here/table.py" --command "$command" "$results"
