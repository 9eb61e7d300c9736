// Graph files: round trips, files cut at every byte, every bit flipped, damage with a right checksum, archives of
// others, and what is left when writing fails.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "graph/import.h"
#include "io/formats.h"
#include "io/graph_facts.h"
#include "io/graph_file.h"
#include "io/npy.h"
#include "io/zip.h"
#include "scratch.h"

#include "harness/cmocka.h"

using namespace libknng;
using scratch::bytes_of;
using scratch::Outcome;
using scratch::outcome;

namespace {

template <class Value>
Graph graph_of(std::int64_t rows, std::int64_t width, const std::vector<std::int64_t>& ids,
               const std::vector<Value>& values) {
  const auto view = [&](std::int32_t dtype, const void* data) {
    return MatrixView{dtype, rows, width, width, 1, static_cast<const std::byte*>(data)};
  };
  const MatrixView value_view = view(sizeof(Value) == 4 ? KNNG_F32 : KNNG_F64, values.data());
  return import_graph(view(KNNG_I64, ids.data()), &value_view);
}

// Everything that a file has to keep is something that no default gives.
Graph full_sample() {
  Graph g = graph_of<double>(3, 2, {0, 2, 1, -1, 2, 0}, {0.0, 0.1, 1e-300, HUGE_VAL, -0.0, 1.0 / 3});
  g.self_first = true;
  g.ties[1] = 1;
  g.proof[0] = 4;
  g.proof[2] = 1;
  for (int i = 0; i < kStats; ++i)
    if (const auto s = static_cast<Stat>(i); s != Stat::rows && s != Stat::columns && s != Stat::bound_violations)
      g.stats[s] =
          std::string(stat_table()[static_cast<std::size_t>(i)].name).starts_with("seconds_") ? i / 7.0 : i % 4;
  g.stats[Stat::bytes_host_peak] = 0x1p53 - 1;
  g.stats[Stat::bytes_device_peak] = 0x1p53;
  g.stats[Stat::seconds_total] = 1e10;
  g.stats[Stat::proved] = 2;
  g.stats[Stat::ties_at_k] = 1;
  g.text.metric = "minkowski";
  g.text.self = "first";
  g.text.device = "cpu: a=b \\n \\ \u00e9";
  g.text.fingerprint = "";
  return g;
}
Graph query_sample() {
  Graph g = graph_of<float>(2, 3, {7, 1, 3, 900, 5, -1}, {0.5f, 1.5f, 2.5f, 0.0f, 1e30f, HUGE_VALF});
  g.columns = 1000;
  g.stats[Stat::columns] = 1000;
  return g;
}

template <class T>
bool same(const Buffer<T>& a, const Buffer<T>& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

bool same(const Graph& a, const Graph& b) {
  for (int i = 0; i < kStats; ++i) {
    const auto s = static_cast<Stat>(i);
    if (a.stats.knows(s) != b.stats.knows(s) || (a.stats.knows(s) && a.stats[s] != b.stats[s])) return false;
  }
  return a.rows == b.rows && a.columns == b.columns && a.width == b.width && a.square == b.square &&
         a.self_first == b.self_first && a.value_dtype == b.value_dtype && same(a.ids, b.ids) &&
         same(a.values, b.values) && same(a.ties, b.ties) && same(a.proof, b.proof) && a.text.metric == b.text.metric &&
         a.text.precision == b.text.precision && a.text.engine == b.text.engine && a.text.selector == b.text.selector &&
         a.text.device == b.text.device && a.text.version == b.text.version &&
         a.text.fingerprint == b.text.fingerprint && a.text.value == b.text.value && a.text.self == b.text.self;
}

void round_trips(void**) {
  const scratch::Directory dir;
  const Graph samples[] = {full_sample(), query_sample(), graph_of<float>(1, 1, {0}, {0.0f})};
  for (const Graph& g : samples)
    for (const char* name : {"g.knng", "g.npz"}) {
      save_graph(g, dir / name, nullptr);
      assert_true(same(g, load_graph(dir / name)));
      assert_int_equal(dir.names().size(), 1);
      // The content tells the format, not the name; equal graphs give equal files.
      const std::string other_name = std::string(name) + ".old";
      save_graph(g, dir / other_name, name + 2);
      assert_true(same(g, load_graph(dir / other_name)));
      assert_true(scratch::read(dir / name) == scratch::read(dir / other_name));
      ::remove((dir / name).c_str());
      ::remove((dir / other_name).c_str());
    }
}

void suffixes_in_capitals(void**) {
  const scratch::Directory dir;
  const Graph g = full_sample();
  for (const char* name : {"G.KNNG", "G.NPZ", "g.Npz"}) {
    save_graph(g, dir / name, nullptr);
    assert_true(same(g, load_graph(dir / name)));
    save_graph(g, dir / "small", name[2] == 'K' ? "knng" : "npz");
    assert_true(scratch::read(dir / name) == scratch::read(dir / "small"));
  }
}

void formats(void**) {
  const scratch::Directory dir;
  const Graph g = full_sample();
  Outcome o = outcome([&] { save_graph(g, dir / "g.txt", nullptr); });
  assert_true(o.code == KNNG_ERR_OPTION && o.says(".knng") && o.says(".npz"));
  o = outcome([&] { save_graph(g, dir / "g.knng", "hdf5"); });
  assert_true(o.code == KNNG_ERR_OPTION && o.says("hdf5"));
  assert_true(dir.names().empty());
  assert_int_equal(outcome([&] { load_graph(dir / "g.knng"); }).code, KNNG_ERR_IO);
  for (const char* bytes : {"", "P", "something else altogether"}) {
    scratch::write(dir / "g.knng", bytes);
    assert_int_equal(outcome([&] { load_graph(dir / "g.knng"); }).code, KNNG_ERR_FORMAT);
  }
}

void cut_everywhere(void**) {
  const scratch::Directory dir;
  const Graph g = full_sample();
  for (const char* name : {"g.knng", "g.npz"}) {
    save_graph(g, dir / name, nullptr);
    const std::string whole = scratch::read(dir / name);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      scratch::write(dir / name, whole.substr(0, size));
      const Outcome o = outcome([&] { load_graph(dir / name); });
      if (o.code != KNNG_ERR_FORMAT) fail_msg("%s at %zu: %d %s", name, size, o.code, o.message.c_str());
    }
  }
  save_graph(g, dir / "g.knng", nullptr);
  scratch::write(dir / "g.knng", scratch::read(dir / "g.knng") + '\0');
  assert_int_equal(outcome([&] { load_graph(dir / "g.knng"); }).code, KNNG_ERR_FORMAT);
}

void flipped_everywhere(void**) {
  const scratch::Directory dir;
  const Graph g = full_sample();
  save_graph(g, dir / "g.knng", nullptr);
  const std::string whole = scratch::read(dir / "g.knng");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    scratch::write(dir / "g.knng", damaged);
    const Outcome o = outcome([&] { load_graph(dir / "g.knng"); });
    if (o.code != KNNG_ERR_FORMAT && !(o.code == KNNG_ERR_UNSUPPORTED && bit / 32 == 2))
      fail_msg("bit %zu: %d %s", bit, o.code, o.message.c_str());
  }
  // zip has bits that mean nothing for the content (dates, versions); the graph must be right or refused.
  save_graph(g, dir / "g.npz", nullptr);
  const std::string archive = scratch::read(dir / "g.npz");
  for (std::size_t at = 0; at < archive.size(); ++at) {
    std::string damaged = archive;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    scratch::write(dir / "g.npz", damaged);
    const Outcome o = outcome([&] {
      const Graph found = load_graph(dir / "g.npz");
      // A flipped name hides a member that need not be there; what is there is checked by its own checksum.
      assert_true(same(found.ids, g.ids) && same(found.values, g.values));
    });
    if (o.code != KNNG_OK && o.code != KNNG_ERR_FORMAT && o.code != KNNG_ERR_UNSUPPORTED)
      fail_msg("byte %zu: %d %s", at, o.code, o.message.c_str());
  }
}

// The position is in the message, and apart from the reason: languages that count from 1 word their own.
void expect_refused(const Outcome& o, std::int32_t code, const char* says, std::int64_t row, std::int64_t col) {
  std::string expected = o.reason;
  if (row >= 0) expected += " (row " + std::to_string(row);
  if (col >= 0) expected += ", column " + std::to_string(col);
  if (row >= 0) expected += ")";
  if (o.code != code || o.reason.find(says) == std::string::npos || o.row != row || o.col != col ||
      o.message != expected || o.reason.find("row " + std::to_string(row)) != std::string::npos)
    fail_msg("%s: %d %s, row %lld, column %lld", says, o.code, o.message.c_str(), static_cast<long long>(o.row),
             static_cast<long long>(o.col));
}

// Puts the right checksum into a damaged .knng file, so that what comes after the checksum is tested.
std::string sealed(std::string file) {
  file.replace(24, 8, std::string(8, '\0'));
  return file.replace(24, 8, bytes_of(static_cast<std::uint64_t>(XXH3_64bits(file.data(), file.size()))));
}

void sealed_damage(void**) {
  const scratch::Directory dir;
  const Graph g = full_sample();
  save_graph(g, dir / "g.knng", nullptr);
  const std::string whole = scratch::read(dir / "g.knng");
  assert_true(sealed(whole) == whole);
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      scratch::write(dir / "g.knng", sealed(damaged));
      const Outcome o = outcome([&] {
        const Graph found = load_graph(dir / "g.knng");
        assert_string_equal(graph_objection(found).text.c_str(), "");
      });
      assert_true(o.code == KNNG_OK || o.code == KNNG_ERR_FORMAT || o.code == KNNG_ERR_UNSUPPORTED);
      refused += o.code != KNNG_OK;
    }
  assert_true(refused > 400);

  const auto with = [&](std::size_t at, const std::string& bytes) {
    return sealed(std::string(whole).replace(at, bytes.size(), bytes));
  };
  const std::size_t table = 64, ids = 64 + 5 * 64, values = ids + 64;
  struct Case {
    std::string file;
    const char* says;
    std::int64_t row = -1, col = -1;
  };
  const Case cases[] = {
      {with(32, bytes_of(std::int64_t{0})), "not positive"},
      {with(32, bytes_of(std::int64_t{1} << 62)), "63 bits"},
      {with(32, bytes_of(std::int64_t{1} << 40)), "another type or size"},
      {with(48, bytes_of(std::int64_t{-1})), "not positive"},
      {with(12, bytes_of(std::uint32_t{4})), "flags"},
      {with(12, bytes_of(std::uint32_t{0})), "contradict"},
      {with(56, bytes_of(std::uint32_t{65})), "64 sections"},
      {with(56, bytes_of(std::uint32_t{0xffffffffu})), "64 sections"},
      {with(56, bytes_of(std::uint32_t{4})), "sections"},
      {with(table, "other"), "missing"},
      {with(table + 64, std::string("ids\0\0\0", 6)), "twice"},
      {with(table + 40, bytes_of(std::int64_t{INT64_MAX - 63})), "outside"},
      {with(table + 40, bytes_of(std::int64_t{0})), "outside"},
      {with(table + 40, bytes_of(std::int64_t{385})), "aligned"},
      {with(table + 48, bytes_of(std::int64_t{-8})), "outside"},
      {with(table + 48, bytes_of(std::int64_t{INT64_MAX})), "outside"},
      {with(ids, bytes_of(std::int64_t{3})), "outside [-1, columns)", 0, 0},
      {with(ids + 40, bytes_of(std::int64_t{-2})), "outside [-1, columns)", 2, 1},
      {with(ids + 24, bytes_of(std::int64_t{1})), "twice", 1},
      {with(ids + 32, bytes_of(std::int64_t{1})), "does not start with itself", 2},
      {with(values + 8, bytes_of(std::numeric_limits<double>::quiet_NaN())), "NaN", 0, 1},
      {with(values + 24, bytes_of(1.0)), "+inf", 1, 1},
      {with(ids + 128, "\2"), "mark for ties", 0},
      {with(ids + 192 + 1, "\x7"), "kind of proof", 1},
  };
  for (const Case& c : cases) {
    scratch::write(dir / "g.knng", c.file);
    expect_refused(outcome([&] { load_graph(dir / "g.knng"); }), KNNG_ERR_FORMAT, c.says, c.row, c.col);
  }
}

std::string archive_of(const scratch::Directory& dir, const std::vector<std::pair<std::string, std::string>>& members) {
  std::vector<ZipMember> list;
  for (const auto& [name, content] : members)
    list.push_back({name, {{content.data(), static_cast<std::int64_t>(content.size())}}});
  const std::string path = dir / "other.npz";
  OutputFile file(path);
  write_zip(file, list);
  file.commit();
  return path;
}

void archives_of_others(void**) {
  const scratch::Directory dir;
  const std::string ids32 = scratch::npy("<i4", false, "(2, 1)", bytes_of(1) + bytes_of(0));
  const std::string ids64 =
      scratch::npy(">i8", true, "(2, 1)", bytes_of(std::int64_t{1}, true) + bytes_of(std::int64_t{0}, true));
  const std::string f4 = scratch::npy("<f4", false, "(2, 1)", bytes_of(2.5f) + bytes_of(2.5f));
  const std::string f8 = scratch::npy("<f8", false, "(2, 1)", bytes_of(2.5) + bytes_of(2.5));
  for (const std::string& ids : {ids32, ids64})
    for (const std::string& values : {f4, f8}) {
      const Graph g = load_graph(archive_of(dir, {{"distances.npy", values}, {"indices.npy", ids}, {"x.txt", "?"}}));
      assert_true(g.rows == 2 && g.columns == 2 && g.square && g.width == 1 && g.ids[0] == 1 && g.ids[1] == 0);
      assert_int_equal(g.value_dtype, &values == &f4 || values == f4 ? KNNG_F32 : KNNG_F64);
      assert_true(g.value(0) == 2.5 && g.value(1) == 2.5);
      assert_string_equal(g.text.metric.c_str(), "unknown");
    }
  const std::string nan = scratch::npy("<f4", false, "(2, 1)", bytes_of(2.5f) + bytes_of(std::nanf("")));
  const std::string below = scratch::npy("<i4", false, "(2, 1)", bytes_of(1) + bytes_of(-2));
  const std::string wide = scratch::npy("<f4", false, "(1, 2)", bytes_of(2.5f) + bytes_of(2.5f));
  const std::string text = scratch::npy("|u1", false, "(10,)", "stat.rows\n");
  const auto marks = [](std::uint8_t mark) {
    return scratch::npy("|u1", false, "(2,)", bytes_of(std::uint8_t{0}) + bytes_of(mark));
  };
  const std::string long_text = scratch::npy("|u1", false, "(1048577,)", std::string(1048577, '\n'));
  const std::string none = scratch::npy("<f4", false, "(0, 1)", ""), none32 = scratch::npy("<i4", false, "(0, 1)", "");
  struct Case {
    std::vector<std::pair<std::string, std::string>> members;
    std::int32_t code;
    const char* says;
    std::int64_t row = -1, col = -1;
  };
  const Case cases[] = {
      {{{"indices.npy", ids32}}, KNNG_ERR_FORMAT, "no member distances.npy"},
      {{{"distances.npy", f4}}, KNNG_ERR_FORMAT, "no member indices.npy"},
      {{{"distances.npy", nan}, {"indices.npy", ids32}}, KNNG_ERR_FORMAT, "NaN", 1, 0},
      {{{"distances.npy", f4}, {"indices.npy", below}}, KNNG_ERR_FORMAT, "-2", 1, 0},
      {{{"distances.npy", wide}, {"indices.npy", ids32}}, KNNG_ERR_FORMAT, "1 x 2"},
      {{{"distances.npy", f4}, {"indices.npy", f4}}, KNNG_ERR_UNSUPPORTED, "'<f4'"},
      {{{"distances.npy", f4.substr(0, f4.size() - 1)}, {"indices.npy", ids32}}, KNNG_ERR_FORMAT, "truncated"},
      {{{"distances.npy", f4 + "x"}, {"indices.npy", ids32}}, KNNG_ERR_FORMAT, "more data"},
      {{{"distances.npy", f4}, {"indices.npy", ids32}, {"ties.npy", ids32}}, KNNG_ERR_FORMAT, "uint8"},
      {{{"distances.npy", f4}, {"indices.npy", ids32}, {"knng_text.npy", text}}, KNNG_ERR_FORMAT, "name=value"},
      {{{"distances.npy", f4}, {"indices.npy", ids32}, {"ties.npy", marks(7)}}, KNNG_ERR_FORMAT, "mark for ties", 1},
      {{{"distances.npy", f4}, {"indices.npy", ids32}, {"proof.npy", marks(200)}}, KNNG_ERR_FORMAT, "kind of proof", 1},
      {{{"distances.npy", f4}, {"indices.npy", ids32}, {"knng_text.npy", long_text}}, KNNG_ERR_FORMAT, "1048576"},
      {{{"distances.npy", none}, {"indices.npy", none32}}, KNNG_ERR_FORMAT, "0 x 1"},
  };
  for (const Case& c : cases) {
    const std::string path = archive_of(dir, c.members);
    expect_refused(outcome([&] { load_graph(path); }), c.code, c.says, c.row, c.col);
  }
}

void facts(void**) {
  Graph g = full_sample();
  for (const char* lines : {"", "unknown=1\n", "stat.unknown=x\ntext.unknown=\n", "text.metric=a=b\n"})
    assert_string_equal(read_facts(lines, g).c_str(), "");
  assert_string_equal(g.text.metric.c_str(), "a=b");
  assert_string_equal(read_facts("text.metric=a\\nforged b\x1b[2J\u202ec\n", g).c_str(), "");
  assert_string_equal(g.text.metric.c_str(), "a?forged b?[2J?c");
  assert_string_equal(read_facts("stat.pairs=1152921504606847488\nstat.keys=1e18\n", g).c_str(), "");
  assert_true(g.stats[Stat::pairs] == 0x1p60 + 512 && g.stats[Stat::keys] == 1e18);
  for (const char* lines : {"stat.bytes_host_peak=9007199254740993\n", "stat.bytes_host_peak=1152921504606847489\n"})
    assert_non_null(std::strstr(read_facts(lines, g).c_str(), "bytes_host_peak"));
  for (const char* lines : {"x", "x=1", "\n", "stat.rows=\n", "stat.rows=1x\n", "square=2\n", "columns=1.5\n"})
    assert_true(!read_facts(lines, g).empty());
}

// What no build can say of itself is refused, in both formats.
void statistics(void**) {
  const scratch::Directory dir;
  struct Case {
    Stat stat;
    double value;
  };
  const Case cases[] = {
      {Stat::rows, 4},
      {Stat::rows, 1e18},
      {Stat::columns, 5e8},
      {Stat::columns, -3},
      {Stat::pairs, 10},
      {Stat::proved, 4},
      {Stat::proved, -1},
      {Stat::refined, 1e18},
      {Stat::ties_at_k, 1e18},
      {Stat::duplicates, 4},
      {Stat::bound_violations, 1},
      {Stat::keys, -1},
      {Stat::keys, 0.5},
      {Stat::tiles, 1e19},
      {Stat::tiles, HUGE_VAL},
      {Stat::bytes_host_peak, -1e300},
      {Stat::seconds_total, -1},
      {Stat::seconds_copy, HUGE_VAL},
      {Stat::checked, 4},
      {Stat::seconds_check, -1},
      {Stat::redone_fp32, 4},
      {Stat::redone_fp64, 4},
      {Stat::redone_fp64, 1e18},
      {Stat::keys, 1e18},
      {Stat::tiles, 1e18},
      {Stat::candidates_max, 1e9},
      {Stat::proved, 3},
      {Stat::proved, 1},
      {Stat::ties_at_k, 2},
      {Stat::bytes_host_peak, 1e18},
      {Stat::bytes_host_peak, 0x1p53 + 2},
      {Stat::bytes_device_peak, 1e18},
      {Stat::bytes_device_peak, 4096.5},
      {Stat::seconds_total, 1e18},
      {Stat::seconds_total, 10000000001},
      {Stat::seconds_prepare, 1e11},
      {Stat::seconds_total, -0.0},
      {Stat::bytes_host_peak, -0.0},
      {Stat::checked, -0.0},
  };
  for (const Case& c : cases)
    for (const char* name : {"g.knng", "g.npz"}) {
      Graph g = full_sample();
      g.stats[c.stat] = c.value;
      save_graph(g, dir / name, nullptr);
      const Outcome o = outcome([&] { load_graph(dir / name); });
      const char* const stat = stat_table()[static_cast<std::size_t>(c.stat)].name;
      if (o.code != KNNG_ERR_FORMAT || !o.says(stat))
        fail_msg("%s=%g: %d %s", stat, c.value, o.code, o.message.c_str());
    }
}

// What nobody counted has no line, and is not known afterwards either; of the shape it has to be there.
void statistics_that_nobody_knows(void**) {
  const scratch::Directory dir;
  for (const char* name : {"g.knng", "g.npz"}) {
    for (int i = 0; i < kStats; ++i) {
      const auto s = static_cast<Stat>(i);
      Graph g = full_sample();
      if (s == Stat::rows || s == Stat::columns) continue;
      std::fill(g.ties.begin(), g.ties.end(), std::uint8_t{0});
      std::fill(g.proof.begin(), g.proof.end(), std::uint8_t{0});
      g.stats[Stat::ties_at_k] = g.stats[Stat::proved] = 0;
      g.stats.forget(s);
      const std::string line = std::string("stat.") + stat_table()[static_cast<std::size_t>(i)].name + "=";
      assert_true(write_facts(g).find(line) == std::string::npos);
      assert_false(read_facts(line + "nan\n", g).empty());
      save_graph(g, dir / name, nullptr);
      assert_true(same(g, load_graph(dir / name)));
    }
    // Marks that are set are counted.
    Graph g = full_sample();
    g.stats.forget(Stat::ties_at_k);
    g.stats.forget(Stat::proved);
    save_graph(g, dir / name, nullptr);
    assert_true(same(full_sample(), load_graph(dir / name)));
  }
}

// Older versions wrote 0 for what nobody knew: of a graph from elsewhere everything, of queries the equal rows.
void zeros_of_older_versions(void**) {
  const scratch::Directory dir;
  for (const char* name : {"g.knng", "g.npz"}) {
    Graph g = query_sample();
    const Graph unknown = query_sample();
    for (int i = 0; i < kStats; ++i)
      if (const auto s = static_cast<Stat>(i); s != Stat::rows && s != Stat::columns) g.stats[s] = 0;
    save_graph(g, dir / name, nullptr);
    assert_true(same(unknown, load_graph(dir / name)));
    g.text.version = "0.8.0";
    save_graph(g, dir / name, nullptr);
    const Graph of_queries = load_graph(dir / name);
    assert_false(of_queries.stats.knows(Stat::duplicates));
    assert_true(of_queries.stats[Stat::ties_at_k] == 0 && of_queries.stats[Stat::keys] == 0);
    Graph of_rows = full_sample();
    of_rows.stats[Stat::duplicates] = 0;
    save_graph(of_rows, dir / name, nullptr);
    assert_true(load_graph(dir / name).stats[Stat::duplicates] == 0);
  }
}

// The largest counts that engines can have: of one pair, and of more columns than a group has.
void largest_counts(void**) {
  const scratch::Directory dir;
  struct Case {
    std::int64_t columns;
    Stat stat;
    double most;
  };
  const Case cases[] = {
      {1, Stat::tiles, 17},       {1, Stat::keys, 17 * 32},  {1, Stat::candidates_max, 1},
      {33, Stat::tiles, 17 * 33}, {33, Stat::keys, 17 * 64}, {33, Stat::candidates_max, 33},
  };
  for (const Case& c : cases)
    for (const char* name : {"g.knng", "g.npz"}) {
      Graph g = graph_of<float>(1, 1, {0}, {0.0f});
      g.square = false;
      g.columns = c.columns;
      g.stats[Stat::columns] = static_cast<double>(c.columns);
      g.stats[c.stat] = c.most;
      save_graph(g, dir / name, nullptr);
      assert_true(same(g, load_graph(dir / name)));
      g.stats[c.stat] = c.most + 1;
      save_graph(g, dir / name, nullptr);
      const Outcome o = outcome([&] { load_graph(dir / name); });
      assert_true(o.code == KNNG_ERR_FORMAT && o.says(stat_table()[static_cast<std::size_t>(c.stat)].name));
    }
}

// So are texts that the lists contradict, or that name nothing; those that an older version did not write may lack.
void texts(void**) {
  const scratch::Directory dir;
  struct Case {
    std::string GraphText::*text;
    const char *value, *says;  // says: null, it is taken
  };
  const Case cases[] = {{&GraphText::self, "exclude", "self_first"},
                        {&GraphText::self, "firs", "self_first"},
                        {&GraphText::self, "", nullptr},
                        {&GraphText::metric, "euclid", "euclid"},
                        {&GraphText::metric, "unknown", nullptr},
                        {&GraphText::metric, "", nullptr}};
  for (const Case& c : cases)
    for (const char* name : {"g.knng", "g.npz"}) {
      Graph g = full_sample();
      g.text.*c.text = c.value;
      save_graph(g, dir / name, nullptr);
      const Outcome o = outcome([&] { load_graph(dir / name); });
      if (o.code != (c.says ? KNNG_ERR_FORMAT : KNNG_OK) || (c.says && !o.says(c.says)))
        fail_msg("%s: %d %s", c.value, o.code, o.message.c_str());
    }
}

// With one byte less it fails and says what would do; with that much it works.
void budgets(void**) {
  const scratch::Directory dir;
  constexpr std::int64_t rows = 3000, width = 20;
  std::vector<std::int64_t> ids;
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t t = 1; t <= width; ++t) {
      ids.push_back((i + t) % rows);
      values.push_back(static_cast<double>(t));
    }
  const Graph g = graph_of(rows, width, ids, values);
  for (const char* name : {"g.knng", "g.npz"}) {
    save_graph(g, dir / name, nullptr);
    Budget small(1000, 0, "control", "max_bytes");
    const Outcome o = outcome([&] { load_graph(dir / name, {&small, nullptr}); });
    assert_int_equal(o.code, KNNG_ERR_BUDGET);
    assert_true(o.says("max_bytes=1000") && small.held() == 0);
    const std::int64_t needed = o.limit;
    assert_true(needed >= rows * width * 16 && needed < rows * width * 16 + 3 * rows + 4096);
    Budget enough(needed);
    assert_true(same(g, load_graph(dir / name, {&enough, nullptr})));
    assert_true(enough.peak() <= needed && enough.held() == 0);
    Budget less(needed - 1);
    assert_int_equal(outcome([&] { load_graph(dir / name, {&less, nullptr}); }).code, KNNG_ERR_BUDGET);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(round_trips),
      cmocka_unit_test(suffixes_in_capitals),
      cmocka_unit_test(formats),
      cmocka_unit_test(cut_everywhere),
      cmocka_unit_test(flipped_everywhere),
      cmocka_unit_test(sealed_damage),
      cmocka_unit_test(archives_of_others),
      cmocka_unit_test(facts),
      cmocka_unit_test(statistics),
      cmocka_unit_test(statistics_that_nobody_knows),
      cmocka_unit_test(zeros_of_older_versions),
      cmocka_unit_test(largest_counts),
      cmocka_unit_test(texts),
      cmocka_unit_test(budgets),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
