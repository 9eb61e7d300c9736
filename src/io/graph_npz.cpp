#include "io/graph_npz.h"

#include <span>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "core/matrix_view.h"
#include "graph/import.h"
#include "io/file.h"
#include "io/graph_facts.h"
#include "io/npy.h"
#include "io/zip.h"

namespace libknng {
namespace {

constexpr char kIndices[] = "indices.npy", kDistances[] = "distances.npy", kTies[] = "ties.npy", kProof[] = "proof.npy",
               kText[] = "knng_text.npy";
constexpr NpyType kIdTypes[] = {{8, KNNG_I64, 'i'}, {4, KNNG_I32, 'i'}};
constexpr NpyType kValueTypes[] = {{4, KNNG_F32, 'f'}, {8, KNNG_F64, 'f'}};

struct Array {
  Buffer<std::byte> data;
  MatrixView view;
};

Array read_array(const ZipReader& zip, const char* member, std::span<const NpyType> types) {
  const std::unique_ptr<RowReader> reader = open_npy(zip.open(member), types);
  const std::int64_t rows = reader->rows(), cols = reader->cols();
  Array array;
  // The reader has held these counts against the member's size already.
  array.data = Buffer<std::byte>(rows * cols * find_dtype(reader->dtype())->bytes);
  reader->read(rows, array.data.data());
  reader->finish();
  array.view = {reader->dtype(), rows, cols, cols, 1, array.data.data()};
  return array;
}

// An array of unsigned bytes in one dimension. `count`: how many there must be, -1 for any number.
Buffer<std::uint8_t> read_bytes(const ZipReader& zip, const char* member, std::int64_t count) {
  const std::unique_ptr<Source> source = zip.open(member);
  const NpyHeader header = read_npy_header(*source);
  if (header.kind != 'u' || header.item_bytes != 1 || header.shape.size() != 1 ||
      (count >= 0 && header.shape[0] != count))
    fail(KNNG_ERR_FORMAT, "path", "%s is no array of %s uint8 in one dimension", shown(source->name()).c_str(),
         count < 0 ? "any number of" : std::to_string(count).c_str());
  require_size(*source, claimed_product(*source, header.shape[0], 1, "its shape"), "its shape");
  Buffer<std::uint8_t> bytes(header.shape[0]);
  source->read(reinterpret_cast<std::byte*>(bytes.data()), bytes.size());
  source->finish();
  return bytes;
}

// What import_graph() says about an argument is true of the file.
Graph import_from_file(const MatrixView& ids, const MatrixView& values, const std::string& path) {
  try {
    return import_graph(ids, &values);
  } catch (const Error& e) {
    if (e.code() == KNNG_ERR_MEMORY) throw;
    const knng_error& info = e.info();
    fail(KNNG_ERR_FORMAT, "path", {.row = info.row, .col = info.col, .given = info.given, .limit = info.limit},
         "%s holds no graph: %s", shown(path).c_str(), info.reason);
  }
}

}  // namespace

void save_npz(const Graph& g, const std::string& path) {
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
  write_zip(file, members);
  file.commit();
}

Graph load_npz(const std::string& path) {
  const ZipReader zip(path);
  Array values = read_array(zip, kDistances, kValueTypes);
  Graph g = [&] {
    const Array ids = read_array(zip, kIndices, kIdTypes);
    return import_from_file(ids.view, values.view, path);
  }();
  values = Array();
  if (zip.has(kTies)) g.ties = read_bytes(zip, kTies, g.rows);
  if (zip.has(kProof)) g.proof = read_bytes(zip, kProof, g.rows);
  if (zip.has(kText)) {
    const Buffer<std::uint8_t> text = read_bytes(zip, kText, -1);
    std::string objection =
        read_facts({reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(text.size())}, g);
    if (objection.empty()) objection = graph_objection(g);
    if (!objection.empty())
      fail(KNNG_ERR_FORMAT, "path", "%s holds no graph: %s", shown(path).c_str(), objection.c_str());
  }
  return g;
}

}  // namespace libknng
