// Parts of a long piece of work, of which a stream is given no more than a few at a time: so that a stop, which is
// noticed between two of them, is soon, and a device that has more to do than others is given less.
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
