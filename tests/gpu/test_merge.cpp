// Lists that grow: what stays, what is said to have been dropped, and the cut-off, against the same on the host.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "backend/cuda/select/merge.cuh"
#include "gpu.cuh"

using namespace libknng::cuda;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A sum of floats is exact in double here, or off by less than a float's last place is worth.
float rounded_up(double x) {
  const float f = static_cast<float>(x);
  return static_cast<double>(f) < x ? std::nextafterf(f, kInfinity) : f;
}

struct HostLists {
  int capacity;
  std::vector<Candidate> entries;
  std::vector<std::int32_t> counts;
  std::vector<float> cutoffs, dropped;
  std::size_t at(std::size_t list, std::size_t i) const { return list * static_cast<std::size_t>(capacity) + i; }
};

bool nearer(const Candidate& a, const Candidate& b) { return a.low != b.low ? a.low < b.low : a.id < b.id; }

enum class Lows { various, few, unknown };

// Of pairs with these nothing is known: their lows are -inf, their bounds +inf.
bool unknown(std::uint32_t id) { return id % 16 == 3; }

// Ids from `parity`, `parity` + 2, ..: two sets of lists never share one.
HostLists random_lists(std::size_t count, int capacity, std::uint32_t parity, Lows lows, std::mt19937& random) {
  HostLists lists{capacity, {}, {}, {}, {}};
  lists.entries.resize(count * static_cast<std::size_t>(capacity), Candidate{-77, 77});
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::size_t l = 0; l < count; ++l) {
    const auto kind = random() % 4;
    const auto size = static_cast<std::int32_t>(kind == 0   ? 0
                                                : kind == 1 ? static_cast<unsigned>(capacity)
                                                            : random() % (static_cast<unsigned>(capacity) + 1));
    lists.counts.push_back(size);
    lists.cutoffs.push_back(random() % 3 == 0 ? uniform(random) : kInfinity);
    lists.dropped.push_back(random() % 3 == 0 ? uniform(random) : kInfinity);
    for (std::int32_t i = 0; i < size; ++i) {
      const std::uint32_t id = 2 * static_cast<std::uint32_t>(i) + parity;
      lists.entries[lists.at(l, static_cast<std::size_t>(i))] = {lows == Lows::few ? static_cast<float>(random() % 3)
                                                                 : lows == Lows::unknown && unknown(id)
                                                                     ? -kInfinity
                                                                     : uniform(random),
                                                                 id};
    }
    const auto first = lists.entries.begin() + static_cast<std::ptrdiff_t>(lists.at(l, 0));
    if (capacity <= kLongestSorted) std::sort(first, first + size, nearer);
  }
  return lists;
}

struct DeviceLists {
  gpu::Array<Candidate> entries;
  gpu::Array<std::int32_t> counts;
  gpu::Array<float> cutoffs, dropped;
  int capacity;
  explicit DeviceLists(const HostLists& h)
      : entries(h.entries), counts(h.counts), cutoffs(h.cutoffs), dropped(h.dropped), capacity(h.capacity) {}
  CandidateLists view(std::size_t first = 0) const {
    return {entries.get() + first * static_cast<std::size_t>(capacity), counts.get() + first, capacity,
            cutoffs.get() + first, dropped.get() + first};
  }
};

enum class By { rows, sides, devices };

void test(std::size_t count, int capacity, int incoming_capacity, int k, Lows lows, By by, bool sums,
          std::mt19937& random) {
  HostLists lists = random_lists(count, capacity, 0, lows, random);
  const HostLists more = random_lists(count, incoming_capacity, 1, lows, random);
  std::vector<float> of_list(count), of_id(static_cast<std::size_t>(2 * std::max(capacity, incoming_capacity) + 2));
  std::uniform_real_distribution<float> uniform(0, 0.01F);
  for (float& b : of_list) b = uniform(random);
  for (float& b : of_id) b = uniform(random);
  for (std::uint32_t id = 0; id < of_id.size() && lows == Lows::unknown; ++id)
    if (unknown(id)) of_id[id] = kInfinity;

  const DeviceLists device(lists), device_more(more);
  const gpu::Array<float> device_of_list(of_list), device_of_id(of_id);
  const libknng::SumBound of_sums({0x1p-10, 0x1p-12});
  const Bounds bounds = sums ? Bounds{.k = k, .sums = of_sums} : Bounds{k, device_of_list.get(), device_of_id.get()};
  // Lists from `first` on.
  const auto job = [&](std::size_t first, std::size_t lists_of_job) {
    Bounds of_lists = bounds;
    if (of_lists.of_list) of_lists.of_list += first;
    return MergeJob{device.view(first),
                    static_cast<std::int64_t>(lists_of_job),
                    {device_more.view(first).entries, device_more.view(first).counts, incoming_capacity},
                    of_lists};
  };
  const std::size_t of_rows = by == By::sides ? count - count / 3 : count;  // the others are columns'
  switch (by) {
    case By::devices:
      merge_lists(device.view(), device_more.view(), nullptr, static_cast<std::int64_t>(count), bounds, nullptr);
      break;
    case By::rows: merge(job(0, count), nullptr); break;
    case By::sides: merge(job(0, of_rows), job(of_rows, count - of_rows), nullptr); break;
  }
  gpu::check(cudaDeviceSynchronize());

  const auto entries = device.entries.values();
  const auto counts = device.counts.values();
  const auto cutoffs = device.cutoffs.values();
  const auto dropped = device.dropped.values();
  for (std::size_t l = 0; l < count; ++l) {
    std::vector<Candidate> all;
    for (std::int32_t i = 0; i < lists.counts[l]; ++i)
      all.push_back(lists.entries[lists.at(l, static_cast<std::size_t>(i))]);
    for (std::int32_t i = 0; i < more.counts[l]; ++i)
      all.push_back(more.entries[more.at(l, static_cast<std::size_t>(i))]);
    std::sort(all.begin(), all.end(), nearer);
    float wanted_dropped = lists.dropped[l], wanted_cutoff = lists.cutoffs[l];
    if (by == By::devices) {
      wanted_dropped = std::min(wanted_dropped, more.dropped[l]);
      wanted_cutoff = std::min(wanted_cutoff, more.cutoffs[l]);
    }
    const auto kept = std::min(all.size(), static_cast<std::size_t>(capacity));
    if (more.counts[l] > 0) {
      if (all.size() > kept) wanted_dropped = std::min(wanted_dropped, all[kept].low);
      if (kept >= static_cast<std::size_t>(k)) {
        float highest = -kInfinity;
        for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i) {
          const float slack = 2 * rounded_up(static_cast<double>(of_list[l]) + static_cast<double>(of_id[all[i].id]));
          const float up =
              sums ? of_sums.up(all[i].low) : rounded_up(static_cast<double>(all[i].low) + static_cast<double>(slack));
          highest = std::isnan(up) ? kInfinity : std::max(highest, up);
        }
        wanted_cutoff = std::min(wanted_cutoff, highest);
      }
      wanted_cutoff = std::min(wanted_cutoff, wanted_dropped);
    }
    gpu::expect(counts[l] == static_cast<std::int32_t>(kept), "C=%d + %d list %zu: %d entries instead of %zu", capacity,
                incoming_capacity, l, counts[l], kept);
    gpu::expect(dropped[l] == wanted_dropped, "C=%d + %d list %zu: dropped %g instead of %g", capacity,
                incoming_capacity, l, static_cast<double>(dropped[l]), static_cast<double>(wanted_dropped));
    gpu::expect(cutoffs[l] == wanted_cutoff, "C=%d + %d k=%d list %zu: cut-off %.9g instead of %.9g", capacity,
                incoming_capacity, k, l, static_cast<double>(cutoffs[l]), static_cast<double>(wanted_cutoff));
    std::vector<Candidate> got(entries.begin() + static_cast<std::ptrdiff_t>(lists.at(l, 0)),
                               entries.begin() + static_cast<std::ptrdiff_t>(lists.at(l, kept)));
    if (capacity > kLongestSorted) std::sort(got.begin(), got.end(), nearer);
    bool same = got.size() == kept;
    for (std::size_t i = 0; i < kept; ++i) same = same && got[i].low == all[i].low && got[i].id == all[i].id;
    gpu::expect(same, "C=%d + %d list %zu: other candidates", capacity, incoming_capacity, l);
  }
}

}  // namespace

int main() {
  gpu::need_device();
  std::mt19937 random(3);
  const std::size_t count = small_run() ? 20 : 500;
  for (const By by : {By::rows, By::sides, By::devices})
    for (const Lows lows : {Lows::various, Lows::few, Lows::unknown})
      for (const auto& [capacity, incoming, k] : std::vector<std::array<int, 3>>{
               {1, 1, 1},          {5, 3, 2},        {32, 8, 10},      {32, 48, 10},       {40, 32, 10},
               {64, 9, 40},        {64, 64, 40},     {128, 8, 100},    {128, 192, 100},    {129, 7, 100},
               {158, 158, 10},     {256, 320, 200},  {257, 320, 200},  {300, 250, 100},    {600, 33, 500},
               {2000, 1500, 1000}, {1000, 536, 900}, {1000, 537, 900}, {2000, 1072, 1000}, {2000, 1073, 1000}})
        for (const bool sums : {false, true})
          if (lows != Lows::unknown || !sums) test(count, capacity, incoming, k, lows, by, sums, random);
  if (!small_run()) test(3, 20000, 18000, 16384, Lows::various, By::rows, false, random);
  return gpu::result();
}
