// nanoflann's k-d tree behind one C function, which grid.py compiles and times beside libknng: a tree of all rows, then
// k neighbours of every row, the row itself among them, in squared Euclidean distance.
#include <cstddef>
#include <cstdint>
#include <nanoflann.hpp>

namespace {

struct Rows {
  const float* values;
  std::size_t rows, dim;

  std::size_t kdtree_get_point_count() const { return rows; }
  float kdtree_get_pt(std::size_t i, std::size_t t) const { return values[i * dim + t]; }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};

// kDim: known when it is compiled, which makes nanoflann faster; -1: not.
template <int kDim, class Distance>
void find(const Rows& rows, std::size_t k, int threads, std::uint32_t* ids, float* distances) {
  using Tree = nanoflann::KDTreeSingleIndexAdaptor<Distance, Rows, kDim, std::uint32_t>;
  const Tree tree(static_cast<int>(rows.dim), rows);
  const auto count = static_cast<std::int64_t>(rows.rows);
#pragma omp parallel for schedule(dynamic, 256) num_threads(threads)
  for (std::int64_t i = 0; i < count; ++i)
    tree.knnSearch(rows.values + static_cast<std::size_t>(i) * rows.dim, k, ids + static_cast<std::size_t>(i) * k,
                   distances + static_cast<std::size_t>(i) * k);
}

using Short = nanoflann::L2_Simple_Adaptor<float, Rows>;
using Long = nanoflann::L2_Adaptor<float, Rows>;

}  // namespace

extern "C" void nanoflann_knn(const float* values, std::size_t rows, std::size_t dim, std::size_t k, int threads,
                              std::uint32_t* ids, float* distances) {
  const Rows of{values, rows, dim};
  switch (dim) {
    case 1: return find<1, Short>(of, k, threads, ids, distances);
    case 2: return find<2, Short>(of, k, threads, ids, distances);
    case 3: return find<3, Short>(of, k, threads, ids, distances);
    case 4: return find<4, Short>(of, k, threads, ids, distances);
    case 8: return find<8, Short>(of, k, threads, ids, distances);
    default: return find<-1, Long>(of, k, threads, ids, distances);
  }
}
