#include "io/edge_lines.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>

#include "core/buffer.h"

namespace libknng {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{1} << 18;
// Two numbers of 64 bits, the shortest decimals that are a double, separators: with room to spare.
constexpr std::int64_t kLongestLine = 128;

// The one float, with its negative, whose shortest decimals, 7.038531e-26, become its neighbour in a program that reads
// them as a double and rounds that: all floats were tried.
constexpr std::uint32_t kRoundedTwice = 0x15ae43fd;

template <class Number>
char* write_number(char* at, char* end, Number x) {
  return std::to_chars(at, end, x).ptr;  // there is room
}
char* write_number(char* at, char* end, float x) {
  if ((std::bit_cast<std::uint32_t>(x) & 0x7fffffff) == kRoundedTwice)
    return write_number(at, end, static_cast<double>(x));
  return std::to_chars(at, end, x).ptr;
}

template <class Value>
class EdgeLines {
 public:
  EdgeLines(OutputFile& file, EdgeStyle style, const Graph& g, const Work& work)
      : file_(file),
        style_(style),
        graph_(g),
        work_(work),
        block_(kBlockBytes, work.budget),
        end_(block_.data() + kBlockBytes) {}

  void write() {
    const std::int64_t* id = graph_.ids.data();
    const auto* value = reinterpret_cast<const Value*>(graph_.values.data());
    char* at = block_.data();
    for (std::int64_t i = 0; i < graph_.rows; ++i) {
      char source[32];
      char* const source_end = write_number(source, source + sizeof source - 1, i + style_.base);
      *source_end = style_.separator;
      for (std::int64_t t = 0; t < graph_.width; ++t, ++id, ++value) {
        if (*id < 0) continue;
        if (end_ - at < kLongestLine) at = flush(at, i);
        at = std::copy(source, source_end + 1, at);
        at = write_number(at, end_, *id + style_.base);
        *at++ = style_.separator;
        at = write_number(at, end_, *value);
        *at++ = '\n';
      }
    }
    flush(at, graph_.rows);
  }

 private:
  // The rows before `row` are in the block.
  char* flush(const char* at, std::int64_t row) {
    file_.write(block_.data(), at - block_.data());
    work_.done(row - told_);
    told_ = row;
    return block_.data();
  }

  OutputFile& file_;
  const EdgeStyle style_;
  const Graph& graph_;
  const Work& work_;
  Buffer<char> block_;
  char* const end_;
  std::int64_t told_ = 0;  // rows
};

}  // namespace

void write_edges(OutputFile& file, std::string_view head, EdgeStyle style, const Graph& g, const Work& work) {
  work.begin("write", g.rows);
  file.write(head.data(), static_cast<std::int64_t>(head.size()));
  if (g.value_dtype == KNNG_F64)
    EdgeLines<double>(file, style, g, work).write();
  else
    EdgeLines<float>(file, style, g, work).write();
}

}  // namespace libknng
