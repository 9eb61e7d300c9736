// Instructions of compute capability 9.0 that have no name in CUDA C++ (PTX ISA 8.0 and later): barriers in shared
// memory that count bytes, bulk copies, products of a warpgroup. Knows nothing of what they are for.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/fused/held_up.cuh"

namespace libknng::cuda::fused {

__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// ---- "mbarrier": a phase ends when so many have arrived and all bytes announced have come

using Barrier = std::uint64_t;

__device__ inline void init_barrier(Barrier* b, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
}
// Barriers are visible to copies from here on.
__device__ inline void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void arrive(Barrier* b) {
  may_be_held_up();
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}
__device__ inline void arrive_expecting(Barrier* b, int bytes) {
  may_be_held_up();
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes)
               : "memory");
}
__device__ inline void wait(Barrier* b, unsigned parity) {
  may_be_held_up();
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(b)),
      "r"(parity)
      : "memory");
  may_be_held_up();
}

// Whether the phase of that parity has ended.
__device__ inline bool is_over(Barrier* b, unsigned parity) {
  unsigned over = 0;
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 over, [%1], %2;\n"
      "selp.u32 %0, 1, 0, over;\n"
      "}\n"
      : "=r"(over)
      : "r"(shared_address(b)), "r"(parity)
      : "memory");
  return over != 0;
}

// A place in a ring of barriers, and the parity of its turn.
struct Turn {
  int at = 0;
  unsigned parity = 0;
  __device__ void next(int places) {
    if (++at == places) {
      at = 0;
      parity ^= 1;
    }
  }
};

// ---- bulk copies

// The box at (x, y) of a matrix; what lies outside of it is zeros. Counted in bytes by the barrier.
__device__ inline void copy_box(void* to, const CUtensorMap* map, int x, int y, Barrier* b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(shared_address(to)),
      "l"(map), "r"(shared_address(b)), "r"(x), "r"(y)
      : "memory");
}
// Addresses and bytes are multiples of 16.
__device__ inline void copy_bytes(void* to, const void* from, int bytes, Barrier* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(b))
               : "memory");
}

// ---- barriers of some warps, by number (0 is __syncthreads())

// At how many threads the predicate holds.
__device__ inline int count_named(int number, int threads, bool predicate) {
  may_be_held_up();
  int count = 0;
  asm volatile(
      "{\n"
      ".reg .pred holds;\n"
      "setp.ne.s32 holds, %3, 0;\n"
      "barrier.red.popc.u32 %0, %1, %2, holds;\n"
      "}\n"
      : "=r"(count)
      : "r"(number), "r"(threads), "r"(static_cast<int>(predicate))
      : "memory");
  return count;
}

// ---- registers of a warpgroup

template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- products

// How wgmma gets a matrix in shared memory: rows of 128 bytes, whose 16-byte pieces are swizzled as
// bulk copies do ("128B"), eight rows together, aligned to 1024. This is the word that says where it is; the other has
// the bytes from eight rows to the next eight.
__device__ inline unsigned matrix_at(const void* matrix) { return 1U << 16 | (shared_address(matrix) & 0x3ffff) >> 4; }
constexpr unsigned matrix_of(unsigned next_eight_rows) { return 1U << 30 | next_eight_rows >> 4; }
// 16 halves, or 32 bytes, further along the rows.
inline constexpr unsigned kNextTerms = 32 >> 4;

__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Sums are neither read before nor written after this point.
template <int kCount>
__device__ __forceinline__ void pin(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void pin(std::int32_t (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}

// sums (64 x 128, fp32; from zeros if `fresh`) += a (64 x 16, fp16; every second eight rows) b (128 x 16)^T.
__device__ __forceinline__ void multiply(float (&d)[64], unsigned a, unsigned b, bool fresh) {
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      ".reg .b64 a, b;\n"
      "setp.eq.b32 adds, %66, 0;\n"
      "mov.b64 a, {%64, %67};\n"
      "mov.b64 b, {%65, %68};\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "a, b, adds, 1, 1, 0, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "r"(a), "r"(b), "r"(static_cast<int>(fresh)), "n"(matrix_of(2048)), "n"(matrix_of(1024)));
}

// The same of signed bytes: int32 += a (64 x 32) b (128 x 32)^T.
__device__ __forceinline__ void multiply(std::int32_t (&d)[64], unsigned a, unsigned b, bool fresh) {
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      ".reg .b64 a, b;\n"
      "setp.eq.b32 adds, %66, 0;\n"
      "mov.b64 a, {%64, %67};\n"
      "mov.b64 b, {%65, %68};\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "a, b, adds;\n"
      "}\n"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]),
        "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]),
        "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]),
        "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]),
        "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]),
        "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]),
        "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]), "+r"(d[56]),
        "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63])
      : "r"(a), "r"(b), "r"(static_cast<int>(fresh)), "n"(matrix_of(2048)), "n"(matrix_of(1024)));
}

}  // namespace libknng::cuda::fused
