#include "io/graph_pairs.h"

#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include "core/buffer.h"
#include "core/error.h"
#include "core/letter_case.h"
#include "graph/narrow.h"
#include "io/file.h"
#include "io/replaced_graph.h"

namespace libknng {
namespace {

using ll = long long;

struct PairFormat {
  std::string ids, values;  // suffixes
  bool counted;             // each row begins with its length; otherwise the file with a header
};

// In the case of the letter that it replaces.
std::string name_of_values(const std::string& path, const PairFormat& format) {
  if (!has_suffix(path, format.ids))
    fail(KNNG_ERR_OPTION, "path", "%s does not end in %s: values go beside it, to the name that ends in %s",
         shown(path).c_str(), format.ids.c_str(), format.values.c_str());
  std::string name = path;
  char& letter = name[name.size() - format.ids.size() + 1];
  letter = letter == 'I' ? 'F' : 'f';
  return name;
}

void require_narrow(const Graph& g, const std::string& path, const PairFormat& format) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (g.columns - 1 > kMost)
    fail(KNNG_ERR_RANGE, "path", {.given = g.columns, .limit = kMost + 1},
         "%s: ids in %s are int32, which names %lld points, and the graph has %lld; .npz and .knng have int64",
         shown(path).c_str(), format.ids.c_str(), static_cast<ll>(kMost + 1), static_cast<ll>(g.columns));
  if (format.counted && g.width > kMost)
    fail(KNNG_ERR_RANGE, "path", {.given = g.width, .limit = kMost},
         "%s: rows in %s have at most %lld entries, not %lld", shown(path).c_str(), format.ids.c_str(),
         static_cast<ll>(kMost), static_cast<ll>(g.width));
}

// Numbers of four bytes into a file, in blocks.
class WordOutput {
 public:
  WordOutput(OutputFile& file, const Work& work) : file_(file), work_(work), block_(kBlockBytes, work.budget) {}

  template <class Word>
  void put(Word x) {
    static_assert(sizeof x == kWordBytes);
    if (used_ == kBlockBytes) flush();
    std::memcpy(block_.data() + used_, &x, kWordBytes);
    used_ += kWordBytes;
  }
  void flush() {
    file_.write(block_.data(), used_);
    work_.done(used_);
    used_ = 0;
  }

 private:
  static constexpr std::int64_t kBlockBytes = std::int64_t{1} << 18, kWordBytes = 4;

  OutputFile& file_;
  const Work& work_;
  Buffer<std::byte> block_;
  std::int64_t used_ = 0;
};

// word_of(entry): what stands in the file for it.
template <class WordOf>
void write_rows(OutputFile& file, const Graph& g, const PairFormat& format, const Work& work, WordOf&& word_of) {
  if (!format.counted) {
    const std::string header = bin_header(g.rows, g.width);
    file.write(header.data(), static_cast<std::int64_t>(header.size()));
  }
  WordOutput out(file, work);
  std::int64_t entry = 0;
  for (std::int64_t i = 0; i < g.rows; ++i) {
    if (format.counted) out.put(static_cast<std::int32_t>(g.width));
    for (std::int64_t t = 0; t < g.width; ++t) out.put(word_of(entry++));
  }
  out.flush();
}

float narrowed(const Graph& g, std::int64_t entry, const std::string& path) {
  float narrow = 0;
  if (!narrow_value(g.value(entry), narrow))
    fail(KNNG_ERR_RANGE, "path", {.row = entry / g.width, .col = entry % g.width},
         "%s: %.17g is too large for the float32 values of this format; .npz, .knng, .mtx and .tsv have float64",
         shown(path).c_str(), g.value(entry));
  return narrow;
}

void save_pair(const Graph& g, const std::string& path, const PairFormat& format, const Work& work) {
  OutputFile ids(path);
  OutputFile values(name_of_values(path, format));
  require_narrow(g, path, format);
  if (values.shares_place(ids))
    fail(KNNG_ERR_IO, "path", "cannot write %s beside %s: they are links to one file", shown(values.path()).c_str(),
         shown(path).c_str());
  require_pair_in_place(ids, values, format.counted ? 4 : 8);
  const std::int64_t words = g.rows * g.width + (format.counted ? g.rows : 0);
  work.begin("write", 2 * 4 * words);
  write_rows(ids, g, format, work, [&](std::int64_t e) { return static_cast<std::int32_t>(g.ids[e]); });
  write_rows(values, g, format, work, [&](std::int64_t e) { return narrowed(g, e, path); });
  commit_together(ids, values);
}

}  // namespace

std::string bin_header(std::int64_t rows, std::int64_t width) {
  const auto bytes = [](auto a, auto b) {
    const decltype(a) counts[] = {a, b};
    return std::string(reinterpret_cast<const char*>(counts), sizeof counts);
  };
  if (std::in_range<std::uint32_t>(rows) && std::in_range<std::uint32_t>(width))
    return bytes(static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(width));
  return bytes(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(width));
}

void save_vecs(const Graph& g, const std::string& path, const Work& work) {
  save_pair(g, path, {".ivecs", ".fvecs", true}, work);
}

void save_bins(const Graph& g, const std::string& path, const Work& work) {
  save_pair(g, path, {".ibin", ".fbin", false}, work);
}

}  // namespace libknng
