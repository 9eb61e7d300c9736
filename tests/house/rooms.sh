#!/bin/sh
# No room includes one above it. The order is read from src/README.md: the list from the top down, then the rooms beside
# the list, then those that everybody may use; the rooms of backend/cuda/ from the bottom up, and exec/rows/, which sees
# nothing else of exec/.   rooms.sh SOURCE_FOLDER
set -eu
cd "$1/src"

# shellcheck disable=SC2046 # names without blanks
awk '
  # Sections of the table: 0 the list, 1 beside it, 2 everywhere.
  FILENAME == "README.md" {
    if ($0 ~ /^\| beside the list/) section = 1
    if ($0 ~ /^\| everywhere/) section = 2
    if (match($0, /^\| `[a-z]+\/`/)) {
      room = substr($0, 4, RLENGTH - 5)
      kind[room] = section + 0
      place[room] = ++count
    }
    if (match($0, /^\| `cuda\/[a-z]+\/`/)) floor["backend/" substr($0, 4, RLENGTH - 5)] = ++floors
    if (match($0, /^\| `exec\/[a-z]+\/`/)) floor[substr($0, 4, RLENGTH - 5)] = 1
    next
  }
  FNR == 1 {
    from = FILENAME
    sub(/\/.*/, "", from)
    inner = FILENAME
    sub(/\/[^\/]*$/, "", inner)
    if (inner ~ /^backend\/cuda\// && !(inner in floor)) { print FILENAME ": room " inner " is not in src/README.md"; wrong = 1 }
  }
  /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    target = $0
    sub(/^[^<"]*[<"]/, "", target)
    sub(/[>"].*/, "", target)
    file = FILENAME ":" FNR ": " target
    if (!(from in place)) { print FILENAME ": room " from " is not in src/README.md"; wrong = 1; next }
    if (target ~ /^(cuda|cublas|mpi)/ && from !~ /^(backend|cluster)$/) { print file ": not in this room"; wrong = 1 }
    if (target ~ /^knng[.\/]/) next                    # public headers: everybody
    if (target !~ /\//) {
      # A file of the same room, or of the system.
      next
    }
    outer = inner
    sub(/[^\/]*$/, "", outer)
    if (inner in floor && index(target, outer) == 1) {
      to = target
      sub(/\/[^\/]*$/, "", to)
      inner_edges++
      if (!(to in floor) || floor[to] > floor[inner]) { print file ": upwards from " inner; wrong = 1 }
    }
    to = target
    sub(/\/.*/, "", to)
    if (!(to in place) || to == from) next
    edges++
    if (from == "cli") { print file ": the command sees knng.h only"; wrong = 1 }
    else if (kind[to] == 2 && kind[from] != 2) next
    else if (from == "formats") { if (target !~ /^io\/.*seam/ ) { print file ": formats sees the seam only"; wrong = 1 } }
    else if (kind[from] == 2 && kind[to] == 2) next
    else if (kind[from] == 2 || kind[to] == 1 || place[to] < place[from]) { print file ": upwards from " from; wrong = 1 }
  }
  END {
    if (count < 10 || edges < 50) { print "only " count " rooms and " edges " includes were seen"; wrong = 1 }
    if (floors < 5 || inner_edges < 50) { print "only " floors " rooms of backend/cuda/ and " inner_edges + 0 " includes"; wrong = 1 }
    exit wrong
  }' README.md $(find . -mindepth 2 \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) | sed 's|^\./||' | sort)
