// NumPy itself as the other side: it writes arrays of every kind that we read, and reads the archives that we write.
// Skipped where /usr/bin/python3 has no NumPy.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "graph/import.h"
#include "io/graph_file.h"
#include "io/reader.h"
#include "scratch.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

bool run_python(const scratch::Directory& dir, const std::string& script) {
  scratch::write(dir / "script.py", script);
  const std::string command = "/usr/bin/python3 " + (dir / "script.py") + " " + dir.path();
  const int status = std::system(command.c_str());
  ::remove((dir / "script.py").c_str());
  return status == 0;
}

// NAME.npy or NAME.npy.gz, and beside it NAME.raw: what has to come out, row-major.
constexpr char kWriteArrays[] = R"(
import gzip, sys, itertools, numpy as np
base = sys.argv[1] + "/"
rng = np.random.default_rng(1)
number = 0
for dtype, big, order, shape, packed in itertools.product(
        ["f4", "f8", "f2", "u1", "i1"], [False, True], "CF", [(7, 5), (1, 9), (9, 1), (40, 33)], [False, True]):
    a = np.asarray(rng.integers(0, 100, shape), dtype=(">" if big else "<") + dtype, order=order)
    name = base + "a%d" % number
    number += 1
    with (gzip.open(name + ".npy.gz", "wb") if packed else open(name + ".npy", "wb")) as f:
        np.lib.format.write_array(f, a, version=[(1, 0), (2, 0), (3, 0)][number % 3])
    a.astype(a.dtype.newbyteorder("<")).tofile(name + ".raw")  # tofile is row-major
print(number, "arrays", file=sys.stderr)
)";

void arrays_of_numpy(void**) {
  const scratch::Directory dir;
  assert_true(run_python(dir, kWriteArrays));
  int read = 0;
  for (const std::string& name : dir.names()) {
    const std::size_t end = name.find(".npy");
    if (end == std::string::npos) continue;
    const std::string expected = scratch::read(dir / (name.substr(0, end) + ".raw"));
    const auto reader = open_reader(dir / name);
    const std::int64_t row_bytes = reader->cols() * checked_dtype_bytes(reader->dtype(), "dtype");
    std::string found(static_cast<std::size_t>(reader->rows() * row_bytes), '\0');
    auto* const to = reinterpret_cast<std::byte*>(found.data());
    const std::int64_t first = reader->rows() / 2;
    if (first > 0) reader->read(first, to);
    reader->read(reader->rows() - first, to + first * row_bytes);
    reader->finish();
    if (found != expected) fail_msg("%s differs", name.c_str());
    ++read;
  }
  assert_int_equal(read, 5 * 2 * 2 * 4 * 2);
}

constexpr char kWriteArchives[] = R"(
import sys, itertools, numpy as np
base = sys.argv[1] + "/"
n, k = 300, 7
ids = np.array([[(i + t + 1) % n for t in range(k)] for i in range(n)])
values = np.array([[i / 8 + t for t in range(k)] for i in range(n)])
for number, (save, i, v, order) in enumerate(itertools.product(
        [np.savez, np.savez_compressed], ["<i4", "<i8", ">i8"], ["<f4", "<f8", ">f8"], "CF")):
    save(base + "g%d.npz" % number, distances=np.asarray(values, v, order=order), other=np.arange(3),
         indices=np.asarray(ids, i, order=order))
)";

void archives_of_numpy(void**) {
  const scratch::Directory dir;
  assert_true(run_python(dir, kWriteArchives));
  assert_int_equal(dir.names().size(), 36);
  for (const std::string& name : dir.names()) {
    const Graph g = load_graph(dir / name);
    assert_true(g.rows == 300 && g.width == 7 && g.square && !g.self_first);
    for (std::int64_t i = 0; i < g.rows; ++i)
      for (std::int64_t t = 0; t < g.width; ++t) {
        assert_int_equal(g.ids[i * 7 + t], (i + t + 1) % 300);
        assert_true(g.value(i * 7 + t) == static_cast<double>(i) / 8 + static_cast<double>(t));
      }
  }
}

constexpr char kReadArchives[] = R"(
import sys, zipfile, numpy as np
base = sys.argv[1] + "/"
for name, dtype in (("f4.npz", np.float32), ("f8.npz", np.float64)):
    assert zipfile.ZipFile(base + name).testzip() is None
    g = np.load(base + name, allow_pickle=False)
    assert sorted(g.files) == ["distances", "indices", "knng_text", "proof", "ties"], g.files
    i, d = g["indices"], g["distances"]
    assert i.dtype == np.int64 and i.tolist() == [[1, -1], [2, 0], [0, 1]], i
    assert d.dtype == dtype and d.tolist() == [[0.5, float("inf")], [1.0, 2.0], [0.25, 4.0]], d
    assert i.flags.c_contiguous and d.flags.c_contiguous
    assert g["ties"].tolist() == [0, 1, 0] and g["proof"].tolist() == [0, 0, 4]
    text = bytes(g["knng_text"]).decode()
    assert "text.metric=cosine\n" in text and "square=1\n" in text, text
)";

template <class Value>
void save_sample(const std::string& path) {
  const std::int64_t ids[] = {1, -1, 2, 0, 0, 1};
  const Value values[] = {Value(0.5), std::numeric_limits<Value>::infinity(), 1, 2, Value(0.25), 4};
  const auto view = [](std::int32_t dtype, const void* data) {
    return MatrixView{dtype, 3, 2, 2, 1, static_cast<const std::byte*>(data)};
  };
  const MatrixView value_view = view(sizeof(Value) == 4 ? KNNG_F32 : KNNG_F64, values);
  Graph g = import_graph(view(KNNG_I64, ids), &value_view);
  g.ties[1] = 1;
  g.proof[2] = 4;
  g.text.metric = "cosine";
  save_graph(g, path, "npz");
}

void archives_for_numpy(void**) {
  const scratch::Directory dir;
  save_sample<float>(dir / "f4.npz");
  save_sample<double>(dir / "f8.npz");
  assert_true(run_python(dir, kReadArchives));
}

}  // namespace

int main() {
  {
    const scratch::Directory dir;
    if (!run_python(dir, "import numpy")) {
      std::printf("skipped: /usr/bin/python3 has no numpy\n");
      return 77;
    }
  }
  const CMUnitTest tests[] = {
      cmocka_unit_test(arrays_of_numpy),
      cmocka_unit_test(archives_of_numpy),
      cmocka_unit_test(archives_for_numpy),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
