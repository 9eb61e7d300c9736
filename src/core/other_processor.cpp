#include "core/other_processor.h"

#include <sched.h>

namespace libknng {

#ifdef __linux__
namespace {

// Lets a thread run only on `there` for as long as it takes the system to move it, if it may run there. Between the two
// calls the thread can do less, never more.
void move(std::thread& thread, const cpu_set_t& allowed, const cpu_set_t& there) noexcept {
  if (pthread_setaffinity_np(thread.native_handle(), sizeof there, &there) == 0)
    pthread_setaffinity_np(thread.native_handle(), sizeof allowed, &allowed);
}

// Whether the thread may run here and elsewhere; then sets of both.
bool find_processors(std::thread& thread, cpu_set_t& allowed, cpu_set_t& here, cpu_set_t& others) noexcept {
  const int processor = sched_getcpu();
  if (processor < 0 || processor >= CPU_SETSIZE) return false;
  if (pthread_getaffinity_np(thread.native_handle(), sizeof allowed, &allowed) != 0) return false;
  if (!CPU_ISSET(processor, &allowed) || CPU_COUNT(&allowed) < 2) return false;
  CPU_ZERO(&here);
  CPU_SET(processor, &here);
  others = allowed;
  CPU_CLR(processor, &others);
  return true;
}

}  // namespace

void move_to_other_processor(std::thread& thread) noexcept {
  cpu_set_t allowed, here, others;
  if (find_processors(thread, allowed, here, others)) move(thread, allowed, others);
}

void move_to_this_processor(std::thread& thread) noexcept {
  cpu_set_t allowed, here, others;
  if (find_processors(thread, allowed, here, others)) move(thread, allowed, here);
}
#else
void move_to_other_processor(std::thread&) noexcept {}
void move_to_this_processor(std::thread&) noexcept {}
#endif

}  // namespace libknng
