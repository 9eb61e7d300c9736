// Leave to use the processor's matrix tiles (AMX). It is the process's to ask for, so the library does it only when it
// is told to (knng_use_matrix_tiles()).
#pragma once

namespace libknng {

// From now on for the whole process. Throws KNNG_ERR_UNSUPPORTED where there are none to be had.
void use_matrix_tiles();

}  // namespace libknng
