#include "backend/cuda/base/mapped_memory.cuh"

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/driver.cuh"

namespace libknng::cuda {
namespace {

struct Driver {
  PFN_cuDeviceGetAttribute_v2000 attribute =
      driver_function<PFN_cuDeviceGetAttribute_v2000>("cuDeviceGetAttribute", 2000);
  PFN_cuMemGetAllocationGranularity_v10020 granularity =
      driver_function<PFN_cuMemGetAllocationGranularity_v10020>("cuMemGetAllocationGranularity", 10020);
  PFN_cuMemAddressReserve_v10020 reserve =
      driver_function<PFN_cuMemAddressReserve_v10020>("cuMemAddressReserve", 10020);
  PFN_cuMemAddressFree_v10020 free = driver_function<PFN_cuMemAddressFree_v10020>("cuMemAddressFree", 10020);
  PFN_cuMemCreate_v10020 create = driver_function<PFN_cuMemCreate_v10020>("cuMemCreate", 10020);
  PFN_cuMemRelease_v10020 release = driver_function<PFN_cuMemRelease_v10020>("cuMemRelease", 10020);
  PFN_cuMemMap_v10020 map = driver_function<PFN_cuMemMap_v10020>("cuMemMap", 10020);
  PFN_cuMemUnmap_v10020 unmap = driver_function<PFN_cuMemUnmap_v10020>("cuMemUnmap", 10020);
  PFN_cuMemSetAccess_v10020 set_access = driver_function<PFN_cuMemSetAccess_v10020>("cuMemSetAccess", 10020);

  bool complete() const {
    return attribute && granularity && reserve && free && create && release && map && unmap && set_access;
  }
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

CUmemAllocationProp properties_of(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

}  // namespace

bool can_map_memory(int device) {
  if (!driver().complete()) return false;
  int supported = 0;
  std::size_t page = 0;
  const CUmemAllocationProp properties = properties_of(device);
  return driver().attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) ==
             CUDA_SUCCESS &&
         supported != 0 && driver().granularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS &&
         page > 0 && kMappedGrain % static_cast<std::int64_t>(page) == 0;
}

void* map_memory(int device, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const CUmemAllocationProp properties = properties_of(device);
  CUmemGenericAllocationHandle memory{};
  check(driver().create(&memory, size, &properties, 0));
  CUdeviceptr address = 0;
  CUresult result = driver().reserve(&address, size, 0, 0, 0);
  if (result == CUDA_SUCCESS) {
    result = driver().map(address, size, 0, memory, 0);
    if (result == CUDA_SUCCESS) {
      CUmemAccessDesc access{};
      access.location = properties.location;
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      result = driver().set_access(address, size, &access, 1);
      if (result != CUDA_SUCCESS) driver().unmap(address, size);
    }
    if (result != CUDA_SUCCESS) driver().free(address, size);
  }
  driver().release(memory);  // it stays as long as it is mapped
  check(result);
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): the driver's addresses are numbers
}

void unmap_memory(void* memory, std::int64_t bytes) noexcept {
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  driver().unmap(address, static_cast<std::size_t>(bytes));
  driver().free(address, static_cast<std::size_t>(bytes));
}

}  // namespace libknng::cuda
