// On which processor a thread waits for its turn. Linux leaves a thread that has just been woken behind the one that
// woke it, for a millisecond or more, where another processor has nothing to do: a virtual one that sleeps counts as
// taken. Knows nothing of what threads are for.
#pragma once

#include <thread>

namespace libknng {

// Moves a thread off the calling thread's processor, or to it, if the thread may run there. Afterwards it may run where
// it might before, so the system can move it on. Does nothing on a single processor and where the system has no such
// call.
void move_to_other_processor(std::thread& thread) noexcept;
void move_to_this_processor(std::thread& thread) noexcept;

}  // namespace libknng
