#include "backend/cpu/matrix_tiles.h"

#include <cerrno>
#include <cstring>

#include "core/error.h"

#if defined(__linux__) && defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace libknng {

void use_matrix_tiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr unsigned kTileAndBf16 = 1u << 24 | 1u << 22;  // leaf 7, EDX: AMX-TILE, AMX-BF16
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & kTileAndBf16) != kTileAndBf16)
    fail(KNNG_ERR_UNSUPPORTED, "", "this processor has no matrix tiles (AMX with bfloat16)");
  constexpr long kAskPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM of asm/prctl.h, Linux 5.16
  constexpr long kTileData = 18;           // XFEATURE_XTILEDATA
  if (syscall(SYS_arch_prctl, kAskPermission, kTileData) == 0) return;
  if (errno == ENOSPC)
    fail(KNNG_ERR_UNSUPPORTED, "", "an alternate signal stack is too small for the state of matrix tiles");
  fail(KNNG_ERR_UNSUPPORTED, "", "the system gives no matrix tiles: %s", std::strerror(errno));
#else
  fail(KNNG_ERR_UNSUPPORTED, "", "matrix tiles are used on x86-64 under Linux only");
#endif
}

}  // namespace libknng
