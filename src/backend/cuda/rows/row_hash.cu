#include "backend/cuda/rows/row_hash.cuh"

#include <cstring>

#define XXH_INLINE_ALL
#define XXH_VECTOR 0  // the secret is all that is wanted of it
#include <xxhash.h>

#include "backend/cuda/base/check.cuh"
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
constexpr std::int64_t kLanes = 8, kStripes = 16;

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

struct Sums {
  std::uint64_t lanes[kLanes] = {kPrime32_3, kPrime64_1, kPrime64_2, kPrime64_3,
                                 kPrime64_4, kPrime32_2, kPrime64_5, kPrime32_1};

  template <class W>
  __device__ void add(const W& words, std::int64_t first, const Secret& secret, std::int64_t at) {
#pragma unroll
    for (int l = 0; l < kLanes; ++l) {
      const std::uint64_t word = words(first + l), key = word ^ secret(at + 8 * l);
      lanes[l ^ 1] += word;
      lanes[l] += (key & 0xffffffffU) * (key >> 32);
    }
  }
  __device__ void scramble(const Secret& secret) {
#pragma unroll
    for (int l = 0; l < kLanes; ++l)
      lanes[l] = (lanes[l] ^ lanes[l] >> 47 ^ secret(Secret::kBytes - 64 + 8 * l)) * kPrime32_1;
  }
  __device__ std::uint64_t merged(std::uint64_t start, const Secret& secret, std::int64_t at) const {
#pragma unroll
    for (int l = 0; l < kLanes; l += 2)
      start += folded_product(lanes[l] ^ secret(at + 8 * l), lanes[l + 1] ^ secret(at + 8 * l + 8));
    return avalanche(start);
  }
};

template <class W>
__device__ std::uint64_t hash_of_many(const W& words, const Secret& secret) {
  Sums sums;
  // All whole stripes but the last, which may overlap the one before it.
  const std::int64_t stripes = (words.count - 1) / kLanes;
  for (std::int64_t s = 0; s < stripes; ++s) {
    sums.add(words, s * kLanes, secret, 8 * (s % kStripes));
    if (s % kStripes == kStripes - 1) sums.scramble(secret);
  }
  sums.add(words, words.count - kLanes, secret, Secret::kBytes - 64 - 7);
  return sums.merged(words.bytes() * kPrime64_1, secret, 11);
}

template <class Source>
__global__ void __launch_bounds__(kThreads) hash_kernel(const Source source, std::int64_t rows, std::int64_t dim,
                                                        const __grid_constant__ Secret secret, std::uint64_t* hashes) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows) return;
  const auto row = source.row(i);
  const Words<decltype(row)> words{row, dim};
  hashes[i] = dim == 1    ? hash_of_one(words, secret)
              : dim == 2  ? hash_of_two(words, secret)
              : dim <= 16 ? hash_of_few(words, secret)
              : dim <= 30 ? hash_of_some(words, secret)
                          : hash_of_many(words, secret);
}

}  // namespace

void hash_rows(const DeviceRows& rows, std::uint64_t* hashes, cudaStream_t stream) {
  if (rows.rows == 0) return;
  Secret secret{};
  std::memcpy(secret.words, XXH3_kSecret, Secret::kBytes);
  visit_stored(rows, [&](const auto& source) {
    hash_kernel<<<static_cast<unsigned>((rows.rows + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        source, rows.rows, rows.dim, secret, hashes);
    check_launch();
  });
}

}  // namespace libknng::cuda
