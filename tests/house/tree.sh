#!/bin/sh
# The tree: only known names at the top, no file that has grown too long, no path of somebody's machine, no word that
# puts something off.   tree.sh SOURCE_FOLDER
set -eu
cd "$1"
wrong=0
complain() {
  echo "$*" >&2
  wrong=1
}

for name in *; do
  case $name in
    include | src | bindings | tests | docs | pkgconfig | CMakeLists.txt | README.md | LICENSE) ;;
    debian) ;; # a packager's
    *) [ -e "$name/CMakeCache.txt" ] || complain "$name does not belong at the top of the tree" ;; # or it is a build
  esac
done

find include src pkgconfig docs tests -type f \( -name '*.c' -o -name '*.cpp' -o -name '*.h' -o -name '*.sh' \
  -o -name '*.cu' -o -name '*.cuh' -o -name '*.cmake' -o -name '*.md' -o -name CMakeLists.txt \) | sort >"${TMPDIR:-/tmp}/knng-tree.$$"
while read -r file; do
  lines=$(wc -l <"$file")
  case $file in
    *golden*) ;; # tables of numbers
    *.c | *.cpp | *.h | *.cu | *.cuh) [ "$lines" -le 600 ] || complain "$file has $lines lines, more than 600" ;;
  esac
  case $file in
    tests/house/tree.sh) ;; # it names the words
    *) ! grep -nE '(TODO|FIXME|/home/|/Users/)' "$file" || complain "in $file" ;;
  esac
  case $file in
    src/*.cpp | src/*.h | src/*.cu | src/*.cuh | tests/*.c | tests/*.cpp | tests/*.cu)
      # The first comment says what a file is for; a .cpp beside its header may leave that to the header.
      head -n 3 "$file" | grep -qE '^(//|/\*|#)' || complain "$file does not begin with what it is for"
      ;;
  esac
done <"${TMPDIR:-/tmp}/knng-tree.$$"
rm -f "${TMPDIR:-/tmp}/knng-tree.$$"
exit "$wrong"
