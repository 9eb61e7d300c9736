// What simulated devices hold: memory that is counted, and the points of a problem. Knows nothing of pairs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/seam.h"
#include "core/checked.h"
#include "core/dtype.h"
#include "dataset/dataset.h"
#include "metric/canonical.h"
#include "tests/backend/fake_behaviour.h"
#include "tests/backend/fake_memory.h"

namespace libknng::fake {

inline std::atomic<std::int64_t> live_bytes{0};  // of sessions
inline std::atomic<std::int64_t> rows_read{0};   // that the host was asked for

// An array of a session, counted as the device's and in what the session holds.
template <class T>
class DeviceArray {
 public:
  DeviceArray(std::int64_t count, std::int64_t& held) : values_(static_cast<std::size_t>(count)) {
    held += bytes(count);
    live_bytes += bytes(count);
  }
  ~DeviceArray() { live_bytes -= bytes(static_cast<std::int64_t>(values_.size())); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  static std::int64_t bytes(std::int64_t count) {
    return checked_mul(count, static_cast<std::int64_t>(sizeof(T)), "device memory");
  }
  T& operator[](std::int64_t i) { return values_[static_cast<std::size_t>(i)]; }
  const T& operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
  T* at(std::int64_t i) { return values_.data() + i; }

 private:
  std::vector<T> values_;
};

// Row i as fp64, from a device or from the host. stored: room for a row as it is stored.
inline void load_point(const knng_backend_rows& rows, std::int64_t i, std::byte* stored, double* out) {
  for (std::int64_t p = 0; p < rows.piece_count; ++p) {
    const knng_backend_piece& piece = rows.pieces[p];
    if (i < piece.first || i >= piece.first + piece.count) continue;
    const MutableMatrixView m = reach(piece.rows);
    return load_row({m.dtype, m.rows, m.cols, m.row_stride, m.col_stride, m.data}, row_of(piece, i - piece.first), out);
  }
  ++rows_read;
  if (!rows.read(rows.user, i, 1, stored)) throw Failure{KNNG_ERR_IO, "rows did not come"};
  load_row({rows.dtype, 1, rows.dim, rows.dim, 1, stored}, 0, out);
}

// A data set as canonical rows: all here, or each loaded when it is wanted.
class Points {
 public:
  Points(const knng_backend_rows& rows, const knng_backend_metric& metric, std::int32_t of_rows, bool stay,
         std::int64_t& held)
      : rows_(rows),
        transform_(static_cast<Transform>(metric.transform)),
        u_(stay ? checked_mul(rows.count, rows.dim, "rows") : 0, held),
        norms_(rows.count, held),
        directionless_(rows.count, held),
        stored_(stored_bytes(rows), held) {
    std::vector<double> one(static_cast<std::size_t>(rows.dim));
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const std::span<double> x(stay ? u_.at(i * rows.dim) : one.data(), one.size());
      load_point(rows, i, stored_.at(0), x.data());
      double sum = 0;
      for (const double value : x) {
        sum += value;
        if (std::fabs(value) > metric.largest || (value < 0 && refuses_negative(transform_)))
          throw Failure{KNNG_ERR_DATA, "", of_rows, i};
      }
      if (transform_ == Transform::share && !(sum > 0)) throw Failure{KNNG_ERR_DATA, "", of_rows, i};
      directionless_[i] = has_no_direction(transform_, x);
      transform(x);
      for (const double value : x) norms_[i] += value * value;
    }
  }

  // A row anew.
  void load(std::int64_t i, double* out) const {
    const std::span<double> x(out, static_cast<std::size_t>(rows_.dim));
    std::vector<std::byte> stored(static_cast<std::size_t>(stored_bytes(rows_)));
    load_point(rows_, i, stored.data(), out);
    transform(x);
  }

  static std::int64_t bytes(const knng_backend_rows& rows) {
    const std::int64_t u = DeviceArray<double>::bytes(checked_mul(rows.count, rows.dim, "rows"));
    const std::int64_t of_each = DeviceArray<double>::bytes(rows.count) + DeviceArray<char>::bytes(rows.count);
    return checked_add(u, of_each + stored_bytes(rows), "rows");
  }

  const double* u(std::int64_t i) const { return &u_[i * rows_.dim]; }
  double norm(std::int64_t i) const { return norms_[i]; }
  bool directionless(std::int64_t i) const { return directionless_[i] != 0; }

 private:
  // Of a row: those of a wider type take more.
  static std::int64_t stored_bytes(const knng_backend_rows& rows) { return rows.dim * find_dtype(rows.dtype)->bytes; }

  void transform(std::span<double> x) const {
    if (transform_ == Transform::rank_unit) {
      std::vector<std::int32_t> order(x.size()), ranks(x.size());
      centred_ranks(x, order, ranks);
      std::copy(ranks.begin(), ranks.end(), x.begin());
    }
    apply_transform(transform_, row_constants(transform_, x), x);
  }

  const knng_backend_rows& rows_;
  const Transform transform_;
  DeviceArray<double> u_, norms_;
  DeviceArray<char> directionless_;
  DeviceArray<std::byte> stored_;  // a row on its way
};

}  // namespace libknng::fake
