// Plans of the selector `quick`, for which no device is needed: buffers have room for what is kept and for the sample,
// samples are of the list, and sorted lists are read at most twice.
#include <algorithm>
#include <functional>
#include <vector>

#include "backend/cuda/select/quick.cuh"
#include "tests/gpu/gpu.cuh"

namespace {

using libknng::cuda::enough_room;
using libknng::cuda::most_room;
using libknng::cuda::plan_quick;
using libknng::cuda::QuickPlan;
using libknng::cuda::sampled_element;

constexpr int kLongest = 1 << 24;

std::vector<int> sampled_elements(const QuickPlan& plan, int length) {
  std::vector<int> result;
  for (unsigned i = 0; i < static_cast<unsigned>(plan.sample); ++i)
    result.push_back(
        static_cast<int>(sampled_element(i, static_cast<unsigned>(plan.sample), static_cast<unsigned>(length))));
  return result;
}

void expect_sound(int length, int capacity, int threads, int part, int most) {
  const QuickPlan plan = plan_quick(length, capacity, threads, part, most);
  const auto expect = [&](bool truth, const char* what) {
    gpu::expect(truth, "%d elements, capacity %d, %d threads, 1 in %d, room %d: %s", length, capacity, threads, part,
                most, what);
  };
  expect(plan.keep == (capacity < length ? capacity + 1 : length), "another number is kept");
  expect(plan.room == length || plan.room > plan.keep, "there is no room beside what is kept");
  expect(plan.room <= length && plan.room <= most_room(length, capacity), "more room than a list can need");
  expect(plan.room <= std::max(most, enough_room(length, capacity, threads, part)), "more room than there is");
  if (plan.sample == 0) return;
  expect(plan.room >= plan.sample, "there is no room for the sample");
  expect(2 <= plan.pivots[0] && plan.pivots[0] < plan.pivots[1] && plan.pivots[1] <= plan.sample,
         "pivots are not in the sample, one above the other");
  const std::vector<int> sample = sampled_elements(plan, length);
  expect(sample.front() >= 0 && sample.back() < length, "the sample leaves the list");
  expect(std::adjacent_find(sample.begin(), sample.end(), std::greater_equal<>()) == sample.end(),
         "an element is sampled twice");
}

void plans_are_sound() {
  for (const int part : {64, 256})
    for (const int threads : {32, 128, 256, 512, 1024})
      for (int length = 1; length <= kLongest; length += length / 2 + 1)
        for (int capacity = 1; capacity <= length + 3; capacity += capacity / 2 + 1)
          for (const int most : {0, 3000, 20000, length}) expect_sound(length, capacity, threads, part, most);
}

// Where pieces of the sample lie among the wanted as a whole, the first pivot may be too low; the second is not.
void two_pivots_suffice_for_sorted_lists() {
  int first_too_low = 0;
  for (const int part : {64, 128, 256})
    for (int length = 4096; length <= kLongest; length += length / 3 + 1)
      for (int capacity = 1; capacity <= std::min(length / 4, 16384); capacity += capacity / 4 + 1) {
        const QuickPlan plan = plan_quick(length, capacity, 32, part, length);
        const std::vector<int> sample = sampled_elements(plan, length);
        if (sample.empty()) continue;
        for (const bool ascending : {true, false}) {
          // Of the list's elements those that are below a pivot.
          const auto below = [&](int rank) {
            return ascending ? sample[static_cast<std::size_t>(rank - 1)] + 1
                             : length - sample[static_cast<std::size_t>(plan.sample - rank)];
          };
          first_too_low += below(plan.pivots[0]) < plan.keep;
          gpu::expect(below(plan.pivots[1]) >= plan.keep, "%d %s elements, capacity %d: %d are below the second pivot",
                      length, ascending ? "ascending" : "descending", capacity, below(plan.pivots[1]));
        }
      }
  gpu::expect(first_too_low > 0, "first pivots are never too low");
}

}  // namespace

int main() {
  plans_are_sound();
  two_pivots_suffice_for_sorted_lists();
  return gpu::result();
}
