// Ctrl-C and SIGTERM: the first sets the library's stop flag, the second has its default action and kills.
#pragma once

#include <cstdint>

namespace cli {

// Signals that were ignored when the program started stay ignored.
void catch_interrupts();
// For knng_control::stop.
const volatile std::int32_t* stop_flag() noexcept;
// Throws Failure (kInterrupted) if the flag is set: for places where no call of the library polls it.
void check_interrupt();

}  // namespace cli
