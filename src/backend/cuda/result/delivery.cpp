#include "backend/cuda/result/delivery.cuh"

#include <algorithm>
#include <cstring>

#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/result/listed_rows.cuh"
#include "backend/cuda/rows/caller_memory.cuh"

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

Delivery::Delivery(const knng_backend_problem& p, ResultFindings* findings, knng_backend_result& to, Staging& staging,
                   const Stream& stream)
    : findings_(findings), to_(to), staging_(staging), stream_(stream), width_(width(p)), value_bytes_(value_bytes(p)) {
  check(cudaGetDevice(&device_));
  clear(findings_, stream);
}

void Delivery::rows(const ResultSpace& from, std::int64_t place, std::int64_t row, std::int64_t count) {
  const std::int64_t row_values = width_ * value_bytes_;
  const Outgoing lists[] = {
      {from.rows.ids + place * width_, to_.ids + row * width_, 8 * count * width_},
      {static_cast<const std::byte*>(from.rows.values) + place * row_values,
       static_cast<std::byte*>(to_.values) + row * row_values, count * row_values},
  };
  if (to_.device < 0) return ask(from, lists, place, row, count);
  for (const Outgoing& list : lists) copy_between(list.to, to_.device, list.from, device_, list.bytes, stream_);
  facts(from, place, row, count);
}

void Delivery::listed(const ResultSpace& from, std::span<const std::int64_t> rows, const std::int64_t* list) {
  const std::int64_t count = std::ssize(rows), row_ids = 8 * width_, row_values = width_ * value_bytes_;
  const bool on_host = to_.device < 0;
  auto* const values = static_cast<std::byte*>(to_.values);
  const auto* const from_values = static_cast<const std::byte*>(from.rows.values);
  if (to_.device == device_)
    scatter_lists({list, count, width_, row_values}, from.rows.proved, from.rows.ids, from_values, to_.ids, values,
                  stream_);
  ties_.resize(rows.size());
  proofs_.resize(rows.size());
  if (on_host) {
    ids_.resize(static_cast<std::size_t>(count * width_));
    values_.resize(static_cast<std::size_t>(count * row_values));
  }
  const Outgoing all[] = {{from.rows.ties, ties_.data(), count},
                          {from.rows.proved, proofs_.data(), count},
                          {from.rows.ids, ids_.data(), count * row_ids},
                          {from_values, values_.data(), count * row_values}};
  staging_.download(std::span(all).first(on_host ? 4 : 2), stream_);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const std::int64_t row = rows[place];
    to_.ties[row] = ties_[place];
    to_.proof[row] = proofs_[place];
    if (to_.device == device_ || proofs_[place] == 0) continue;
    std::int64_t* const ids_of_row = to_.ids + row * width_;
    std::byte* const values_of_row = values + row * row_values;
    if (on_host) {
      std::memcpy(ids_of_row, ids_.data() + i * width_, static_cast<std::size_t>(row_ids));
      std::memcpy(values_of_row, values_.data() + i * row_values, static_cast<std::size_t>(row_values));
    } else {
      copy_between(ids_of_row, to_.device, from.rows.ids + i * width_, device_, row_ids, stream_);
      copy_between(values_of_row, to_.device, from_values + i * row_values, device_, row_values, stream_);
    }
  }
}

void Delivery::facts(const ResultSpace& from, std::int64_t place, std::int64_t row, std::int64_t count) {
  ask(from, {}, place, row, count);
}

void Delivery::ask(const ResultSpace& from, std::span<const Outgoing> lists, std::int64_t place, std::int64_t row,
                   std::int64_t count) {
  Outgoing all[4];
  Outgoing* end = std::copy(lists.begin(), lists.end(), all);
  *end++ = {from.rows.ties + place, to_.ties + row, count};
  *end++ = {from.rows.proved + place, to_.proof + row, count};
  staging_.ask(std::span(all, end), stream_);
}

void Delivery::findings() {
  ResultFindings found;
  staging_.download(findings_, &found, sizeof found, stream_);
  to_.candidates = std::max(to_.candidates, static_cast<std::int64_t>(found.candidates));
  to_.keys += static_cast<std::int64_t>(found.keys);
  to_.violations += static_cast<std::int64_t>(found.violations);
  if (found.first_too_large != ResultFindings::kNothing)
    to_.too_large = std::min(to_.too_large, static_cast<std::int64_t>(found.first_too_large));
}

}  // namespace libknng::cuda
