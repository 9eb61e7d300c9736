// Pairs with a row without direction, which engines that skip them leave to this.
#pragma once

#include "backend/cpu/engine.h"

namespace libknng {

// They all have the same key: the smallest ids win, and one more shows the tie. Before anything else is offered.
void offer_directionless(const CpuProblem& problem, NeighbourLists& lists, Monitor& monitor);

}  // namespace libknng
