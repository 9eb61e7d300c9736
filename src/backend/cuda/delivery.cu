#include "backend/cuda/delivery.cuh"

#include <algorithm>

#include "backend/cuda/caller_memory.cuh"
#include "backend/cuda/workspace.cuh"

namespace libknng::cuda {

ResultSpace::ResultSpace(const knng_backend_problem& p, std::int64_t count, void* memory) : together(count) {
  Workspace space(memory);
  rows.width = width(p);
  rows.ids = space.take<std::int64_t>(together * rows.width);
  rows.values = space.take<std::byte>(together * rows.width * value_bytes(p));
  rows.value_dtype = p.value_dtype;
  rows.similarity = p.metric.similarity != 0;
  rows.ties = space.take<std::uint8_t>(together);
  rows.proved = space.take<std::uint8_t>(together);
  rows.findings = space.take<ResultFindings>(1);
  used = space.used();
  rest = memory ? static_cast<std::byte*>(memory) + used : nullptr;
}

Delivery::Delivery(const knng_backend_problem& p, const ResultSpace& from, knng_backend_result& to, Staging& staging,
                   const Stream& stream)
    : from_(from), to_(to), staging_(staging), stream_(stream), width_(width(p)), value_bytes_(value_bytes(p)) {
  check(cudaGetDevice(&device_));
  clear(from_.rows.findings, stream);
}

void Delivery::rows(std::int64_t place, std::int64_t row, std::int64_t count, int rung) {
  const std::int64_t row_values = width_ * value_bytes_;
  const Outgoing lists[] = {
      {from_.rows.ids + place * width_, to_.ids + row * width_, 8 * count * width_},
      {static_cast<const std::byte*>(from_.rows.values) + place * row_values,
       static_cast<std::byte*>(to_.values) + row * row_values, count * row_values},
  };
  if (to_.device < 0) return download(lists, place, row, count, rung);
  for (const Outgoing& list : lists) copy_between(list.to, to_.device, list.from, device_, list.bytes, stream_);
  facts(place, row, count, rung);
}

void Delivery::facts(std::int64_t place, std::int64_t row, std::int64_t count, int rung) {
  download({}, place, row, count, rung);
}

void Delivery::download(std::span<const Outgoing> lists, std::int64_t place, std::int64_t row, std::int64_t count,
                        int rung) {
  Outgoing all[4];
  Outgoing* end = std::copy(lists.begin(), lists.end(), all);
  *end++ = {from_.rows.ties + place, to_.ties + row, count};
  *end++ = {from_.rows.proved + place, to_.proof + row, count};
  staging_.download(std::span(all, end), stream_);
  for (std::int64_t i = row; i < row + count; ++i) to_.proof[i] = to_.proof[i] ? static_cast<std::uint8_t>(rung) : 0;
}

void Delivery::findings() {
  ResultFindings found;
  staging_.download(from_.rows.findings, &found, sizeof found, stream_);
  to_.candidates = std::max(to_.candidates, static_cast<std::int64_t>(found.candidates));
  to_.keys += static_cast<std::int64_t>(found.keys);
  to_.violations += static_cast<std::int64_t>(found.violations);
  if (found.first_too_large != ResultFindings::kNothing)
    to_.too_large = std::min(to_.too_large, static_cast<std::int64_t>(found.first_too_large));
}

}  // namespace libknng::cuda
