#include "io/replaced_graph.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "core/error.h"
#include "io/graph_knng.h"
#include "io/graph_mtx.h"
#include "io/graph_npz.h"
#include "io/graph_tsv.h"
#include "io/zip.h"

namespace libknng {
namespace {

constexpr const char* kMend = "move it away, or take another name";

struct Head {
  std::int64_t file_bytes = 0;
  std::array<char, 64> bytes{};

  explicit Head(const OutputFile& file) {
    if (!file.replaces()) return;
    const File there(file.path());
    file_bytes = there.size();
    there.read_some(0, reinterpret_cast<std::byte*>(bytes.data()), static_cast<std::int64_t>(bytes.size()));
  }
  bool there() const noexcept { return file_bytes > 0; }
  std::string_view text() const noexcept { return {bytes.data(), bytes.size()}; }
};

constexpr std::string_view kZip = "PK\3\4";
constexpr std::string_view kHeads[] = {{kGraphFileMagic, kGraphFileMagicBytes}, kMtxHead, kTsvHead};

// Matrices that SciPy saves have an array "indices", too. An archive that cannot be looked into is none.
bool is_graph_archive(const std::string& path) {
  try {
    const ZipReader zip(path);
    return zip.has(std::string(kNpzIndices)) && zip.has(std::string(kNpzDistances));
  } catch (const Error& error) {
    if (error.code() != KNNG_ERR_FORMAT && error.code() != KNNG_ERR_UNSUPPORTED) throw;
    return false;
  }
}

bool is_graph(const Head& head, const std::string& path) {
  if (head.text().starts_with(kZip)) return is_graph_archive(path);
  return std::any_of(std::begin(kHeads), std::end(kHeads),
                     [&](std::string_view bytes) { return head.text().starts_with(bytes); });
}

}  // namespace

void require_graph_in_place(const OutputFile& file) {
  const Head old(file);
  if (!old.there() || is_graph(old, file.path())) return;
  fail(KNNG_ERR_IO, "path", "cannot write %s: the file that is there is no graph, it may be data; %s",
       shown(file.path()).c_str(), kMend);
}

void require_pair_in_place(const OutputFile& ids, const OutputFile& values, std::int64_t count_bytes) {
  const Head old_ids(ids), old_values(values);
  const auto refuse = [](const OutputFile& kept, const OutputFile& other, const char* why) {
    fail(KNNG_ERR_IO, "path", "cannot write %s beside %s, %s: it may be data; %s", shown(kept.path()).c_str(),
         shown(other.path()).c_str(), why, kMend);
  };
  if (old_ids.there() != old_values.there())
    old_values.there() ? refuse(values, ids, "which is not there, or empty")
                       : refuse(ids, values, "which is not there, or empty");
  const auto front = static_cast<std::size_t>(count_bytes);
  if (old_ids.file_bytes != old_values.file_bytes ||
      old_ids.text().substr(0, front) != old_values.text().substr(0, front))
    refuse(values, ids, "which has other counts of rows and neighbours");
}

}  // namespace libknng
