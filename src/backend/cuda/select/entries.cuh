// What the table of selectors consists of: each selector's own file defines its lines.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/select/select.cuh"

namespace libknng::cuda {

std::size_t quick_workspace(const SelectJob& job, const DeviceLimits& limits);
std::size_t quick_workspace_both(const SelectJob& rows, const SelectJob& columns, const DeviceLimits& limits);
void quick_run_both(const SelectJob& rows, const SelectJob& columns, void* workspace, cudaStream_t stream);
void quick_run(const SelectJob& job, void* workspace, cudaStream_t stream);

std::size_t batch_sort_workspace(const SelectJob& job, const DeviceLimits& limits);
void batch_sort_run(const SelectJob& job, void* workspace, cudaStream_t stream);
std::size_t batch_sort_workspace_both(const SelectJob& rows, const SelectJob& columns, const DeviceLimits& limits);
void batch_sort_run_both(const SelectJob& rows, const SelectJob& columns, void* workspace, cudaStream_t stream);

std::size_t insertion_workspace(const SelectJob& job, const DeviceLimits& limits);
void insertion_run(const SelectJob& job, void* workspace, cudaStream_t stream);

}  // namespace libknng::cuda
