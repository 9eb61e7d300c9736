#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <type_traits>

#include "failure.h"

namespace cli {
namespace {

static_assert(std::is_same_v<std::int32_t, sig_atomic_t>, "the stop flag is written by a signal handler");
volatile std::int32_t received = 0;  // the first signal, and the library's stop flag
volatile sig_atomic_t works_unread = 0, unread = 0;
volatile sig_atomic_t manner_now = static_cast<sig_atomic_t>(OnSignal::leave_at_once);

// The library's threads have signals blocked: this runs on the main thread.
extern "C" void take_signal(int number) {
  if (number == SIGPIPE && works_unread != 0) {
    unread = 1;
    return;
  }
  const auto manner = static_cast<OnSignal>(manner_now);
  if (manner == OnSignal::finish || (manner == OnSignal::stop && received == 0)) {
    if (received == 0) received = number;
    return;
  }
  // Who closed the pipe does not read on; and a second signal finds a line half drawn.
  if (manner == OnSignal::leave_at_once && number != SIGPIPE) {
    static constexpr char line[] = "knng: interrupted\n";
    static_cast<void>(!::write(STDERR_FILENO, line, sizeof line - 1));
  }
  ::_exit(kInterrupted + number);
}

}  // namespace

void catch_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction before {};
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = take_signal;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);  // one at a time
    sigaction(number, &action, nullptr);
  }
  signal(SIGXFSZ, SIG_IGN);
}

void keep_working_unread() noexcept { works_unread = 1; }

void mind_unread() noexcept {
  works_unread = 0;
  if (unread != 0 && received == 0) received = SIGPIPE;
}

const volatile std::int32_t* stop_flag() noexcept { return &received; }

void check_interrupt() {
  if (received != 0) throw Failure(kInterrupted, "interrupted");
}

int signal_received() noexcept { return received; }

SignalScope::SignalScope(OnSignal manner) noexcept : before_(static_cast<OnSignal>(manner_now)) {
  manner_now = static_cast<sig_atomic_t>(manner);
}

SignalScope::~SignalScope() { manner_now = static_cast<sig_atomic_t>(before_); }

}  // namespace cli
