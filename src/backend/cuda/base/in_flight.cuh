// A long piece of work in parts, of which only a few are on the stream at a time. A stop is noticed between two parts,
// so it comes soon; and a busy device takes fewer parts than the others.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/cuda/base/memory.cuh"

namespace libknng::cuda {

class InFlight {
 public:
  // most: from 2, so that the device has a part to go on with.
  explicit InFlight(std::size_t most) : done_(most) {}

  // What was put on the stream since the last call is a part. Returns when fewer than the most are in flight.
  void add(const Stream& stream) {
    done_[turn_].record(stream);
    turn_ = (turn_ + 1) % done_.size();
    done_[turn_].wait();
  }

 private:
  std::vector<Event> done_;
  std::size_t turn_ = 0;
};

}  // namespace libknng::cuda
