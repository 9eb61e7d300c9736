#!/bin/sh
# The package's own tests, with the library as it was built.   run.sh LIBRARY_FOLDER WORK_FOLDER
set -eu
library=$1 work=$2
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
exec julia --startup-file=no --threads=2 "$package/test/runtests.jl"
