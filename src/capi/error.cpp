// knng/error.h
#include "knng/error.h"

#include "core/error.h"

using namespace libknng;

int32_t knng_version(void) { return KNNG_HEADER_VERSION; }

const char* knng_last_error(void) { return last_error().message; }
