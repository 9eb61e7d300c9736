#!/bin/sh
# The library needs the C and C++ runtimes and nothing else; it has its soname and no path of the machine that built
# it.   dependencies.sh LIBRARY SONAME
set -eu
library=$1 soname=$2
readelf -d "$library" >/dev/null
bad=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep -vxE 'lib(c|m|gcc_s|stdc\+\+)\.so\.[0-9]+|ld-linux-[a-z0-9-]+\.so\.[0-9]+' || true)
if [ -n "$bad" ]; then
  echo "needed, but not allowed: $bad" >&2
  exit 1
fi
readelf -d "$library" | grep -q "(SONAME).*\[$soname\]" || {
  echo "the soname is not $soname" >&2
  exit 1
}
if readelf -d "$library" | grep -E '\((RPATH|RUNPATH|TEXTREL)\)'; then
  echo "a run path, or text relocations" >&2
  exit 1
fi
# The stack stays not executable: a nested function or an assembler file without its note would change that.
readelf -lW "$library" | grep GNU_STACK | grep -qv 'RWE' || {
  echo "executable stack" >&2
  exit 1
}
