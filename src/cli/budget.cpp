#include "budget.h"

#include <unistd.h>

#include <string>

#include "failure.h"
#include "read.h"

namespace cli {
namespace {

// What a process takes beside the memory that --max-memory counts: nobody who sets it will miss as much.
constexpr std::int64_t kAside = std::int64_t{32} << 20;

std::int64_t limit_of(const knng* h, const char* name) { return std::stoll(setting(h, name)); }

// INT64_MAX where it is not known.
std::int64_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? std::int64_t{pages} * page : INT64_MAX;
}

bool by_host_limit(const Failure& why) { return why.exit_code() == kMemory && why.setting() == "max_host_bytes"; }

// What is missing under `limit`: at least as much is needed, for the rows or, where these have room, for all. Where
// nothing is, the smallest that this plan would do with, `limit` or less.
std::int64_t needed_under(std::int64_t limit, const Arguments& a, Progress& progress) {
  Settings settings = a.settings;
  settings.push_back({"max_host_bytes", std::to_string(limit), ""});
  const Handle h = make_handle(settings);
  try {
    read_files(h.get(), a.data, progress);
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

// The smallest limit under which the whole command works, found from below: rows stay in their files under a small one,
// and take other plans. Of a query it may be somewhat more.
std::int64_t enough_for(std::int64_t limit, const Arguments& a, Progress& progress) {
  while (limit <= kAside) {
    const std::int64_t needed = needed_under(limit, a, progress);
    if (needed <= limit) return needed < limit && needed_under(needed, a, progress) <= needed ? needed : limit;
    limit = needed;
  }
  return limit;
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
    std::int64_t enough = 0;
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
                      (a.command == Command::query ? std::to_string(enough) + " would do" : smallest(enough)),
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

}  // namespace cli
