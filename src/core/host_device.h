// KNNG_HD marks a function that is compiled for the host and, under nvcc, for the device as well.
//
// An attribute can be spelled by nothing but a macro; this is the only one, and it lives alone so that the rooms
// which share arithmetic with a GPU need no CUDA header. It must not know what it marks.
#ifndef KNNG_CORE_HOST_DEVICE_H
#define KNNG_CORE_HOST_DEVICE_H

#ifdef __CUDACC__
#define KNNG_HD __host__ __device__
#else
#define KNNG_HD
#endif

#endif  // KNNG_CORE_HOST_DEVICE_H
