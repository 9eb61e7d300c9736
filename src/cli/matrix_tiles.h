// Leave for this process to use the processor's matrix tiles (AMX), which Linux gives to those that ask. The library
// uses them where its host has asked, and never asks itself: signal frames grow, which is the host's business.
#pragma once

namespace cli {

// Does nothing where there are none.
void ask_for_matrix_tiles() noexcept;

}  // namespace cli
