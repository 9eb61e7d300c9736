#!/bin/sh
# Graphs for other programs, as the command writes them: matrices that SciPy reads, tables, pairs of files for those who
# measure approximate neighbours. Compared with the graph as .npz, number by number; and what is refused.
#   test_graph_formats.sh KNNG
knng=$1
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname -- "$0")/common.sh"
need_numpy
"$python" -c 'import scipy.io' 2>/dev/null || {
  echo "skipped: $python with scipy is needed (python3-scipy)"
  exit 77
}

"$python" - <<'E'
import numpy as np
r = np.random.default_rng(5)
x = r.normal(size=(400, 12)); x[7] = x[9]
np.save("x.npy", x.astype("f4")); np.save("wide.npy", x); np.save("q.npy", r.normal(size=(30, 12)).astype("f4"))
E

for kind in "x.npy" "wide.npy" "x.npy --self first -m correlation --value similarity"; do
  # shellcheck disable=SC2086 # words
  expect 0 "$knng" build $kind -k 9 -q -o g.npz
  for format in mtx tsv ivecs ibin; do
    # shellcheck disable=SC2086
    expect 0 "$knng" build $kind -k 9 -q -o built.$format
    expect 0 "$knng" convert g.npz -q -o g.$format
    cmp -s built.$format g.$format || die "built and converted graphs differ as .$format"
  done
  "$python" - <<'E' || die "another graph is read ($kind)"
import numpy as np, scipy.io
g = np.load("g.npz"); ids, d = g["indices"], g["distances"]
n, k = ids.shape

m = scipy.io.mmread("g.mtx")
assert m.shape == (n, n) and m.nnz == n * k
assert (m.row.reshape(n, k) == np.arange(n)[:, None]).all() and (m.col.reshape(n, k) == ids).all()
assert (m.data.astype(d.dtype).reshape(n, k).view("u1") == d.view("u1")).all()

with open("g.tsv") as f:
    assert f.readline() == "source\ttarget\tweight\n"
t = np.loadtxt("g.tsv", skiprows=1)
assert (t[:, 0].reshape(n, k) == np.arange(n)[:, None]).all() and (t[:, 1].reshape(n, k) == ids).all()
assert (np.ascontiguousarray(t[:, 2]).astype(d.dtype).reshape(n, k).view("u1") == d.view("u1")).all()

narrow = d.astype("f4")
for of_ids, of_values in (("g.ivecs", "g.fvecs"), ("built.ivecs", "built.fvecs")):
    i = np.fromfile(of_ids, "<i4").reshape(n, k + 1); v = np.fromfile(of_values, "<f4").reshape(n, k + 1)
    assert (i[:, 0] == k).all() and (v.view("i4")[:, 0] == k).all()
    assert (i[:, 1:] == ids).all() and (v[:, 1:] == narrow).all()
for of_ids, of_values in (("g.ibin", "g.fbin"), ("built.ibin", "built.fbin")):
    assert (np.fromfile(of_ids, "<u4", 2) == (n, k)).all() and (np.fromfile(of_values, "<u4", 2) == (n, k)).all()
    assert (np.fromfile(of_ids, "<i4", offset=8).reshape(n, k) == ids).all()
    assert (np.fromfile(of_values, "<f4", offset=8).reshape(n, k) == narrow).all()
E
  rm built.* g.*
done

# Ground truth: queries have rows of their own, and a name may be in capitals.
expect 0 "$knng" query x.npy q.npy -k 4 -o GT.IVECS
grep -q 'saved as GT.IVECS and GT.FVECS$' err || die "query does not say what it saved"
for format in mtx npz ibin; do
  expect 0 "$knng" query x.npy q.npy -k 4 -q -o gt.$format
done
{ cat gt.ibin; tail -c +9 gt.fbin; } >gt.bin # one file of the pair, as the guide makes it
"$python" - <<'E' || die "ground truth differs"
import numpy as np, scipy.io
g = np.load("gt.npz")
assert (np.fromfile("GT.IVECS", "<i4").reshape(30, 5)[:, 1:] == g["indices"]).all()
assert (np.fromfile("GT.FVECS", "<f4").reshape(30, 5)[:, 1:] == g["distances"]).all()
m = scipy.io.mmread("gt.mtx")
assert m.shape == (30, 400) and (m.col.reshape(30, 4) == g["indices"]).all()
with open("gt.bin", "rb") as f:
    assert (np.fromfile(f, "<u4", 2) == (30, 4)).all()
    assert (np.fromfile(f, "<i4", 120).reshape(30, 4) == g["indices"]).all()
    assert (np.fromfile(f, "<f4").reshape(30, 4) == g["distances"]).all()
E

# Short lists of others, and more points than int32 names.
"$python" - <<'E'
import numpy as np
d = np.array([[1, .1], [1, np.inf], [.1, 2]])
np.savez("short.npz", indices=np.array([[1, 2], [0, -1], [0, 1]]), distances=d)
np.savez("far.npz", indices=np.array([[1, 2], [0, 2**31]]), distances=d[[0, 2]])
E
expect 0 "$knng" convert short.npz -q -o short.tsv
printf 'source\ttarget\tweight\n0\t1\t1\n0\t2\t0.1\n1\t0\t1\n2\t0\t0.1\n2\t1\t2\n' | cmp -s - short.tsv || die "short lists differ"
expect 0 "$knng" convert short.npz -q -o short.ivecs
"$python" -c 'import numpy as np; assert np.fromfile("short.ivecs", "<i4").tolist() == [2, 1, 2, 2, 0, -1, 2, 0, 1]' ||
  die "short lists differ"
for format in ivecs ibin; do
  refused 2 'int32' "$knng" convert far.npz -o never.$format
done
expect 0 "$knng" convert far.npz -q -o far.mtx
grep -qx '2 2147483649 4' far.mtx || die "the matrix has another shape"

# What is not read back, and says so.
for file in short.tsv short.ivecs far.mtx gt.ibin; do
  refused 6 "is only written, for other programs; .knng, .npz keep all" "$knng" convert $file -o never.npz
  refused 6 "is only written, for other programs" "$knng" check $file x.npy
done
refused 6 "is only written, for other programs" "$knng" info far.mtx
expect 0 "$knng" info short.tsv
out_has '^kind +data$'
refused 2 'is no graph' "$knng" info gt.ibin --row 0
refused 2 "the suffix of 'never.fvecs' tells no format" "$knng" convert short.npz -o never.fvecs

# Neither file of a pair takes the place of an input, or of points that are no input.
"$python" - <<'E'
import numpy as np
x = np.load("x.npy")
np.hstack([np.full((400, 1), 12, "i4").view("f4"), x]).tofile("base.fvecs")
E
cp base.fvecs kept
for words in "build base.fvecs" "query x.npy base.fvecs" "query base.fvecs q.npy"; do
  # shellcheck disable=SC2086 # words
  refused 2 "--output base.ivecs: its values would replace the file 'base.fvecs', which is to be read" \
    "$knng" $words -k 3 -o base.ivecs
done
refused 4 "cannot write 'base.fvecs' beside 'base.ivecs', which is not there, or empty" "$knng" build missing.npy -k 3 -o base.ivecs
cmp -s base.fvecs kept || die "points were replaced"
mkdir folder.fvecs
refused 4 'folder.fvecs' "$knng" build missing.npy -k 3 -o folder.ivecs
for file in full.tsv full.fvecs; do
  ln -s /dev/full $file
  refused 4 'a device' "$knng" build missing.npy -k 3 -o "$(echo $file | sed 's/fvecs/ivecs/')"
done

# What is replaced is a graph, or empty; a pair is replaced as such.
"$python" - <<'E'
import numpy as np, scipy.sparse
np.savez("data.npz", x=np.load("x.npy"))
np.savez("near.npz", note=1, distances=np.ones((2, 1), "f4"), indices=[[1], [0]])
scipy.sparse.save_npz("sparse.npz", scipy.sparse.eye(3, format="csr"))
E
printf 'a\tb\n1\t2\n' >data.tsv
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n' >data.mtx
echo words >data.knng
cp x.npy data.ibin
cp base.fvecs apart.ivecs
for file in data.npz sparse.npz data.tsv data.mtx data.knng data.ibin apart.ivecs; do
  cp $file before
  for command in "build missing.npy -k 3" "convert short.npz"; do
    # shellcheck disable=SC2086 # words
    refused 4 "it may be data; move it away, or take another name" "$knng" $command -o $file
  done
  cmp -s $file before || die "$file was replaced"
done
expect 0 "$knng" convert short.npz -q -o pair.ivecs
expect 0 "$knng" build x.npy -k 3 -q -o pair.ivecs # over the pair that is there
cp pair.ivecs other.ivecs
cp base.fvecs other.fvecs
refused 4 "cannot write 'other.fvecs' beside 'other.ivecs', which has other counts" "$knng" build missing.npy -k 3 -o other.ivecs
cp x.npy other.ibin
: >other.fbin
refused 4 "cannot write 'other.ibin' beside 'other.fbin', which is not there, or empty" "$knng" convert short.npz -o other.ibin
: >other.ibin
expect 0 "$knng" convert short.npz -q -o other.ibin # nothing is lost
: >empty.tsv
for file in near.npz short.tsv far.mtx empty.tsv; do
  expect 0 "$knng" build x.npy -k 3 -q -o $file
done

# A disk that is full: what was there stays.
cp short.tsv old.tsv
for file in old.tsv GT.IVECS; do
  cp $file before
  expect 4 prlimit --fsize=1024 sh -c 'trap "" XFSZ; exec "$@"' sh "$knng" build x.npy -k 50 -q -o $file
  cmp -s $file before || die "$file changed"
done

if find . | grep -q '/\.knng-\|never'; then die "something was left: $(find .)"; fi
echo "all right"
