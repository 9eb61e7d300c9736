// The rows that queries must not return, as the caller has them: any integer type, base and strides; from here on
// packed ids that count from 0.
#pragma once

#include <cstdint>

#include "core/buffer.h"
#include "knng/types.h"

namespace libknng {

class LeftOut {
 public:
  // m: NULL for none. Throws for another shape or dtype than `queries` x 1 ids, and for ids of rows that are not there.
  LeftOut(const knng_matrix* m, std::int32_t base, std::int64_t queries, std::int64_t rows);

  const std::int64_t* ids() const noexcept { return ids_; }
  // Of host memory: 0 if the caller's own is used.
  std::int64_t held_bytes() const noexcept { return copy_.bytes(); }

 private:
  const std::int64_t* ids_ = nullptr;
  Buffer<std::int64_t> copy_;
};

}  // namespace libknng
