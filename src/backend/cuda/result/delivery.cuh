// A call's result on its way out: where kernels leave it on the device, and copies from there to where it belongs, on
// the host or on a device. Knows nothing of how rows were answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/result/result.cuh"
#include "backend/seam.h"

namespace libknng::cuda {

inline std::int64_t width(const knng_backend_problem& p) { return p.k + (p.self_first ? 1 : 0); }
inline std::int64_t value_bytes(const knng_backend_problem& p) { return p.value_dtype == KNNG_F64 ? 8 : 4; }

// Rows of a result in `memory`, which is 256-byte aligned, and what is left of it; without memory it counts.
struct ResultSpace {
  ResultSpace(const knng_backend_problem& p, std::int64_t count, void* memory);

  ResultRows rows;
  std::int64_t together;  // rows
  void* rest;
  std::int64_t used;
};

class Delivery {
 public:
  // Findings, in device memory, are counted from here on.
  Delivery(const knng_backend_problem& p, ResultFindings* findings, knng_backend_result& to, Staging& staging,
           const Stream& stream);
  ~Delivery() { staging_.forget(); }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // `count` rows from place `place` of a space to row `row`: lists, and what is known of them. The last of them are on
  // their way when it returns.
  void rows(const ResultSpace& from, std::int64_t place, std::int64_t row, std::int64_t count);
  // All rows of a space, to rows that are listed here and in device memory; lists of those alone that are proved.
  // Proofs are there when it returns.
  void listed(const ResultSpace& from, std::span<const std::int64_t> rows, const std::int64_t* list);
  // Without lists, which are there.
  void facts(const ResultSpace& from, std::int64_t place, std::int64_t row, std::int64_t count);
  // When it returns all rows are there.
  void findings();

 private:
  // Ties and proofs, behind `lists`.
  void ask(const ResultSpace& from, std::span<const Outgoing> lists, std::int64_t place, std::int64_t row,
           std::int64_t count);

  ResultFindings* const findings_;
  knng_backend_result& to_;
  Staging& staging_;
  const Stream& stream_;
  std::int64_t width_, value_bytes_;
  int device_ = 0;  // the session's, which is current
  // Rows that are listed, one behind the other on the host.
  std::vector<std::int64_t> ids_;
  std::vector<std::byte> values_;
  std::vector<std::uint8_t> ties_, proofs_;
};

}  // namespace libknng::cuda
