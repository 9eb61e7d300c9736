// Graphs in formats of others: what stands in the files to the byte, numbers that come back bit by bit, what a format
// cannot hold, that nothing is read back as a graph, and pairs of files of which both appear or neither.
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "graph_samples.h"
#include "io/file.h"
#include "io/graph_file.h"
#include "io/graph_pairs.h"
#include "io/reader.h"
#include "scratch.h"

#include "harness/cmocka.h"

using namespace libknng;
using samples::make_graph;
using scratch::bytes_of;
using scratch::Outcome;
using scratch::outcome;

namespace {

constexpr const char* kWritten[] = {"g.mtx", "g.tsv", "g.ivecs", "g.ibin"};

std::string name_of_values(std::string name) {
  name[name.rfind(".i") + 1] = 'f';
  return name;
}
bool is_pair(std::string_view name) { return name.ends_with(".ivecs") || name.ends_with(".ibin"); }

Graph sample(std::int32_t value_dtype) {
  Graph g = make_graph({{0, 2}, {1, -1}, {2, 0}}, {{0, 0.1}, {-0.0, HUGE_VAL}, {1e-45, 1e30}}, value_dtype, true);
  g.text.metric = "minkowski";
  g.text.p = "3";
  g.text.value = "distance";
  g.stats[Stat::rows] = g.stats[Stat::columns] = 3;
  return g;
}

Graph queries(std::int64_t columns, const samples::Values& values = {{1, 2}, {3, 4}}) {
  return make_graph({{7, 0}, {1, 7}}, values, KNNG_F64, false, columns);
}

void expect_file(const std::string& path, const std::string& expected) {
  const std::string found = scratch::read(path);
  if (found != expected) fail_msg("%s has\n%s\ninstead of\n%s", path.c_str(), found.c_str(), expected.c_str());
}

void texts_to_the_byte(void**) {
  const scratch::Directory dir;
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  save_graph(sample(KNNG_F32), dir / "g.mtx", nullptr);
  expect_file(dir / "g.mtx",
              head + "% metric minkowski, p 3, value distance\n3 3 5\n1 1 0\n1 3 0.1\n2 2 -0\n3 3 1e-45\n3 1 1e+30\n");
  save_graph(sample(KNNG_F32), dir / "g.tsv", nullptr);
  expect_file(dir / "g.tsv", "source\ttarget\tweight\n0\t0\t0\n0\t2\t0.1\n1\t1\t-0\n2\t2\t1e-45\n2\t0\t1e+30\n");
  save_graph(sample(KNNG_F64), dir / "g.TSV", nullptr);
  expect_file(dir / "g.TSV", "source\ttarget\tweight\n0\t0\t0\n0\t2\t0.1\n1\t1\t-0\n2\t2\t1e-45\n2\t0\t1e+30\n");
  // Rows are those of the queries, columns those of the data set; nothing is known of how it was made.
  Graph g = queries(9, {{0.5, HUGE_VAL}, {-3, std::nextafter(1.0, 2.0)}});
  save_graph(g, dir / "other", "mtx");
  expect_file(dir / "other", head + "% metric unknown\n2 9 4\n1 8 0.5\n1 1 inf\n2 2 -3\n2 8 1.0000000000000002\n");
  g.text.metric = std::string(5000, 'x');
  save_graph(g, dir / "other", "mtx");
  expect_file(dir / "other", head + "% metric unknown\n2 9 4\n1 8 0.5\n1 1 inf\n2 2 -3\n2 8 1.0000000000000002\n");
}

// Of any bits, also through a program that has doubles only.
void decimals_come_back(void**) {
  const scratch::Directory dir;
  std::mt19937_64 random(7);
  constexpr std::int64_t kRows = 500, kWidth = 40;
  for (const std::int32_t dtype : {KNNG_F32, KNNG_F64}) {
    samples::Shape shape{kRows, 0, kWidth, dtype};
    std::mt19937 of_ids(3);
    Graph g = samples::random_graph(shape, of_ids);
    for (std::int64_t e = 0; e < g.entries(); ++e) {
      const std::uint64_t bits = random();
      const auto narrow = static_cast<std::uint32_t>(bits >> 32);
      if (dtype == KNNG_F32) {
        auto* const to = reinterpret_cast<float*>(g.values.data()) + e;
        if (std::isfinite(std::bit_cast<float>(narrow))) *to = std::bit_cast<float>(narrow);
      } else if (std::isfinite(std::bit_cast<double>(bits))) {
        reinterpret_cast<double*>(g.values.data())[e] = std::bit_cast<double>(bits);
      }
    }
    // Its shortest decimals as a float, read as a double, would be rounded to another float.
    constexpr float kRoundedTwice = 0x1.5c87fap-84f;
    static_assert(std::bit_cast<std::uint32_t>(kRoundedTwice) == 0x15ae43fd);
    if (dtype == KNNG_F32)
      for (const float x : {kRoundedTwice, -kRoundedTwice})
        reinterpret_cast<float*>(g.values.data())[x < 0 ? 1 : 2] = x;
    for (const char* name : {"g.mtx", "g.tsv"}) {
      save_graph(g, dir / name, nullptr);
      const std::string text = scratch::read(dir / name);
      assert_true(text.size() > (1 << 18));  // more than one block
      const char separator = name[2] == 't' ? '\t' : ' ';
      const int base = separator == ' ', head_lines = separator == ' ' ? 3 : 1;
      std::size_t at = 0;
      for (int line = 0; line < head_lines; ++line) at = text.find('\n', at) + 1;
      const char *from = text.data() + at, *const end = text.data() + text.size();
      for (std::int64_t e = 0; e < g.entries(); ++e) {
        std::int64_t source = -1, target = -1;
        double value = 0;
        from = std::from_chars(from, end, source).ptr;
        assert_int_equal(*from++, separator);
        from = std::from_chars(from, end, target).ptr;
        assert_int_equal(*from++, separator);
        from = std::from_chars(from, end, value).ptr;
        assert_int_equal(*from++, '\n');
        assert_true(source == e / kWidth + base && target == g.ids[e] + base);
        const bool same = dtype == KNNG_F32
                              ? std::bit_cast<std::uint32_t>(static_cast<float>(value)) ==
                                    std::bit_cast<std::uint32_t>(static_cast<float>(g.value(e)))
                              : std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(g.value(e));
        if (!same) fail_msg("%s, entry %lld: %a became %a", name, static_cast<long long>(e), g.value(e), value);
      }
      assert_true(from == end);
    }
  }
}

void pairs_to_the_byte(void**) {
  const scratch::Directory dir;
  for (const std::int32_t dtype : {KNNG_F32, KNNG_F64}) {
    const Graph g = sample(dtype);
    const auto floats = [](float a, float b) { return bytes_of(a) + bytes_of(b); };
    const auto ints = [](std::int32_t a, std::int32_t b) { return bytes_of(a) + bytes_of(b); };
    const std::string two = bytes_of(std::int32_t{2}), counts = ints(3, 2);
    const std::string values[] = {floats(0, 0.1f), floats(-0.0f, HUGE_VALF), floats(1e-45f, 1e30f)};
    const std::string ids[] = {ints(0, 2), ints(1, -1), ints(2, 0)};
    save_graph(g, dir / "g.ivecs", nullptr);
    expect_file(dir / "g.ivecs", two + ids[0] + two + ids[1] + two + ids[2]);
    expect_file(dir / "g.fvecs", two + values[0] + two + values[1] + two + values[2]);
    save_graph(g, dir / "g.ibin", nullptr);
    expect_file(dir / "g.ibin", counts + ids[0] + ids[1] + ids[2]);
    expect_file(dir / "g.fbin", counts + values[0] + values[1] + values[2]);
    assert_int_equal(dir.names().size(), 4);
    save_graph(g, dir / "G.IVECS", nullptr);
    assert_true(scratch::read(dir / "G.FVECS") == scratch::read(dir / "g.fvecs"));
    save_graph(g, dir / "G.Ibin", "ibin");
    assert_true(scratch::read(dir / "G.Fbin") == scratch::read(dir / "g.fbin"));
    assert_int_equal(dir.names().size(), 8);
    for (const std::string& name : dir.names()) ::remove((dir / name).c_str());
  }
}

// The library's own readers of rows find what was written; lists of many blocks.
void pairs_are_rows(void**) {
  const scratch::Directory dir;
  std::mt19937 random(11);
  for (const std::int64_t width : {1, 299}) {
    const Graph g = samples::random_graph({300, 0, width, KNNG_F32, false, true}, random);
    for (const char* name : {"g.ivecs", "g.ibin"}) {
      save_graph(g, dir / name, nullptr);
      for (const bool of_values : {false, true}) {
        const std::unique_ptr<RowReader> reader = open_reader(dir / (of_values ? name_of_values(name) : name));
        assert_true(reader->rows() == g.rows && reader->cols() == width);
        assert_int_equal(reader->dtype(), of_values ? KNNG_F32 : KNNG_I32);
        std::vector<std::int32_t> words(static_cast<std::size_t>(g.entries()));
        reader->read(g.rows, reinterpret_cast<std::byte*>(words.data()));
        reader->finish();
        if (of_values) assert_memory_equal(words.data(), g.values.data(), words.size() * 4);
        for (std::int64_t e = 0; !of_values && e < g.entries(); ++e)
          assert_int_equal(words[static_cast<std::size_t>(e)], g.ids[e]);
      }
    }
  }
  constexpr std::int64_t k32 = std::int64_t{1} << 32;
  assert_true(bin_header(k32 - 1, 3) == bytes_of(0xffffffffu) + bytes_of(3u));
  assert_true(bin_header(k32, 3) == bytes_of(std::uint64_t{1} << 32) + bytes_of(std::uint64_t{3}));
  assert_true(bin_header(3, k32) == bytes_of(std::uint64_t{3}) + bytes_of(std::uint64_t{1} << 32));
}

void what_does_not_fit(void**) {
  const scratch::Directory dir;
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (const char* name : {"g.ivecs", "g.ibin"}) {
    Outcome o = outcome([&] { save_graph(queries(kMost + 1), dir / name, nullptr); });
    assert_true(o.code == KNNG_ERR_RANGE && o.limit == kMost && o.says("2147483649") && o.says("int32"));
    o = outcome([&] { save_graph(queries(9, {{1, 2}, {3, 3.5e38}}), dir / name, nullptr); });
    assert_true(o.code == KNNG_ERR_RANGE && o.row == 1 && o.col == 1 && o.says("3.5"));
    // Both files are beside each other, so the name has to say where.
    o = outcome([&] { save_graph(queries(9), dir / "g", name + 2); });
    assert_true(o.code == KNNG_ERR_OPTION && o.says(name + 1) && o.says(name_of_values(name).c_str() + 1));
    assert_true(dir.names().empty());
    save_graph(queries(kMost), dir / name, nullptr);
    assert_int_equal(dir.names().size(), 2);
    for (const std::string& left : dir.names()) ::remove((dir / left).c_str());
  }
  for (const char* name : {"g.fvecs", "g.fbin", "g.csv", "g.mtx.gz"}) {
    const Outcome o = outcome([&] { save_graph(queries(9), dir / name, nullptr); });
    assert_true(o.code == KNNG_ERR_OPTION && o.says(".knng, .npz, .mtx, .tsv, .ivecs, .ibin"));
  }
  assert_true(dir.names().empty());
  save_graph(queries(kMost + 1), dir / "g.mtx", nullptr);
  assert_true(scratch::read(dir / "g.mtx").find("\n2 2147483649 4\n") != std::string::npos);
}

void not_read_back(void**) {
  const scratch::Directory dir;
  for (const char* name : kWritten) {
    save_graph(sample(KNNG_F32), dir / name, nullptr);
    const Outcome o = outcome([&] { load_graph(dir / name); });
    assert_true(o.code == KNNG_ERR_UNSUPPORTED && o.says(name) && o.says(".knng, .npz keep"));
    // What is a graph is read under any name; over the file of ids alone it is not written.
    ::remove((dir / name).c_str());
    save_graph(sample(KNNG_F32), dir / name, "knng");
    assert_int_equal(load_graph(dir / name).rows, 3);
  }
  assert_int_equal(outcome([&] { load_graph(dir / "missing.mtx"); }).code, KNNG_ERR_IO);
}

// Beside what is no pair of a graph: one file alone, or two that do not belong together.
void data_is_not_replaced(void**) {
  const scratch::Directory dir;
  for (const char* name : {"base.ivecs", "base.ibin"}) {
    const std::string points = name_of_values(name);
    scratch::write(dir / points, "points");
    const auto refused = [&](const char* why) {
      const Outcome o = outcome([&] { save_graph(sample(KNNG_F32), dir / name, nullptr); });
      assert_true(o.code == KNNG_ERR_IO && o.says(points.c_str()) && o.says(name) && o.says(why));
    };
    refused("which is not there, or empty");
    expect_file(dir / points, "points");
    scratch::write(dir / name, "ids");
    refused("which has other counts");
    scratch::write(dir / name, "points, but others");
    refused("which has other counts");
    scratch::write(dir / name, "POINTS");  // as long, with other counts in front
    refused("which has other counts");
    expect_file(dir / points, "points");
    expect_file(dir / name, "POINTS");
    ::remove((dir / points).c_str());
    refused("which is not there, or empty");
    expect_file(dir / name, "POINTS");
    scratch::write(dir / points, "POINTS");  // of an older graph, for all that can be seen
    save_graph(sample(KNNG_F32), dir / name, nullptr);
    assert_true(scratch::read(dir / points) != "POINTS" && scratch::read(dir / name) != "POINTS");
    assert_int_equal(dir.names().size(), 2);
    for (const std::string& left : dir.names()) ::remove((dir / left).c_str());
  }
}

// A directory that takes a name when all is written.
void both_or_neither(void**) {
  const scratch::Directory dir;
  for (const bool there : {false, true})
    for (const char* taken : {"first", "second"}) {
      if (there) scratch::write(dir / "first", "old"), scratch::write(dir / "second", "old");
      {
        OutputFile first(dir / "first"), second(dir / "second");
        assert_int_equal(first.replaces(), there);
        first.write("new", 3);
        second.write("new", 3);
        ::remove((dir / taken).c_str());
        assert_int_equal(::mkdir((dir / taken).c_str(), 0700), 0);
        const Outcome o = outcome([&] { commit_together(first, second); });
        assert_true(o.code == KNNG_ERR_IO && o.says(taken));
      }
      assert_int_equal(::rmdir((dir / taken).c_str()), 0);
      const char* const other = taken[0] == 'f' ? "second" : "first";
      assert_int_equal(dir.names().size(), there ? 1 : 0);
      if (there) expect_file(dir / other, "old");
      ::remove((dir / other).c_str());
    }
  scratch::write(dir / "first", "old");
  OutputFile first(dir / "first"), second(dir / "second");
  first.write("new", 3);
  second.write("also", 4);
  commit_together(first, second);
  expect_file(dir / "first", "new");
  expect_file(dir / "second", "also");
  assert_int_equal(dir.names().size(), 2);
}

// Names that lead to one place would leave one file.
void one_place_for_two(void**) {
  const scratch::Directory dir;
  for (const char* name : {"g.ivecs", "g.fvecs"}) assert_int_equal(::symlink("place", (dir / name).c_str()), 0);
  const Outcome o = outcome([&] { save_graph(sample(KNNG_F32), dir / "g.ivecs", nullptr); });
  assert_true(o.code == KNNG_ERR_IO && o.says("g.ivecs") && o.says("g.fvecs"));
  assert_int_equal(dir.names().size(), 2);
}

void budgets(void**) {
  const scratch::Directory dir;
  const Graph g = sample(KNNG_F32);
  for (const char* name : kWritten) {
    Budget small(1000, 0, "control", "max_bytes");
    const Outcome o = outcome([&] { save_graph(g, dir / name, nullptr, {&small, nullptr}); });
    assert_true(o.code == KNNG_ERR_BUDGET && o.says("max_bytes=1000") && o.limit <= 1 << 19);
    assert_true(dir.names().empty());
    Budget enough(o.limit);
    save_graph(g, dir / name, nullptr, {&enough, nullptr});
    assert_true(enough.peak() <= o.limit && enough.held() == 0);
    assert_int_equal(dir.names().size(), is_pair(name) ? 2 : 1);
    for (const std::string& left : dir.names()) ::remove((dir / left).c_str());
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(texts_to_the_byte),    cmocka_unit_test(decimals_come_back),
      cmocka_unit_test(pairs_to_the_byte),    cmocka_unit_test(pairs_are_rows),
      cmocka_unit_test(what_does_not_fit),    cmocka_unit_test(not_read_back),
      cmocka_unit_test(data_is_not_replaced), cmocka_unit_test(both_or_neither),
      cmocka_unit_test(one_place_for_two),    cmocka_unit_test(budgets),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
