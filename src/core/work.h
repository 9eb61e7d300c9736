// The memory limit and the monitor of work on the calling thread. Knows nothing of what is done.
#pragma once

#include <cstdint>

#include "core/buffer.h"
#include "core/monitor.h"

namespace libknng {

struct Work {
  Budget* budget = nullptr;    // of all memory, the result included, until it is done; nullptr: nobody counts
  Monitor* monitor = nullptr;  // nullptr: nobody
  void begin(const char* stage, std::int64_t total) const {
    if (monitor) monitor->stage(stage, static_cast<double>(total));
  }
  // Throws KNNG_ERR_CANCELLED if the caller wants to stop.
  void done(std::int64_t amount) const {
    if (!monitor) return;
    monitor->advance(static_cast<double>(amount));
    monitor->poll();
  }
  void row_done() const { done(1); }
  // All of it at once, before it is asked for piece by piece: the failure then says how much would do.
  void require_room(std::int64_t bytes) const { const Charge all(budget, bytes); }
};

}  // namespace libknng
