#!/bin/sh
# The package's own tests and the pieces of its page, with the library as it was built.
#   run.sh LIBRARY_FOLDER WORK_FOLDER PAGE
set -eu
library=$1 work=$2 page=$3
package=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
if ! command -v julia >/dev/null; then
  echo "skipped: julia is needed, which Debian 12 has no package of"
  exit 77
fi
mkdir -p "$work/environment"
printf '[Knng]\nlibrary = "%s/libknng.so.0"\n' "$library" >"$work/environment/LocalPreferences.toml"
# So that the preference is known to be this package's.
grep '^uuid' "$package/Project.toml" | sed 's/^uuid/[extras]\nKnng/' >"$work/environment/Project.toml"
# Without a registry: the package needs none, and its tests leave out what is not there.
export JULIA_DEPOT_PATH="$work/depot:" JULIA_LOAD_PATH="$package:$work/environment:@stdlib"
julia --startup-file=no --threads=2 "$package/test/runtests.jl"
# In one session, but for what installs the package.
awk '/^```julia$/ { code = 1; next } /^```/ { code = 0 } code && !/Pkg/' "$page" >"$work/page.jl"
[ "$(wc -l <"$work/page.jl")" -gt 30 ]
cd "$work"
rm -f curve.svg
julia --startup-file=no --threads=2 page.jl
grep -q '<polyline' curve.svg
