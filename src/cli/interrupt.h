// Signals that ask the command to end. Whatever it is doing, it ends with code 128 + signal and leaves no half file.
//
//   at once    the program leaves from within the handler: where nothing is under way that would have to be put back
//   stoppable  in calls of the library that poll the stop flag: the first signal sets it, the second leaves at once
//   finishing  while a file is being written: signals set the flag and nothing else, however many come
//
// SIGPIPE, which says that nobody reads what is printed, is put off while a file is still to come of the work: see
// keep_working_unread().
#pragma once

#include <cstdint>
#include <utility>

namespace cli {

enum class OnSignal : int { leave_at_once, stop, finish };

// SIGINT, SIGTERM, SIGHUP and SIGPIPE from now on, at once; those that were ignored when the program started stay so.
// A file that grows beyond the limit of the process is an error of the call that writes (EFBIG), no signal.
void catch_signals();

// From now on SIGPIPE only makes a note: the work goes on to its file, as under `knng build ... --report | head`.
void keep_working_unread() noexcept;
// The file is there: SIGPIPE ends the command again, and one that was noted counts as having come now.
void mind_unread() noexcept;

// For knng_control::stop.
const volatile std::int32_t* stop_flag() noexcept;
// Throws Failure (kInterrupted) if a signal came.
void check_interrupt();
// The signal that came first; 0: none did.
int signal_received() noexcept;

// For the calls in its scope.
class SignalScope {
 public:
  explicit SignalScope(OnSignal manner) noexcept;
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  OnSignal before_;
};

// Runs `call` in a scope of its own, then ends the program if a signal came that the call did not see.
template <class Call>
void on_signal(OnSignal manner, Call&& call) {
  {
    const SignalScope scope(manner);
    std::forward<Call>(call)();
  }
  check_interrupt();
}

}  // namespace cli
