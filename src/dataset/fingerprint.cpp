#include "dataset/fingerprint.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/first_failure.h"

namespace libknng {
namespace {

struct RowHash {
  std::uint64_t hash;
  std::int64_t row;
};

// Rows that a thread hashes, or looks at, before it reports.
constexpr std::int64_t kTogether = 256;
// Values that are worth a thread when rows are hashed; a row costs as much as some values beside its own.
constexpr std::int64_t kHashedByOne = std::int64_t{1} << 16, kValuesOfRow = 16;
// Rows that are worth a thread when their hashes are sorted.
constexpr std::int64_t kSortedByOne = std::int64_t{1} << 17;
// Rows that are one piece.
constexpr std::int64_t kSortedAtOnce = 4096;
// Of a row: that it equals no earlier one is not known yet.
constexpr std::int64_t kUnknown = -1;
// Hashes are dealt out to 2^kCuts pieces by their first bits, each for one thread to sort.
constexpr int kCuts = 10;
constexpr std::size_t kPieces = std::size_t{1} << kCuts;
// Neighbouring pieces are looked through together, by each thread so often: rows are loaded many at a time.
constexpr std::int64_t kRangesOfThread = 4;
using Begins = std::vector<std::int64_t>;  // where pieces begin, and the end

// Those that are not known are found. scratch: a row for each thread; null if all are known.
void find_hashes(const Dataset& data, ThreadTeam& team, int members, double* scratch, Buffer<std::uint64_t>& hashes,
                 Monitor& monitor) {
  const std::int64_t n = data.rows(), d = data.dim();
  team.for_each(
      monitor, n, kTogether,
      [&](int member, std::int64_t begin, std::int64_t end) {
        double* const x = scratch ? scratch + member * d : nullptr;
        for (std::int64_t i = begin; i < end; ++i) {
          if (const std::uint64_t* const known = data.hash(i)) {
            hashes[i] = *known;
          } else if (const float* const stored = data.floats(i)) {
            hashes[i] = row_hash(stored, d, x);
          } else {
            data.load(i, x);
            hashes[i] = row_hash(x, d);
          }
        }
      },
      members);
}

// Whether two of so many hashes are equal: by a table of their numbers that is half full. Takes `memory` of as many
// values. Of more than a number has room for it says yes.
template <class HashAt>
bool any_equal(std::int64_t count, const HashAt& hash_at, std::uint64_t* memory) {
  using Number = std::uint32_t;  // from 1 on; 0: free
  if (count > std::numeric_limits<std::int32_t>::max()) return true;
  const auto slots = 2 * static_cast<std::uint64_t>(count);
  auto* const table = new (memory) Number[slots]();
  static_assert(2 * sizeof(Number) == sizeof *memory);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t hash = hash_at(i);
    std::uint64_t slot = (hash & 0xffffffff) * slots >> 32;  // the first bits are alike in a piece
    for (; table[slot] != 0; slot = slot + 1 == slots ? 0 : slot + 1)
      if (hash_at(table[slot] - 1) == hash) return true;
    table[slot] = static_cast<Number>(i + 1);
  }
  return false;
}

// Deals hashes out to pieces, in each of them in the order of their rows.
Begins deal(const Buffer<std::uint64_t>& hashes, ThreadTeam& team, int parts, Buffer<RowHash>& dealt) {
  const std::int64_t n = hashes.size();
  if (n <= kSortedAtOnce) {
    for (std::int64_t i = 0; i < n; ++i) dealt[i] = {hashes[i], i};
    return {0, n};
  }
  Begins begins(kPieces + 1);
  const auto each = [&](std::int64_t part, auto&& f) {
    for (std::int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i) f(hashes[i] >> (64 - kCuts), i);
  };
  // Of a part's rows: how many go to each piece, then where the next of them goes.
  std::vector<std::array<std::int64_t, kPieces>> places(static_cast<std::size_t>(parts));
  team.for_each(parts, 1, [&](int, std::int64_t part, std::int64_t) {
    std::array<std::int64_t, kPieces> counts{};
    each(part, [&](std::uint64_t piece, std::int64_t) { ++counts[piece]; });
    places[static_cast<std::size_t>(part)] = counts;
  });
  std::int64_t next = 0;
  for (std::size_t piece = 0; piece < kPieces; ++piece) {
    begins[piece] = next;
    for (auto& of_part : places) next += std::exchange(of_part[piece], next);
  }
  begins.back() = next;
  team.for_each(parts, 1, [&](int, std::int64_t part, std::int64_t) {
    std::array<std::int64_t, kPieces> place = places[static_cast<std::size_t>(part)];
    each(part, [&](std::uint64_t piece, std::int64_t row) { dealt[place[piece]++] = {hashes[row], row}; });
  });
  return begins;
}

// Compares rows with others that have their hash, as many pairs at a time as the loader likes, and notes which of them
// are equal.
class Comparison {
 public:
  // values: room for a loader's rows. first: of each row the first known to equal it.
  Comparison(const RowLoader& loader, double* values, Buffer<std::int64_t>& first)
      : loader_(loader), values_(values), first_(first), same_(static_cast<std::size_t>(loader.asked_together() / 2)) {
    rows_.reserve(2 * same_.size());
  }

  void add(std::int64_t row, std::int64_t earlier) {
    rows_.push_back(row);
    rows_.push_back(earlier);
    if (rows_.size() == 2 * same_.size()) settle();
  }
  // Of what was added so far.
  void settle() {
    loader_.same(rows_, values_, same_.data());
    for (std::size_t i = 0; i < rows_.size(); i += 2) {
      const bool same = same_[i / 2] != 0;
      if (same) first_[rows_[i]] = rows_[i + 1];
      equal_ += same;
      differ_ = differ_ || !same;
    }
    rows_.clear();
  }
  std::int64_t equal() const noexcept { return equal_; }
  // Whether some pair since the last call was not.
  bool differed() noexcept { return std::exchange(differ_, false); }

 private:
  const RowLoader& loader_;
  double* const values_;
  Buffer<std::int64_t>& first_;
  std::vector<std::uint8_t> same_;
  std::vector<std::int64_t> rows_;
  std::int64_t equal_ = 0;
  bool differ_ = false;
};

// Equal hashes that follow each other, two or more.
struct Run {
  std::int64_t begin, end;
};
// The first of hashes [begin, end), which are sorted; at the end if there is none.
Run next_run(const Buffer<RowHash>& hashes, std::int64_t begin, std::int64_t end) {
  for (; begin + 1 < end; ++begin) {
    if (hashes[begin].hash != hashes[begin + 1].hash) continue;
    std::int64_t last = begin + 2;
    while (last < end && hashes[last].hash == hashes[begin].hash) ++last;
    return {begin, last};
  }
  return {end, end};
}

// Finds of each row of hashes [begin, end), which are sorted and among which are all that equal one of them, the first
// row that equals it; before, `first` has of each row the row itself. Returns how many rows equal an earlier one.
std::int64_t count_duplicates(const Buffer<RowHash>& hashes, std::int64_t begin, std::int64_t end,
                              const RowLoader& loader, double* values, Buffer<std::int64_t>& first,
                              const Monitor& monitor) {
  const auto each_run = [&](auto&& f) {
    for (Run run = next_run(hashes, begin, end); run.begin < end && !monitor.stopped();
         run = next_run(hashes, run.end, end))
      f(run);
  };
  each_run([&](const Run& run) {
    for (std::int64_t i = run.begin; i < run.end; ++i) first[hashes[i].row] = kUnknown;
  });
  Comparison comparison(loader, values, first);
  // Equal hashes are nearly always equal rows. Rows that are not are left for another round, among themselves.
  do {
    each_run([&](const Run& run) {
      std::int64_t leader = kUnknown;  // chosen in this round
      for (std::int64_t i = run.begin; i < run.end; ++i) {
        const std::int64_t row = hashes[i].row;
        if (first[row] != kUnknown) continue;
        if (leader != kUnknown)
          comparison.add(row, leader);
        else
          leader = first[row] = row;
      }
    });
    comparison.settle();
  } while (comparison.differed() && !monitor.stopped());
  return comparison.equal();
}

// Calls f(begin, end) for the hashes of each piece.
template <class F>
void each_piece(const Begins& begins, ThreadTeam& team, int members, const Monitor& monitor, F&& f) {
  const auto one = [&](int, std::int64_t piece, std::int64_t) {
    const auto at = static_cast<std::size_t>(piece);
    if (!monitor.stopped()) f(begins[at], begins[at + 1]);
  };
  team.for_each(std::ssize(begins) - 1, 1, one, members);
  monitor.check();
}

// Whether some hashes are equal. Sorting them would take several times as long. memory: of as many values as hashes.
bool any_equal_in_pieces(const Begins& begins, ThreadTeam& team, int members, const Buffer<RowHash>& hashes,
                         std::uint64_t* memory, const Monitor& monitor) {
  std::atomic<bool> equal{false};
  each_piece(begins, team, members, monitor, [&](std::int64_t begin, std::int64_t end) {
    if (equal.load(std::memory_order_relaxed)) return;
    const auto hash_at = [&](std::int64_t i) { return hashes[begin + i].hash; };
    if (any_equal(end - begin, hash_at, memory + begin)) equal.store(true);
  });
  return equal.load();
}

void sort_pieces(const Begins& begins, ThreadTeam& team, int members, Buffer<RowHash>& hashes, const Monitor& monitor) {
  each_piece(begins, team, members, monitor, [&](std::int64_t begin, std::int64_t end) {
    std::sort(hashes.begin() + begin, hashes.begin() + end,
              [](const RowHash& a, const RowHash& b) { return std::pair(a.hash, a.row) < std::pair(b.hash, b.row); });
  });
}

// Pieces are sorted, and so are all of them together. values: room for a loader's rows for each thread.
std::int64_t count_all_duplicates(const Buffer<RowHash>& hashes, const Begins& begins, const RowLoader& loader,
                                  std::int64_t dim, ThreadTeam& team, int members, double* values,
                                  Buffer<std::int64_t>& first, const Monitor& monitor) {
  const std::int64_t ranges = members == 1 ? 1 : kRangesOfThread * members;
  const auto begin_of = [&](std::int64_t range) {
    return begins[static_cast<std::size_t>((std::ssize(begins) - 1) * range / ranges)];
  };
  std::atomic<std::int64_t> duplicates{0};
  const auto count = [&](int member, std::int64_t range, std::int64_t) {
    if (monitor.stopped()) return;
    double* const own = values + member * loader.together() * dim;
    duplicates += count_duplicates(hashes, begin_of(range), begin_of(range + 1), loader, own, first, monitor);
  };
  team.for_each(ranges, 1, count, members);
  monitor.check();
  return duplicates.load();
}

}  // namespace

std::int64_t fingerprint_bytes(std::int64_t rows, std::int64_t dim, int threads, std::int64_t together) {
  const std::int64_t scratch = checked_mul(dim, checked_mul(8 * together, threads, "threads"), "rows");
  return checked_add(checked_mul(rows, sizeof(RowHash) + sizeof(std::int64_t), "rows"), scratch, "rows");
}

Fingerprint fingerprint(const Dataset& data, const RowLoader& loader, ThreadTeam& team, Budget* budget,
                        Monitor& monitor) {
  const std::int64_t n = data.rows(), d = data.dim(), together = loader.together();
  const int loading = loader.threads(team.size());
  // A team for less would take longer to gather than to work.
  const std::int64_t worth = checked_mul(n, d + kValuesOfRow, "rows") / kHashedByOne;
  const int hashing = static_cast<int>(std::clamp<std::int64_t>(worth, 1, loading));
  const int sorters = static_cast<int>(std::clamp<std::int64_t>(n / kSortedByOne, 1, team.size()));
  const bool all_known = std::all_of(data.chunks().begin(), data.chunks().end(),
                                     [](const auto& chunk) { return chunk->hashes() != nullptr; });
  Buffer<double> scratch(together * d * loading, budget);
  Buffer<RowHash> hashes;
  Begins begins;
  Fingerprint result;
  {
    Buffer<std::uint64_t> by_row(n, budget);
    find_hashes(data, team, all_known ? sorters : hashing, all_known ? nullptr : scratch.data(), by_row, monitor);
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    const std::int64_t shape[2] = {n, d};
    XXH3_128bits_update(&state, shape, sizeof shape);
    XXH3_128bits_update(&state, by_row.data(), static_cast<std::size_t>(by_row.bytes()));
    const XXH128_hash_t digest = XXH3_128bits_digest(&state);
    char text[32];
    for (int digit = 0; digit < 32; ++digit) {
      const std::uint64_t half = digit < 16 ? digest.high64 : digest.low64;
      text[digit] = "0123456789abcdef"[half >> (60 - 4 * (digit % 16)) & 15];
    }
    result.text.assign(text, sizeof text);
    hashes = Buffer<RowHash>(n, budget);
    begins = deal(by_row, team, sorters, hashes);
    if (!any_equal_in_pieces(begins, team, sorters, hashes, by_row.data(), monitor)) return result;
  }

  sort_pieces(begins, team, sorters, hashes, monitor);
  result.first = Buffer<std::int64_t>(n, budget);
  std::iota(result.first.begin(), result.first.end(), std::int64_t{0});
  result.duplicates = count_all_duplicates(hashes, begins, loader, d, team, std::min(loading, sorters), scratch.data(),
                                           result.first, monitor);
  if (result.duplicates == 0) result.first = {};
  return result;
}

}  // namespace libknng
