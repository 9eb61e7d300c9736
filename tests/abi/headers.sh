#!/bin/sh
# The public header alone, as strictly as compilers can read it, in every language that it promises; and each part of it
# alone, so that none relies on another's includes.   headers.sh INCLUDE_FOLDER
set -eu
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for part in knng.h $(cd "$include" && ls knng/*.h); do
  # A use in each file: static inline functions and macros are only compiled then.
  printf '#include <%s>\nint here(void);\nint here(void) { return (int)sizeof(knng_matrix) + KNNG_HEADER_VERSION + KNNG_OK; }\n' \
    "$part" >"$work/use.c"
  cp "$work/use.c" "$work/use.cpp"
  strict="-pedantic-errors -Wall -Wextra -Wshadow -Wconversion -Werror -I$include -o /dev/null"
  for standard in c99 c11 c17; do
    # shellcheck disable=SC2086 # a list of words
    "$CC" -std=$standard -Wstrict-prototypes -Wmissing-prototypes $strict -c "$work/use.c" || {
      echo "$part does not compile as $standard" >&2
      exit 1
    }
  done
  for standard in c++11 c++20; do
    # shellcheck disable=SC2086
    "$CXX" -std=$standard $strict -c "$work/use.cpp" || {
      echo "$part does not compile as $standard" >&2
      exit 1
    }
  done
done

# Constants are signed, whatever a compiler makes of a list without negative members.
cat >"$work/signed.cpp" <<'EOF_SIGNED'
#include <knng.h>
#include <type_traits>
template <class T>
constexpr bool is_int(T) { return sizeof(T) == 4 && std::is_signed<typename std::underlying_type<T>::type>::value; }
static_assert(is_int(KNNG_OK) && is_int(KNNG_F32) && is_int(KNNG_HOST), "a constant is unsigned");
EOF_SIGNED
"$CXX" -std=c++11 -I"$include" -c "$work/signed.cpp" -o /dev/null

# Fortran has no case: no two names may differ in that alone.
cat "$include/knng.h" "$include"/knng/*.h | grep -oE '\b[Kk][Nn][Nn][Gg]_[A-Za-z0-9_]+' | sort -u >"$work/names"
if [ "$(wc -l <"$work/names")" -lt 80 ] || tr '[:upper:]' '[:lower:]' <"$work/names" | sort | uniq -d | grep .; then
  echo "names of knng.h differ only in case" >&2
  exit 1
fi

# Only standard C headers come in.
printf '#include <knng.h>\n' | "$CC" -std=c99 -I"$include" -E -x c - | grep '^# 1 "' | grep -v '^# 1 "<' >"$work/seen"
if sed 's/^# 1 "//; s/".*//' "$work/seen" | grep -v "^$include" | grep -vE '^/usr/(lib|include)/|/lib/gcc/'; then
  echo "knng.h brings in more than it promises" >&2
  exit 1
fi
