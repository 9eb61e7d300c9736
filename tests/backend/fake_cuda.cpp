// A library of simulated devices: the seam to libknng_cuda.so in host memory, so that planning, dealing, merging,
// the ladder of precisions and errors of many devices are tested on any machine.
//
// How many devices there are, and how they behave, is read from the environment at every call:
//   KNNG_FAKE_DEVICES=4
//   KNNG_FAKE_BEHAVIOUR="0:slow;1:memory=40000;2:fails_at_tile=5"   words of one device may repeat its number
// with the words lost=N (of products, in 2^-24; else 16), without=UNITS (KNNG_UNIT bits that are not usable), slow
// (each tile takes KNNG_FAKE_TILE_MS), memory=BYTES, holds=BYTES (fewer than it says), unusable, lies (its bounds are
// none), drops=ID (no row gets that neighbour), orders (points are compared the other way round), keeps_order (not by
// it), guesses=RANK (among every fourth column), samples (sample() tells something), crowds (by lists it redoes two
// rows in three), coarse_hashes (four of them, of rows in its memory), fails_to_fetch, fails_to_compare,
// no_memory_to_compare and fails_at_CALL=N, out_of_memory_at_CALL=N: the N-th such call of a session fails; CALL is
// open, order_points, begin, sample, first_cutoffs, tile, settle, adopt_cutoffs, merge_lists, begin_keys, keys, refine,
// redo, answer or check, or expand, of which every one is the first. KNNG_FAKE_BUILD_ID: that of another build.
// KNNG_FAKE_PAIRS: how many pairs a tile should have at most.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/cuda/engines/engine.h"
#include "backend/seam.h"
#include "core/dtype.h"
#include "metric/canonical.h"
#include "tests/backend/fake_behaviour.h"
#include "tests/backend/fake_expansion.h"
#include "tests/backend/fake_memory.h"
#include "tests/backend/fake_session.h"

using namespace libknng;
using fake::behaviour;
using fake::Failure;
using fake::guard;
using fake::inject_fault;
using fake::kMostDevices;
using fake::linger;
using fake::Points;

struct knng_backend_session : fake::Session {
  using Session::Session;
};

namespace {

// A call on a session: counted, made to fail or done.
template <class F>
std::int32_t on(knng_backend_session* s, fake::Call call, knng_backend_error* error, F&& f) {
  return guard(error, [&] {
    inject_fault(s->number, call, ++s->calls[call]);
    f();
  });
}

std::int32_t device_count(char* why_not, std::int64_t size) {
  const char* const text = std::getenv("KNNG_FAKE_DEVICES");
  const std::int32_t count = text ? std::clamp(std::atoi(text), 0, kMostDevices) : 1;
  if (count == 0) std::snprintf(why_not, static_cast<std::size_t>(size), "KNNG_FAKE_DEVICES is 0");
  return count;
}

void describe(std::int32_t device, knng_device* out) {
  std::snprintf(out->name, sizeof out->name, "fake device %d", device);
  out->usable = behaviour(device, "unusable") < 0;
  std::snprintf(out->why_not, sizeof out->why_not, "%s", out->usable ? "" : "made unusable by a test");
  const std::int64_t memory = behaviour(device, "memory");
  out->memory = std::int64_t{1} << 40;
  out->memory_free = memory >= 0 ? memory : out->memory;
}

// As the library for CUDA, but for rows at a time.
std::int32_t find_engine(const knng_backend_problem* p, knng_backend_engine* out, knng_backend_error* error) {
  const libknng::cuda::GpuEngine* const engine = libknng::cuda::find_engine(*p, error);
  if (!engine) return error->status;
  *out = {engine->name,          engine->by_rows ? 512 : 0, engine->all_keys,
          engine->most_pairs,    engine->few_tiles_to(*p),  engine->redoes_by_lists,
          engine->candidates(*p)};
  return KNNG_OK;
}

std::int64_t pairs_at_a_time(const knng_backend_problem*, std::int32_t) {
  const char* const pairs = std::getenv("KNNG_FAKE_PAIRS");
  return pairs ? std::atoll(pairs) : INT64_MAX;
}

std::int64_t session_bytes(const knng_backend_problem* p, std::int64_t* host_bytes) {
  *host_bytes = 4096 + 8 * p->tile_rows;  // as a real one has staging memory
  try {
    return knng_backend_session::bytes(*p);
  } catch (const Error&) {
    return INT64_MAX;
  }
}

double lost_of(std::int32_t device) {
  const std::int64_t lost = behaviour(device, "lost");
  return static_cast<double>(lost >= 0 ? lost : 16) * 0x1p-24;
}

std::int32_t find_units(std::int32_t device, const knng_backend_problem* p, knng_backend_units* units, char* objection,
                        std::int64_t size, knng_backend_error* error) {
  return guard(error, [&] {
    const auto without = static_cast<std::int32_t>(std::max<std::int64_t>(behaviour(device, "without"), 0));
    const std::int32_t asked = libknng::cuda::units_of(*p);
    *units = {asked & ~without, lost_of(device), 0x1p-14};
    std::snprintf(objection, static_cast<std::size_t>(size), "%s", asked & without ? "made wrong by a test" : "");
  });
}

// A session's bounds hold for what any other finds, and it uses no unit that another cannot.
void require_one_model(const knng_backend_problem& p) {
  double lost = 0;
  for (std::int64_t i = 0; i < p.device_count; ++i) {
    lost = std::max(lost, lost_of(p.devices[i]));
    const std::int64_t without = behaviour(p.devices[i], "without");
    if (without > 0 && (p.units.usable & without) != 0) throw Failure{KNNG_ERR_INTERNAL, "a unit that cannot be used"};
  }
  if (p.units.lost != lost) throw Failure{KNNG_ERR_INTERNAL, "a model that is not the weakest"};
}

std::int32_t open(knng_backend_session** out, std::int32_t device, const knng_backend_problem* problem,
                  knng_backend_error* error) {
  return guard(error, [&] {
    if (knng_backend_session::bytes(*problem) > problem->max_bytes)
      throw Failure{KNNG_ERR_INTERNAL, "the plan is above its limit"};
    require_one_model(*problem);
    const std::int64_t holds = behaviour(device, "holds");
    if (holds >= 0 && knng_backend_session::bytes(*problem) > holds)
      throw Failure{KNNG_ERR_MEMORY, "injected lack of memory"};
    auto session = std::make_unique<knng_backend_session>(device, *problem);
    inject_fault(device, fake::kOpen, ++session->calls[fake::kOpen]);
    *out = session.release();
  });
}

std::int32_t order_points(knng_backend_session* s, const knng_backend_session* as, std::int32_t* made,
                          knng_backend_error* error) {
  return on(s, fake::kOrderPoints, error, [&] {
    if (!s->p.square || s->rung != 0) throw Failure{KNNG_ERR_INTERNAL, "an order of points that comes too late"};
    s->backwards = s->p.blocks_held == 0 && behaviour(s->number, "keeps_order") < 0 &&
                   (as ? as->backwards : behaviour(s->number, "orders") >= 0);
    *made = s->backwards ? 1 : 0;
    fake::orders_made += *made;
  });
}

std::int32_t begin(knng_backend_session* s, std::int32_t rung, std::int32_t, knng_backend_error* error) {
  return on(s, fake::kBegin, error, [&] {
    const std::int32_t unit = rung == KNNG_RUNG_FP32 ? KNNG_UNIT_FP32 : KNNG_UNIT_FP16 | KNNG_UNIT_BYTES;
    if ((libknng::cuda::units_of(s->p) & unit & ~s->p.units.usable) != 0)
      throw Failure{KNNG_ERR_INTERNAL, "products of a unit that is not used"};
    s->begin(rung);
  });
}

// The rank of what the session guesses; 0: it does not.
std::int64_t guessed_rank(const knng_backend_session* s) {
  return s->p.blocks_held > 0 ? 0 : std::max<std::int64_t>(behaviour(s->number, "guesses"), 0);
}

// Only where a test asks for it: else every rung would be reached by few.
std::int32_t sample(knng_backend_session* s, std::int32_t guess, double* unproved, std::int32_t* crowded,
                    std::int32_t* long_lists, knng_backend_error* error) {
  return on(s, fake::kSample, error, [&] {
    const std::int64_t rank = guess ? guessed_rank(s) : 0;
    *long_lists = 0;  // its lists have always the plan's length
    *crowded = behaviour(s->number, "crowds") >= 0;
    *unproved = guess && rank == 0 ? 1 : behaviour(s->number, "samples") >= 0 ? s->sample(rank) : 0;
  });
}

std::int32_t first_cutoffs(knng_backend_session* s, std::int64_t first, std::int64_t count, std::int32_t guess,
                           std::int32_t, std::int32_t* made, knng_backend_error* error) {
  return on(s, fake::kFirstCutoffs, error, [&] {
    const std::int64_t rank = guess ? guessed_rank(s) : 0;
    *made = rank > 0 ? 1 : 0;
    if (rank == 0) return;
    s->guess(first, count, rank);
    fake::rows_guessed += count;
  });
}

std::int32_t tile(knng_backend_session* s, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                  std::int64_t columns, knng_backend_error* error) {
  return on(s, fake::kTile, error, [&] {
    const bool apart = first_row + rows <= first_column || first_column + columns <= first_row;
    if (rows > s->p.tile_rows || columns > s->p.tile_cols ||
        (s->p.square && !apart && !(first_row == first_column && rows == columns)))
      throw Failure{KNNG_ERR_INTERNAL, "a tile that the seam does not allow"};
    linger(s->number);
    s->tile(first_row, rows, first_column, columns);
  });
}

std::int32_t adopt_cutoffs(knng_backend_session* into, const knng_backend_session* from, knng_backend_error* error) {
  return on(into, fake::kAdoptCutoffs, error, [&] {
    into->read(*from);
    into->adopt_cutoffs(*from);
  });
}

void drain(knng_backend_session* s) { s->read_no_more(); }

std::int32_t settle(knng_backend_session* s, knng_backend_error* error) {
  return on(s, fake::kSettle, error, [&] { s->read_no_more(); });
}

std::int32_t merge_lists(knng_backend_session* into, const knng_backend_session* from, std::int64_t first,
                         std::int64_t count, knng_backend_error* error) {
  return on(into, fake::kMergeLists, error, [&] { into->merge_lists(*from, first, count); });
}

std::int64_t blocks_held(const knng_backend_session* s) { return s->p.blocks_held; }

std::int32_t begin_keys(knng_backend_session* s, knng_backend_error* error) {
  return on(s, fake::kBeginKeys, error, [&] { s->begin_keys(); });
}

std::int32_t keys(knng_backend_session* s, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                  std::int64_t columns, knng_backend_error* error) {
  return on(s, fake::kKeys, error, [&] {
    linger(s->number);
    s->keys(first_row, rows, first_column, columns);
  });
}

void throw_if_cancelled(const knng_backend_session& s) {
  if (s.p.cancelled(s.p.cancellation)) throw Failure{KNNG_ERR_CANCELLED, "the call was cancelled"};
}

std::int32_t refine(knng_backend_session* s, std::int64_t first, std::int64_t count, knng_backend_result* result,
                    knng_backend_error* error) {
  return on(s, fake::kRefine, error, [&] {
    for (std::int64_t row = first; row < first + count; ++row) {
      throw_if_cancelled(*s);
      s->refine(row, *result);
    }
  });
}

std::int32_t redo(knng_backend_session* s, const std::int64_t* rows, std::int64_t count, std::int32_t by_lists,
                  knng_backend_result* result, knng_backend_error* error) {
  return on(s, fake::kRedo, error, [&] {
    throw_if_cancelled(*s);
    std::vector<std::int64_t> some(rows, rows + count);
    if (by_lists && behaviour(s->number, "crowds") >= 0)
      std::erase_if(some, [](std::int64_t row) { return row % 3 == 0; });
    s->redo(some, *result);
  });
}

std::int32_t answer(knng_backend_session* s, std::int64_t first, std::int64_t count, knng_backend_result* result,
                    knng_backend_error* error) {
  return on(s, fake::kAnswer, error, [&] {
    if (!s->p.by_rows || count > s->p.tile_rows) throw Failure{KNNG_ERR_INTERNAL, "rows that the seam does not allow"};
    linger(s->number);
    throw_if_cancelled(*s);
    s->answer(first, count, *result);
  });
}

std::int32_t check(knng_backend_session* s, std::int64_t first, std::int64_t count, const knng_backend_result* result,
                   std::int64_t* wrong, knng_backend_error* error) {
  return on(s, fake::kCheck, error, [&] {
    throw_if_cancelled(*s);
    *wrong = s->check(first, count, *result);
    for (std::int64_t c = 0; c < s->p.checked_count; ++c)
      fake::rows_checked += s->p.checked[c] >= first && s->p.checked[c] < first + count;
  });
}

std::int64_t peak_bytes(const knng_backend_session* s) { return s->held; }

std::int64_t expansion_bytes(const knng_backend_expansion* e, std::int64_t* host_bytes) {
  *host_bytes = 4096;
  return fake::expansion_bytes(*e);
}

std::int32_t expand(const knng_backend_expansion* e, knng_backend_result* result, knng_backend_error* error) {
  return guard(error, [&] {
    inject_fault(result->device, fake::kExpand, 1);
    fake::expand(*e, *result);
  });
}

void close(knng_backend_session* s) {
  if (s->readers > 0) {
    std::fputs("a session is closed while another may read its lists\n", stderr);
    std::abort();
  }
  delete s;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const knng_backend_seam* knng_cuda_entry() {
  static knng_backend_seam seam = {
      .struct_size = sizeof(knng_backend_seam),
      .version = KNNG_BACKEND_SEAM_VERSION,
      .build_id = KNNG_BACKEND_BUILD_ID,
      .name = "cuda",
      .device_count = &device_count,
      .describe = &describe,
      .find_engine = &find_engine,
      .rungs = &libknng::cuda::list_rungs,
      .pairs_at_a_time = &pairs_at_a_time,
      .session_bytes = &session_bytes,
      .find_units = &find_units,
      .open = &open,
      .blocks_held = &blocks_held,
      .order_points = &order_points,
      .begin = &begin,
      .sample = &sample,
      .first_cutoffs = &first_cutoffs,
      .tile = &tile,
      .adopt_cutoffs = &adopt_cutoffs,
      .settle = &settle,
      .merge_lists = &merge_lists,
      .begin_keys = &begin_keys,
      .keys = &keys,
      .refine = &refine,
      .redo = &redo,
      .answer = &answer,
      .check = &check,
      .drain = &drain,
      .peak_bytes = &peak_bytes,
      .close = &close,
      .locate = &fake::locate,
      .wait = &fake::wait,
      .inspect = &fake::inspect,
      .fetch = &fake::fetch,
      .compare = &fake::compare,
      .without_direction = &fake::without_direction,
      .store = &fake::store,
      .allocate = &fake::allocate,
      .release = &fake::release,
      .expansion_bytes = &expansion_bytes,
      .expand = &expand,
  };
  const char* const other = std::getenv("KNNG_FAKE_BUILD_ID");
  seam.build_id = other ? other : KNNG_BACKEND_BUILD_ID;
  return &seam;
}

// For tests: "sessions" that are open, "bytes" that they hold, "blocks" of points that came, "cut-offs" that were
// adopted, "failures" that were injected, "tiles" that a device has done so far; how often it was asked where memory is
// ("located"), how many rows were read from the host ("read") or brought to it ("fetched"), how many pairs of them were
// compared ("compared"), how many were asked for a direction ("judged"), how many were "checked".
extern "C" __attribute__((visibility("default"))) std::int64_t knng_fake_count(const char* what, std::int32_t device) {
  const std::string_view word = what;
  return word == "sessions"   ? fake::live_sessions.load()
         : word == "bytes"    ? fake::live_bytes + fake::kept_bytes
         : word == "blocks"   ? fake::blocks_brought.load()
         : word == "cut-offs" ? fake::cutoffs_adopted.load()
         : word == "orders"   ? fake::orders_made.load()
         : word == "guesses"  ? fake::rows_guessed.load()
         : word == "failures" ? fake::calls_failed.load()
         : word == "located"  ? fake::located.load()
         : word == "read"     ? fake::rows_read.load()
         : word == "fetched"  ? fake::rows_fetched.load()
         : word == "compared" ? fake::pairs_compared.load()
         : word == "checked"  ? fake::rows_checked.load()
         : word == "judged"   ? fake::rows_judged.load()
                              : fake::tiles_done[static_cast<std::size_t>(device)].load();
}

// The flag that stop_comes_at_CALL sets from now on; nullptr: none.
extern "C" __attribute__((visibility("default"))) void knng_fake_stop(volatile std::int32_t* flag) {
  fake::stop_flag.store(flag);
}
