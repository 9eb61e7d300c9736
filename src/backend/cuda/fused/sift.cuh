// The comparison of products in registers, as tensor cores leave them: a warp has kSlabs times 16 rows, kRowStep apart,
// and kEights times 8 columns; of each 16 x 8 a lane has rows lane / 4 and 8 further on, columns 2 (lane % 4) and the
// next. Nearly no pair is wanted, so 16 products of each lane are answered by one vote.
#pragma once

#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/fused/survivors.cuh"

namespace libknng::cuda::fused {

template <int kSlabs, int kEights, int kRowStep>
struct Products {
  static constexpr int kTogether = 16;  // of a lane
  static constexpr int kGroups = kSlabs * kEights * 4 / kTogether;
  float values[kSlabs][kEights * 4];

  // The e-th of a group: slabs together, then columns.
  struct Place {
    int slab, eight, half, odd;
  };
  static constexpr Place place(int group, int e) {
    const int i = group * kTogether + e;
    return {i / 4 % kSlabs, i / 4 / kSlabs, i / 2 % 2, i % 2};
  }
  __device__ float at(Place p) const { return values[p.slab][p.eight * 4 + p.half * 2 + p.odd]; }
  static __device__ int row(Place p) {
    return p.slab * kRowStep + static_cast<int>(threadIdx.x % 32) / 4 + p.half * 8;
  }
  static __device__ int column(Place p) { return p.eight * 8 + static_cast<int>(threadIdx.x % 4) * 2 + p.odd; }
};

// row_base, column_base: of the warp's first in the block and in the unit. row_limit(slab, half): of a lane's rows.
// columns: limits of the warp's columns, in shared memory, 16-byte aligned.
template <bool kBoth, int kSlabs, int kEights, int kRowStep, class RowLimit>
__device__ __forceinline__ void sift(const Products<kSlabs, kEights, kRowStep>& products,
                                     const RowLimit& row_limit, const ListLimit* columns, int row_base,
                                     int column_base, const FusedJob& job, int first_row, int first_column,
                                     Survivors& survivors) {
  using P = Products<kSlabs, kEights, kRowStep>;
  const auto* const pairs = reinterpret_cast<const float4*>(columns);  // two limits each
  const int mine = static_cast<int>(threadIdx.x % 4);
  constexpr int kChains = 4;
  unsigned hits = 0;
#pragma unroll
  for (int g = 0; g < P::kGroups; ++g) {
    bool any[kChains] = {};  // each waits for no other
#pragma unroll
    for (int e = 0; e < P::kTogether; ++e) {
      const typename P::Place p = P::place(g, e);
      const float4 two = pairs[p.eight * 4 + mine];
      const float half_term = p.odd ? two.z : two.x, threshold = p.odd ? two.w : two.y;
      const ListLimit row = row_limit(p.slab, p.half);
      const float product = products.at(p);
      any[e % kChains] |= __fsub_rn(product, half_term) >= row.threshold;
      if (kBoth) any[(e + kChains / 2) % kChains] |= __fsub_rn(product, row.half_term) >= threshold;
    }
    if ((any[0] | any[1]) | (any[2] | any[3])) hits |= 1U << g;
  }
  hits = __reduce_or_sync(0xffffffffU, hits);
#pragma unroll 1
  for (; hits != 0; hits &= hits - 1) {
    const int group = __ffs(static_cast<int>(hits)) - 1;
    float values[P::kTogether];
#pragma unroll
    for (int g = 0; g < P::kGroups; ++g)
      if (g == group) {
#pragma unroll
        for (int e = 0; e < P::kTogether; ++e) values[e] = products.at(P::place(g, e));
      }
    // Columns of group g lie this far behind those of group 0.
    constexpr int kEightsOfGroup = P::kTogether / 4 / kSlabs;
    static_assert(kEightsOfGroup >= 1);
    const int eights = group * kEightsOfGroup;
    unsigned wanted = 0;
#pragma unroll
    for (int e = 0; e < P::kTogether; ++e) {
      const typename P::Place p = P::place(0, e);
      const float4 two = pairs[(eights + p.eight) * 4 + mine];
      const float half_term = p.odd ? two.z : two.x, threshold = p.odd ? two.w : two.y;
      const ListLimit row = row_limit(p.slab, p.half);
      if (__fsub_rn(values[e], half_term) >= row.threshold) wanted |= kOfRow << (2 * e);
      if (kBoth && __fsub_rn(values[e], row.half_term) >= threshold) wanted |= kOfColumn << (2 * e);
    }
    while (__any_sync(0xffffffffU, wanted != 0)) {
#pragma unroll
      for (int e = 0; e < P::kTogether; ++e) {
        const unsigned sides = wanted >> (2 * e) & 3U;
        if (sides == 0) continue;
        const typename P::Place p = P::place(0, e);
        if (survivors.add(values[e], place_of(row_base + P::row(p), column_base + eights * 8 + P::column(p),
                                              (sides & kOfRow) != 0, (sides & kOfColumn) != 0)))
          wanted &= ~(3U << (2 * e));
      }
      __syncwarp();
      if (survivors.is_crowded()) survivors.deliver(job, first_row, first_column);
    }
  }
}

}  // namespace libknng::cuda::fused
