#!/bin/sh
# The library exports exactly the functions that the public headers declare, all at one version node.
#   symbols.sh LIBRARY INCLUDE_FOLDER NODE
set -eu
library=$1 include=$2 node=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Declarations, comments taken out by the preprocessor, one to a line by their semicolons.
printf '#include <knng.h>\n' | "$CC" -I"$include" -DKNNG_API=KNNG_EXPORTED -E -P -x c - 2>/dev/null >"$work/text"
# knng/types.h defines KNNG_API itself: its attribute marks the declarations.
tr '\n' ' ' <"$work/text" | tr ';' '\n' | grep 'visibility("default")' |
  sed -n 's/.*[ *]\(knng_[a-z0-9_]*\) *(.*/\1/p' | sort -u >"$work/declared"
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sed 's/@@*/ /' | sort -u >"$work/exported"

test -s "$work/declared" || {
  echo "no declarations found" >&2
  exit 1
}
awk '{ print $1 }' "$work/exported" | sort -u | diff "$work/declared" - || {
  echo "declared (<) and exported (>) functions differ" >&2
  exit 1
}
if awk -v node="$node" '$2 != node' "$work/exported" | grep .; then
  echo "exported, but not at the version node $node" >&2
  exit 1
fi
echo "$(wc -l <"$work/declared") functions, all at $node"
