#include "matrix_tiles.h"

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace cli {

void ask_for_matrix_tiles() noexcept {
#if defined(__linux__) && defined(__x86_64__)
  // ARCH_REQ_XCOMP_PERM of asm/prctl.h (Linux 5.16) for XFEATURE_XTILEDATA.
  syscall(SYS_arch_prctl, 0x1023, 18);
#endif
}

}  // namespace cli
