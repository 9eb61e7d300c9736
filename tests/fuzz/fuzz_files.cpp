// Fuzzing of everything that is read from files. With clang: -fsanitize=fuzzer finds LLVMFuzzerTestOneInput(). Without:
// the small driver below mutates valid files, the same way for the same seed.
//   fuzz_files [iterations [seed]]      fuzz_files FILE   (one input, as a fuzzer writes it down)
// An input is one byte that picks the format, and then the file's bytes. What a reader gives back must hold together;
// anything but an Error of the library ends the program.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#ifdef KNNG_FUZZ_HDF5
#include "harness/hdf5_writer.h"
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/checked.h"
#include "core/dtype.h"
#include "core/error.h"
#include "graph/import.h"
#include "io/file.h"
#include "io/graph_facts.h"
#include "io/graph_file.h"
#include "io/reader.h"
#include "io/text_table.h"

using namespace libknng;

namespace {

// The directory of the files; they are made anew for each input.
const std::string& directory() {
  static const std::string path = [] {
    std::string made = "/tmp/knng-fuzz-XXXXXX";
    if (::access("/dev/shm", W_OK) == 0) made = "/dev/shm/knng-fuzz-XXXXXX";
    if (!::mkdtemp(made.data())) std::abort();
    return made;
  }();
  return path;
}

struct Format {
  const char* name;
  bool graph;
  bool sealed;  // gets the right checksum, so that more than the checksum is tested
};
constexpr std::array kFormats = {
    Format{"x.npy", false, false},      Format{"x.npy.gz", false, false}, Format{"x.idx", false, false},
    Format{"x-ubyte.gz", false, false}, Format{"x.fvecs", false, false},  Format{"x.bvecs", false, false},
    Format{"x.fbin", false, false},     Format{"x.u8bin", false, false},  Format{"x.i8bin", false, false},
    Format{"x.ivecs", false, false},    Format{"x.ibin", false, false},   Format{"x.knng", true, false},
    Format{"y.knng", true, true},       Format{"x.npz", true, false},     Format{"x.csv", false, false},
    Format{"x.tsv", false, false},
#ifdef KNNG_FUZZ_HDF5
    Format{"x.h5", false, false},       Format{"y.h5", false, false},     Format{"x.h5ad", false, false},
    Format{"y.h5ad", false, false},     Format{"z.h5ad", false, false},   Format{"z.h5", false, false},
    Format{"u.h5ad", false, false},     Format{"v.h5ad", false, false},
#endif
};

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_files: %s\n", what);
  std::abort();
}

void read_all_rows(const std::string& path) {
  const auto reader = open_reader(path);
  // Of sparse rows nothing tells how many columns of zeros are too many.
  const std::string form = reader->taken().form;
  if ((form == "csr" || form == "csc" || form == "10x") && reader->cols() > 10000) return;
  const std::int64_t row_bytes = checked_mul(reader->cols(), checked_dtype_bytes(reader->dtype(), "dtype"), "cols");
  // What a small file claims must have been refused before this memory is asked for: deflate makes at most 1032 of 1.
  require(checked_mul(row_bytes, reader->rows(), "rows") < std::int64_t{64} << 20, "a size that cannot be true");
  std::vector<std::byte> rows(static_cast<std::size_t>(row_bytes * reader->rows()));
  const std::int64_t first = reader->rows() / 3;
  if (first > 0) reader->read(first, rows.data());
  reader->read(reader->rows() - first, rows.data() + first * row_bytes);
  reader->finish();
}

bool is_hdf5(std::string_view name) { return name.find(".h5") != std::string_view::npos; }
bool is_text(const char* name) { return std::string_view(name).ends_with("sv"); }

// In blocks so small that everything lies across the border of two, the same comes of it.
void read_text_in_pieces(const std::string& path, const std::string& failure) {
  std::string found;
  try {
    const auto reader = (path.ends_with(".csv") ? &open_csv : &open_tsv)(open_plain(path), nullptr, 5);
    std::vector<double> row(static_cast<std::size_t>(reader->cols()));
    for (std::int64_t i = 0; i < reader->rows(); ++i) {
      reader->read(1, reinterpret_cast<std::byte*>(row.data()));
      require(std::all_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); }), "no finite number");
    }
    reader->finish();
  } catch (const Error& e) {
    found = e.what();
  }
  require(found == failure, found.c_str());
}

void read_graph(const std::string& path) {
  const Graph g = load_graph(path);
  require(graph_objection(g).text.empty(), "a graph that does not hold together");
  require(g.entries() == g.rows * g.width && g.ties.size() == g.rows && g.proof.size() == g.rows, "wrong sizes");
}

void write(const std::string& path, const void* data, std::size_t bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  require(file && std::fwrite(data, 1, bytes, file) == bytes && std::fclose(file) == 0, "cannot write the input");
}

std::string bytes_of(auto x) { return std::string(reinterpret_cast<const char*>(&x), sizeof x); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Format& format = kFormats[data[0] % kFormats.size()];
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (format.sealed && file.size() >= 32) {
    file.replace(24, 8, std::string(8, '\0'));
    file.replace(24, 8, bytes_of(static_cast<std::uint64_t>(XXH3_64bits(file.data(), file.size()))));
  }
  const std::string path = directory() + "/" + format.name;
  write(path, file.data(), file.size());
  std::string failure;
  try {
    format.graph ? read_graph(path) : read_all_rows(path);
  } catch (const Error& e) {
    require(e.code() == KNNG_ERR_FORMAT || e.code() == KNNG_ERR_UNSUPPORTED || e.code() == KNNG_ERR_RANGE ||
                (e.code() == KNNG_ERR_DATA && is_text(format.name)) ||
                (e.code() == KNNG_ERR_MEMORY && is_hdf5(format.name)),  // libhdf5 asks for what a file claims
            e.what());
    failure = e.what();
  }
  if (is_text(format.name)) read_text_in_pieces(path, failure);
  ::unlink(path.c_str());
  return 0;
}

#ifndef KNNG_LIBFUZZER

namespace {

std::string npy(const char* dictionary, const std::string& items) {
  const std::string text = std::string(dictionary) + "\n";
  return std::string("\x93NUMPY\1\0", 8) + bytes_of(static_cast<std::uint16_t>(text.size())) + text + items;
}

std::string content(const std::string& path) {
  const File file(path);
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, reinterpret_cast<std::byte*>(bytes.data()), file.size());
  ::unlink(path.c_str());
  return bytes;
}

// Deflated .gz files, unlike what stored blocks made here would be.
#include "fuzz/packed_seeds.inc"

#ifdef KNNG_FUZZ_HDF5
using Version = hdf5::Writer::Version;
const std::string kItems(60 * sizeof(float), '\x3f');

template <class Fill>
std::string hdf5_file(Version version, Fill&& fill) {
  const std::string path = directory() + "/seed.h5";
  {
    const hdf5::Writer file(path, version);
    fill(file);
  }
  return content(path);
}

std::string dense_file(Version version) {
  return hdf5_file(version, [](const hdf5::Writer& file) {
    file.add("a/x", {20, 3}, H5T_IEEE_F32LE, kItems, {.chunk = {6, 2}, .gzip = 6, .shuffle = true});
    file.add("line", {60}, H5T_IEEE_F32LE, kItems);
  });
}

// Without an encoding it is a matrix as 10x Genomics has it.
std::string sparse_file(Version version, const char* encoding) {
  return hdf5_file(version, [&](const hdf5::Writer& file) {
    const std::string group = encoding ? "X" : "matrix";
    file.group(group);
    if (encoding) {
      file.text(group, "encoding-type", encoding);
      file.integers(group, "shape", {3, 3});
    } else {
      file.add(group + "/shape", {2}, H5T_STD_I32LE, bytes_of(std::int32_t{3}) + bytes_of(std::int32_t{3}));
      file.add(group + "/barcodes", {3}, H5T_STD_U8LE, "abc");
    }
    file.add(group + "/data", {4}, H5T_IEEE_F32LE, kItems);
    file.add(group + "/indices", {4}, H5T_STD_I32BE, std::string("\0\0\0\1\0\0\0\2\0\0\0\2\0\0\0\1", 16),
             {.chunk = {2}});
    file.add(group + "/indptr", {4}, H5T_STD_U8LE, std::string("\0\2\3\4", 4));
  });
}

// Records, as AnnData before 0.7 has them.
std::string record_file(Version version, const hdf5::Storage& storage) {
  return hdf5_file(version, [&](const hdf5::Writer& file) {
    const hsize_t items = 3;
    const hid_t type = hdf5::good(H5Tcreate(H5T_COMPOUND, 16));
    hdf5::must(H5Tinsert(type, "n", 0, H5T_STD_I32LE));
    hdf5::must(H5Tinsert(type, "X_pca", 4, hdf5::good(H5Tarray_create2(H5T_IEEE_F32LE, 1, &items))));
    file.add("obsm", {15}, type, kItems, storage);
    file.add("X", {20, 3}, H5T_IEEE_F32LE, kItems);
  });
}
#endif

// One valid file of each format, in the order of kFormats.
std::vector<std::string> seeds() {
  const std::int64_t ids[] = {1, 2, 2, 0, -1, 1};
  const float values[] = {0.5f, 1, 1, 2, HUGE_VALF, 3};
  const auto view = [](std::int32_t dtype, const void* data) {
    return MatrixView{dtype, 3, 2, 2, 1, static_cast<const std::byte*>(data)};
  };
  const MatrixView value_view = view(KNNG_F32, values);
  const Graph g = import_graph(view(KNNG_I64, ids), &value_view);
  const std::string knng = directory() + "/seed.knng", npz = directory() + "/seed.npz";
  save_graph(g, knng, nullptr);
  save_graph(g, npz, nullptr);
  const std::string rows24(24, '\x3f'), sizes32 = bytes_of(std::uint32_t{2}) + bytes_of(std::uint32_t{3});
  const std::string idx = std::string("\0\0\x08\x03\0\0\0\2\0\0\0\2\0\0\0\3", 16) + "abcdefghijkl";
  const std::string fvec = bytes_of(std::int32_t{3}) + rows24.substr(0, 12);
  const std::string bvec = bytes_of(std::int32_t{3}) + "abc";
  const std::string graph_file = content(knng);
  return {
      npy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }", rows24),
      std::string(reinterpret_cast<const char*>(kNpyGz), sizeof kNpyGz),
      idx,
      std::string(reinterpret_cast<const char*>(kIdxGz), sizeof kIdxGz),
      fvec + fvec,
      bvec + bvec + bvec,
      sizes32 + rows24,
      bytes_of(std::uint64_t{2}) + bytes_of(std::uint64_t{3}) + "abcdef",
      sizes32 + "abcdef",
      fvec + fvec,
      sizes32 + rows24,
      graph_file,
      graph_file,
      content(npz),
      "\xef\xbb\xbf,a,\"b, c\"\r\nr1,1.5,-2e3\r\n\"r \"\"2\"\"\", +3 ,\"4\"\r\n\r\n",
      "1\t2.25\n-3\t4e-320\n5\t6",
#ifdef KNNG_FUZZ_HDF5
      dense_file(Version::earliest),
      dense_file(Version::latest),
      sparse_file(Version::latest, "csr_matrix"),
      sparse_file(Version::earliest, "csr_matrix"),
      sparse_file(Version::earliest, "csc_matrix"),
      sparse_file(Version::earliest, nullptr),
      record_file(Version::earliest, {}),
      record_file(Version::latest, {.chunk = {4}, .gzip = 6}),
#endif
  };
}

// Numbers that break arithmetic on sizes.
constexpr std::int64_t kNasty[] = {0,
                                   1,
                                   -1,
                                   -8,
                                   8,
                                   63,
                                   64,
                                   65,
                                   127,
                                   255,
                                   256,
                                   65535,
                                   INT32_MAX,
                                   INT32_MIN,
                                   INT64_MAX,
                                   INT64_MIN,
                                   std::int64_t{1} << 32,
                                   std::int64_t{1} << 61,
                                   std::int64_t{1} << 62};

std::string mutated(std::string file, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1)); };
  for (std::size_t change = 0, changes = 1 + below(4); change < changes && !file.empty(); ++change) {
    const std::size_t at = below(file.size());
    switch (below(8)) {
      case 0: file[at] = static_cast<char>(random()); break;
      case 1: file[at] = static_cast<char>(file[at] ^ 1 << below(8)); break;
      case 2: file.resize(at); break;
      case 3: file.insert(at, file.substr(below(file.size()), below(40))); break;
      case 4: file.erase(at, below(20)); break;
      case 5: file[at] = "0123456789(),{}'<>|fiu8 TL-.;\"\t\r\nNA+e"[below(37)]; break;
      default: {  // a number at an aligned place, wide or narrow
        const std::string number = bytes_of(kNasty[below(std::size(kNasty))]);
        const std::size_t width = std::size_t{1} << below(4);
        const std::size_t place = at / width * width;
        file.replace(place, std::min(width, file.size() - place), number.substr(0, width));
      }
    }
  }
  return file;
}

void run(char format, const std::string& file) {
  const std::string input = format + file;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && ::access(argv[1], R_OK) == 0) {
      const File file(argv[1]);
      std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
      file.read(0, bytes.data(), file.size());
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    } else {
      const long iterations = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 20000;
      const unsigned long long seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
      const std::vector<std::string> valid = seeds();
      require(valid.size() == kFormats.size(), "one seed for each format");
      for (std::size_t f = 0; f < valid.size(); ++f) {
        const std::string path = directory() + "/" + kFormats[f].name;
        write(path, valid[f].data(), valid[f].size());
        kFormats[f].graph ? read_graph(path) : read_all_rows(path);  // a seed that is refused would test nothing
      }
      std::mt19937_64 random(seed);
      for (long i = 0; i < iterations; ++i) {
        const std::size_t f = static_cast<std::size_t>(i) % valid.size();
        run(static_cast<char>(f), mutated(valid[f], random));
      }
      std::printf("%ld inputs from seed %llu, %zu formats\n", iterations, seed, kFormats.size());
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fuzz_files: %s\n", e.what());
    return 1;
  }
  for (const Format& format : kFormats) ::unlink((directory() + "/" + format.name).c_str());
  ::rmdir(directory().c_str());
  return 0;
}

#endif  // KNNG_LIBFUZZER
