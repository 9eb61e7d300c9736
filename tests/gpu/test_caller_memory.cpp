// Rows compared, found to have no direction, and packed, where they lie; and lists on their way into matrices of other
// types: element by element what the host makes of the same memory.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "backend/cuda/rows/caller_memory.cuh"
#include "backend/cuda/rows/strided.cuh"
#include "dataset/dataset.h"
#include "dataset/fingerprint.h"
#include "graph/narrow.h"
#include "metric/canonical.h"
#include "tests/gpu/gpu.cuh"

using gpu::check;
using gpu::expect;
using libknng::MatrixView;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t kRowTypes[] = {KNNG_F32, KNNG_F64, KNNG_F16, KNNG_BF16, KNNG_U8,  KNNG_I8,  KNNG_U16,
                                      KNNG_I16, KNNG_U32, KNNG_I32, KNNG_U64,  KNNG_I64, KNNG_BOOL};

std::uint64_t random_bits() {
  static std::uint64_t state = 41;
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_bits() % static_cast<std::uint64_t>(n)); }

struct Layout {
  std::int64_t row_stride, col_stride, first, size;
};
std::vector<Layout> layouts(std::int64_t n, std::int64_t d) {
  return {{d, 1, 0, n * d},
          {1, n, 0, n * d},
          {d + 3, 1, 2, n * (d + 3) + 2},
          {2 * d, 2, 1, 2 * n * d + 1},
          {-d, 1, (n - 1) * d, n * d}};
}

// A matrix on the host and the same bytes on device 0.
class Matrix {
 public:
  Matrix(std::int32_t dtype, std::int64_t n, std::int64_t d, const Layout& l)
      : bytes_((dtype & 0xff) / 8),
        host_(static_cast<std::size_t>(l.size * bytes_), std::byte{0xa5}),
        device_(host_),
        view_{dtype, n, d, l.row_stride, l.col_stride, host_.data() + l.first * bytes_},
        first_(l.first * bytes_) {}

  const MatrixView& view() const { return view_; }
  std::byte* at(std::int64_t i, std::int64_t t) {
    return host_.data() + first_ + (i * view_.row_stride + t * view_.col_stride) * bytes_;
  }
  void put(std::int64_t i, std::int64_t t, double x) {
    libknng::visit_row_dtype(view_.dtype, [&](auto* tag) {
      std::remove_cv_t<std::remove_pointer_t<decltype(tag)>> value;
      if constexpr (std::is_integral_v<decltype(value)>)
        value = static_cast<decltype(value)>(x);
      else if constexpr (std::is_same_v<decltype(value), libknng::Bool>)
        value.byte = x != 0;
      else
        libknng::narrow_value(x, value);
      std::memcpy(at(i, t), &value, sizeof value);
    });
  }
  std::vector<double> row(std::int64_t i) const {
    std::vector<double> x(static_cast<std::size_t>(view_.cols));
    libknng::load_row(view_, i, x.data());
    return x;
  }
  void upload() { gpu::copy(device_.get(), host_.data(), host_.size()); }
  knng_backend_matrix there() const {
    return {device_.get() + first_, view_.rows, view_.cols, view_.row_stride, view_.col_stride, view_.dtype, 0};
  }
  // Whether the device's bytes, gaps included, are the host's.
  bool is_as_on_host() const { return device_.values() == host_; }

 private:
  const std::int64_t bytes_;
  std::vector<std::byte> host_;
  gpu::Array<std::byte> device_;
  MatrixView view_;
  std::int64_t first_;
};

// By the code of DLPack.
bool is_float(std::int32_t dtype) { return dtype >> 8 == 2 || dtype == KNNG_BF16; }

// Beside which single precision does not tell integers of such a type apart.
double large(std::int32_t dtype) {
  if (is_float(dtype)) return 0;
  const std::int64_t bytes = libknng::dtype_bytes(dtype);
  return bytes == 8 ? 0x1p53 - 4 : bytes == 4 ? 0x1p31 - 4 : 0;
}

// The smallest number of the type above 0.
double smallest(std::int32_t dtype) {
  return dtype == KNNG_F64    ? 0x1p-1074
         : dtype == KNNG_F32  ? 0x1p-149
         : dtype == KNNG_F16  ? 0x1p-24
         : dtype == KNNG_BF16 ? 0x1p-133
                              : 1;
}

// Rows of `b` are those of `a`, as they are or with -0 for 0, or differ by the least in the first, the last or any
// value.
void fill(Matrix& a, Matrix& b) {
  const std::int32_t dtype = a.view().dtype;
  const std::int64_t n = a.view().rows, d = a.view().cols;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t differs = i % 5 == 1 ? 0 : i % 5 == 2 ? d - 1 : i % 5 == 3 ? below(d) : -1;
    for (std::int64_t t = 0; t < d; ++t) {
      const double x = large(dtype) + static_cast<double>(t == differs ? 0 : below(3));
      a.put(i, t, x);
      b.put(i, t, t == differs ? x + smallest(dtype) : x == 0 && i % 2 == 0 && is_float(dtype) ? -0.0 : x);
    }
  }
  a.upload();
  b.upload();
}

void comparisons() {
  const std::int64_t n = 61;
  for (const std::int32_t dtype : kRowTypes)
    for (const std::int64_t d : {1, 2, 31, 32, 33, 64, 257})
      for (std::size_t way = 0; way < 5; ++way) {
        if (small_run() && static_cast<std::int64_t>(way) != d % 5) continue;
        Matrix a(dtype, n, d, layouts(n, d)[way]), b(dtype, n, d, layouts(n, d)[(way + 2) % 5]);
        fill(a, b);
        for (const std::int64_t count : {0, 1, 8, 9, 500}) {
          std::vector<std::int64_t> of_a, of_b;
          for (std::int64_t i = 0; i < count; ++i) {
            of_a.push_back(i < n ? n - 1 - i : below(n));
            of_b.push_back(below(8) == 0 ? below(n) : of_a.back());
          }
          std::vector<std::uint8_t> same(static_cast<std::size_t>(count) + 1, 7);
          const knng_backend_matrix matrices[] = {b.there(), a.there()};
          std::vector<knng_backend_pair> pairs;
          for (std::size_t i = 0; i < of_a.size(); ++i) pairs.push_back({1, of_a[i], 0, of_b[i]});
          libknng::cuda::compare(matrices, pairs, same.data());
          bool right = same.back() == 7;
          for (std::int64_t i = 0; i < count; ++i) {
            const auto e = static_cast<std::size_t>(i);
            right = right && same[e] == (a.row(of_a[e]) == b.row(of_b[e]));
          }
          expect(right, "%s x %lld, layout %zu: %lld pairs are compared otherwise", libknng::dtype_name(dtype),
                 static_cast<long long>(d), way, static_cast<long long>(count));
        }
      }
}

// Values at the edges of what rows may have, in some places of a matrix.
void validity() {
  struct Case {
    std::int32_t dtype;
    std::uint64_t good, bad;
  };
  constexpr std::uint64_t kEdge = std::uint64_t{1} << 53;
  const Case cases[] = {{KNNG_I64, kEdge, kEdge + 1},
                        {KNNG_I64, ~kEdge + 1, ~kEdge},
                        {KNNG_I64, 0, std::uint64_t{1} << 63},
                        {KNNG_U64, kEdge, kEdge + 1},
                        {KNNG_U64, 1, std::uint64_t{1} << 63},
                        {KNNG_U64, 1, ~std::uint64_t{0}},
                        {KNNG_BOOL, 1, 2},
                        {KNNG_BOOL, 0, 255},
                        {KNNG_F64, 0x7fefffffffffffff, 0x7ff0000000000000},
                        {KNNG_F32, 0x7f7fffff, 0x7fc00000},
                        {KNNG_F16, 0x7bff, 0xfc00},
                        {KNNG_BF16, 0x7f7f, 0x7f80}};
  const std::int64_t n = 37, d = 41;
  for (const Case& c : cases)
    for (std::size_t way = 0; way < 5; ++way) {
      Matrix m(c.dtype, n, d, layouts(n, d)[way]);
      const auto set = [&](std::int64_t i, std::int64_t t, std::uint64_t bits) {
        std::memcpy(m.at(i, t), &bits, static_cast<std::size_t>(libknng::dtype_bytes(c.dtype)));
      };
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t t = 0; t < d; ++t) set(i, t, (i + t) % 3 ? c.good : 0);
      m.upload();
      std::vector<std::uint64_t> hashes(static_cast<std::size_t>(n));
      const libknng::cuda::Inspected none = libknng::cuda::inspect(m.there(), hashes.data());
      for (std::int64_t i = 0; i < n; ++i)
        expect(hashes[static_cast<std::size_t>(i)] == libknng::row_hash(m.row(i).data(), d),
               "%s, layout %zu: hash of row %lld", libknng::dtype_name(c.dtype), way, static_cast<long long>(i));
      expect(none.invalid_row == -1, "%s, layout %zu: what is valid was refused at row %lld",
             libknng::dtype_name(c.dtype), way, static_cast<long long>(none.invalid_row));
      set(30, 0, c.bad);
      set(29, d - 1, c.bad);
      set(29, 33, c.bad);
      m.upload();
      const libknng::cuda::Inspected first = libknng::cuda::inspect(m.there(), nullptr);
      expect(first.invalid_row == 29 && first.invalid_column == 33, "%s, layout %zu: first invalid at %lld, %lld",
             libknng::dtype_name(c.dtype), way, static_cast<long long>(first.invalid_row),
             static_cast<long long>(first.invalid_column));
    }
  // Those of which every value is valid.
  for (const std::int32_t dtype : {KNNG_U8, KNNG_I8, KNNG_U16, KNNG_I16, KNNG_U32, KNNG_I32}) {
    Matrix m(dtype, n, d, layouts(n, d)[0]);
    for (std::int64_t i = 0; i < n; ++i)
      std::memset(m.at(i, 0), 0xff, static_cast<std::size_t>(libknng::dtype_bytes(dtype)));
    m.upload();
    expect(libknng::cuda::inspect(m.there(), nullptr).invalid_row == -1, "%s was refused", libknng::dtype_name(dtype));
  }
}

// More rows than hashes go to the host at a time.
void hashes_of_many_rows() {
  const std::int64_t n = (std::int64_t{1} << 20) + 77;
  Matrix m(KNNG_F32, n, 1, layouts(n, 1)[0]);
  for (std::int64_t i = 0; i < n; ++i) m.put(i, 0, static_cast<double>(i));
  m.upload();
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(n));
  expect(libknng::cuda::inspect(m.there(), hashes.data()).invalid_row == -1, "many rows: one was refused");
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < n; ++i)
    wrong += hashes[static_cast<std::size_t>(i)] != libknng::row_hash(m.row(i).data(), 1);
  expect(wrong == 0, "many rows: %lld hashes are wrong", static_cast<long long>(wrong));
}

void directions() {
  using libknng::Transform;
  const std::int64_t n = 64;
  std::vector<std::int64_t> listed;
  for (std::int64_t i = 0; i < 150; ++i) listed.push_back(i < n ? i : below(n));
  for (const std::int32_t dtype : kRowTypes)
    for (const std::int64_t d : {1, 2, 32, 33, 100})
      for (std::size_t way = 0; way < 5; ++way) {
        if (small_run() && static_cast<std::int64_t>(way) != d % 5) continue;
        Matrix m(dtype, n, d, layouts(n, d)[way]);
        for (std::int64_t i = 0; i < n; ++i) {
          const double of_row = static_cast<double>(i % 3);
          const std::int64_t differs = i % 8 == 5 ? 0 : i % 8 == 6 ? d - 1 : i % 8 == 7 ? below(d) : -1;
          for (std::int64_t t = 0; t < d; ++t) {
            const double x = of_row == 0 && t % 2 == 1 && is_float(dtype) ? -0.0 : of_row;
            m.put(i, t, t == differs ? (of_row == 0 ? smallest(dtype) : 3) : x);
          }
        }
        m.upload();
        for (const Transform transform :
             {Transform::identity, Transform::unit, Transform::centred_unit, Transform::rank_unit, Transform::share}) {
          std::vector<std::uint8_t> without(listed.size() + 1, 7);
          libknng::cuda::without_direction(m.there(), transform, listed, without.data());
          bool right = without.back() == 7;
          for (std::size_t i = 0; i < listed.size(); ++i)
            right = right && without[i] == libknng::has_no_direction(transform, m.row(listed[i]));
          expect(right, "%s x %lld, layout %zu, transform %d: other rows without direction", libknng::dtype_name(dtype),
                 static_cast<long long>(d), way, static_cast<int>(transform));
        }
      }
}

// What pack() has to make: the elements of rows, as they are or as bytes.
std::vector<std::byte> packed_on_host(Matrix& m, std::int32_t dtype, const std::vector<std::int64_t>& rows) {
  const std::int64_t width = libknng::dtype_bytes(dtype), d = m.view().cols;
  std::vector<std::byte> packed(rows.size() * static_cast<std::size_t>(d * width));
  std::byte* to = packed.data();
  for (const std::int64_t i : rows) {
    const std::vector<double> row = m.row(i);
    for (std::int64_t t = 0; t < d; ++t, to += width)
      if (dtype == m.view().dtype)
        std::memcpy(to, m.at(i, t), static_cast<std::size_t>(width));
      else  // a byte's bits are those of its number
        *to = static_cast<std::byte>(static_cast<int>(row[static_cast<std::size_t>(t)]));
  }
  return packed;
}

void expect_packed(Matrix& m, std::int32_t dtype, std::int64_t first, const std::vector<std::int64_t>& rows,
                   const std::int64_t* listed, std::size_t way) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const knng_backend_piece piece{0, m.view().rows, m.there(), listed, 7};
  gpu::Array<std::byte> there(count * m.view().cols * libknng::dtype_bytes(dtype));
  libknng::cuda::pack(piece, dtype, first, count, there.get(), nullptr);
  check(cudaStreamSynchronize(nullptr));
  expect(there.values() == packed_on_host(m, dtype, rows), "%s to %s, %lld x %lld of layout %zu%s: packed otherwise",
         libknng::dtype_name(m.view().dtype), libknng::dtype_name(dtype), static_cast<long long>(count),
         static_cast<long long>(m.view().cols), way, listed ? ", listed" : "");
}

// Rows one after the other, and as a list names them; as they are, and as bytes.
void packing() {
  for (const std::int32_t dtype : kRowTypes)
    for (const std::int64_t n : {1, 33, 300, 1100})
      for (const std::int64_t d : {1, 2, 15, 16, 17, 31, 32, 33, 260})
        for (std::size_t way = 0; way < 5; ++way) {
          if (small_run() && (n * d > 20000 || static_cast<std::int64_t>(way) != (n + d) % 5)) continue;
          Matrix m(dtype, n, d, layouts(n, d)[way]);
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t t = 0; t < d; ++t) m.put(i, t, static_cast<double>(below(dtype == KNNG_BOOL ? 2 : 128)));
          m.upload();
          const std::int64_t first = n / 3;
          std::vector<std::int64_t> rows, listed(static_cast<std::size_t>(first), 7);
          for (std::int64_t i = first; i < n; ++i) rows.push_back(i);
          expect_packed(m, dtype, first, rows, nullptr, way);
          expect_packed(m, KNNG_U8, first, rows, nullptr, way);
          for (auto& row : rows) listed.push_back(7 + (row = below(n)));
          expect_packed(m, dtype, first, rows, listed.data(), way);
          if (dtype != KNNG_BOOL) expect_packed(m, KNNG_I8, first, rows, listed.data(), way);
        }
}

// Packed elements on the host, on device 0, or on another device if there is one.
template <class From>
class Packed {
 public:
  Packed(const std::vector<From>& elements, int where) : host_(elements) {
    if (where < 0) return;
    check(cudaSetDevice(where));
    check(cudaMalloc(&device_, elements.size() * sizeof(From)));
    gpu::copy(device_, elements.data(), elements.size() * sizeof(From));
    check(cudaDeviceSynchronize());
    check(cudaSetDevice(0));
  }
  ~Packed() { cudaFree(device_); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  const void* get() const { return device_ ? device_ : host_.data(); }

 private:
  const std::vector<From>& host_;
  void* device_ = nullptr;
};

// make(element, narrowed): what the host does.
template <class To, class From, class Make>
void stored(std::int32_t dtype, std::int32_t from_dtype, const std::vector<From>& elements, std::int64_t n,
            std::int64_t d, std::int64_t base, Make&& make, const char* what) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  for (int where = -1; where < std::min(devices, 2); ++where) {
    const Packed<From> packed(elements, where);
    for (const Layout& l : layouts(n, d)) {
      Matrix m(dtype, n, d, l);
      m.upload();
      std::int64_t unfit = -1;
      for (std::int64_t e = 0; e < n * d; ++e) {
        To narrowed{};
        if (make(elements[static_cast<std::size_t>(e)], narrowed))
          std::memcpy(m.at(e / d, e % d), &narrowed, sizeof narrowed);
        else if (unfit < 0)
          unfit = e;
      }
      const std::int64_t got = libknng::cuda::store(m.there(), from_dtype, packed.get(), base);
      expect(got == unfit, "%s to %s from %d: element %lld does not fit instead of %lld", what,
             libknng::dtype_name(dtype), where, static_cast<long long>(got), static_cast<long long>(unfit));
      expect(m.is_as_on_host(), "%s to %s from %d, row stride %lld: other elements", what, libknng::dtype_name(dtype),
             where, static_cast<long long>(l.row_stride));
    }
  }
}

void ids_of(const std::vector<std::int64_t>& ids, std::int64_t n, std::int64_t d, const char* what) {
  for (const std::int32_t dtype : {KNNG_I16, KNNG_U16, KNNG_I32, KNNG_I64})
    for (const std::int64_t base : {0, 1})
      libknng::visit_id_dtype(dtype, [&]<class T>(T*) {
        stored<T>(
            dtype, KNNG_I64, ids, n, d, base,
            [&](std::int64_t id, T& out) { return libknng::narrow_id(id + base, out); }, what);
      });
}

template <class From>
void values_of(std::int32_t from_dtype, const std::vector<From>& values, std::int64_t n, std::int64_t d,
               const char* what) {
  for (const std::int32_t dtype : {KNNG_F64, KNNG_F32, KNNG_F16, KNNG_BF16})
    libknng::visit_value_dtype(dtype, [&]<class T>(T*) {
      stored<T>(
          dtype, from_dtype, values, n, d, 0,
          [](From x, T& out) { return libknng::narrow_value(static_cast<double>(x), out); }, what);
    });
}

void conversions() {
  // All fit; then some are beyond each type's limit, in several places.
  const std::int64_t n = small_run() ? 37 : 2011, d = 23;
  std::vector<std::int64_t> ids(static_cast<std::size_t>(n * d));
  for (auto& id : ids) id = below(32767);
  ids_of(ids, n, d, "ids");
  for (const std::int64_t columns : {std::int64_t{1}, std::int64_t{16}, std::int64_t{17}, std::int64_t{33}, n})
    ids_of(ids, n * d / columns, columns, "ids of other widths");
  for (const std::int64_t edge :
       {std::int64_t{-1}, std::int64_t{-2}, std::int64_t{32766}, std::int64_t{32767}, std::int64_t{32768},
        std::int64_t{65534}, std::int64_t{65535}, std::int64_t{65536}, std::int64_t{INT32_MAX} - 1,
        std::int64_t{INT32_MAX}, std::int64_t{INT32_MAX} + 1, std::int64_t{1} << 40, INT64_MAX - 1})
    ids[static_cast<std::size_t>(n * d / 2 + below(n * d / 2))] = edge;
  ids_of(ids, n, d, "some ids too large");
  // Any bits but NaN, and bits about every type's range.
  std::vector<double> wide(ids.size()), near(ids.size());
  std::vector<float> single(ids.size());
  for (std::size_t e = 0; e < ids.size(); ++e) {
    const std::uint64_t bits = random_bits();
    std::memcpy(&wide[e], &bits, sizeof bits);
    if (std::isnan(wide[e])) wide[e] = kInfinity;
    // Halfway between neighbours of the narrow types, or just beside.
    const double steps = static_cast<double>(2048 + below(4096)) + (below(2) ? 0.5 : 0.25);
    near[e] = std::ldexp(steps + static_cast<double>(below(3) - 1) * 0x1p-38, static_cast<int>(below(300)) - 170);
    const auto lower = static_cast<std::uint32_t>(bits);
    std::memcpy(&single[e], &lower, sizeof lower);
    if (std::isnan(single[e])) single[e] = -std::numeric_limits<float>::infinity();
  }
  const double edges[] = {0.0,        -0.0,           65504,       65519.999,         65520,     -65520,
                          0x1.fep127, 0x1.fefffep127, 0x1.ffp127,  0x1.fffffep127,    1e300,     -1e300,
                          0x1p-24,    0x1p-25,        0x1.8p-25,   0x1.000001p-25,    0x1p-133,  0x1p-134,
                          0x1.8p-134, 0x1p-149,       0x1p-150,    0x1.8p-150,        0x1p-1074, kInfinity,
                          -kInfinity, 0x1p-14,        0x1.ffcp-15, 0x1.fffffefffp127, 0x1p-126,  0x1.fffp-127,
                          0x1p-1022,  0x1.ffp15,      0x1.ffdp15,  0x1.fffffeffffp127};
  std::copy(std::begin(edges), std::end(edges), near.end() - std::size(edges));
  values_of(KNNG_F64, wide, n, d, "any fp64");
  values_of(KNNG_F64, near, n, d, "fp64 about halves");
  values_of(KNNG_F32, single, n, d, "any fp32");
  std::sort(near.begin(), near.end(), [](double a, double b) { return std::fabs(a) < std::fabs(b); });
  values_of(KNNG_F64, near, n, d, "fp64, the small first");
  if (small_run()) return;
  // More than a block of what comes from the host.
  const std::int64_t many = 700001;
  ids.resize(static_cast<std::size_t>(many * 3));
  for (auto& id : ids) id = below(32767);
  ids[static_cast<std::size_t>(many * 3 - 1)] = INT64_MAX - 1;
  ids[static_cast<std::size_t>(many * 3 - 5)] = 40000;
  ids_of(ids, many, 3, "many ids");
}

}  // namespace

int main() {
  gpu::need_device();
  comparisons();
  validity();
  hashes_of_many_rows();
  directions();
  packing();
  conversions();
  return gpu::result();
}
