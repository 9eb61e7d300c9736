// Bytes that come from another device's memory, which this one may not read as it lies, are those that were there, and
// none beside them is written. With one device from that to itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cuda/base/current_device.cuh"
#include "backend/cuda/base/relay.cuh"
#include "tests/gpu/gpu.cuh"

namespace {

using libknng::cuda::CurrentDevice;
using libknng::cuda::Stream;

std::vector<std::byte> bytes_of(std::int64_t count, std::uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::byte& b : bytes) b = static_cast<std::byte>((seed = seed * 6364136223846793005U + 1) >> 56);
  return bytes;
}

void test_copy(int from_device, int to_device, std::int64_t count) {
  constexpr std::int64_t kBefore = 3, kBehind = 5;  // bytes that stay
  const std::vector<std::byte> source = bytes_of(count, 1), before = bytes_of(count + kBefore + kBehind, 2);
  std::vector<std::byte> after(before.size());
  const auto array_on = [](int device, const std::vector<std::byte>& values) {
    const CurrentDevice current(device);
    return gpu::Array<std::byte>(values);
  };
  const gpu::Array<std::byte> from = array_on(from_device, source);
  const gpu::Array<std::byte> to = array_on(to_device, before);
  const CurrentDevice current(to_device);
  const Stream stream;
  libknng::cuda::relay(to.get() + kBefore, to_device, from.get(), from_device, count, stream);
  stream.wait();
  gpu::copy(after.data(), to.get(), after.size());
  std::vector<std::byte> wanted = before;
  std::copy(source.begin(), source.end(), wanted.begin() + kBefore);
  gpu::expect(after == wanted, "%lld bytes from device %d to %d", static_cast<long long>(count), from_device,
              to_device);
}

}  // namespace

int main() {
  gpu::need_device();
  int devices = 0;
  gpu::check(cudaGetDeviceCount(&devices));
  constexpr std::int64_t kBlock = std::int64_t{8} << 20;
  for (const std::int64_t count :
       {std::int64_t{1}, kBlock + 1, 4 * kBlock - 1, 4 * kBlock, 4 * kBlock + 1, 5 * kBlock, 9 * kBlock + 12345}) {
    test_copy(0, devices - 1, count);
    test_copy(devices - 1, 0, count);
  }
  return gpu::result();
}
