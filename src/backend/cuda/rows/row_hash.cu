#include "backend/cuda/rows/row_hash.cuh"

#include <cstring>
#include <iterator>
#include <type_traits>

#define XXH_INLINE_ALL
#define XXH_VECTOR 0  // the secret is all that is wanted of it
#include <xxhash.h>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/rows/canonical.cuh"
#include "backend/cuda/rows/row_source.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 128;
constexpr std::uint64_t kPrime32_1 = 0x9E3779B1U, kPrime32_2 = 0x85EBCA77U, kPrime32_3 = 0xC2B2AE3DU;
constexpr std::uint64_t kPrime64_1 = 0x9E3779B185EBCA87U, kPrime64_2 = 0xC2B2AE3D27D4EB4FU,
                        kPrime64_3 = 0x165667B19E3779F9U, kPrime64_4 = 0x85EBCA77C2B2AE63U,
                        kPrime64_5 = 0x27D4EB2F165667C5U;
constexpr std::uint64_t kMix_1 = 0x165667919E3779F9U, kMix_2 = 0x9FB21C651E98DF25U;

// Lanes of 64 bits that a stripe has, and stripes of a block.
constexpr int kLanes = 8, kStripes = 16;
// Values of a row whose bytes are not enough for those.
constexpr std::int64_t kLongestShort = 30;

// The algorithm's secret, read at any byte.
struct Secret {
  static constexpr int kBytes = 192;
  std::uint64_t words[kBytes / 8 + 1];

  __device__ std::uint64_t operator()(std::int64_t byte) const {
    const std::int64_t word = byte / 8;
    const int shift = static_cast<int>(byte % 8) * 8;
    return shift == 0 ? words[word] : words[word] >> shift | words[word + 1] << (64 - shift);
  }
};
static_assert(Secret::kBytes == XXH_SECRET_DEFAULT_SIZE);

__device__ std::uint64_t rotated(std::uint64_t x, int bits) { return x << bits | x >> (64 - bits); }
__device__ std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) { return a * b ^ __umul64hi(a, b); }
__device__ std::uint64_t reversed(std::uint64_t x) {
  const auto low = static_cast<std::uint32_t>(x), high = static_cast<std::uint32_t>(x >> 32);
  return static_cast<std::uint64_t>(__byte_perm(low, 0, 0x0123)) << 32 | __byte_perm(high, 0, 0x0123);
}
__device__ std::uint64_t avalanche(std::uint64_t h) {
  h = (h ^ h >> 37) * kMix_1;
  return h ^ h >> 32;
}

// A row's values as they are hashed, 64 bits each.
template <class Source>
struct Words {
  const Source& row;
  const std::int64_t count;
  __device__ std::uint64_t operator()(std::int64_t i) const {
    return static_cast<std::uint64_t>(__double_as_longlong(ScalarOps::add(row.stored(i), 0.0)));
  }
  __device__ std::uint64_t bytes() const { return static_cast<std::uint64_t>(8 * count); }
};

// Two words from `i` on under 16 bytes of the secret.
template <class W>
__device__ std::uint64_t mixed(const W& words, std::int64_t i, const Secret& secret, std::int64_t at) {
  return folded_product(words(i) ^ secret(at), words(i + 1) ^ secret(at + 8));
}

template <class W>
__device__ std::uint64_t hash_of_one(const W& words, const Secret& secret) {
  // The first four bytes are the upper half, the last four the lower.
  std::uint64_t h = rotated(words(0), 32) ^ secret(8) ^ secret(16);
  h ^= rotated(h, 49) ^ rotated(h, 24);
  h *= kMix_2;
  h ^= (h >> 35) + words.bytes();
  h *= kMix_2;
  return h ^ h >> 28;
}

template <class W>
__device__ std::uint64_t hash_of_two(const W& words, const Secret& secret) {
  const std::uint64_t low = words(0) ^ secret(24) ^ secret(32), high = words(1) ^ secret(40) ^ secret(48);
  return avalanche(words.bytes() + reversed(low) + high + folded_product(low, high));
}

// 17 to 128 bytes: pairs of words from both ends.
template <class W>
__device__ std::uint64_t hash_of_few(const W& words, const Secret& secret) {
  std::uint64_t h = words.bytes() * kPrime64_1;
  const std::int64_t pairs = (words.count + 3) / 4;  // at each end
  for (std::int64_t p = 0; p < pairs; ++p)
    h += mixed(words, 2 * p, secret, 32 * p) + mixed(words, words.count - 2 * (p + 1), secret, 32 * p + 16);
  return avalanche(h);
}

// 129 to 240 bytes.
template <class W>
__device__ std::uint64_t hash_of_some(const W& words, const Secret& secret) {
  std::uint64_t h = words.bytes() * kPrime64_1;
  for (std::int64_t p = 0; p < 8; ++p) h += mixed(words, 2 * p, secret, 16 * p);
  h = avalanche(h);
  for (std::int64_t p = 8; p < words.count / 2; ++p) h += mixed(words, 2 * p, secret, 16 * (p - 8) + 3);
  return avalanche(h + mixed(words, words.count - 2, secret, 136 - 17));
}

template <class Source>
__global__ void __launch_bounds__(kThreads)
    hash_short_rows(const Source source, std::int64_t rows, std::int64_t dim, const __grid_constant__ Secret secret,
                    std::uint64_t* hashes) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows) return;
  const auto row = source.row(i);
  const Words<decltype(row)> words{row, dim};
  hashes[i] = dim == 1    ? hash_of_one(words, secret)
              : dim == 2  ? hash_of_two(words, secret)
              : dim <= 16 ? hash_of_few(words, secret)
                          : hash_of_some(words, secret);
}

// What one thread of a row's has to do with: its lane's sum.
struct LaneSum {
  std::uint64_t sum;

  __device__ void add(std::uint64_t word, std::uint64_t secret) {
    const std::uint64_t key = word ^ secret;
    sum += __shfl_xor_sync(kAllLanes, word, 1) + (key & 0xffffffffU) * (key >> 32);
  }
  __device__ void scramble(std::uint64_t secret) { sum = (sum ^ sum >> 47 ^ secret) * kPrime32_1; }
  // Of all lanes.
  __device__ std::uint64_t merged(std::uint64_t start, std::uint64_t secret) const {
    const std::uint64_t mine = sum ^ secret;
    std::uint64_t product = folded_product(mine, __shfl_xor_sync(kAllLanes, mine, 1));
    product += __shfl_xor_sync(kAllLanes, product, 2);
    product += __shfl_xor_sync(kAllLanes, product, 4);
    return avalanche(start + product);
  }
};

// More than 240 bytes: a thread for each lane of a row's.
template <class Source>
__global__ void __launch_bounds__(kThreads)
    hash_long_rows(const Source source, std::int64_t rows, std::int64_t dim, const __grid_constant__ Secret given,
                   std::uint64_t* hashes) {
  __shared__ Secret secret;  // constant memory gives a warp one word at a time
  static_assert(std::size(Secret{}.words) <= kThreads);
  if (threadIdx.x < std::size(given.words)) secret.words[threadIdx.x] = given.words[threadIdx.x];
  __syncthreads();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (kThreads / kLanes) + threadIdx.x / kLanes;
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  // Threads beyond the last row take part in it.
  const auto row = source.row(min(i, rows - 1));
  const Words<decltype(row)> words{row, dim};
  constexpr std::uint64_t kStart[kLanes] = {kPrime32_3, kPrime64_1, kPrime64_2, kPrime64_3,
                                            kPrime64_4, kPrime32_2, kPrime64_5, kPrime32_1};
  LaneSum lane_sum{kStart[lane]};
  std::uint64_t secrets[kStripes];
#pragma unroll
  for (int s = 0; s < kStripes; ++s) secrets[s] = secret.words[s + lane];
  // All whole stripes but the last, which may overlap the one before it. A block's words are on their way together.
  const std::int64_t stripes = (dim - 1) / kLanes;
  for (std::int64_t first = 0; first < stripes; first += kStripes) {
    const std::int64_t left = stripes - first;
    std::uint64_t block[kStripes];
#pragma unroll
    for (int s = 0; s < kStripes; ++s) block[s] = s < left ? words((first + s) * kLanes + lane) : 0;
#pragma unroll
    for (int s = 0; s < kStripes; ++s)
      if (s < left) lane_sum.add(block[s], secrets[s]);
    if (left >= kStripes) lane_sum.scramble(secret(Secret::kBytes - 64 + 8 * lane));
  }
  lane_sum.add(words(dim - kLanes + lane), secret(Secret::kBytes - 64 - 7 + 8 * lane));
  const std::uint64_t hash = lane_sum.merged(words.bytes() * kPrime64_1, secret(11 + 8 * lane));
  if (lane == 0 && i < rows) hashes[i] = hash;
}

}  // namespace

void hash_rows(const DeviceRows& rows, std::uint64_t* hashes, cudaStream_t stream) {
  if (rows.rows == 0) return;
  Secret secret{};
  std::memcpy(secret.words, XXH3_kSecret, Secret::kBytes);
  const bool is_short = rows.dim <= kLongestShort;
  const std::int64_t rows_of_block = is_short ? kThreads : kThreads / kLanes;
  const auto blocks = blocks_for(rows.rows, rows_of_block);
  visit_stored(rows, [&](const auto& source) {
    using Source = std::remove_cvref_t<decltype(source)>;
    const auto kernel = is_short ? hash_short_rows<Source> : hash_long_rows<Source>;
    kernel<<<blocks, kThreads, 0, stream>>>(source, rows.rows, rows.dim, secret, hashes);
    check_launch();
  });
}

}  // namespace libknng::cuda
