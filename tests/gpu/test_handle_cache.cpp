// What is kept for sessions to come: the next one gets it, but nobody after the host process has reset its device and
// put memory of its own at the same addresses.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "backend/cuda/base/handle_cache.cuh"
#include "gpu.cuh"

using namespace libknng::cuda;
using gpu::expect;

namespace {

constexpr auto kBytes =
    static_cast<std::size_t>(HandleCache::kBuffers * HandleCache::kBufferBytes);  // one behind the other

std::vector<std::byte*> buffers_of_a_session() {
  const Stream stream;
  HandleCache handles(0, stream);
  expect(cublasSetStream(handles.blas(), stream) == CUBLAS_STATUS_SUCCESS, "a cuBLAS handle that does not work");
  for (int i = 0; i < HandleCache::kBuffers; ++i) std::memset(handles.buffer(i), 0x5A, kBytes / HandleCache::kBuffers);
  return {handles.buffer(0), handles.buffer(1)};
}

}  // namespace

int main() {
  gpu::need_device();
  const std::vector<std::byte*> first = buffers_of_a_session();
  expect(buffers_of_a_session() == first, "what was kept is not used");
  gpu::check(cudaDeviceReset());
  std::vector<std::byte*> host(8);
  for (std::byte*& memory : host) {
    void* data = nullptr;
    gpu::check(cudaMallocHost(&data, kBytes));
    memory = static_cast<std::byte*>(data);
    std::memset(memory, 7, kBytes);
  }
  const std::vector<std::byte*> after = buffers_of_a_session();
  for (const std::byte* memory : host)
    expect(std::all_of(memory, memory + kBytes, [](std::byte b) { return b == std::byte{7}; }),
           "memory of the host process was written to");
  expect(buffers_of_a_session() == after, "what was kept after a reset is not used");
  for (std::byte* memory : host) gpu::check(cudaFreeHost(memory));
  return gpu::result();
}
