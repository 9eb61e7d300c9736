#include "exec/load.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "core/dtype.h"
#include "core/thread_team.h"
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

// Beside rows of `data`.
std::shared_ptr<const Chunk> read_rows(RowReader& reader, const Dataset& data, const Settings& settings,
                                       Monitor& monitor) {
  const std::int64_t n = reader.rows(), d = reader.cols();
  const std::int64_t row_bytes = checked_mul(d, checked_dtype_bytes(reader.dtype(), "path"), "path");
  const std::int64_t bytes = checked_mul(n, row_bytes, "path");
  Budget budget = budget_for(settings, data);
  if (too_large_to_hold(bytes, data.held_bytes(), settings.integer(Setting::max_host_bytes)))
    if (std::unique_ptr<const RowFile> file = reader.stay()) {
      const auto threads = static_cast<int>(settings.integer(Setting::threads));
      return leave_in_file(std::move(file), reader.dtype(), n, d, threads ? threads : default_threads(), budget,
                           monitor);
    }
  const std::int64_t beside = reader.bytes_beside();
  { const Charge all(&budget, checked_add(bytes, beside, "path")); }  // the failure says how much would do
  const Charge held(&budget, beside);
  Buffer<std::byte> rows(bytes, &budget);
  const std::int64_t block = std::max<std::int64_t>(1, kBlockBytes / row_bytes);
  monitor.stage("read", static_cast<double>(n));
  for (std::int64_t first = 0; first < n; first += block) {
    const std::int64_t count = std::min(block, n - first);
    reader.read(count, rows.data() + first * row_bytes);
    monitor.advance(static_cast<double>(count));
    monitor.poll();
  }
  reader.finish();
  rows.release_from_budget();
  auto chunk = std::make_shared<Chunk>(std::move(rows), reader.dtype(), n, d);
  require_valid(chunk->view(), "path");
  chunk->set_byte_types(find_byte_types(chunk->view()));
  return chunk;
}

}  // namespace

Budget budget_for(const Settings& settings, const Dataset& data) {
  const std::int64_t limit = settings.integer(Setting::max_host_bytes);
  return Budget(limit ? limit : Budget::kUnlimited, data.held_bytes());
}

void add_file(Dataset& data, const Settings& settings, const std::string& path, Monitor& monitor) {
  naming_file(path, [&] {
    const auto reader = open_reader(path, Young::wait, &monitor);
    data.require_fits(reader->dtype(), reader->cols(), reader->rows(), "path");
    data.append(read_rows(*reader, data, settings, monitor));
  });
}

Dataset load_queries(const Dataset& data, const Settings& settings, const std::string& path, Monitor& monitor) {
  return naming_file(path, [&] {
    const auto reader = open_reader(path, Young::wait, &monitor);
    Dataset queries(data.dim(), 0);
    queries.require_fits(reader->dtype(), reader->cols(), reader->rows(), "path");
    queries.append(read_rows(*reader, data, settings, monitor));
    return queries;
  });
}

}  // namespace libknng
