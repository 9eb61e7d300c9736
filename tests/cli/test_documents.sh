#!/bin/sh
# The manual page and the completion know the same commands and options as the command's own help, and what the
# documents show works.
#   test_documents.sh KNNG
knng=$1
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname -- "$0")/common.sh"
need_numpy

sed 's/\\-/-/g; s/\\fR//g; s/\\fP//g' "$source_root/docs/knng.1" >manual
expect 0 "$knng" --help
commands=$(awk '/^Subcommands:/ {on = 1; next} /^$/ {on = 0} on {print $1}' out)
[ "$(echo "$commands" | wc -w)" -eq 8 ] || die "not eight commands: $commands"

# Words that look like options, in help and manual.
options_of() { grep -oE -- '(^|[ ,"])--?[a-z][a-z-]*' "$1" | sed 's/^[ ,"]*//' | sort -u; }
: >help_options
for command in $commands; do
  grep -qE "^\.(B|SY knng\\\\) $command\$" manual || die "the manual page does not describe $command"
  expect 0 "$knng" "$command" --help
  out_has "^Usage: knng $command"
  sed -n 's/^  \(-[^ ]*\).*/\1/p' out >options
  options_of options >>help_options
done
echo --version >>help_options
sort -u help_options >all_help
sed -n '/^\.SH OPTIONS/,/^\.SH OUTPUT/p' manual | grep '^\.B' >manual_options
options_of manual_options >all_manual
diff all_help all_manual >out || die "options of the help (<) and of the manual page (>) differ"

expect 0 "$knng" --version
grep -q "^\.TH KNNG 1 .* \"$(cat out)\" " manual || die "the manual page is not of this version: $(cat out)"

# The codes of the source, and how a signal is reported, are in the manual page, in the guide and in the command's help.
sed -n '/^enum Exit/,/^}/s/^ *k.* = \([0-9]*\).*/\1/p' "$source_root/src/cli/failure.h" >codes
[ "$(wc -l <codes)" -ge 9 ] || die "no exit codes in failure.h: $(cat codes)"
sed -n '/^\.SH EXIT STATUS/,/^\.SH ENV/s/^\.B \([0-9].*\)/\1/p' manual >manual_codes
sed -n '/^## The command/,$s/^| \([0-9][0-9 +N]*\) |.*/\1/p' "$source_root/docs/guide/errors.md" >guide_codes
expect 0 "$knng" --help
while read -r code; do
  if [ "$code" -eq 128 ]; then code='128 [+] N'; fi
  grep -qx "$code" manual_codes || die "exit code $code is not in the manual page"
  grep -qx "$code" guide_codes || die "exit code $code is not in errors.md"
  sed -n '/^Exit codes/,$p' out | grep -qE "(^|[:;] *)$code " || die "exit code $code is not in the help"
done <codes
diff manual_codes guide_codes >out || die "exit codes of the manual page (<) and of errors.md (>) differ"

# The variables that the library has for its settings, and no other, are in the manual page and in the guide; the page
# also has those of no setting.
expect 0 "$knng" settings
sed -n 's/^ *default from \(KNNG_[A-Z_]*\),.*/\1/p' out | sort >variables
[ "$(wc -l <variables)" -ge 8 ] || die "few settings have a variable: $(cat variables)"
variables_of() { grep -oE 'KNNG_[A-Z_]+' | sort -u; }
sed -n '/^\.SH ENVIRONMENT/,/^\.SH EXAMPLES/p' manual >environment
for variable in KNNG_BACKEND_DIR OMP_NUM_THREADS; do
  grep -qx "\.B $variable" environment || die "the manual page does not describe $variable"
done
grep -v '^\.B KNNG_BACKEND_DIR$' environment | variables_of >manual_variables
sed -n '/^Settings that say where/,/^$/p' "$source_root/docs/guide/settings.md" | variables_of >guide_variables
for page in manual guide; do
  diff variables "${page}_variables" >out || die "variables of the library (<) and of the $page (>) differ"
done

# Engines and selectors are those of the library in the manual page and in the command's help.
expect 0 "$knng" settings
cp out all_settings
expect 0 "$knng" build --help
cp out build_help
for setting in engine selector; do
  sed -n "/^$setting=/,/^    takes /s/^    takes //p" all_settings >words
  [ -s words ] || die "nothing is known of $setting"
  grep -qE -- "--$setting .*$(cat words)" build_help || die "the help has other values of $setting: $(cat words)"
  sed 's/, /\n/g' words >library_words
  sed -n "/^\.BI --$setting /,/^\.TP/s/^\.BR* \([a-z_]*\).*/\1/p" manual >manual_words
  diff library_words manual_words >out || die "values of $setting in the library (<) and in the manual page (>) differ"
done

if command -v man >/dev/null 2>&1 && command -v groff >/dev/null 2>&1; then
  man --warnings -l "$source_root/docs/knng.1" >/dev/null 2>err
  [ ! -s err ] || die "the manual page has warnings"
fi

# Every command line that README, guide and manual page show works as it is shown; on the CPU, as there may be no GPU.
"$python" - <<'PY'
import gzip, numpy as np, struct
x = np.random.default_rng(1).normal(size=(1000, 16)).astype("float32")
np.save("points.npy", x)
np.save("genes.npy", x)
np.save("queries.npy", x[:20] + 1)
with gzip.open("genes.tsv.gz", "wt") as table:
    table.write("\t".join(["gene"] + [f"cell {c}" for c in range(40)]) + "\n")
    for i, row in enumerate(x.reshape(-1, 40)):
        table.write("\t".join([f"gene {i}"] + [str(v) for v in row]) + "\n")
open("large.fbin", "wb").write(struct.pack("<II", *x.shape) + x.tobytes())
PY
has_hdf5 && "$python" - <<'PY'
import h5py, numpy as np
x = np.load("points.npy")
with h5py.File("cells.h5ad", "w") as file:
    file["X"] = x
    file["obsm/X_pca"] = x[:, :4]
    file["layers/counts"] = x.round().astype("int16")
with h5py.File("vectors.hdf5", "w") as file:
    file["train"] = x
    file["test"] = x[:10]
PY
for page in "$source_root"/README.md "$source_root"/docs/guide/*.md; do
  # shellcheck disable=SC2016 # a line of the page
  sed -n '/^```sh$/,/^```$/p' "$page"
done >shown
sed -n '/^\.EX$/,/^\.EE$/p' manual >>shown
grep '^knng ' shown | sed 's/--device cuda[:0-9,]*/--device cpu/' >lines
if ! has_hdf5; then
  grep -vE '\.(h5|hdf5|h5ad)[: ]' lines >others
  mv others lines
fi
[ "$(wc -l <lines)" -ge 9 ] || die "few command lines are shown: $(cat lines)"
ln -s "$knng" knng
while read -r line; do
  expect 0 env PATH="$work:$PATH" sh -c "$line"
done <lines

if command -v bash >/dev/null 2>&1; then
  completes() { # complete EXPECTED WORD...: the last word is being written
    wanted=$1
    shift
    # shellcheck disable=SC2016 # for bash to expand
    PATH=$(dirname -- "$knng"):$PATH bash -c '
      source "$1"; shift
      compopt() { :; }
      COMP_WORDS=(knng "$@"); COMP_CWORD=$#
      current=${COMP_WORDS[COMP_CWORD]}
      [ "$current" != = ] || current="" # as readline has it
      _knng knng "$current" "${COMP_WORDS[COMP_CWORD-1]}"
      echo "${COMPREPLY[@]}"' bash "$source_root/src/cli/knng.bash" "$@" >out 2>err
    [ "$(cat out)" = "$wanted" ] || die "completion of 'knng $*' is '$(cat out)' instead of '$wanted'"
  }
  completes 'build' bu
  completes '--metric' build --me
  completes 'minkowski' build x.npy -m mi
  completes 'similarity' build --value s
  completes 'max_host_bytes= max_device_bytes=' build --set max_
  completes '--rows' check --ro
  completes '--row' info --ro
  completes 'estimate' es
  completes 'convert' con
  completes '--output' convert g.npz --o
  # Words are broken at = or not, as COMP_WORDBREAKS says.
  completes 'minkowski' build x.npy --set metric = mi
  completes 'metric=minkowski' build x.npy --set metric=mi
  completes 'quick' build x.npy --selector = q
  completes '--selector=quick' build x.npy --selector=q
  completes 'auto cpu cuda' build x.npy --device ''
  completes 'f32 f64' build x.npy --set value_type=auto --set value_type = f
  : >x.data
  completes 'x.data' build x.npy --output = x.d
  completes 'x.data' convert x.d
  # What every setting takes, as the library has it; nothing of numbers.
  expect 0 "$knng" settings
  sed -n 's/^\([a-z_]*\)=.*/\1/p' out >names
  sed -n 's/^    takes //p' out | sed 's/, cuda:N,M,\.\.\.//; s/, [0-9.]* to [0-9]*//; s/^[0-9].*//; s/,//g' >values
  [ "$(grep -c . values)" -ge 8 ] || die "few settings take words: $(cat values)"
  paste -d: names values >settings
  while IFS=: read -r name values; do
    completes "$values" build x.npy --set "$name" = </dev/null
  done <settings
fi
