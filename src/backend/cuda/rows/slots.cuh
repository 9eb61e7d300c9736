// Places in device memory for blocks of points, fewer than there are blocks. A block takes the place of the one used
// longest ago; it is copied on a stream of its own, while the session's stream works with others. Knows nothing of what
// a block is.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/base/memory.cuh"

namespace libknng::cuda {

class Slots {
 public:
  // What was allocated from `context` so far may be used on `loader` too.
  Slots(std::int64_t count, std::int64_t bytes, const Stream& loader, DeviceContext& context)
      : bytes_(array_bytes(bytes)),
        loader_(loader),
        context_(context),
        places_(taken<Places>(context, count, bytes)),
        slots_(static_cast<std::size_t>(count)) {
    const Event made;
    made.record(context.stream);
    made.hold(loader);
  }
  // Nothing comes any more to memory that is given back.
  ~Slots() { cudaStreamSynchronize(loader_); }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  static std::int64_t bytes(std::int64_t count, std::int64_t bytes) { return bytes_of<Places>(count, bytes); }

  std::int64_t count() const noexcept { return static_cast<std::int64_t>(slots_.size()); }
  // Where the block is for what is put on the context's stream until used(). If it has to come, load(memory) puts that
  // on the loader. Between two calls of used(), fewer blocks than there are slots.
  template <class Load>
  std::byte* find(std::int64_t block, Load&& load) {
    std::size_t at = 0, oldest = slots_.size();
    while (at < slots_.size() && slots_[at].block != block) {
      if (!slots_[at].in_use && (oldest == slots_.size() || slots_[at].last_use < slots_[oldest].last_use)) oldest = at;
      ++at;
    }
    const bool comes = at == slots_.size();
    if (comes) at = oldest;
    Slot& slot = slots_[at];
    std::byte* const memory = places_.memory.data() + static_cast<std::int64_t>(at) * bytes_;
    if (comes) {
      slot.block = -1;
      slot.used.hold(loader_);
      load(memory);
      slot.there.record(loader_);
      slot.there.hold(context_.stream);
      slot.block = block;
    }
    slot.last_use = ++uses_;
    slot.in_use = true;
    return memory;
  }
  // Blocks found since the last call are free for others once the context's stream has done what is on it now.
  void used() {
    for (Slot& slot : slots_)
      if (slot.in_use) {
        slot.used.record(context_.stream);
        slot.in_use = false;
      }
  }

 private:
  struct Slot {
    std::int64_t block = -1, last_use = 0;
    bool in_use = false;
    Event there, used;
  };

  struct Places {
    Places(std::int64_t count, std::int64_t bytes, ArraySource& source)
        : memory(source.take<std::byte>(array_bytes(bytes) * count)) {}

    DeviceArray<std::byte> memory;
  };

  const std::int64_t bytes_;
  const Stream& loader_;
  DeviceContext& context_;
  Places places_;
  std::vector<Slot> slots_;
  std::int64_t uses_ = 0;
};

}  // namespace libknng::cuda
