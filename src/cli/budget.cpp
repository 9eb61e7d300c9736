#include "budget.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "commands.h"
#include "read.h"

namespace cli {
namespace {

// What a process takes beside the memory that --max-memory counts: nobody who sets it will miss as much.
constexpr std::int64_t kAside = std::int64_t{32} << 20;
// Files of more bytes are not read again only to say it better.
constexpr std::int64_t kReadAgain = std::int64_t{1} << 30;

// The library says so of a plan, whose limit then works, but is the smallest only where rows are where they are.
constexpr std::string_view kSmallest = "the smallest that works is ";

// INT64_MAX where it is not known.
std::int64_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? std::int64_t{pages} * page : INT64_MAX;
}

bool by_host_limit(const Failure& why) { return why.exit_code() == kMemory && why.setting() == "max_host_bytes"; }
bool of_plan(const Failure& why) { return std::string_view(why.what()).find(kSmallest) != std::string_view::npos; }

std::string too_small(const char* name, std::int64_t limit) {
  return std::string(name) + "=" + std::to_string(limit) + " is too small: ";
}

std::string smallest(std::int64_t bytes) { return std::string(kSmallest) + std::to_string(bytes); }
std::string would_do(std::int64_t bytes) { return std::to_string(bytes) + " would do"; }

std::int64_t bytes_of(const Shape& s) { return s.rows * s.dim * ((s.dtype & 0xff) / 8); }

// The least limit under which so many bytes of rows are held: three quarters of it. Under less they stay in files, if
// these let them.
std::int64_t least_to_hold(std::int64_t bytes) { return (bytes + 2) / 3 * 4; }
// What a row that stays in its file takes.
constexpr std::int64_t kStaying = 8;

// The command under a limit.
struct Trial {
  std::int64_t limit = 0;
  std::int64_t needed = 0;  // at least: the limit or less if the command works under it
  Shape rows{};             // if there was room for them
  bool planned = false;     // there was, and for queries
  bool on_device = false;

  bool works() const { return needed <= limit; }
  bool holds_rows() const { return limit >= least_to_hold(bytes_of(rows)); }
};

Arguments under(std::int64_t limit, Arguments a) {
  a.settings.push_back({"max_host_bytes", std::to_string(limit), ""});
  return a;
}

// The queries, read beside the rows of h.
Shape read_queries(const knng* h, const Arguments& a, Progress& progress, const Trial& trial) {
  const std::int64_t bytes = bytes_of(trial.rows), staying = kStaying * trial.rows.rows;
  // Between their size and what surely holds them the rows may be either.
  const std::int64_t rows = trial.holds_rows() ? bytes : trial.limit < bytes ? staying : std::max(bytes, staying);
  const std::int64_t room = std::max<std::int64_t>(trial.limit - rows, 1);
  const Handle q = make_handle(under(room, a).settings);
  try {
    read_files(q.get(), {a.queries}, progress);
  } catch (const Failure& why) {
    if (!by_host_limit(why)) throw;
    throw Failure(kMemory, why.what(), why.setting(), why.limit() + rows);
  }
  const Shape queries = shape(q.get());
  knng_graph* none = nullptr;
  if (queries.dim != trial.rows.dim)  // refused, in the library's words
    check(knng_query_file(h, a.queries.c_str(), a.k, nullptr, &none, error()));
  return queries;
}

// The plan, with the rows of a query, which the library counts beside it.
void make_plan(const Arguments& a, Progress& progress, Trial& trial) {
  const Handle h = make_handle(a.settings);
  read_files(h.get(), a.data, progress);
  trial.rows = shape(h.get());
  std::int64_t queries = a.query_rows, query_bytes = 0;
  if (a.command == Command::query) {
    const Shape s = read_queries(h.get(), a, progress, trial);
    queries = s.rows;
    query_bytes = bytes_of(s);
    if (trial.limit < least_to_hold(bytes_of(trial.rows) + query_bytes)) query_bytes += kStaying * s.rows;
  }
  const knng_plan p = plan(h.get(), queries, a.k);
  trial.needed = p.smallest_host + query_bytes;
  trial.planned = true;
  trial.on_device = p.device_bytes > 0;
}

Trial try_under(std::int64_t limit, const Arguments& a, Progress& progress) {
  const Arguments limited = under(limit, a);
  Trial trial{.limit = limit};
  try {
    if (a.command == Command::info)
      rehearse_info(limited, progress);
    else if (a.command == Command::check)
      rehearse_check(limited, progress);
    else if (a.command == Command::convert)
      read_graph(limited, progress);
    else
      make_plan(limited, progress, trial);
  } catch (const Failure& why) {
    if (!by_host_limit(why)) throw;
    trial.needed = std::max(why.limit(), limit + 1);
  }
  return trial;
}

// A limit, and what is known of it.
enum class Known { smallest, works, needed };
struct Enough {
  std::int64_t limit;
  Known known;
};

// Rows of one file are either held or not, so that the smallest is the smaller of two. Of more files some may be held:
// but on the CPU no limit works that is less than what is needed where all are.
Enough that_works(const Arguments& a, const Trial& trial) {
  const bool one_file = a.data.size() == 1;
  const bool all_held = !trial.on_device && trial.holds_rows() && trial.needed == trial.limit;
  const bool exact = a.command == Command::build || a.command == Command::estimate;
  return {trial.limit, exact && (one_file || all_held) ? Known::smallest : Known::works};
}

// Without reading under the limit itself, which is too much for a message: `trial` has room for the rows, not for the
// plan.
Enough beyond(const Arguments& a, Trial trial) {
  const std::int64_t bytes = bytes_of(trial.rows), to_hold = least_to_hold(bytes), staying = kStaying * trial.rows.rows;
  if (trial.holds_rows()) {
    trial.limit = trial.needed;
    return that_works(a, trial);
  }
  // Under a limit above their size the file's format decides whether they stayed.
  if (a.data.size() > 1 || a.command == Command::query || trial.limit >= bytes) return {trial.needed, Known::works};
  if (!trial.on_device) return {std::min(trial.needed, std::max(trial.needed - staying, to_hold)), Known::smallest};
  if (trial.needed < to_hold) return {trial.needed, Known::smallest};
  return {std::max(trial.needed - staying + bytes, to_hold), Known::works};
}

// Found from below: rows stay in their files under a small limit, and take other plans. Known::needed where it
// takes more than kAside to know it.
Enough find_enough(std::int64_t from, const Arguments& a, Progress& progress) {
  Trial trial = try_under(from, a, progress);
  while (!trial.works() && trial.needed <= kAside) trial = try_under(trial.needed, a, progress);
  if (!trial.works() && trial.planned) {
    if (least_to_hold(bytes_of(trial.rows)) <= kAside) trial = try_under(kAside, a, progress);
    if (!trial.works()) return beyond(a, trial);
  }
  if (!trial.works()) return {trial.needed, Known::needed};
  if (!trial.planned) return {trial.limit, Known::works};
  // Rows that are held take less than rows that stay, but stay under a limit that is too near to their size.
  std::int64_t too_little = trial.needed - 1, between = trial.needed;
  while (too_little + 1 < trial.limit) {
    const Trial less = try_under(between, a, progress);
    if (less.works())
      trial = less;
    else
      too_little = between;
    between = too_little + (trial.limit - too_little) / 2;
  }
  return that_works(a, trial);
}

std::int64_t file_bytes(const Arguments& a) {
  std::int64_t bytes = 0;
  for (const std::string& path : a.data) {
    struct stat file {};
    if (stat(path.c_str(), &file) == 0) bytes += file.st_size;
  }
  return bytes;
}

}  // namespace

Failure with_enough(const Failure& why, const Arguments& a) {
  if (!by_host_limit(why)) return why;
  const std::int64_t given = host_limit(a);
  if (given == 0) return why;
  const auto saying = [&](const std::string& what) {
    return Failure(kMemory, too_small("max_host_bytes", given) + what, why.setting());
  };
  const bool plans = a.command == Command::build || a.command == Command::query || a.command == Command::estimate;
  if (plans && of_plan(why) && file_bytes(a) > kReadAgain) return saying(would_do(why.limit()));
  Progress progress(a.quiet);
  Enough enough = find_enough(1, a, progress);
  // A check holds rows, under more than it works with where they stay in their file.
  if (enough.known == Known::works && enough.limit <= given) enough = find_enough(given, a, progress);
  if (enough.known == Known::smallest) return saying(smallest(enough.limit));
  if (enough.known == Known::works) return saying(would_do(enough.limit));
  if (of_plan(why)) return plans ? saying(would_do(why.limit())) : why;
  return saying("at least " + std::to_string(std::max(enough.limit, why.limit())) + " bytes are needed" +
                (plans ? " for the rows alone; 'knng estimate' without it says how much in all" : ""));
}

void require_fit(const knng* h, const knng_plan& p) {
  const std::int64_t host = limit_of(h, "max_host_bytes"), device = limit_of(h, "max_device_bytes");
  if (host > 0 && p.host_bytes > host)
    throw Failure(kMemory, too_small("max_host_bytes", host) + smallest(p.smallest_host), "max_host_bytes",
                  p.smallest_host);
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
    throw Failure(kMemory, too_small("max_host_bytes", limit) + smallest(all), "max_host_bytes", all);
  if (all > machine_memory())
    throw Failure(kMemory, std::to_string(all) + " bytes are needed to report on " + std::to_string(columns) +
                               " columns, this machine has " + std::to_string(machine_memory()));
}

}  // namespace cli
