#!/bin/sh
# The interface is the one of src/abi/libknng.abi, to which docs/versioning.md has the reasons.
#   baseline.sh SOURCE_FOLDER BUILD_FOLDER
set -eu
root=$1 build=$2
baseline=$root/src/abi/libknng.abi
command -v abidiff >/dev/null 2>&1 || {
  echo "skipped: no abidiff (package abigail-tools)"
  [ "${KNNG_CI:-}" = true ] && exit 1
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$root/src/abi/update.sh" "$build" "$work/now.abi"

# An addition breaks no caller, but it too is a promise.
if ! abidiff "$baseline" "$work/now.abi"; then
  echo "The interface differs from src/abi/libknng.abi. If that is meant: sh src/abi/update.sh BUILD_FOLDER, and a line with" \
    "the reason in docs/versioning.md." >&2
  exit 1
fi
number=$(sha256sum "$baseline" | cut -c 1-12)
grep -q "^| \`$number\` |" "$root/docs/versioning.md" || {
  echo "docs/versioning.md has no line for this baseline, which is $number" >&2
  exit 1
}

# differs EDIT: such a change of the interface is noticed.
differs() {
  sed "$1" "$work/now.abi" >"$work/changed.abi"
  if cmp -s "$work/now.abi" "$work/changed.abi"; then
    echo "$1 changes nothing: the test must follow" >&2
    exit 1
  fi
  if abidiff "$work/now.abi" "$work/changed.abi" >/dev/null 2>&1; then
    echo "$1 is not noticed" >&2
    exit 1
  fi
}
differs "/elf-symbol name='knng_estimate'/d; /elf-symbol-id='knng_estimate@/,/<\/function-decl>/d" # a function less
differs "/name='knng_plan' size-in-bits/s/576/640/"                                                # a larger struct
place=$(grep -n "name='smallest_host'" "$work/now.abi" | cut -d : -f 1)
differs "$((place - 1))s/layout-offset-in-bits='192'/layout-offset-in-bits='256'/" # a member elsewhere
char=$(sed -n "s/.*type-decl name='char' .* id='\([^']*\)'.*/\1/p" "$work/now.abi") # types are numbered as they are met
differs "/function-decl name='knng_version'/,/<\/function-decl>/s/<return type-id='[^']*'/<return type-id='$char'/"
