#include "interrupt.h"

#include <signal.h>

#include <type_traits>

#include "failure.h"

namespace cli {
namespace {

static_assert(std::is_same_v<std::int32_t, sig_atomic_t>, "the stop flag is written by a signal handler");
volatile std::int32_t stop_requested = 0;

extern "C" void request_stop(int) { stop_requested = 1; }

}  // namespace

void catch_interrupts() {
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = request_stop;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

const volatile std::int32_t* stop_flag() noexcept { return &stop_requested; }

void check_interrupt() {
  if (stop_requested != 0) throw Failure(kInterrupted, "interrupted");
}

}  // namespace cli
