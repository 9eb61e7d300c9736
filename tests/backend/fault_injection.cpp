// Fault injection for the GPUs of this machine: libknng_cuda.so behind a second seam, which counts the calls on its
// sessions and lets the N-th of them fail, run out of memory, linger or meet a stop, by the words of fake_cuda.cpp. As
// many devices as KNNG_FAKE_DEVICES says, dealt out over those that there are, so that one GPU stands in for several.
// A device that holds=BYTES gives its sessions no more than that, whatever was planned. Every other row is doubted
// after each refinement: all precisions are gone through, and such rows are redone.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/seam.h"
#include "tests/backend/fake_behaviour.h"

using namespace libknng;
using fake::behaviour;
using fake::Call;
using fake::guard;
using fake::inject_fault;

namespace {

constexpr std::int64_t kDoubted = 2;
constexpr std::size_t kMostDevices = 8;

// KNNG_TEST_REAL_LIBRARY: another library to stand in front of. One that cannot be loaded has no devices.
const knng_backend_seam& real() {
  static const knng_backend_seam seam = [] {
    const char* const other = std::getenv("KNNG_TEST_REAL_LIBRARY");
    void* const library = dlopen(other ? other : KNNG_REAL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library) return *reinterpret_cast<knng_backend_entry_fn>(dlsym(library, KNNG_CUDA_ENTRY))();
    static const std::string why = dlerror();
    knng_backend_seam none{};
    none.struct_size = sizeof none;
    none.version = KNNG_BACKEND_SEAM_VERSION;
    none.build_id = KNNG_BACKEND_BUILD_ID;
    none.name = "cuda";
    none.device_count = [](char* why_not, std::int64_t size) -> std::int32_t {
      std::snprintf(why_not, static_cast<std::size_t>(size), "%s", why.c_str());
      return 0;
    };
    return none;
  }();
  return seam;
}

std::int32_t real_count() {
  static const std::int32_t count = [] {
    std::array<char, 200> why_not{};
    return real().device_count(why_not.data(), why_not.size());
  }();
  return count;
}
std::int32_t there(std::int32_t device) { return device % std::max(real_count(), 1); }

// A problem with the devices that there are.
class Problem {
 public:
  explicit Problem(const knng_backend_problem& p) : problem_(p) {
    for (std::int64_t i = 0; i < p.device_count; ++i) devices_.push_back(there(p.devices[i]));
    problem_.devices = devices_.data();
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  const knng_backend_problem* get() const noexcept { return &problem_; }
  void limit(std::int64_t bytes) noexcept { problem_.max_bytes = std::min(problem_.max_bytes, bytes); }

 private:
  std::vector<std::int32_t> devices_;
  knng_backend_problem problem_;
};

std::mutex mutex;
std::set<const knng_backend_session*> sessions;  // that are open
std::array<std::atomic<std::int64_t>, kMostDevices> tiles_done{};
std::atomic<std::int64_t> cutoffs_adopted{0};

}  // namespace

struct knng_backend_session {
  knng_backend_session(std::int32_t number, const knng_backend_problem& p) : device(number), of(p) {}
  ~knng_backend_session() {
    {
      const std::lock_guard lock(mutex);
      sessions.erase(this);
    }
    if (session) real().close(session);
  }

  const std::int32_t device;  // as it was asked for
  Problem of;
  knng_backend_session* session = nullptr;  // the real one
  std::array<std::int64_t, fake::kCalls.size()> calls{};
};

namespace {

// A call on a session: counted, made to fail or passed on.
template <class F>
std::int32_t on(knng_backend_session* s, Call call, knng_backend_error* error, F&& f) {
  const std::int32_t injected = guard(error, [&] { inject_fault(s->device, call, ++s->calls[call]); });
  return injected == KNNG_OK ? f() : injected;
}
template <class F>
std::int32_t on_tile(knng_backend_session* s, Call call, knng_backend_error* error, F&& f) {
  const std::int32_t status = on(s, call, error, [&] {
    fake::linger(s->device);
    return f();
  });
  if (status == KNNG_OK) ++tiles_done[static_cast<std::size_t>(s->device)];
  return status;
}

std::int32_t device_count(char* why_not, std::int64_t size) {
  if (real_count() == 0) return real().device_count(why_not, size);
  const char* const text = std::getenv("KNNG_FAKE_DEVICES");
  return text ? std::clamp(std::atoi(text), 1, static_cast<int>(kMostDevices)) : 1;
}

void describe(std::int32_t device, knng_device* out) {
  real().describe(there(device), out);
  if (const std::int64_t memory = behaviour(device, "memory"); memory >= 0) out->memory_free = memory;
}

std::int32_t find_engine(const knng_backend_problem* p, knng_backend_engine* engine, knng_backend_error* error) {
  return real().find_engine(Problem(*p).get(), engine, error);
}
std::int64_t pairs_at_a_time(const knng_backend_problem* p, std::int32_t rung) {
  return real().pairs_at_a_time(Problem(*p).get(), rung);
}
std::int64_t session_bytes(const knng_backend_problem* p, std::int64_t* host_bytes) {
  return real().session_bytes(Problem(*p).get(), host_bytes);
}

// lost=N and without=UNITS as of simulated devices: chips of different generations.
std::int32_t find_units(std::int32_t device, const knng_backend_problem* p, knng_backend_units* units, char* objection,
                        std::int64_t size, knng_backend_error* error) {
  const std::int32_t status = real().find_units(there(device), Problem(*p).get(), units, objection, size, error);
  if (status != KNNG_OK) return status;
  if (const std::int64_t lost = behaviour(device, "lost"); lost >= 0) units->lost = static_cast<double>(lost) * 0x1p-24;
  const std::int64_t without = behaviour(device, "without");
  if (without <= 0 || (units->usable & without) == 0) return KNNG_OK;
  units->usable &= ~static_cast<std::int32_t>(without);
  std::snprintf(objection, static_cast<std::size_t>(size), "made wrong by a test");
  return KNNG_OK;
}

std::int32_t open(knng_backend_session** out, std::int32_t device, const knng_backend_problem* problem,
                  knng_backend_error* error) {
  std::unique_ptr<knng_backend_session> s;
  const std::int32_t injected = guard(error, [&] {
    s = std::make_unique<knng_backend_session>(device, *problem);
    inject_fault(device, fake::kOpen, ++s->calls[fake::kOpen]);
    if (const std::int64_t holds = behaviour(device, "holds"); holds >= 0) s->of.limit(holds);
    const std::lock_guard lock(mutex);
    sessions.insert(s.get());
  });
  if (injected != KNNG_OK) return injected;
  const std::int32_t status = real().open(&s->session, there(device), s->of.get(), error);
  if (status == KNNG_OK) *out = s.release();
  return status;
}

std::int64_t blocks_held(const knng_backend_session* s) { return real().blocks_held(s->session); }

std::int32_t order_points(knng_backend_session* s, const knng_backend_session* as, std::int32_t* made,
                          knng_backend_error* error) {
  return on(s, fake::kOrderPoints, error,
            [&] { return real().order_points(s->session, as ? as->session : nullptr, made, error); });
}
std::int32_t begin(knng_backend_session* s, std::int32_t rung, std::int32_t crowded, knng_backend_error* error) {
  return on(s, fake::kBegin, error, [&] { return real().begin(s->session, rung, crowded, error); });
}
std::int32_t sample(knng_backend_session* s, std::int32_t guess, double* unproved, std::int32_t* crowded,
                    std::int32_t* long_lists, knng_backend_error* error) {
  return on(s, fake::kSample, error,
            [&] { return real().sample(s->session, guess, unproved, crowded, long_lists, error); });
}
std::int32_t first_cutoffs(knng_backend_session* s, std::int64_t first, std::int64_t count, std::int32_t guess,
                           std::int32_t long_lists, std::int32_t* made, knng_backend_error* error) {
  return on(s, fake::kFirstCutoffs, error,
            [&] { return real().first_cutoffs(s->session, first, count, guess, long_lists, made, error); });
}
std::int32_t tile(knng_backend_session* s, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                  std::int64_t columns, knng_backend_error* error) {
  return on_tile(s, fake::kTile, error,
                 [&] { return real().tile(s->session, first_row, rows, first_column, columns, error); });
}
std::int32_t adopt_cutoffs(knng_backend_session* into, const knng_backend_session* from, knng_backend_error* error) {
  return on(into, fake::kAdoptCutoffs, error, [&] {
    ++cutoffs_adopted;
    return real().adopt_cutoffs(into->session, from->session, error);
  });
}
std::int32_t settle(knng_backend_session* s, knng_backend_error* error) {
  return on(s, fake::kSettle, error, [&] { return real().settle(s->session, error); });
}
std::int32_t merge_lists(knng_backend_session* into, const knng_backend_session* from, std::int64_t first,
                         std::int64_t count, knng_backend_error* error) {
  return on(into, fake::kMergeLists, error,
            [&] { return real().merge_lists(into->session, from->session, first, count, error); });
}
std::int32_t begin_keys(knng_backend_session* s, knng_backend_error* error) {
  return on(s, fake::kBeginKeys, error, [&] { return real().begin_keys(s->session, error); });
}
std::int32_t keys(knng_backend_session* s, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                  std::int64_t columns, knng_backend_error* error) {
  return on(s, fake::kKeys, error, [&] {
    fake::linger(s->device);
    return real().keys(s->session, first_row, rows, first_column, columns, error);
  });
}
std::int32_t refine(knng_backend_session* s, std::int64_t first, std::int64_t count, knng_backend_result* result,
                    knng_backend_error* error) {
  return on(s, fake::kRefine, error, [&] {
    const std::int32_t status = real().refine(s->session, first, count, result, error);
    for (std::int64_t row = first; status == KNNG_OK && row < first + count; ++row)
      if (row % kDoubted == 0) result->proof[row] = 0;
    return status;
  });
}
std::int32_t redo(knng_backend_session* s, const std::int64_t* rows, std::int64_t count, std::int32_t by_lists,
                  knng_backend_result* result, knng_backend_error* error) {
  return on(s, fake::kRedo, error, [&] { return real().redo(s->session, rows, count, by_lists, result, error); });
}
std::int32_t answer(knng_backend_session* s, std::int64_t first, std::int64_t count, knng_backend_result* result,
                    knng_backend_error* error) {
  return on_tile(s, fake::kAnswer, error, [&] { return real().answer(s->session, first, count, result, error); });
}
// One word of its own: spoils=ROW, whose last neighbour is another when it is checked.
std::int32_t check(knng_backend_session* s, std::int64_t first, std::int64_t count, const knng_backend_result* result,
                   std::int64_t* wrong, knng_backend_error* error) {
  return on(s, fake::kCheck, error, [&] {
    const std::int64_t spoilt = behaviour(s->device, "spoils"), width = s->of.get()->k + s->of.get()->self_first;
    if (spoilt < first || spoilt >= first + count || result->device >= 0)
      return real().check(s->session, first, count, result, wrong, error);
    std::int64_t& id = result->ids[spoilt * width + width - 1];
    const std::int64_t kept = std::exchange(id, (id + 1) % s->of.get()->columns.count);
    const std::int32_t status = real().check(s->session, first, count, result, wrong, error);
    id = kept;
    return status;
  });
}

void drain(knng_backend_session* s) { real().drain(s->session); }
std::int64_t peak_bytes(const knng_backend_session* s) { return real().peak_bytes(s->session); }
void close(knng_backend_session* s) { delete s; }

}  // namespace

extern "C" __attribute__((visibility("default"))) const knng_backend_seam* knng_cuda_entry() {
  static const knng_backend_seam seam = [] {
    knng_backend_seam s = real();  // all else is passed on as it is
    s.device_count = &device_count;
    s.describe = &describe;
    s.find_engine = &find_engine;
    s.pairs_at_a_time = &pairs_at_a_time;
    s.session_bytes = &session_bytes;
    s.find_units = &find_units;
    s.open = &open;
    s.blocks_held = &blocks_held;
    s.order_points = &order_points;
    s.begin = &begin;
    s.sample = &sample;
    s.first_cutoffs = &first_cutoffs;
    s.tile = &tile;
    s.adopt_cutoffs = &adopt_cutoffs;
    s.settle = &settle;
    s.merge_lists = &merge_lists;
    s.begin_keys = &begin_keys;
    s.keys = &keys;
    s.refine = &refine;
    s.redo = &redo;
    s.answer = &answer;
    s.check = &check;
    s.drain = &drain;
    s.peak_bytes = &peak_bytes;
    s.close = &close;
    return s;
  }();
  return &seam;
}

// As fake_cuda.cpp's, of what is known here.
extern "C" __attribute__((visibility("default"))) std::int64_t knng_fake_count(const char* what, std::int32_t device) {
  const std::string_view word = what;
  const std::lock_guard lock(mutex);
  if (word == "sessions") return static_cast<std::int64_t>(sessions.size());
  if (word == "failures") return fake::calls_failed.load();
  if (word == "cut-offs") return cutoffs_adopted.load();
  if (word == "tiles") return tiles_done[static_cast<std::size_t>(device)].load();
  std::int64_t held = 0;
  if (word == "bytes")
    for (const knng_backend_session* s : sessions)
      if (s->session) held += real().peak_bytes(s->session);
  return held;
}

extern "C" __attribute__((visibility("default"))) void knng_fake_stop(volatile std::int32_t* flag) {
  fake::stop_flag.store(flag);
}
