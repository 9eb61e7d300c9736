// Permission to use the processor's matrix tiles (AMX). Linux grants it to a process, so the library asks for it only
// when the program says so (knng_use_matrix_tiles()).
#pragma once

namespace libknng {

// From now on for the whole process. Throws KNNG_ERR_UNSUPPORTED where there are none to be had.
void use_matrix_tiles();

}  // namespace libknng
