// How points lie, as the distances between a few of them tell: whether most are too far apart to be neighbours, and an
// order of the few in which each is followed by one nearby. Each of the few stands for a cell, the points that are
// nearest to it. Nothing but time depends on it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace libknng {

// Squared distances of cells from one another, row by row; what is on the diagonal is not looked at.
struct CellDistances {
  std::span<const float> squared;
  std::int64_t cells;

  float operator()(std::int64_t a, std::int64_t b) const noexcept {
    return squared[static_cast<std::size_t>(a * cells + b)];
  }
};

// The share of pairs of cells whose points are certain, by the distances of the cells from those next to them, to be no
// neighbours of one another. An estimate.
double far_share(const CellDistances& distances);

// Each cell once, from 0 on: whichever of those that are left is nearest to the one before.
std::vector<std::int32_t> nearest_chain(const CellDistances& distances);

}  // namespace libknng
