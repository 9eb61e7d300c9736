// Whether the processor's unit for bfloat16 adds up as its bound supposes (refine/unit_probe.h): known products, by the
// tile that products are made with. The proof rests on one maker's manual; others' units, and what stands in for one,
// are used only if they agree.
#pragma once

#include <string>

#include "backend/cpu/filter_tile.h"

namespace libknng {

// What a tile of bf16_tile.h does that its bound does not allow; "": nothing. Under FloatEnv.
std::string objection_to_bf16(const FilterTile& tile);

// The same of a tile that is asked about again and again: probed once in a process, unless something is wrong with it.
std::string known_objection_to_bf16(const FilterTile& tile);

}  // namespace libknng
