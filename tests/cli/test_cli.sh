#!/bin/sh
# Every command of knng with its results, refusals and exit codes.   test_cli.sh KNNG
knng=$1
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname -- "$0")/common.sh"
need_numpy

"$python" - <<'PY'
import gzip
import numpy as np
r = np.random.default_rng(7)
x = r.standard_normal((300, 12))
np.save("x.npy", x)
np.save("a.npy", x[:200]); np.save("b.npy", x[200:])
np.save("q.npy", r.standard_normal((20, 12)))
np.save("other.npy", r.standard_normal((20, 11)))
bad = x.copy(); bad[17, 3] = np.nan
np.save("nan.npy", bad)
np.save("negative.npy", x)
bits = r.integers(0, 2, (60, 9))
bits[0, 0] = 1
for t in "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float64".split():
    np.save(t + ".npy", bits.astype(t))
    np.save(t + "_big.npy", bits.astype(np.dtype(t).newbyteorder(">")))
beyond = np.full((30, 5), 2**53, dtype="u8")
beyond[17, 3] = 2**53 + 1
np.save("beyond.npy", beyond)
np.save("counts.npy", r.integers(0, 3, (200, 4)).astype("u1"))
open("truncated.npy", "wb").write(open("x.npy", "rb").read()[:-100])
open("empty.npy", "wb")
np.save("wide.npy", r.standard_normal((300, 4000)))  # most of what is needed is the rows themselves
gzip.open("x.npy.gz", "wb").write(open("x.npy", "rb").read())
def table(separator, header, names):
    lines = [separator.join(([f'"row {i}"'] if names else []) + [repr(float(v)) for v in row]) for i, row in enumerate(x)]
    first = separator.join(([""] if names else []) + [f"gene {c}" for c in range(x.shape[1])])
    return "\n".join([first] * header + lines) + "\n"
open("x.csv", "w").write(table(",", False, False))
open("genes.tsv", "w").write(table("\t", True, True))
gzip.open("x.csv.gz", "wt", newline="\r\n").write(table(";", True, False))
open("hole.csv", "w").write("name,height,width\na,1,2\nb,NA,4\n")
open("words.csv", "w").write("height,width\n1,2\n3,tall\n")
PY

# build: several files are one data set; the archive is NumPy's; nothing on standard output without --report.
expect 0 "$knng" build a.npy b.npy -k 7 -o g.npz
[ ! -s out ] || die "build -o writes to standard output"
grep -q 'saved as g.npz' err || die "build does not say what it saved"
expect 0 "$knng" build x.npy -k 7 -o g.knng -q
silent build -q
expect 0 "$knng" build x.npy -k 7 -o first.npz -q --self first
expect 0 "$knng" build x.npy -k 7 -o squared.npz -q -m sqeuclidean --threads 1 --set tile_rows=16 --set tile_cols=8
expect 0 "$knng" query a.npy b.npy q.npy -k 4 -o q.npz -q
silent query -q
"$python" - <<'PY' || die "results differ from NumPy's"
import numpy as np
x, q = np.load("x.npy"), np.load("q.npy")
def nearest(rows, queries, k, leave_self):
    d = np.sqrt(((queries[:, None, :] - rows[None]) ** 2).sum(2))
    if leave_self: np.fill_diagonal(d, np.inf)
    ids = np.argsort(d, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(d, ids, 1)
ids, d = nearest(x, x, 7, True)
g = np.load("g.npz")
assert g["indices"].dtype == np.int64 and g["indices"].shape == (300, 7), g["indices"].dtype
assert g["distances"].dtype == np.float64 and g["distances"].shape == (300, 7), g["distances"].dtype
assert (g["indices"] == ids).all() and np.allclose(g["distances"], d, rtol=1e-12)
f = np.load("first.npz")
assert (f["indices"][:, 0] == np.arange(300)).all() and (f["distances"][:, 0] == 0).all()
assert (f["indices"][:, 1:] == ids).all() and (f["distances"][:, 1:] == g["distances"]).all()
s = np.load("squared.npz")
assert (s["indices"] == ids).all() and np.allclose(s["distances"], d * d, rtol=1e-12)
qids, qd = nearest(x, q, 4, False)
n = np.load("q.npz")
assert (n["indices"] == qids).all() and np.allclose(n["distances"], qd, rtol=1e-12)
PY

# The report: complete, and its histogram counts every row once.
expect 0 "$knng" build x.npy -k 7 --report -q
for name in data graph plan memory 'ran on' time proved 'ties at k' duplicates components in-degree 'k-th value' \
  'memory peak'; do
  out_has "^$name  *[^ ]"
done
out_has '^data  *300 rows x 12, float64$'
out_has '^proved  *300 of 300 rows'
total=$(awk '/in lists/ {on = 1; next} /^[^ ]/ {on = 0} on {gsub(",", "", $2); total += $2} END {print total}' out)
[ "$total" -eq 300 ] || die "the in-degree histogram counts $total of 300 rows"
expect 0 "$knng" build counts.npy -k 3 -q
out_has '^duplicates  *[1-9][0-9]* rows'
out_has '^ties at k  *[1-9]'
expect 0 "$knng" query x.npy q.npy -k 4 --report -q -o q.knng
out_has '^queries  *20 rows'

# info
expect 0 "$knng" info g.knng
out_has '^metric  *euclidean$'
out_has '^neighbours  *7$'
out_has '^rows  *300$'
fingerprint=$(sed -n 's/^fingerprint *//p' out)
[ -n "$fingerprint" ] || die "info tells no fingerprint"
expect 0 "$knng" info g.npz --report
out_has "^fingerprint  *$fingerprint\$"
out_has '^components  *1,'
# Suffixes in capitals are those in small letters.
cp x.npy CAPITALS.NPY
for graph in CAPITALS.NPZ CAPITALS.KNNG; do
  expect 0 "$knng" build CAPITALS.NPY -k 7 -o $graph -q
  expect 0 "$knng" info $graph
  out_has "^fingerprint  *$fingerprint\$"
  expect 0 "$knng" check $graph CAPITALS.NPY
done
# Of queries it says so.
expect 0 "$knng" info q.knng
out_has '^kind  *graph of queries: 20 queries x 300 points$'
out_has '^proved  *20$'
if grep -q '^duplicates' out; then die "info tells duplicates of queries, which nobody counted"; fi
expect 0 "$knng" info q.knng --report
out_has '^duplicates  *not known$'
out_has '^ties at k  *[0-9]'
expect 0 "$knng" info g.knng
out_has '^kind  *graph$'
out_has '^duplicates  *0$'
# --row: the lists as NumPy has them, to the last bit; shorter ones end where they end.
"$python" - <<'PY'
import numpy as np
np.savez("short.npz", indices=np.array([[1, 2], [0, -1], [1, 0]]), distances=np.array([[1, 2], [.1, np.inf], [2, 3]]))
PY
# What nobody counted is not 0.
expect 0 "$knng" info short.npz --report
out_has '^rows  *3$'
out_has '^columns  *3$'
if grep -qE '^(proved|ties_at_k|duplicates|seconds_total|pairs) .*[0-9]' out; then die "info tells what it does not know"; fi
out_has '^ties at k  *not known$'
out_has '^duplicates  *not known$'
for graph in g.npz short.npz; do
  expect 0 "$knng" info $graph --row 2 --row=1 --row 2
  "$python" - $graph <<'PY' || die "lists of rows of $graph"
import sys
import numpy as np
g = np.load(sys.argv[1])
want = [(i, j, d) for i in (2, 1, 2) for j, d in zip(g["indices"][i], g["distances"][i]) if j >= 0]
seen = [line.split(" ") for line in open("out")]
assert [(int(i), int(j), g["distances"].dtype.type(d)) for i, j, d in seen] == want and len(want) > 4, seen
PY
done
refused 2 '--row=300: the graph has rows 0 to 299' "$knng" info g.knng --row 0 --row 300
refused 2 '-k is given 2 times: once is enough' "$knng" build x.npy -k 3 -k 4 -o never.knng
refused 2 '--row=-1: ' "$knng" info g.knng --row=-1
refused 2 '--row=x: it takes a whole number' "$knng" info g.knng --row x
refused 2 "--row: 'x.npy' is no graph" "$knng" info x.npy --row 0
refused 2 "--report: 'x.npy' is no graph" "$knng" info x.npy --report
refused 2 "--transpose: 'g.npz' is no data file" "$knng" info g.npz --transpose
refused 2 '--row and --report' "$knng" info g.knng --row 0 --report

# Within a limit: of the file, then of the report, whose in-degrees take as much as the graph says it has columns.
"$python" - <<'PY'
import numpy as np, zipfile
ids = np.array([[5, 1], [499999999, 2]], dtype="i8")
np.savez("columns.npz", indices=ids, distances=np.ones((2, 2), "f4"))
ids[1, 0] = 2 ** 62
np.savez("far.npz", indices=ids, distances=np.ones((2, 2), "f4"))
with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as z:
    for name, kind in (("indices", "<i8"), ("distances", "<f8")):
        with z.open(name + ".npy", "w") as member:
            np.lib.format.write_array_header_1_0(member, {"descr": kind, "fortran_order": False, "shape": (1000000, 40)})
            for _ in range(40):
                member.write(bytes(8000000))
PY
refused 5 '--max-memory 1000 is too small: ' "$knng" info g.npz --max-memory 1KB
refused 5 'max_host_bytes=1000 (environment variable KNNG_MAX_HOST_BYTES) is too small: ' \
  env KNNG_MAX_HOST_BYTES=1000 "$knng" info g.npz
grep -q " would do\$" err || die "no limit that works for info"
refused 5 '--max-memory 1000 is too small: ' env KNNG_MAX_HOST_BYTES=2000 "$knng" info g.npz --max-memory 1KB
refused 5 'max_host_bytes=1000 is too small: ' env KNNG_MAX_HOST_BYTES=2000 "$knng" build x.npy -k 3 --set max_host_bytes=1KB
refused 5 'max_host_bytes=30000 (environment variable KNNG_MAX_HOST_BYTES) is too small: the smallest that works' \
  env KNNG_MAX_HOST_BYTES=30KB "$knng" build x.npy -k 7 -o never.npz
# Packed columns are held twice while rows are read: twice 320 kB.
"$python" - <<'PY'
import gzip, io
import numpy as np
file = io.BytesIO()
np.save(file, np.asfortranarray(np.arange(80000, dtype="f4").reshape(10000, 8)))
gzip.open("columns.npy.gz", "wb").write(file.getvalue())
PY
refused 5 'is too small: 640000 would do' "$knng" info columns.npy.gz --max-memory 639999
expect 0 "$knng" info columns.npy.gz --max-memory 640000
refused 5 '--max-memory 1000 is too small: ' "$knng" check g.npz x.npy --max-memory 1KB
refused 5 '--max-memory 100000000 is too small: at least 643000320' prlimit --as=500000000 "$knng" info bomb.npz --max-memory 100MB
expect 0 "$knng" info columns.npz --max-memory 1MB
expect 5 "$knng" info columns.npz --report --max-memory 100MB
grep -qF -- '--max-memory 100000000 is too small: the smallest that works is 8000000052' err || die "no limit for columns"
expect 0 "$knng" info far.npz
expect 5 "$knng" info far.npz --report
grep -qF -- 'to report on 4611686018427387905 columns' err || die "2^62 columns are not reported"
expect 0 "$knng" info g.npz --report --max-memory 100KB
# What a terminal would obey comes neither out of a file nor out of its name.
"$python" - <<'PY'
import numpy as np
text = b"text.device=euclidean\\nproved 100 %\x1b[2J\xc2\x9b\xe2\x80\xae\n"
np.savez("texts.npz", indices=np.array([[1], [0]]), distances=np.ones((2, 1), "f4"), knng_text=np.frombuffer(text, "u1"))
PY
evil=$(printf 'a\nknng: b\033[2J\302\233\342\200\256\303\251\233\303.npz') # at its end what is no UTF-8
cp texts.npz "$evil"
expect 0 "$knng" info "$evil"
LC_ALL=C grep -qE '^device +euclidean.proved 100 %.\[2J...?$' out || die "the device's name is not there"
grep -qF 'a?knng: b?[2J??é??.npz' out || die "the file's name is not there"
expect 4 "$knng" info "missing $evil"
grep -qF 'a?knng: b?[2J??é??.npz' err || die "the missing file's name is not there"
expect 0 "$knng" build x.npy -k 3 -o "$evil"
refused 2 "unknown command 'a?knng" "$knng" "$evil"
for file in out err; do
  LC_ALL=C grep -nE "$(printf '[\001-\011\013-\037\177]|\233|\342\200\256')" "$file" && die "raw in $file"
done
rm -f "$evil"
# Without memory for the archive or the library that reads it, nothing is said of the file or of a package.
for kilobytes in $(seq 6000 250 16000); do
  # With less the command does not start: it cannot be loaded, or its runtime finds no memory before main().
  prlimit --as="${kilobytes}000" "$knng" --version >out 2>err || continue
  code=0
  prlimit --as="${kilobytes}000" "$knng" info g.npz >out 2>err || code=$?
  case $code in
    0 | 5) started=yes ;;
    *) die "with $kilobytes KB: $code" ;;
  esac
done
[ "${started:-}" ] || die "the command never started"
expect 0 "$knng" info x.npy
out_has '^rows  *300$'
out_has '^dimension  *12$'
out_has '^type  *float64$'
[ ! -s err ] || die "info writes to standard error"

# Rows of integers and bools are taken as what they are, in both orders of bytes, with the graph of the same values.
expect 0 "$knng" build float64.npy -k 4 -q -o float64.knng --set value_type=f32
for type in bool uint8 int8 uint16 int16 uint32 int32 uint64 int64; do
  expect 0 "$knng" info $type.npy
  out_has "^type  *$type\$"
  expect 0 "$knng" check float64.knng ${type}_big.npy
  expect 0 "$knng" build $type.npy -k 4 -q -o $type.knng
  expect 0 "$knng" info float64.knng
  grep '^fingerprint' out >print
  expect 0 "$knng" info $type.knng
  grep -qxFf print out || die "another fingerprint of $type"
done
for table in x.csv x.csv.gz genes.tsv; do
  expect 0 "$knng" build "$table" -k 7 -o table.npz -q
  "$python" -c 'import numpy as np, sys
a, b = np.load("g.npz"), np.load("table.npz")
sys.exit(not all(a[m].tobytes() == b[m].tobytes() for m in ("indices", "distances")))' || die "$table gives another graph than x.npy"
done
expect 0 "$knng" query x.csv q.npy -k 4 -o never.npz -q --report
out_has '^read  *x.csv: header [a-z]*, row_names [a-z]*, separator commas$'
printf 'name,a,b\nr,1,2\ns,3,4\n' >named.csv
printf '1\t2\n3\t5\n' >plain.tsv
expect 0 "$knng" info named.csv
out_has '^header  *yes$'
out_has '^row_names  *yes$'
out_has '^separator  *commas$'
expect 0 "$knng" info plain.tsv
out_has '^header  *no$'
out_has '^row_names  *no$'
expect 0 "$knng" estimate named.csv named.csv plain.tsv -k 1
out_has '^read  *named.csv and 1 more: header yes, row_names yes, separator commas$'
out_has '^read  *plain.tsv: header no, row_names no, separator tabs$'
rm never.npz
if has_hdf5; then
  "$python" - <<'PY'
import h5py, numpy as np
x = np.load("x.npy")
with h5py.File("x.h5", "w") as file:
    file["x"] = x
with h5py.File("many.hdf5", "w", libver="latest") as file:
    file.create_dataset("a/packed", data=x, compression="gzip", shuffle=True, fletcher32=True)
    file.create_dataset("a/lzf", data=x.astype(">f8"), compression="lzf", shuffle=True, chunks=(70, 5))
    file["turned"] = x.T
    file["bits"] = x > 0
    file["half"] = x.astype("f2")
    file["complex"] = x.astype("c16")
np.save("bits.npy", x > 0)
np.save("half.npy", x.astype("f2"))
PY
  for pair in "x.h5 x" "x.h5:x x" "many.hdf5:a/packed x" "many.hdf5:/a/lzf x" "many.hdf5:bits bits" "many.hdf5:half half"; do
    expect 0 "$knng" build "${pair##* }.npy" -k 7 -o npy.npz -q
    expect 0 "$knng" build "${pair% *}" -k 7 -o table.npz -q
    "$python" -c 'import numpy as np, sys
a, b = np.load("npy.npz"), np.load("table.npz")
sys.exit(not all(a[m].tobytes() == b[m].tobytes() for m in ("indices", "distances")))' || die "${pair% *} gives another graph"
  done
  expect 0 "$knng" info x.h5
  out_has '^matrix  *x$'
  out_has '^form  *dense$'
  expect 0 "$knng" info many.hdf5:turned --transpose
  out_has '^rows  *300$'
  expect 0 "$knng" query x.h5 x.h5:x -k 4 -o never.npz -q
  rm never.npz
  refused 3 "'many.hdf5': has 5 matrices; name one of them, as in FILE.h5:PATH: 'a/lzf', 'a/packed', 'bits', 'half', 'turned'" \
    "$knng" build many.hdf5 -k 1
  refused 6 "'many.hdf5': 'complex' holds records" "$knng" build many.hdf5:complex -k 1
  refused 3 "'x.h5': has no 'y'; matrices in it: 'x'" "$knng" build x.h5:y -k 1
  head -c 3000 x.h5 >cut.h5
  refused 3 "'cut.h5': is no HDF5 file, or damaged (libhdf5: truncated file" "$knng" build cut.h5 -k 1
  if "$python" -W ignore - <<'PY' 2>/dev/null; then
import anndata, numpy as np, scipy.sparse
x = np.load("counts.npy").astype("f4")
data = anndata.AnnData(scipy.sparse.csr_matrix(x), layers={"columns": scipy.sparse.csc_matrix(x)}, dtype="f4")
data.write("sparse.h5ad", compression="gzip")
data.obsm["X_pca"] = np.load("x.npy")[:200]
data.write("pca.h5ad", compression="lzf")
np.save("counts_f4.npy", x)
PY
    expect 0 "$knng" build counts_f4.npy -k 3 -o sparse.npz -q
    expect 0 "$knng" check sparse.npz sparse.h5ad
    expect 0 "$knng" check sparse.npz pca.h5ad:X
    expect 0 "$knng" build pca.h5ad -k 3 -o pca.npz -q --report
    out_has '^read  *pca.h5ad: matrix obsm/X_pca, form dense$'
    expect 0 "$knng" info sparse.h5ad
    out_has '^matrix  *X$'
    out_has '^form  *csr$'
    expect 0 "$knng" check pca.npz a.npy
    expect 0 "$knng" check sparse.npz pca.h5ad:layers/columns
    "$python" -c 'import numpy as np; np.save("genes.npy", np.load("counts_f4.npy").T.copy())'
    expect 0 "$knng" build genes.npy -k 3 -o genes.npz -q
    for file in sparse.h5ad pca.h5ad:layers/columns; do expect 0 "$knng" check genes.npz "$file" --transpose; done
  fi
fi
"$python" -c 'import numpy as np; np.save("turned.npy", np.load("x.npy").T.copy()); np.save("q_turned.npy", np.load("q.npy").T)'
expect 0 "$knng" build turned.npy -k 7 -o turned.npz -q --transpose
expect 0 "$knng" check turned.npz turned.npy --transpose
expect 0 "$knng" query turned.npy q_turned.npy -k 4 -o q_turned.npz -q --transpose
for pair in "g.npz turned.npz" "q.npz q_turned.npz"; do
  # shellcheck disable=SC2086 # words
  "$python" -c 'import numpy as np, sys
a, b = np.load(sys.argv[1]), np.load(sys.argv[2])
sys.exit(not all(a[m].tobytes() == b[m].tobytes() for m in ("indices", "distances")))' $pair || die "$pair differ"
done
expect 0 "$knng" info genes.tsv --transpose
out_has '^rows  *12$'
out_has '^dimension  *300$'
expect 0 "$knng" estimate turned.npy -k 7 --transpose
{ echo "gene_id,x"; for i in 1 2 3 4 5 6 7 8 9 10; do echo "$((1000 + i)),0.$i"; done; } >counts.csv
expect 0 "$knng" build counts.csv -k 1 -o counts.knng
grep -q "warning: 'counts.csv': column 'gene_id' counts 1001, 1002, ..., and is taken for data" err || die 'no warning of a column that counts'
refused 3 "'hole.csv': line 3, column 'height': 'NA' is no finite number (row 1, column 0)" "$knng" build hole.csv -k 1
refused 3 "'words.csv': line 3, column 'width': 'tall' is no number; commas separate cells (row 1, column 1)" \
  "$knng" build words.csv -k 1
expect 0 "$knng" build --help
out_has '\.csv'
out_has '\.h5ad'
refused 3 '9007199254740993 is beyond 9007199254740992 (2^53)' "$knng" build beyond.npy -k 3
grep -q 'row 17, column 3' err || die "no row and column of an integer that is too large"

# check: right graphs, also with settings taken from the graph; broken ones by id, by one bit, by metric.
expect 0 "$knng" check g.npz a.npy b.npy
out_has '^right: 300 of 300 rows checked, none differs \(metric euclidean\)$'
[ ! -s err ] || die 'a note on a graph that names its metric'
expect 0 "$knng" check g.knng x.npy --rows 10 -q
silent check -q
expect 0 "$knng" check first.npz x.npy
expect 0 "$knng" build x.npy -k 5 -m cosine --value similarity -o cosine.knng -q
expect 0 "$knng" check cosine.knng x.npy
out_has '\(metric cosine, value similarity\)$'
expect 9 "$knng" check cosine.knng x.npy -m correlation
out_has '\(metric correlation, value similarity\)$'
expect 0 "$knng" build x.npy -k 5 -m minkowski -p 3 -o p3.npz -q
expect 0 "$knng" check p3.npz x.npy
out_has '\(metric minkowski, p = 3\)$'
expect 9 "$knng" check p3.npz x.npy -p 2.5
out_has '\(metric minkowski, p = 2.5\)$'
"$python" - <<'PY'
import numpy as np
g = np.load("g.npz"); ids, d = g["indices"], g["distances"]
np.savez("plain.npz", indices=ids, distances=d)
i = ids.copy(); i[41, [2, 3]] = i[41, [3, 2]]; np.savez("swapped.npz", indices=i, distances=d)
e = d.copy(); e[250, 6] = np.nextafter(e[250, 6], 9); np.savez("bit.npz", indices=ids, distances=e)
PY
# A file that names no metric: euclidean is assumed, which is said, unless one is given or nothing is to be said.
note="^knng: 'plain.npz' names no metric: euclidean is assumed; give another with -m NAME\$"
expect 0 "$knng" check plain.npz x.npy
out_has '^right: .*none differs \(metric euclidean\)$'
[ "$(grep -c "$note" err)" -eq 1 ] || die 'the metric that is assumed is not reported'
expect 9 "$knng" check plain.npz x.npy -m manhattan
out_has '^wrong: .*\(metric manhattan\)$'
! grep -q 'assumed' err || die 'a metric is reported as assumed that was given'
expect 0 "$knng" check plain.npz x.npy -q
silent check -q
expect 9 "$knng" check swapped.npz x.npy
out_has '^wrong: .*row 41 is the first'
expect 9 "$knng" check bit.npz x.npy
out_has '^wrong: .*row 250 is the first'
expect 9 "$knng" check bit.npz x.npy -q
silent check -q
expect 9 "$knng" check g.npz b.npy a.npy
# Where few threads have room for their stacks the others do their work.
expect 0 env KNNG_DEVICE=cpu prlimit --stack=2000000000 --as=4500000000 "$knng" check plain.npz x.npy -q --threads 9

# convert: there and back gives the same bytes, of every kind of graph, so nothing is lost on the way.
"$python" - <<'PY'
import numpy as np
g = np.load("g.npz")
np.savez_compressed("packed.npz", indices=g["indices"].astype("i4"), distances=g["distances"].astype(">f4"), more=[1])
PY
for name in g q first cosine p3 plain short packed texts; do
  from=$name.npz to=there.knng back=back.npz
  if [ ! -e $from ]; then from=$name.knng to=there.npz back=back.knng; fi
  expect 0 "$knng" convert $from -o $to -q
  silent convert -q
  expect 0 "$knng" convert $to --output=$back -q
  case $name in
    plain | short | packed | texts) ;; # what others wrote is written in another way
    *) cmp -s $from $back || die "$from, converted there and back, is another file" ;;
  esac
  for file in $from $to $back; do
    expect 0 "$knng" info "$file" --report
    grep -v '^file ' out >"said_$file"
  done
  cmp -s "said_$from" "said_$to" || die "$to does not say of itself what $from does"
  cmp -s "said_$from" "said_$back" || die "$back does not say of itself what $from does"
  rm -f $to $back said_*
done
expect 0 "$knng" convert g.npz -o there.knng
[ ! -s out ] || die "convert writes to standard output"
grep -qx 'knng: 300 rows, 7 neighbours each, metric euclidean; saved as there.knng' err || die "what convert says"
expect 0 "$knng" check there.knng x.npy
expect 0 "$knng" convert plain.npz -o there.knng # over a file that is there
grep -q 'metric unknown; saved' err || die "convert names a metric of a graph that names none"
refused 2 "--output g.npz is the file 'g.npz', which is to be read" "$knng" convert g.npz -o g.npz
ln -s g.npz soft.knng
ln g.npz hard.knng
for other in soft.knng hard.knng; do
  refused 2 "--output $other is the file 'g.npz', which is to be read" "$knng" convert g.npz -o $other
done
rm soft.knng hard.knng
refused 2 "the suffix of 'never.txt' tells no format" "$knng" convert g.npz -o never.txt
refused 2 'output' "$knng" convert g.npz
refused 2 "convert: one argument too many, 'q.npz'" "$knng" convert g.npz q.npz -o never.knng
refused 3 "'x.npy' is no graph file" "$knng" convert x.npy -o never.knng
refused 4 'missing.npz' "$knng" convert missing.npz -o never.knng
refused 4 'nowhere/g.knng' "$knng" convert missing.npz -o nowhere/g.knng
refused 5 '--max-memory 1000 is too small: ' "$knng" convert g.npz -o never.knng --max-memory 1KB
head -c 20000 g.knng >cut.knng
cp g.npz there.npz
refused 3 'cut.knng' "$knng" convert cut.knng -o there.npz
cmp -s g.npz there.npz || die "a refused conversion changed its output"

# estimate, devices, settings, version
expect 0 "$knng" estimate x.npy -k 7
out_has '^plan  *[0-9,]+ tiles? of'
out_has '^memory  *[0-9]'
least=$(sed -n 's/^memory.* --max-memory \([0-9]*\) would do$/\1/p' out)
expect 0 "$knng" build x.npy -k 7 --device cpu --max-memory "$least" -q -o least.npz
refused 5 "the smallest that works is $least" "$knng" build x.npy -k 7 --device cpu --max-memory "$((least - 1))" -o less.npz
expect 5 "$knng" estimate x.npy -k 7 --device cpu --max-memory 20KB
grep -qE '^knng: --max-memory 20000 is too small: the smallest that works is [0-9]+$' err || die 'not what would work'
! grep -q '^plan' out || die 'a plan above its limit is shown'
expect 5 "$knng" estimate x.npy -k 7 --device cpu --set max_host_bytes=20KB
grep -q '^knng: max_host_bytes=20000 is too small' err || die 'not named as it was typed'
# A plan above all memory that this machine has is shown, and reported not to fit.
expect 5 "$knng" estimate x.npy -k 300 --device cpu --queries 100000000000
out_has '^memory .* [TP]iB planned'
grep -q 'this machine has' err || die 'does not say that the machine is too small'
# However small the limit is, the message has what works for all of the command, and that is the smallest.
has_exact_limit() {
  expect 5 "$knng" "$@" --device cpu --max-memory 1 -q
  least=$(sed -n 's/^knng: --max-memory 1 is too small: the smallest that works is \([0-9]*\)$/\1/p' err)
  expect 0 "$knng" "$@" --device cpu --max-memory "$least" -q
  expect 5 "$knng" "$@" --device cpu --max-memory "$((least - 1))" -q
}
for command in "build x.npy -k 7" "build x.npy.gz -k 7" "build x.csv -k 7" "build x.csv.gz -k 7" "build turned.npy -k 7 --transpose" "build genes.tsv -k 3 --transpose" "estimate x.npy -k 7" "build wide.npy -k 3"; do
  # shellcheck disable=SC2086 # words
  has_exact_limit $command
done
if has_hdf5; then
  has_exact_limit build x.h5 -k 7
  has_exact_limit build many.hdf5:a/packed -k 7
  has_exact_limit build many.hdf5:turned -k 7 --transpose
fi
"$python" -c 'import numpy as np; np.save("long.npy", np.zeros((5000000, 7), "u1"))'
for limit in 1 36MB; do
  refused 5 "for the rows alone; 'knng estimate' without it says how much in all" \
    "$knng" build long.npy -k 3 --device cpu --max-memory "$limit" -o least.npz
done
rm long.npy
# Nor are rows held for the message that would be held under what it says: with k = 1 they stay in their file.
"$python" -c 'import numpy as np; np.save("large.npy", np.zeros((100000, 400), "u1"))'
for k in 1 10; do
  expect 5 "$knng" build large.npy -k $k --device cpu --max-memory 1 -q
  least=$(sed -n 's/^knng: --max-memory 1 is too small: the smallest that works is \([0-9]*\)$/\1/p' err)
  expect 0 "$knng" build large.npy -k $k --device cpu --max-memory "$least" -q
  refused 5 "the smallest that works is $least" "$knng" build large.npy -k $k --device cpu --max-memory "$((least - 1))" -o less.npz
done
expect 5 "$knng" estimate large.npy large.npy -k 10 --device cpu --max-memory 1
least=$(sed -n 's/^knng: --max-memory 1 is too small: \([0-9]*\) would do$/\1/p' err)
expect 0 "$knng" estimate large.npy large.npy -k 10 --device cpu --max-memory "$least"
rm large.npy
for data in x.npy x.npy.gz genes.tsv; do
  refused 5 'would do' "$knng" query $data q.npy -k 7 -o least.npz --device cpu --max-memory 1 -q
  least=$(sed -n 's/^knng: --max-memory 1 is too small: \([0-9]*\) would do$/\1/p' err)
  expect 0 "$knng" query $data q.npy -k 7 -o least.npz --device cpu --max-memory "$least" -q
done
expect 0 "$knng" estimate x.npy -k 7 --queries 1000000
out_has "^memory .* would do, beside the queries' own rows\$"
out_has '^queries  *1,000,000 rows'
expect 0 "$knng" devices
out_has '^cpu'
expect 0 "$knng" settings
out_has '^metric=euclidean$'
out_has '^max_host_bytes=0$'
expect 0 "$knng" --version
out_has '^knng [0-9]+\.[0-9]+\.[0-9]+'

# Usage
refused 2 'a command is needed' "$knng"
refused 2 "unknown command 'frob' (see 'knng --help')" "$knng" frob
refused 2 "unknown command 'frob'" "$knng" frob --help
refused 2 "unknown command 'biuld'; did you mean 'build'?" "$knng" biuld x.npy -k 3
refused 2 "unknown command 'est'; did you mean 'estimate'?" "$knng" est x.npy -k 3
refused 2 "unknown option '--versoin'; did you mean '--version'?" "$knng" --versoin
refused 2 "build has no option '--frob' (see 'knng build --help')" "$knng" build x.npy -k 3 --frob
refused 2 "build has no option '--metrc'; did you mean '--metric'?" "$knng" build x.npy -k 3 --metrc=cosine
refused 2 "build has no option '--k'; did you mean '-k'?" "$knng" build x.npy --k 3
refused 2 "build has no option '--max_memory'; did you mean '--max-memory'?" "$knng" build x.npy -k 3 --max_memory 1G
refused 2 "it is a setting: --set tile_rows=VALUE" "$knng" build x.npy -k 3 --tile-rows 16
refused 2 "unknown option '-metric'; did you mean '--metric'?" "$knng" build x.npy -k 3 -metric cosine
refused 2 '-q: options come behind the command, build' "$knng" -q build x.npy -k 3
refused 2 "info: one argument too many, 'a.npy'" "$knng" info x.npy a.npy
refused 2 '-k' "$knng" build x.npy
refused 2 'DATA' "$knng" build -k 3
refused 2 '-k=5.5' "$knng" build x.npy -k 5.5
refused 2 'k=300 needs at least 301 rows' "$knng" build x.npy -k 300
refused 2 'k=-1' "$knng" build x.npy -k -1 -o k.npz
refused 2 '--metric frob: it takes sqeuclidean, euclidean,' "$knng" build x.npy -k 3 -m frob
refused 2 'jensenshannon; of bools braycurtis has the same neighbours' "$knng" build x.npy -k 3 -m Jaccard
! grep -q 'did you mean' err || die 'nothing is near frob'
refused 2 "did you mean 'cosine'?" "$knng" build x.npy -k 3 -m Cosin
refused 2 "metric=cosin: it takes" "$knng" build x.npy -k 3 --set metric=cosin
grep -q "did you mean 'cosine'?" err || die 'cosin is near cosine'
"$knng" build x.npy -k 3 -m Cosin 2>&1 | grep -o 'did you mean' | wc -l | grep -qx 1 || die 'a suggestion is made twice'
refused 2 "did you mean 'cuda'?" "$knng" build x.npy -k 3 --device gpu
refused 2 "did you mean 'cpu'?" "$knng" build x.npy -k 3 --device CPU
refused 2 '--metric l3: it takes' "$knng" build x.npy -k 3 -m l3
! grep -q 'did you mean' err || die 'l3 is as near to l1 as to l2'
refused 2 "did you mean 'pearson'?" "$knng" build x.npy -k 3 -m pearsn
refused 2 "did you mean 'metric'?" "$knng" build x.npy -k 3 --set metrik=cosine
refused 2 '--value similarity goes with metric=cosine' "$knng" build x.npy -k 3 --value similarity
# A short option with its value behind =, as a long one has it.
expect 0 "$knng" build x.npy -k=7 -m=minkowski -p=3 -o=equals.npz -q
expect 0 "$knng" check equals.npz x.npy -m=minkowski -p=3 -q
refused 2 'k=-1' "$knng" build x.npy -k=-1
refused 2 '-k=-3x: it takes a whole number' "$knng" build x.npy -k=-3x
refused 2 '-k=-q: it takes a whole number' "$knng" build x.npy -k=-q
refused 2 '-o=: there is no value behind it' "$knng" build x.npy -k 3 -o=
refused 2 '-k: options come behind the command, build' "$knng" -k=3 build x.npy
refused 2 '-m: options come behind the command, build' "$knng" -m=cosine build x.npy -k 3
refused 2 "info has no option '-k'" "$knng" info x.npy -k=3
refused 2 '-q=1: -q takes no value' "$knng" build x.npy -k 3 -q=1
refused 2 '-q=: -q takes no value' "$knng" build x.npy -k 3 -q=
refused 2 '-hq=1: -q takes no value' "$knng" build x.npy -k 3 -hq=1
refused 2 '--quiet=0: --quiet takes no value' "$knng" build x.npy -k 3 --quiet=0
refused 2 '--version=1: --version takes no value' "$knng" --version=1
refused 2 "-qo=a.npz: '=' goes behind one option, as in -o=a.npz" "$knng" build x.npy -k 3 -qo=a.npz
refused 2 "unknown option '-output'; did you mean '--output'?" "$knng" build x.npy -k 3 -output=a.npz
if [ -e =a.npz ] || [ -e utput=a.npz ]; then die "a file was written by a word that is refused"; fi
expect 0 "$knng" build x.npy -qk7 -oa=b.npz
[ -e a=b.npz ] || die "-oa=b.npz is no file a=b.npz"
expect 0 "$knng" build -qk 7 -- x.npy
refused 4 '-k=3' "$knng" build -k 7 -- -k=3
refused 2 'KEY=VALUE' "$knng" build x.npy -k 3 --set metric
refused 2 '-p 3 goes with metric=minkowski; metric=euclidean has no exponent' "$knng" build x.npy -k 3 -p 3
refused 2 '-p 3 goes with metric=minkowski; metric=cosine has no exponent' "$knng" check cosine.knng x.npy -p 3
refused 2 "'frob'" "$knng" build x.npy -k 3 --set frob=1
refused 2 '--max-memory 0.5 is less than 1 byte' "$knng" build x.npy -k 3 --max-memory 0.5
expect 0 "$knng" build x.npy -k 3 --max-memory 0 -q
refused 2 'max_host_bytes=0.5 is less than 1 byte' "$knng" build x.npy -k 3 --set max_host_bytes=0.5
refused 2 '--max-device-memory lots: it takes' "$knng" build x.npy -k 3 --max-device-memory lots
refused 2 '--rows=0: it takes 1 or more; without it all rows are checked' "$knng" check g.npz x.npy --rows 0
refused 2 '--rows=-1' "$knng" check g.npz x.npy --rows -1
refused 2 '--queries=0' "$knng" estimate x.npy -k 3 --queries 0
refused 2 'QUERIES' "$knng" query x.npy -k 3 -o never.npz
refused 2 'output' "$knng" query x.npy q.npy -k 3
refused 2 '--self' "$knng" query x.npy q.npy -k 3 -o never.npz --self first
refused 2 'self=first: a query is no row' "$knng" query x.npy q.npy -k 3 -o never.npz --set self=first
refused 2 '300' "$knng" check g.npz a.npy

# Data and files
refused 3 'row 17' "$knng" build nan.npy -k 3
refused 3 'hellinger' "$knng" build negative.npy -k 3 -m hellinger -o never.npz
refused 3 'truncated.npy' "$knng" info truncated.npy
refused 3 'empty.npy' "$knng" info empty.npy
refused 3 'x.npy' "$knng" check x.npy x.npy
refused 4 'missing.npy' "$knng" info missing.npy
refused 4 'missing.npz' "$knng" info missing.npz
refused 2 '11' "$knng" build x.npy other.npy -k 3
refused 5 '--max-memory 30000 is too small: the smallest that works' "$knng" build x.npy -k 7 --max-memory 30KB -o never.npz
refused 6 'cuda' "$knng" build x.npy -k 3 --device cuda:1000 -o never.npz
if [ -w /dev/full ]; then
  code=0
  "$knng" info x.npy >/dev/full 2>err || code=$?
  [ "$code" -eq 4 ] || die "a full standard output gives $code instead of 4"
fi

# Outputs that cannot be written are found before the data is opened.
mkdir directory.npz
refused 4 'nowhere/g.npz' "$knng" build missing.npy -k 3 -o nowhere/g.npz
refused 4 'directory' "$knng" build missing.npy -k 3 -o directory.npz
ln -s /dev/null null.npz
refused 4 'a device' "$knng" build missing.npy -k 3 -o null.npz
refused 2 'tells no format' "$knng" build missing.npy -k 3 -o /dev/null
refused 2 '--output: the name of the file is empty' "$knng" build x.npy -k 3 -o ''
refused 2 '--output takes a value, OUT: there is none' "$knng" build x.npy -k 3 -o
refused 2 '--row takes a value, N: there is none' "$knng" info g.npz --row
refused 2 '--output: the name of the file is empty' "$knng" query x.npy q.npy -k 3 --output ''
# An output that is an input by another name: through a link of either kind.
cp x.npy input.npy
ln -s input.npy soft.npz
ln input.npy hard.knng
for other in soft.npz hard.knng; do
  refused 2 "--output $other is the file 'input.npy', which is to be read" "$knng" build x.npy input.npy -k 3 -o "$other"
  refused 2 "--output $other is the file 'input.npy', which is to be read" "$knng" query x.npy input.npy -k 3 -o "$other"
done
cmp -s x.npy input.npy || die "an input was written over"
# A link stays one, also where what it points to is not there yet; what is replaced keeps its mode.
mkdir elsewhere
ln -s elsewhere/there.npz link.npz
expect 0 "$knng" build x.npy -k 3 -q -o link.npz
[ -L link.npz ] || die "a dangling link was replaced"
[ -f elsewhere/there.npz ] || die "what a dangling link points to was not written"
chmod 640 elsewhere/there.npz
expect 0 "$knng" build x.npy -k 3 -q -o link.npz
[ "$(stat -c %a elsewhere/there.npz)" = 640 ] || die "the output has another mode"
if [ "$(id -u)" -eq 0 ] && [ -z "${FAKEROOTKEY-}" ]; then # fakeroot makes nobody another user
  # A file of somebody else, in a directory where only owners replace files.
  chmod 755 .
  mkdir -m 1777 sticky
  cp g.npz sticky/g.npz
  chown 1:1 sticky/g.npz
  chmod 666 sticky/g.npz
  refused 4 "only owners replace" setpriv --reuid=65534 --regid=65534 --clear-groups \
    env LD_LIBRARY_PATH= "$knng" build missing.npy -k 3 -o sticky/g.npz
  expect 0 "$knng" build x.npy -k 3 -q -o sticky/g.npz
  [ "$(stat -c %u:%g:%a sticky/g.npz)" = 1:1:666 ] || die "the output has another owner"
fi
refused 2 'g.txt' "$knng" build missing.npy -k 3 -o g.txt
refused 4 'nowhere/g.npz' "$knng" query missing.npy q.npy -k 3 -o nowhere/g.npz
if [ "$(id -u)" -ne 0 ]; then
  mkdir locked
  chmod a-w locked
  refused 4 'locked/g.npz' "$knng" build missing.npy -k 3 -o locked/g.npz
fi
rmdir directory.npz
rm -rf null.npz soft.npz hard.knng input.npy link.npz elsewhere sticky

# A refused build leaves an earlier output as it was, and nothing beside it.
cp g.npz kept.npz
refused 2 'k=400' "$knng" build x.npy -k 400 -o kept.npz
cmp -s g.npz kept.npz || die "a refused build changed its output"
left=$(find . -name '.*' ! -name . -o -name 'never*' -o -name '*tmp*')
[ -z "$left" ] || die "left behind: $left"
