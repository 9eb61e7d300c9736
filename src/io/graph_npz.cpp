#include "io/graph_npz.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/checked.h"
#include "core/dtype.h"
#include "core/error.h"
#include "graph/import.h"
#include "io/file.h"
#include "io/graph_facts.h"
#include "io/npy.h"
#include "io/replaced_graph.h"
#include "io/zip.h"

namespace libknng {
namespace {

constexpr const char *kIndices = kNpzIndices.data(), *kDistances = kNpzDistances.data(), *kTies = "ties.npy",
                     *kProof = "proof.npy", *kText = "knng_text.npy";
// A block of the formats library's, and what libzip keeps meanwhile.
constexpr std::int64_t kWriterBytes = std::int64_t{1} << 18;
constexpr NpyType kIdTypes[] = {{8, KNNG_I64, 'i'}, {4, KNNG_I32, 'i'}};
constexpr NpyType kValueTypes[] = {{4, KNNG_F32, 'f'}, {8, KNNG_F64, 'f'}};

// Everything that the reader has, in blocks.
void read_all(RowReader& reader, std::byte* to, const Work& work) {
  constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;
  const std::int64_t row_bytes = reader.cols() * find_dtype(reader.dtype())->bytes;
  const std::int64_t block = std::max<std::int64_t>(1, kBlockBytes / row_bytes);
  for (std::int64_t first = 0; first < reader.rows(); first += block) {
    const std::int64_t count = std::min(block, reader.rows() - first);
    reader.read(count, to + first * row_bytes);
    work.done(count);
  }
  reader.finish();
}

Buffer<std::int64_t> read_ids(RowReader& reader, const Work& work) {
  Buffer<std::int64_t> ids(reader.rows() * reader.cols(), work.budget);
  auto* const bytes = reinterpret_cast<std::byte*>(ids.data());
  if (reader.dtype() == KNNG_I64) {
    read_all(reader, bytes, work);
    return ids;
  }
  // Behind its place, from where each moves to the front.
  const std::byte* from = bytes + ids.size() * static_cast<std::int64_t>(sizeof(std::int32_t));
  read_all(reader, const_cast<std::byte*>(from), work);
  for (std::int64_t& id : ids) {
    std::int32_t narrow = 0;
    std::memcpy(&narrow, from, sizeof narrow);
    from += sizeof narrow;
    id = narrow;
  }
  return ids;
}

// The lists of the archive. The memory that all this takes is checked before any is requested.
Lists read_lists(const ZipReader& zip, const std::string& path, const Work& work) {
  const auto ids = open_npy(zip.open(kIndices), kIdTypes, work.budget);
  const auto values = open_npy(zip.open(kDistances), kValueTypes, work.budget);
  Lists lists;
  lists.rows = ids->rows();
  lists.width = ids->cols();
  lists.value_dtype = values->dtype();
  if (lists.rows < 1 || lists.width < 1)
    fail(KNNG_ERR_FORMAT, "path", "%s holds no graph: its indices are %lld x %lld", shown(path).c_str(),
         static_cast<long long>(lists.rows), static_cast<long long>(lists.width));
  if (values->rows() != lists.rows || values->cols() != lists.width)
    fail(KNNG_ERR_FORMAT, "path", "%s holds no graph: its distances are %lld x %lld, its indices %lld x %lld",
         shown(path).c_str(), static_cast<long long>(values->rows()), static_cast<long long>(values->cols()),
         static_cast<long long>(lists.rows), static_cast<long long>(lists.width));
  // Both readers have held their counts against the sizes of their members.
  const std::int64_t value_bytes = lists.rows * lists.width * find_dtype(lists.value_dtype)->bytes;
  work.require_room(
      checked_add(checked_add(checked_mul(lists.rows * lists.width, sizeof(std::int64_t), "path"), value_bytes, "path"),
                  3 * lists.rows + lists.width * static_cast<std::int64_t>(sizeof(std::int64_t)), "path"));
  work.begin("read", 2 * lists.rows);
  lists.ids = read_ids(*ids, work);
  lists.values = Buffer<std::byte>(value_bytes, work.budget);
  read_all(*values, lists.values.data(), work);
  return lists;
}

// An array of unsigned bytes in one dimension. `count`: how many there must be; -1: as many as facts can have.
Buffer<std::uint8_t> read_bytes(const ZipReader& zip, const char* member, std::int64_t count, const Work& work) {
  const std::unique_ptr<Source> source = zip.open(member);
  const NpyHeader header = read_npy_header(*source);
  if (header.kind != 'u' || header.item_bytes != 1 || header.shape.size() != 1 ||
      (count >= 0 ? header.shape[0] != count : header.shape[0] > kMostFactBytes))
    fail(KNNG_ERR_FORMAT, "path", "%s is no array of %s%lld uint8 in one dimension", shown(source->name()).c_str(),
         count < 0 ? "at most " : "", static_cast<long long>(count < 0 ? kMostFactBytes : count));
  require_size(*source, claimed_product(*source, header.shape[0], 1, "its shape"), "its shape");
  Buffer<std::uint8_t> bytes(header.shape[0], work.budget);
  source->read(reinterpret_cast<std::byte*>(bytes.data()), bytes.size());
  source->finish();
  return bytes;
}

// What is wrong with its ids or values is wrong with the file.
Graph adopt_from_file(Lists lists, const std::string& path, const Work& work) {
  try {
    return adopt_lists(std::move(lists), {}, work);
  } catch (const Error& e) {
    if (e.code() != KNNG_ERR_DATA) throw;
    const knng_error& info = e.info();
    fail(KNNG_ERR_FORMAT, "path", {.row = info.row, .col = info.col, .given = info.given, .limit = info.limit},
         "%s holds no graph: %s", shown(path).c_str(), info.reason);
  }
}

}  // namespace

void save_npz(const Graph& g, const std::string& path, const Work& work) {
  const std::string facts = write_facts(g);
  const std::int64_t matrix[] = {g.rows, g.width}, row[] = {g.rows}, text[] = {static_cast<std::int64_t>(facts.size())};
  const std::string matrix_header = make_npy_header("<i8", matrix),
                    value_header = make_npy_header(g.value_dtype == KNNG_F64 ? "<f8" : "<f4", matrix),
                    row_header = make_npy_header("|u1", row), text_header = make_npy_header("|u1", text);
  const auto pieces = [](const std::string& header, const void* data, std::int64_t bytes) {
    return std::vector<knng_formats_piece>{{header.data(), static_cast<std::int64_t>(header.size())}, {data, bytes}};
  };
  const ZipMember members[] = {
      {kIndices, pieces(matrix_header, g.ids.data(), g.ids.bytes())},
      {kDistances, pieces(value_header, g.values.data(), g.values.bytes())},
      {kTies, pieces(row_header, g.ties.data(), g.ties.bytes())},
      {kProof, pieces(row_header, g.proof.data(), g.proof.bytes())},
      {kText, pieces(text_header, facts.data(), static_cast<std::int64_t>(facts.size()))},
  };
  OutputFile file(path);
  require_graph_in_place(file);
  std::int64_t bytes = 0;
  for (const ZipMember& m : members)
    for (const knng_formats_piece& piece : m.pieces) bytes += piece.bytes;
  work.begin("write", bytes);
  const Charge buffers(work.budget, kWriterBytes);
  write_zip(file, members, work);
  file.commit();
}

Graph load_npz(const std::string& path, const Work& work) {
  const ZipReader zip(path);
  Graph g = adopt_from_file(read_lists(zip, path, work), path, work);
  if (zip.has(kTies)) g.ties = read_bytes(zip, kTies, g.rows, work);
  if (zip.has(kProof)) g.proof = read_bytes(zip, kProof, g.rows, work);
  Objection objection;
  if (zip.has(kText)) {
    const Buffer<std::uint8_t> text = read_bytes(zip, kText, -1, work);
    objection.text =
        read_file_facts({reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(text.size())}, g);
  }
  if (objection.text.empty()) objection = graph_objection(g, work);
  if (!objection.text.empty())
    fail(KNNG_ERR_FORMAT, "path", objection.where, "%s holds no graph: %s", shown(path).c_str(),
         objection.text.c_str());
  count_marks(g);
  return g;
}

}  // namespace libknng
