#!/bin/sh
# The experiments of the papers whose methods libknng has, on the GPUs of this machine: one Markdown table for each
# figure, and what the paper says of it. Which sizes are the papers' and which are chosen here is said in
# docs/internals/benchmarks.md.
#
#   sh tests/bench/papers.sh [-b DIR] [-q] [TABLE ...]
#     -b DIR  build directory with bin/select_bench and bin/knng_bench (default: .build)
#     -q      quick: fewer sizes and trials, to see that it works
#     TABLE   quick5 quick6 quick7 quick9 quick10 quick2: Komarov et al. 2014, Fig. 5 to 10 and Table 2
#             cluster8 cluster9 cluster10 cluster11 cluster12: Dashti et al. 2013, Fig. 8 to 12
#             shared5: nearest neighbours with shared memory, Fig. 5 and 6
#             (default: all)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../.build quick=""
while getopts b:q letter; do
  case $letter in
    b) build=$OPTARG ;;
    q) quick=yes ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- quick5 quick6 quick7 quick9 quick10 quick2 cluster8 cluster9 cluster10 cluster11 cluster12 shared5
for program in select_bench knng_bench; do
  [ -x "$build/bin/$program" ] || { echo "papers.sh: $build/bin/$program is not there: ninja -C $build $program" >&2; exit 2; }
done
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU') || gpus=1

# The first of two words, or under -q the second.
size() { if [ -z "$quick" ]; then echo "$1"; else echo "$2"; fi; }

selectors() {
  "$build/bin/select_bench" --values uniform --seconds "$(size 0.4 0.05)" "$@"
}

# All that knng_bench prints; each graph is checked against the definition.
builds() {
  "$build/bin/knng_bench" --warmup 1 --verify 20 "$@"
}

gpu_builds() {
  builds --rows-on-device --engine tiled --set device=cuda:0 "$@"
}

# The same builds on each number of GPUs: one table, with a column in front.
per_gpus() {
  counts=$1 first=yes
  shift
  for count in $counts; do
    [ "$count" -le "$gpus" ] || continue
    builds --engine tiled --set "device=cuda:$(seq -s, 0 $((count - 1)))" "$@" |
      awk -v gpus="$count" -v first="$first" '
        !/^\|/ { if (first && !line) print; next }
        { ++line }
        line == 1 { if (first) print "| GPUs " $0; next }
        line == 2 { if (first) print "| ---: " $0; next }
        { print "| " gpus " " $0 }'
    first=""
  done
  [ "$gpus" -gt 1 ] || printf '\n(One GPU in this machine.)\n'
}

run() {
  case $1 in
    quick5)
      echo '### Komarov 2014, Fig. 5: quick beside insertion (Garcia et al.), the length of rows varies'
      echo
      echo 'Paper: the ratio hardly depends on N, except at the largest k, and grows much with k.'
      echo
      selectors --q "$(size 13 8)" --n "$(size 14,16,18,20 14,16)" --k "$(size 16,64,256,512 16,64)" \
        --select quick,insertion
      ;;
    quick6)
      echo '### Komarov 2014, Fig. 6: the same, the number of rows varies'
      echo
      echo 'Paper: the ratio falls as rows become more, since insertion needs many to fill the GPU.'
      echo
      selectors --q "$(size 7,9,11,13 7,9)" --n "$(size 17 14)" --k "$(size 16,64,256,512 16,64)" --select quick,insertion
      ;;
    quick7)
      echo '### Komarov 2014, Fig. 7 and 8: as many keys in fewer and longer rows'
      echo
      echo 'Paper: beside a truncated sort (Sismanis et al.; here batch_sort) the ratio rises with N / Q, is flat, and falls'
      echo 'once Q is below 128 (N = 2^21 and more here); beside one radix select a row (Alabi et al.; here torch.topk, if'
      echo 'PyTorch is there) it is largest for many short rows.'
      echo
      selectors --elements "$(size 28 22)" --n "$(size 12,14,16,18,20,21,22 12,16)" --k "$(size 16,128,512 16,128)" \
        --select quick,batch_sort,insertion
      if python3 -c 'import torch' 2>/dev/null; then
        echo
        python3 "$here/select_topk.py" --elements "$(size 28 22)" --n "$(size 12,14,16,18,20,21,22 12,16)" \
          --k "$(size 16,128,512 16,128)"
      fi
      ;;
    quick9)
      echo '### Komarov 2014, Fig. 9: the number of rows, until the GPU is full'
      echo
      echo 'Paper: with a block for each row the time for a row falls until there are about 128 rows (14 multiprocessors).'
      echo
      selectors --q "$(size 0,1,2,3,4,5,6,7,8,9,10,11,12 0,4,8)" --n "$(size 17 14)" --k 16,128,512 \
        --trials "$(size 50 5)" --select quick
      ;;
    quick10)
      echo '### Komarov 2014, Fig. 10: beside std::nth_element on one core'
      echo
      echo 'Paper: the ratio grows with N to the longest rows that its GPU has room for, and falls a little with k.'
      echo
      selectors --q "$(size 10 6)" --n "$(size 12,14,16,18,20 12,14)" --k "$(size 16,128,512 16,128)" --select quick --cpu
      ;;
    quick2)
      echo '### Komarov 2014, Table 2: spread over 1000 trials, new keys each time'
      echo
      echo 'Paper: the standard deviation is less than 0.5 % of the mean, and becomes smaller as the work grows.'
      echo
      selectors --elements "$(size 28 22)" --n "$(size 14,16,18,20 14,16)" --k "$(size 32,512 32)" --select quick \
        --fresh --trials "$(size 1000 10)" --seconds 2
      ;;
    cluster8)
      echo '### Dashti 2013, Fig. 8: k varies (n = 32,768, d = 512)'
      echo
      echo 'Paper: batch_sort breaks even with insertion at some k and is faster beyond it.'
      echo
      gpu_builds --data gaussian -n "$(size 32768 4096)" -d 512 --sweep k "$(size 8,32,128,512 8,32)" --runs 2 \
        --selector batch_sort,insertion,quick
      ;;
    cluster9)
      echo '### Dashti 2013, Fig. 9: d varies (n = 32,768, k = 128)'
      echo
      echo 'Paper: the ratio of the whole falls with d, since products take the larger part, and settles.'
      echo
      gpu_builds --data gaussian -n "$(size 32768 4096)" -k 128 --sweep d "$(size 64,256,1024,4096 64,256)" --runs 2 \
        --selector batch_sort,insertion,quick
      ;;
    cluster10)
      echo '### Dashti 2013, Fig. 10: n varies (d = 512, k = 128)'
      echo
      echo 'Paper: the ratio is largest for small n and settles at that of the products.'
      echo
      gpu_builds --data gaussian -d 512 -k 128 --sweep n "$(size 8192,16384,32768,65536 4096,8192)" --runs 2 \
        --selector batch_sort,insertion,quick
      ;;
    cluster11)
      echo '### Dashti 2013, Fig. 11: one GPU and two, n varies (d = 512, k = 128)'
      echo
      echo 'Paper: on two GPUs up to 15 times as fast as insertion; slower for small d and k.'
      echo
      per_gpus "1 2" --data gaussian -d 512 -k 128 --sweep n "$(size 16384,65536 4096)" --runs 2 \
        --selector batch_sort,insertion,quick
      ;;
    cluster12)
      echo '### Dashti 2013, Fig. 12: the number of GPUs (n = 1,000,000, d = 128, k = 16)'
      echo
      echo 'Paper: slightly below linear, from 4 GPUs to 12.'
      echo
      per_gpus "1 2 4 8" --data gaussian -n "$(size 1000000 20000)" -d 128 -k 16 --runs 2
      ;;
    shared5)
      echo '### Nearest neighbours with shared memory, Fig. 5 and 6: points in [-5000, 5000]^3, k = 1'
      echo
      echo 'Paper: medians here, means of 20 runs there; its figures are drawn, not printed. First one CPU core, then the GPU.'
      echo
      builds --data cube -d 3 -k 1 --sweep n 100,2000,6000,8000,10000 --runs "$(size 20 3)" --set device=cpu --threads 1 \
        --metric euclidean
      echo
      builds --data cube -d 3 -k 1 --sweep n 100,2000,6000,8000,10000 --runs "$(size 20 3)" --set device=cuda:0 \
        --rows-on-device --metric euclidean
      echo
      builds --data cube -d 3 -k 1 --sweep n "$(size 100000,1000000,10000000 100000)" --runs 3 --set device=cuda:0 \
        --rows-on-device --metric euclidean
      ;;
    *)
      echo "papers.sh: there is no table $1" >&2
      exit 2
      ;;
  esac
}

failed=0
for table in "$@"; do
  began=$(date +%s)
  run "$table" || failed=1
  printf '\n(%s: %s s)\n\n' "$table" "$(($(date +%s) - began))"
done
exit "$failed"
