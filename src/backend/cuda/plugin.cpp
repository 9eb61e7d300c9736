// The one symbol of this library: the seam's calls, each behind the guard that turns exceptions into its errors and
// leaves the caller's device current.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/current_device.cuh"
#include "backend/cuda/base/device_properties.cuh"
#include "backend/cuda/base/memory_pool.cuh"
#include "backend/cuda/engines/engine.h"
#include "backend/cuda/engines/unit_probe.cuh"
#include "backend/cuda/result/duplicate_expansion.cuh"
#include "backend/cuda/rows/caller_memory.cuh"
#include "backend/cuda/select/select.cuh"
#include "backend/cuda/session/session.cuh"
#include "backend/cuda/session/work_sizes.cuh"
#include "backend/seam.h"

using namespace libknng;

struct knng_backend_session {
  cuda::Session session;
};

struct knng_backend_memory {
  knng_backend_memory(int device, std::int64_t bytes)
      : context(device, std::numeric_limits<std::int64_t>::max()), array(bytes, context) {
    context.stream.wait();  // from then on any stream may use it
  }
  cuda::DeviceContext context;
  cuda::DeviceArray<std::byte> array;
};

namespace {

void tell(knng_backend_error* error, std::int32_t status, const char* argument, const char* text) {
  *error = {status, 0, -1, -1, -1, "", ""};
  std::snprintf(error->argument, sizeof error->argument, "%s", argument);
  std::snprintf(error->text, sizeof error->text, "%s", text);
}

// The device that is current already.
constexpr int kCurrent = -1;

// Runs f with the device current; what it throws becomes the error.
template <class F>
std::int32_t guard(int device, knng_backend_error* error, F&& f) noexcept {
  try {
    std::optional<cuda::CurrentDevice> current;
    if (device != kCurrent) current.emplace(device);
    f();
    return KNNG_OK;
  } catch (const cuda::RefusedRow& refused) {
    tell(error, KNNG_ERR_DATA, refused.of_queries ? "q" : "rows", "");
    error->of_rows = refused.of_queries ? 2 : 1;
    error->row = refused.row;
  } catch (const cuda::NotThere& memory) {
    tell(error, KNNG_ERR_ARGUMENT, "rows", "the rows' memory is not there any more");
    error->given = memory.device;
  } catch (const cuda::Cancelled&) {
    tell(error, KNNG_ERR_CANCELLED, "", "the library gave no rows, or wants no results");
  } catch (const cuda::CudaError& failure) {
    cudaGetLastError();  // nothing of ours stays behind in the runtime
    const bool memory = failure.kind() == cuda::CudaError::Kind::out_of_memory;
    tell(error, memory ? KNNG_ERR_MEMORY : KNNG_ERR_DEVICE, memory ? "max_device_bytes" : "device", failure.what());
  } catch (const std::bad_alloc&) {
    tell(error, KNNG_ERR_MEMORY, "", "no host memory left");
  } catch (const std::exception& failure) {
    tell(error, KNNG_ERR_INTERNAL, "", failure.what());
  }
  return error->status;
}

std::int32_t device_count(char* why_not, std::int64_t size) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status == cudaSuccess && count > 0) return count;
  int driver = 0;  // that CUDA it is for
  cudaDriverGetVersion(&driver);
  cudaGetLastError();
  const auto room = static_cast<std::size_t>(size);
  if (driver == 0)
    std::snprintf(why_not, room, "no NVIDIA driver is loaded");
  else if (status == cudaErrorInsufficientDriver)
    std::snprintf(why_not, room, "the driver is for CUDA %d.%d and older, libknng_cuda.so is made with %d.%d",
                  driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  else
    std::snprintf(why_not, room, "%s", status == cudaSuccess ? "the driver lists none" : cudaGetErrorString(status));
  return 0;
}

void describe(std::int32_t device, knng_device* out) {
  std::memset(out->name, 0, sizeof out->name);
  std::memset(out->why_not, 0, sizeof out->why_not);
  out->usable = 0;
  out->memory = out->memory_free = -1;
  cuda::DeviceProperties properties;
  const cudaError_t status = cuda::find_properties(device, properties);
  if (status == cudaSuccess) {
    std::snprintf(out->name, sizeof out->name, "cuda:%d: %.60s", device, properties.name);
    out->memory = properties.memory;
    knng_backend_error error{};
    bool has_kernels = false;
    const std::int32_t done = guard(device, &error, [&] {
      std::size_t free = 0, total = 0;
      cuda::check(cudaMemGetInfo(&free, &total));
      out->memory_free = static_cast<std::int64_t>(free) + cuda::MemoryPool::bytes_kept();
      has_kernels = cuda::has_kernels();
    });
    out->usable = done == KNNG_OK && has_kernels;
    if (done != KNNG_OK)
      std::snprintf(out->why_not, sizeof out->why_not, "%.250s", error.text);
    else if (!has_kernels)
      std::snprintf(out->why_not, sizeof out->why_not,
                    "the CUDA library was not compiled for compute capability %d.%d (KNNG_CUDA_ARCHITECTURES)",
                    properties.major, properties.minor);
    return;
  }
  cudaGetLastError();
  std::snprintf(out->name, sizeof out->name, "cuda:%d", device);
  std::snprintf(out->why_not, sizeof out->why_not, "%s", cudaGetErrorString(status));
}

std::int32_t refuse(knng_backend_error* error, const char* argument, std::int64_t given, std::int64_t limit,
                    const char* format, const char* a, const char* b) {
  *error = {KNNG_ERR_UNSUPPORTED, 0, -1, given, limit, "", ""};
  std::snprintf(error->argument, sizeof error->argument, "%s", argument);
  std::snprintf(error->text, sizeof error->text, format, a, b);
  return error->status;
}

std::int32_t find_engine(const knng_backend_problem* p, knng_backend_engine* out, knng_backend_error* error) {
  const cuda::GpuEngine* const engine = cuda::find_engine(*p, error);
  if (!engine) return error->status;
  if (!cuda::find_selector(p->selector))
    return refuse(error, "selector", -1, -1, "selector=%s is not available on %s", p->selector, "CUDA devices");
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (p->rows.count >= most || p->columns.count >= most || p->k >= most)
    return refuse(error, "device", std::max(p->rows.count, p->columns.count), most - 1, "%s takes up to 2147483647 %s",
                  "a device", "rows");
  *out = {engine->name,
          engine->by_rows ? cuda::rows_at_a_time(*p) : 0,
          engine->all_keys,
          engine->most_pairs,
          engine->few_tiles_to(*p),
          engine->redoes_by_lists,
          engine->candidates(*p)};
  return KNNG_OK;
}

std::int64_t pairs_at_a_time(const knng_backend_problem* p, std::int32_t rung) {
  return cuda::pairs_at_a_time(*p, rung);
}

std::int64_t session_bytes(const knng_backend_problem* p, std::int64_t* host_bytes) {
  *host_bytes = cuda::host_bytes(*p);
  return cuda::session_bytes(*p);
}

std::int32_t find_units(std::int32_t device, const knng_backend_problem* problem, knng_backend_units* units,
                        char* objection, std::int64_t size, knng_backend_error* error) {
  return guard(device, error, [&] {
    const cuda::FoundUnits found = cuda::find_units(device, cuda::units_of(*problem));
    *units = found.units;
    std::snprintf(objection, static_cast<std::size_t>(size), "%s", found.objection.c_str());
  });
}

std::int32_t open(knng_backend_session** out, std::int32_t device, const knng_backend_problem* problem,
                  knng_backend_error* error) {
  return guard(device, error, [&] { *out = new knng_backend_session{cuda::Session(device, *problem)}; });
}

template <class F>
std::int32_t on(knng_backend_session* session, knng_backend_error* error, F&& f) {
  return guard(session->session.device(), error, [&] {
    try {
      f(session->session);
    } catch (...) {
      session->session.drain();  // copies from other sessions, which may end before this one
      throw;
    }
  });
}

std::int64_t blocks_held(const knng_backend_session* session) { return session->session.blocks_held(); }

std::int32_t order_points(knng_backend_session* session, const knng_backend_session* as, std::int32_t* made,
                          knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) { *made = s.order_points(as ? &as->session : nullptr) ? 1 : 0; });
}

std::int32_t begin(knng_backend_session* session, std::int32_t rung, std::int32_t crowded, knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) { s.begin(rung, crowded != 0); });
}

std::int32_t sample(knng_backend_session* session, std::int32_t guess, double* unproved, std::int32_t* crowded,
                    std::int32_t* long_lists, knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) {
    const cuda::Outlook outlook = s.sample(guess != 0);
    *unproved = outlook.unproved;
    *crowded = outlook.crowded ? 1 : 0;
    *long_lists = outlook.long_lists ? 1 : 0;
  });
}

std::int32_t first_cutoffs(knng_backend_session* session, std::int64_t first, std::int64_t count, std::int32_t guess,
                           std::int32_t long_lists, std::int32_t* made, knng_backend_error* error) {
  return on(session, error,
            [&](cuda::Session& s) { *made = s.first_cutoffs(first, count, guess != 0, long_lists != 0) ? 1 : 0; });
}

std::int32_t tile(knng_backend_session* session, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                  std::int64_t columns, knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) { s.tile(first_row, rows, first_column, columns); });
}

std::int32_t adopt_cutoffs(knng_backend_session* into, const knng_backend_session* from, knng_backend_error* error) {
  return on(into, error, [&](cuda::Session& s) { s.adopt_cutoffs(from->session); });
}

std::int32_t settle(knng_backend_session* session, knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) { s.settle(); });
}

std::int32_t merge_lists(knng_backend_session* into, const knng_backend_session* from, std::int64_t first,
                         std::int64_t count, knng_backend_error* error) {
  return on(into, error, [&](cuda::Session& s) { s.merge_lists(from->session, first, count); });
}

std::int32_t begin_keys(knng_backend_session* session, knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) { s.begin_keys(); });
}

std::int32_t keys(knng_backend_session* session, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                  std::int64_t columns, knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) { s.keys(first_row, rows, first_column, columns); });
}

std::int32_t refine(knng_backend_session* session, std::int64_t first, std::int64_t count, knng_backend_result* result,
                    knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) { s.refine(first, count, *result); });
}

std::int32_t redo(knng_backend_session* session, const std::int64_t* rows, std::int64_t count, std::int32_t by_lists,
                  knng_backend_result* result, knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) {
    s.redo({rows, static_cast<std::size_t>(count)}, by_lists != 0, *result);
  });
}

std::int32_t answer(knng_backend_session* session, std::int64_t first, std::int64_t count, knng_backend_result* result,
                    knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) { s.answer(first, count, *result); });
}

std::int32_t check(knng_backend_session* session, std::int64_t first, std::int64_t count,
                   const knng_backend_result* result, std::int64_t* wrong, knng_backend_error* error) {
  return on(session, error, [&](cuda::Session& s) { *wrong = s.find_wrong(first, count, *result); });
}

void drain(knng_backend_session* session) {
  knng_backend_error ignored{};
  guard(session->session.device(), &ignored, [&] { session->session.drain(); });
}

std::int64_t peak_bytes(const knng_backend_session* session) { return session->session.peak_bytes(); }

void close(knng_backend_session* session) {
  knng_backend_error ignored{};
  guard(session->session.device(), &ignored, [&] { delete session; });
}

std::int32_t locate(const void* address, std::int32_t* space, std::int32_t* device, knng_backend_error* error) {
  return guard(kCurrent, error, [&] {
    const cuda::MemoryLocation place = cuda::location_of(address);
    *space = place.space;
    *device = place.device;
  });
}

std::int32_t wait(std::uint64_t stream, std::int32_t device, knng_backend_error* error) {
  const auto of_caller =
      reinterpret_cast<cudaStream_t>(stream);  // NOLINT(performance-no-int-to-ptr): as callers give it
  return guard(device, error, [&] { cuda::check(cudaStreamSynchronize(of_caller)); });
}

std::int32_t inspect(const knng_backend_matrix* matrix, std::int64_t* row, std::int64_t* column,
                     std::uint32_t* byte_types, std::uint64_t* hashes, knng_backend_error* error) {
  return guard(matrix->device, error, [&] {
    const cuda::Inspected found = cuda::inspect(*matrix, hashes);
    *row = found.invalid_row;
    *column = found.invalid_column;
    *byte_types = found.byte_types;
  });
}

std::int32_t fetch(const knng_backend_piece* piece, std::int64_t first, std::int64_t count, void* to,
                   knng_backend_error* error) {
  return guard(piece->rows.device, error, [&] { cuda::fetch(*piece, first, count, to); });
}

std::int32_t compare(const knng_backend_matrix* matrices, std::int64_t matrix_count, const knng_backend_pair* pairs,
                     std::int64_t count, std::uint8_t* same, knng_backend_error* error) {
  const auto of = [](auto* first, std::int64_t n) { return std::span(first, static_cast<std::size_t>(n)); };
  return guard(matrices->device, error, [&] { cuda::compare(of(matrices, matrix_count), of(pairs, count), same); });
}

std::int32_t without_direction(const knng_backend_matrix* matrix, std::int32_t transform, const std::int64_t* rows,
                               std::int64_t count, std::uint8_t* without, knng_backend_error* error) {
  return guard(matrix->device, error, [&] {
    cuda::without_direction(*matrix, static_cast<Transform>(transform),
                            std::span(rows, static_cast<std::size_t>(count)), without);
  });
}

std::int32_t store(const knng_backend_matrix* matrix, std::int32_t dtype, const void* from, std::int64_t base,
                   std::int64_t* unfit, knng_backend_error* error) {
  return guard(matrix->device, error, [&] { *unfit = cuda::store(*matrix, dtype, from, base); });
}

std::int32_t allocate(knng_backend_memory** out, std::int32_t device, std::int64_t bytes, void** address,
                      knng_backend_error* error) {
  return guard(device, error, [&] {
    *out = new knng_backend_memory(device, bytes);
    *address = (*out)->array.data();
  });
}

void release(knng_backend_memory* memory) {
  knng_backend_error ignored{};
  guard(memory->context.device, &ignored, [&] { delete memory; });
}

std::int64_t expansion_bytes(const knng_backend_expansion* e, std::int64_t* host_bytes) {
  *host_bytes = cuda::expansion_host_bytes();
  return cuda::expansion_bytes(*e);
}

std::int32_t expand(const knng_backend_expansion* e, knng_backend_result* result, knng_backend_error* error) {
  return guard(result->device, error, [&] { cuda::expand(*e, *result); });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const knng_backend_seam* knng_cuda_entry() {
  static const knng_backend_seam seam = {
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
      .locate = &locate,
      .wait = &wait,
      .inspect = &inspect,
      .fetch = &fetch,
      .compare = &compare,
      .without_direction = &without_direction,
      .store = &store,
      .allocate = &allocate,
      .release = &release,
      .expansion_bytes = &expansion_bytes,
      .expand = &expand,
  };
  return &seam;
}
