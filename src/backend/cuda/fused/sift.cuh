// The comparison of products in registers, as tensor cores leave them: a warp has kSlabs times 16 rows and kEights
// times 8 columns; of each 16 x 8 a lane has row lane / 4 and one kHalfStep further on, columns 2 (lane % 4) and the
// next. Nearly no pair is wanted: some products of a lane are put aside together if one of them may be.
#pragma once

#include <type_traits>

#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/fused/limit_arithmetic.cuh"
#include "backend/cuda/fused/packets.cuh"
#include "backend/cuda/fused/survivors.cuh"

namespace libknng::cuda::fused {

// kTogether: products of a lane that a packet has.
template <class Number, int kSlabs, int kEights, int kSlabStep, int kHalfStep, int kTogether>
struct Products {
  using Value = Number;
  static constexpr int kOfPacket = kTogether;
  static constexpr int kGroups = kSlabs * kEights * 4 / kTogether;
  static constexpr int kStripes = kEights / 4;  // of 32 columns
  static constexpr int kGroupsEach = kGroups / kStripes, kEightsTogether = 4 / kGroupsEach;
  static constexpr int kOfSlab = kTogether / kSlabs;  // of a group
  static_assert(kEights % 4 == 0 && kEightsTogether * kSlabs * 4 == kTogether);
  Number values[kSlabs][kEights * 4];

  // The e-th of a group: slabs together, then columns.
  struct Place {
    int slab, eight, half, odd;
  };
  static __host__ __device__ constexpr Place place(int group, int e) {
    const int i = group * kTogether + e;
    return {i / 4 % kSlabs, i / 4 / kSlabs, i / 2 % 2, i % 2};
  }
  __device__ Number at(Place p) const { return values[p.slab][p.eight * 4 + p.half * 2 + p.odd]; }
  static __device__ int row_of(Place p, int lane) { return p.slab * kSlabStep + p.half * kHalfStep + lane / 4; }
  static __device__ int column_of(Place p, int lane) { return p.eight * 8 + lane % 4 * 2 + p.odd; }
};

// Where a warp compares: its first row in the block, and the block's first row and unit's first column in the job.
struct WarpPlace {
  int row_base, first_row, first_column;
};

// Looks through packets of products of this kind; all lanes. near: room for the numbers of all products. kOfLane: whose
// limits, which are far away, are under way together.
template <bool kBoth, int kOfLane, class P, class Number, int kRoom>
__device__ __forceinline__ void open_packets(const Packets<Number, P::kOfPacket, kRoom>& packets, std::uint16_t* near,
                                             Survivors& survivors, const FusedJob<Number>& job, const WarpPlace& at) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  __syncwarp();
  const int count = packets.find_near(near);
#pragma unroll 1
  for (int start = 0; start < count; start += 32 * kOfLane) {
    typename Packets<Number, P::kOfPacket, kRoom>::Product x[kOfLane];
    int rows[kOfLane], columns[kOfLane];
    ListLimit<Number> of_rows[kOfLane], of_columns[kOfLane];
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      x[i] = packets.product(near[min(start + 32 * i + lane, count - 1)]);
      const typename P::Place p = P::place(x[i].group, x[i].e);
      rows[i] = at.row_base + P::row_of(p, x[i].lane);
      columns[i] = x[i].column + P::column_of(p, x[i].lane);
      of_rows[i] = job.row_limits[at.first_row + rows[i]];
      of_columns[i] = job.column_limits[at.first_column + columns[i]];
    }
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      const bool there = start + 32 * i + lane < count;
      const bool for_row = there && wants(of_rows[i], x[i].value, of_columns[i].term);
      const bool for_column = kBoth && there && wants(of_columns[i], x[i].value, of_rows[i].term);
      survivors.add(for_row || for_column,
                    {pair_low(x[i].value, of_rows[i].term, of_columns[i].term),
                     pair_code(rows[i], columns[i], for_row, for_column)},
                    job, at.first_row, at.first_column);
    }
  }
  __syncwarp();
}

// The least of what some lists accept.
template <class Number>
struct LeastLimit {
  ListLimit<Number> least{LimitRange<Number>::no_term(), LimitRange<Number>::no_threshold()};

  __device__ void take(ListLimit<Number> limit) {
    least.term = min(least.term, limit.term);
    least.threshold = min(least.threshold, limit.threshold);
  }
};

// The highest of some products, or 0 if all are negative: floats that are not have the order of their bits. One
// instruction for two from compute capability 9.0 on. (In C++ the compiler turns sums to integers while products are
// under way.)
__device__ __forceinline__ int higher(float a, float b, int highest) {
  int result;
  asm("{\n"
      ".reg .s32 x, y;\n"
      "mov.b32 x, %1;\n"
      "mov.b32 y, %2;\n"
      "max.s32 x, x, y;\n"
      "max.s32 %0, x, %3;\n"
      "}\n"
      : "=r"(result)
      : "f"(a), "f"(b), "r"(highest));
  return result;
}
__device__ __forceinline__ int higher(std::int32_t a, std::int32_t b, int highest) { return max(max(a, b), highest); }
template <class Number>
__device__ __forceinline__ Number from_highest(int highest) {
  if constexpr (std::is_same_v<Number, float>)
    return __int_as_float(highest);
  else
    return highest;
}

template <class P, class Number>
__device__ __forceinline__ Packet<Number, P::kOfPacket> packet_of(const P& products, int group, Number needed,
                                                                  int column) {
  Packet<Number, P::kOfPacket> packet{{}, needed, column, group};
#pragma unroll
  for (int e = 0; e < P::kOfPacket; ++e) packet.products[e] = products.at(P::place(group, e));
  return packet;
}

// The highest of a group of a lane's products, or 0 if all are negative.
template <class P>
__device__ __forceinline__ auto highest_of(const P& products, int group) {
  int highest = 0;
#pragma unroll
  for (const auto& slab : products.values)
#pragma unroll
    for (int i = 0; i < P::kOfSlab; i += 2)
      highest = higher(slab[group * P::kOfSlab + i], slab[group * P::kOfSlab + i + 1], highest);
  return from_highest<typename P::Value>(highest);
}

// What a product must not be below for a pair of some rows and columns to be wanted.
template <bool kBoth, class Number>
__device__ __forceinline__ Number needed_by(const ListLimit<Number>& rows, const ListLimit<Number>& columns) {
  const Number by_rows = twice_needed(rows.threshold, columns.term);
  return half_of_needed(kBoth ? min(by_rows, twice_needed(columns.threshold, rows.term)) : by_rows);
}

// What a warp compares its products with. row(slab, half): of a lane's rows, least_of_rows: of all of them. columns,
// least_of_columns: of the warp's, and of each lane's by 32, in shared memory, 16-byte aligned.
template <class Number, class Row>
struct WarpLimits {
  const Row& row;
  const LeastLimit<Number>& least_of_rows;
  const ListLimit<Number>*columns, *least_of_columns;

  template <bool kBoth>
  __device__ Number needed(int stripe) const {
    return needed_by<kBoth>(least_of_rows.least, least_of_columns[stripe * 4 + static_cast<int>(threadIdx.x % 4)]);
  }
};

// Each pair with both of its lists: a bit for each group of the lane's products in which some pair is wanted. All
// lanes.
template <bool kBoth, class P, class Number, class Row>
__device__ __forceinline__ unsigned compare(const P& products, const WarpLimits<Number, Row>& limits) {
  constexpr int kChains = 4;
  struct alignas(16) Two {
    ListLimit<Number> limits[2];
  };
  const auto* const pairs = reinterpret_cast<const Two*>(limits.columns);
  unsigned near = 0;
#pragma unroll
  for (int g = 0; g < P::kGroups; ++g) {
    bool any[kChains] = {};  // each waits for no other
#pragma unroll
    for (int e = 0; e < P::kOfPacket; ++e) {
      const typename P::Place p = P::place(g, e);
      const Two two = pairs[p.eight * 4 + static_cast<int>(threadIdx.x % 4)];
      const ListLimit<Number> column = two.limits[p.odd], row = limits.row(p.slab, p.half);
      const Number product = products.at(p);
      any[e % kChains] |= excess(product, column.term) >= row.threshold;
      if (kBoth) any[(e + kChains / 2) % kChains] |= excess(product, row.term) >= column.threshold;
    }
    if ((any[0] | any[1]) | (any[2] | any[3])) near |= 1U << g;
    if ((g + 1) % P::kGroupsEach == 0) __syncwarp();  // limits of all columns at a time would take too many registers
  }
  return near;
}

// The same where rows and columns that a lane has are alike, so that one comparison tells of many pairs: of a group the
// highest product with what a pair would need of the lists that accept most. 2 acc < RD(least threshold_i + least
// term_j) implies 2 acc < threshold_i + term_j for all of them, so that all pairs lie above their rows' cut-offs;
// likewise for columns. Takes some groups too many: to look closer would take longer, and the warps that multiply
// together wait for each other.
template <bool kBoth, class P, class Number, class Row>
__device__ __forceinline__ unsigned sieve(const P& products, const WarpLimits<Number, Row>& limits) {
  unsigned near = 0;
#pragma unroll
  for (int s = 0; s < P::kStripes; ++s) {
    const Number needed = limits.template needed<kBoth>(s);
#pragma unroll
    for (int g = s * P::kGroupsEach; g < (s + 1) * P::kGroupsEach; ++g)
      if (highest_of(products, g) >= needed) near |= 1U << g;
  }
  return near;
}

// Compares the products of one tile after the other, and puts aside groups in which some pair may be wanted. Sieves
// while these are few: of clustered points rows and columns are not alike, and most of what is put aside would be for
// nothing. A launch begins by comparing pair by pair: in a short one lists are young, and much is wanted. Warps that
// wait for each other choose together, as one that compares would hold up those that sieve.
class Sift {
 public:
  // arranged: whether points are in an order in which they may be alike.
  __device__ explicit Sift(bool arranged) : arranged_(arranged) {}

  // share(yes): of the warps that choose together, that at which `yes` holds.
  template <bool kBoth, class P, class Number, class Row, class Finds, class Share>
  __device__ __forceinline__ void tile(const P& products, const WarpLimits<Number, Row>& limits, int column_base,
                                       Finds& finds, const Share& share) {
    const unsigned near = sieves_ ? sieve<kBoth>(products, limits) : compare<kBoth>(products, limits);
    if (__any_sync(0xffffffffU, near != 0))
      finds.template add<P::kGroups>(near, [&](int g) {
        return packet_of(products, g, limits.template needed<kBoth>(g / P::kGroupsEach), column_base);
      });
    if (!arranged_ || --tiles_ > 0) return;
    sieves_ = !sieves_ || share(finds.added() > kTried * kMostOfTile) < 0.5F;
    tiles_ = sieves_ ? kTried : kNotTried;
    finds.count_anew();
  }

 private:
  // Tiles after which it chooses, packets of a tile up to which it sieves, and tiles that are compared before it tries
  // again.
  static constexpr int kTried = 16, kMostOfTile = 10, kNotTried = 512;

  bool arranged_, sieves_ = false;
  int tiles_ = kTried;
};

}  // namespace libknng::cuda::fused
