// The comparison of products in registers, as tensor cores leave them: a warp has kSlabs times 16 rows, kRowStep apart,
// and kEights times 8 columns; of each 16 x 8 a lane has rows lane / 4 and 8 further on, columns 2 (lane % 4) and the
// next. Nearly no pair is wanted: a lane asks of 16 products at once whether any is, and puts them aside if so.
#pragma once

#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/fused/packets.cuh"
#include "backend/cuda/fused/survivors.cuh"

namespace libknng::cuda::fused {

template <int kSlabs, int kEights, int kRowStep>
struct Products {
  static constexpr int kTogether = kPacketProducts;  // of a lane
  static constexpr int kGroups = kSlabs * kEights * 4 / kTogether;
  float values[kSlabs][kEights * 4];

  // The e-th of a group: slabs together, then columns.
  struct Place {
    int slab, eight, half, odd;
  };
  static __host__ __device__ constexpr Place place(int group, int e) {
    const int i = group * kTogether + e;
    return {i / 4 % kSlabs, i / 4 / kSlabs, i / 2 % 2, i % 2};
  }
  __device__ float at(Place p) const { return values[p.slab][p.eight * 4 + p.half * 2 + p.odd]; }
  static __device__ int row_of(Place p, int lane) { return p.slab * kRowStep + lane / 4 + p.half * 8; }
  static __device__ int column_of(Place p, int lane) { return p.eight * 8 + lane % 4 * 2 + p.odd; }
};

// Where a warp compares: its first row in the block, and the block's first row and unit's first column in the job.
struct WarpPlace {
  int row_base, first_row, first_column;
};

// Of all lanes.
__device__ inline int sum_of_warp(int mine) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  for (int apart = 16; apart > 0; apart /= 2) mine += __shfl_xor_sync(0xffffffffU, mine, apart);
  return mine;
#else
  return static_cast<int>(__reduce_add_sync(0xffffffffU, static_cast<unsigned>(mine)));
#endif
}

// Looks through packets of products of this kind; all lanes. Limits are far away: those of kAtOnce products of a lane
// are asked for before the first is looked at.
template <bool kBoth, class P, int kAtOnce, int kRoom>
__device__ __forceinline__ void open_packets(const Packets<kRoom>& packets, Survivors& survivors, const FusedJob& job,
                                             const WarpPlace& at) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  __syncwarp();
  const int products = packets.products();
#pragma unroll 1
  for (int start = 0; start < products; start += 32 * kAtOnce) {
    Survivor found[kAtOnce];
    ListLimit of_rows[kAtOnce], of_columns[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const typename Packets<kRoom>::Product x = packets.product(min(start + lane + 32 * j, products - 1));
      const typename P::Place p = P::place(x.group, x.e);
      const int row = at.row_base + P::row_of(p, x.lane), column = x.column + P::column_of(p, x.lane);
      of_rows[j] = job.row_limits[at.first_row + row];
      of_columns[j] = job.column_limits[at.first_column + column];
      found[j] = {x.value, place_of(row, column, false, false)};
    }
    int wanted = 0;
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const float product = found[j].low;
      const bool there = start + lane + 32 * j < products;
      const ListLimit row = of_rows[j], column = of_columns[j];
      if (there && __fsub_rn(product, column.half_term) >= row.threshold) found[j].place |= kOfRow;
      if (kBoth && there && __fsub_rn(product, row.half_term) >= column.threshold) found[j].place |= kOfColumn;
      // Terms are twice their halves, or, where these are denormal, a little more: then low is still below the key.
      const float terms = __fadd_rn(__fmul_rn(2.0F, row.half_term), __fmul_rn(2.0F, column.half_term));
      found[j].low = __fmaf_rn(-2.0F, product, terms);
      wanted += (found[j].place & (kOfRow | kOfColumn)) != 0 ? 1 : 0;
    }
    const auto keep = [&](int from, int to, int count) {
      Survivor* next = count > 0 ? survivors.take(count) : nullptr;
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j)
        if (j >= from && j < to && (found[j].place & (kOfRow | kOfColumn)) != 0) *next++ = found[j];
    };
    const int together = sum_of_warp(wanted);
    const bool room_for_all = survivors.has_room(together);
    __syncwarp();
    if (!room_for_all) survivors.deliver(job, at.first_row, at.first_column);
    if (together <= Survivors::kRoom) {
      keep(0, kAtOnce, wanted);
    } else {
#pragma unroll 1
      for (int j = 0; j < kAtOnce; ++j) {
        __syncwarp();
        const bool has_room = survivors.has_room(32);
        __syncwarp();
        if (!has_room) survivors.deliver(job, at.first_row, at.first_column);
        bool mine = false;
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) mine |= i == j && (found[i].place & (kOfRow | kOfColumn)) != 0;
        keep(j, j + 1, mine ? 1 : 0);
      }
    }
    __syncwarp();
  }
}

// column_base: of the warp's first in the unit. row_limit(slab, half): of a lane's rows. columns: limits of the warp's
// columns, in shared memory, 16-byte aligned. finds: takes packets of a lane while it has room (add()); all lanes ask
// whether it should be emptied (is_crowded()) and have it emptied (flush()).
template <bool kBoth, int kSlabs, int kEights, int kRowStep, class RowLimit, class Finds>
__device__ __forceinline__ void sift(const Products<kSlabs, kEights, kRowStep>& products, const RowLimit& row_limit,
                                     const ListLimit* columns, int column_base, Finds& finds) {
  using P = Products<kSlabs, kEights, kRowStep>;
  constexpr int kChains = 4;
  const auto* const pairs = reinterpret_cast<const float4*>(columns);  // two limits each
  const int mine = static_cast<int>(threadIdx.x % 4);
  unsigned left = 0;  // groups for which there is no room
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
    if ((any[0] | any[1]) | (any[2] | any[3])) {
      float packet[P::kTogether];
#pragma unroll
      for (int e = 0; e < P::kTogether; ++e) packet[e] = products.at(P::place(g, e));
      if (!finds.add(packet, column_base, g)) left |= 1U << g;
    }
  }
  __syncwarp();
  const bool crowded = finds.is_crowded();
  __syncwarp();
  if (!crowded) return;
  finds.flush();
  // Many are wanted where cut-offs are young: the rest, as much as there is room for at a time.
  while (__any_sync(0xffffffffU, left != 0)) {
#pragma unroll
    for (int g = 0; g < P::kGroups; ++g) {
      if ((left >> g & 1U) == 0) continue;
      float packet[P::kTogether];
#pragma unroll
      for (int e = 0; e < P::kTogether; ++e) packet[e] = products.at(P::place(g, e));
      if (finds.add(packet, column_base, g)) left &= ~(1U << g);
    }
    finds.flush();
  }
}

}  // namespace libknng::cuda::fused
