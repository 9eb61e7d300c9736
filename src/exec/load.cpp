#include "exec/load.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "core/dtype.h"
#include "core/host_memory.h"
#include "core/thread_team.h"
#include "exec/file_columns.h"
#include "exec/rows/file_rows.h"
#include "io/file.h"
#include "io/reader.h"

namespace libknng {
namespace {

constexpr std::int64_t kBlockBytes = 8 << 20;

// What is wrong with the rows of a file is said with the file's name, not with that of the argument.
template <class F>
auto naming_file(const std::string& path, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    const knng_error& info = e.info();
    constexpr std::string_view argument = "path: ";
    if (!std::string_view(info.reason).starts_with(argument)) throw;
    fail(info.code, info.argument, {.row = info.row, .col = info.col, .given = info.given, .limit = info.limit},
         "%s: %s", shown(path).c_str(), info.reason + argument.size());
  }
}

// The data set that a file holds: its rows, as the reader has them, are the points, or its columns.
struct FilePoints {
  bool columns;
  std::int64_t n, dim;
};

FilePoints points_of(const RowReader& reader, const Settings& settings) {
  const bool columns = settings.is(Setting::file_points, "columns") != reader.turned();
  return {columns, columns ? reader.cols() : reader.rows(), columns ? reader.rows() : reader.cols()};
}

void read_all(RowReader& reader, const FilePoints& points, std::int64_t block, std::int64_t row_bytes, Budget& budget,
              Monitor& monitor, std::byte* out) {
  std::optional<FileColumns> columns;
  if (points.columns) columns.emplace(reader, block, &budget);
  monitor.stage("read", static_cast<double>(reader.rows()));
  for (std::int64_t first = 0; first < reader.rows(); first += block) {
    const std::int64_t count = std::min(block, reader.rows() - first);
    columns ? columns->read(count, out) : reader.read(count, out + first * row_bytes);
    monitor.advance(static_cast<double>(count));
    monitor.poll();
  }
  reader.finish();
}

// needed: bytes, of the rows and what reading them takes; room: what there is for them beside `held`.
[[noreturn]] void fail_without_room(const RowReader& reader, std::int64_t needed, std::int64_t room,
                                    std::int64_t held) {
  const std::string form = reader.taken().form;
  const bool sparse = form == "csr" || form == "csc" || form == "10x";
  std::int64_t rows = reader.rows(), cols = reader.cols();
  if (reader.turned()) std::swap(rows, cols);
  const std::string there =
      room == INT64_MAX ? "the system does not give them"
                        : "the machine has " + std::to_string(room) + (held > 0 ? " beside the rows before them" : "");
  fail(KNNG_ERR_MEMORY, "path", {.given = room < INT64_MAX ? room : -1, .limit = needed},
       "path: %lld rows of %lld columns take %lld bytes of memory, %s; %s", static_cast<long long>(rows),
       static_cast<long long>(cols), static_cast<long long>(needed), there.c_str(),
       sparse ? "sparse rows are made dense: name a matrix of fewer columns, as obsm/X_pca, or make one"
              : "rows of a .npy in C order can stay in their file");
}

// Beside rows of `data`.
std::shared_ptr<const Chunk> read_points(RowReader& reader, const FilePoints& points, const Dataset& data,
                                         const Settings& settings, Monitor& monitor) {
  const std::int64_t item_bytes = checked_dtype_bytes(reader.dtype(), "path");
  const std::int64_t row_bytes = checked_mul(reader.cols(), item_bytes, "path");  // of the file
  const std::int64_t bytes = checked_mul(reader.rows(), row_bytes, "path");
  Budget budget = budget_for(settings, data);
  if (!points.columns && too_large_to_hold(bytes, data.held_bytes(), settings.integer(Setting::max_host_bytes)))
    if (std::unique_ptr<const RowFile> file = reader.stay()) {
      const auto threads = static_cast<int>(settings.integer(Setting::threads));
      return leave_in_file(std::move(file), reader.dtype(), points.n, points.dim, threads ? threads : default_threads(),
                           budget, monitor);
    }
  const std::int64_t block = std::clamp<std::int64_t>(kBlockBytes / row_bytes, 1, reader.rows());
  const std::int64_t reader_bytes = reader.bytes_beside();
  const std::int64_t beside = checked_add(reader_bytes, points.columns ? block * row_bytes : 0, "path");
  const std::int64_t needed = checked_add(bytes, beside, "path");
  { const Charge all(&budget, needed); }  // the failure says how much would do
  // The system may give memory that there is not, and end the process when it is used.
  const std::int64_t there = std::min(data.held_bytes(), host_memory()), room = host_memory() - there;
  if (settings.integer(Setting::max_host_bytes) == 0 && needed > room) fail_without_room(reader, needed, room, there);
  const Charge held(&budget, reader_bytes);
  Buffer<std::byte> rows;
  try {
    rows = Buffer<std::byte>(bytes, &budget);
  } catch (const std::bad_alloc&) {
    fail_without_room(reader, needed, INT64_MAX, there);
  }
  read_all(reader, points, block, row_bytes, budget, monitor, rows.data());
  rows.release_from_budget();
  auto chunk = std::make_shared<Chunk>(std::move(rows), reader.dtype(), points.n, points.dim);
  require_valid(chunk->view(), "path");
  chunk->set_byte_types(find_byte_types(chunk->view()));
  return chunk;
}

// Adds them.
RowsTaken append_file(Dataset& to, const Dataset& beside, const Settings& settings, const std::string& path,
                      Monitor& monitor) {
  const auto reader = open_reader(path, Young::wait, &monitor);
  const FilePoints points = points_of(*reader, settings);
  to.require_fits(reader->dtype(), points.dim, points.n, "path");
  RowsTaken taken = reader->taken();
  taken.file = path;
  std::shared_ptr<const Chunk> rows = read_points(*reader, points, beside, settings, monitor);
  if (const std::string doubt = reader->doubt(); !doubt.empty()) monitor.log(1, doubt.c_str());
  monitor.poll();
  to.append(std::move(rows));
  return taken;
}

}  // namespace

Budget budget_for(const Settings& settings, const Dataset& data) {
  const std::int64_t limit = settings.integer(Setting::max_host_bytes);
  return Budget(limit ? limit : Budget::kUnlimited, data.held_bytes());
}

RowsTaken add_file(Dataset& data, const Settings& settings, const std::string& path, Monitor& monitor) {
  return naming_file(path, [&] { return append_file(data, data, settings, path, monitor); });
}

Dataset load_queries(const Dataset& data, const Settings& settings, const std::string& path, Monitor& monitor) {
  return naming_file(path, [&] {
    Dataset queries(data.dim(), 0);
    append_file(queries, data, settings, path, monitor);
    return queries;
  });
}

}  // namespace libknng
