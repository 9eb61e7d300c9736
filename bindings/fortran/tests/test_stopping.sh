#!/bin/sh
# A failure that nobody takes stops the program with its text; so does an assignment that would free something twice.
#   test_stopping.sh PROGRAM
set -eu
program=$1
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# stops ARGUMENT TEXT
stops() {
  if "$program" "$1" >"$said" 2>&1 || grep -q 'came to its end' "$said" || ! grep -qF "$2" "$said"; then
    echo "$1: not stopped with \"$2\", but:" >&2
    cat "$said" >&2
    exit 1
  fi
}

stops failure 'knng: k=10 needs at least 11 rows, the data set has 10'
stops errmsg 'knng: k=10 needs at least 11 rows, the data set has 10'
stops graph 'a knng_graph cannot be assigned'
stops dataset 'a knng_dataset cannot be assigned'
stops matrix 'a knng_sparse cannot be assigned'
stops component 'a knng_graph cannot be assigned'
stops function 'a knng_graph cannot be assigned'
