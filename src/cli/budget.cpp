#include "budget.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "failure.h"
#include "read.h"

namespace cli {
namespace {

// What a process takes beside the memory that --max-memory counts: nobody who sets it will miss as much.
constexpr std::int64_t kAside = std::int64_t{32} << 20;

// INT64_MAX where it is not known.
std::int64_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? std::int64_t{pages} * page : INT64_MAX;
}

bool by_host_limit(const Failure& why) { return why.exit_code() == kMemory && why.setting() == "max_host_bytes"; }

// What is missing under `limit`: at least as much is needed, for the rows or, where these have room, for all. Where
// nothing is, the smallest that this plan would do with, `limit` or less. read: the rows, if they have room.
std::int64_t needed_under(std::int64_t limit, const Arguments& a, Progress& progress, Shape& read) {
  Settings settings = a.settings;
  settings.push_back({"max_host_bytes", std::to_string(limit), ""});
  const Handle h = make_handle(settings);
  try {
    read_files(h.get(), a.data, progress);
    read = shape(h.get());
    std::int64_t queries = a.query_rows, query_bytes = 0;
    if (a.command == Command::query) {
      const Handle q = make_handle(settings);
      read_files(q.get(), {a.queries}, progress);
      const Shape s = shape(q.get());
      queries = s.rows;
      query_bytes = s.rows * (s.dim * ((s.dtype & 0xff) / 8) + 8);  // 8: should they, too, stay in their file
    }
    return plan(h.get(), queries, a.k).smallest_host + query_bytes;
  } catch (const Failure& why) {
    if (!by_host_limit(why) || why.limit() > kAside) throw;
    return why.limit();
  }
}

// The smallest limit that works for the rows of one file, where `enough` does by a plan with the rows read under
// `limit`. Rows that stayed in their file take 8 bytes each. Limits of which they fill three quarters or less hold them
// instead, without these bytes.
std::int64_t smallest_for_file(std::int64_t enough, std::int64_t limit, const Arguments& a, Progress& progress,
                               Shape rows) {
  const std::int64_t bytes = rows.rows * rows.dim * ((rows.dtype & 0xff) / 8), least_to_hold = (bytes + 2) / 3 * 4;
  if (limit >= least_to_hold) return enough;
  // Under a limit above their size the file's format decides whether they stayed.
  const std::int64_t held = limit < bytes ? enough - 8 * rows.rows : needed_under(least_to_hold, a, progress, rows);
  return std::min(enough, std::max(held, least_to_hold));
}

// A limit under which the whole command works; and whether it is the smallest.
struct Enough {
  std::int64_t limit;
  bool is_smallest;
};

// Found from below: rows stay in their files under a small limit, and take other plans.
Enough enough_for(std::int64_t limit, const Arguments& a, Progress& progress) {
  const bool query = a.command == Command::query;
  for (;;) {
    Shape rows;
    const std::int64_t needed = needed_under(limit, a, progress, rows);
    if (needed <= limit) {
      const bool less = needed < limit && needed_under(needed, a, progress, rows) <= needed;
      return {less ? needed : limit, !query};
    }
    if (needed > kAside) {
      if (query || a.data.size() > 1) return {needed, false};
      return {smallest_for_file(needed, limit, a, progress, rows), true};
    }
    limit = needed;
  }
}

std::string too_small(const char* name, std::int64_t limit) {
  return std::string(name) + "=" + std::to_string(limit) + " is too small: ";
}

std::string smallest(std::int64_t bytes) { return "the smallest that works is " + std::to_string(bytes); }

}  // namespace

double read_for_work(knng* h, const Arguments& a, Progress& progress) {
  try {
    return read_files(h, a.data, progress);
  } catch (const Failure& why) {
    if (!by_host_limit(why)) throw;
    const std::int64_t given = limit_of(h, "max_host_bytes");
    Enough enough{};
    try {
      enough = enough_for(given, a, progress);
    } catch (const Failure& other) {
      if (!by_host_limit(other)) throw;
      throw Failure(kMemory,
                    std::string(why.what()) + " for the rows alone; 'knng estimate' without it says how much in all",
                    why.setting());
    }
    throw Failure(kMemory,
                  too_small("max_host_bytes", given) +
                      (enough.is_smallest ? smallest(enough.limit) : std::to_string(enough.limit) + " would do"),
                  why.setting());
  }
}

void require_fit(const knng* h, const knng_plan& p) {
  const std::int64_t host = limit_of(h, "max_host_bytes"), device = limit_of(h, "max_device_bytes");
  if (host > 0 && p.host_bytes > host)
    throw Failure(kMemory, too_small("max_host_bytes", host) + smallest(p.smallest_host), "max_host_bytes");
  if (device > 0 && p.device_bytes > device)
    throw Failure(kMemory, too_small("max_device_bytes", device) + smallest(p.smallest_device), "max_device_bytes");
}

void require_machine(const knng_plan& p) {
  if (p.host_bytes > machine_memory())
    throw Failure(kMemory, std::to_string(p.host_bytes) + " bytes are planned, this machine has " +
                               std::to_string(machine_memory()) + "; the smallest --max-memory that works is " +
                               std::to_string(p.smallest_host));
}

void require_report_room(const knng_graph* g, std::int64_t limit) {
  std::int64_t rows = 0, columns = 0, width = 0;
  check(knng_graph_shape(g, &rows, &columns, &width, nullptr, error()));
  knng_matrix values = knng_packed(KNNG_F32, 0, 0, nullptr);
  check(knng_graph_view(g, nullptr, &values, error()));
  // The lists with their marks; then of each column or row a number of the library's and one of ours, and of rows the
  // sizes of components.
  const std::int64_t graph = rows * (width * (values.dtype == KNNG_F32 ? 12 : 16) + 2);
  constexpr std::int64_t kColumn = 16, kRow = 24;
  std::int64_t all = 0;
  if (__builtin_mul_overflow(columns, kColumn, &all) || __builtin_add_overflow(std::max(all, rows * kRow), graph, &all))
    all = INT64_MAX;
  if (limit > 0 && all > limit)
    throw Failure(kMemory, too_small("max_host_bytes", limit) + smallest(all), "max_host_bytes");
  if (all > machine_memory())
    throw Failure(kMemory, std::to_string(all) + " bytes are needed to report on " + std::to_string(columns) +
                               " columns, this machine has " + std::to_string(machine_memory()));
}

}  // namespace cli
