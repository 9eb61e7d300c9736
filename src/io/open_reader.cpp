// Which reader a file name asks for, in small letters or capitals: the one table of formats of row files. `.gz` is
// taken off first.
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/letter_case.h"
#include "io/bin.h"
#include "io/file.h"
#include "io/gz.h"
#include "io/hdf5.h"
#include "io/idx.h"
#include "io/npy.h"
#include "io/reader.h"
#include "io/text_table.h"
#include "io/vecs.h"

namespace libknng {
namespace {

// monitor: told, and may stop it, where opening takes long; or nullptr.
using Open = std::unique_ptr<RowReader>(std::unique_ptr<Source> source, Monitor* monitor);

// Where the first bytes tell everything.
template <std::unique_ptr<RowReader> (*open)(std::unique_ptr<Source>)>
std::unique_ptr<RowReader> at_once(std::unique_ptr<Source> source, Monitor*) {
  return open(std::move(source));
}
std::unique_ptr<RowReader> csv(std::unique_ptr<Source> source, Monitor* m) { return open_csv(std::move(source), m); }
std::unique_ptr<RowReader> tsv(std::unique_ptr<Source> source, Monitor* m) { return open_tsv(std::move(source), m); }

struct RowFormat {
  std::string_view suffix;
  Open* open;
  bool packed;  // may have .gz behind it; the others take the number of rows from the size of the file
};

constexpr RowFormat kFormats[] = {
    {".npy", &at_once<&open_npy>, true},
    {"-ubyte", &at_once<&open_idx>, true},
    {".idx", &at_once<&open_idx>, true},
    {".fvecs", &at_once<&open_fvecs>, false},
    {".bvecs", &at_once<&open_bvecs>, false},
    {".ivecs", &at_once<&open_ivecs>, false},
    {".fbin", &at_once<&open_fbin>, false},
    {".u8bin", &at_once<&open_u8bin>, false},
    {".i8bin", &at_once<&open_i8bin>, false},
    {".ibin", &at_once<&open_ibin>, false},
    {".csv", &csv, true},
    {".tsv", &tsv, true},
    {".tab", &tsv, true},
};

// Formats that people will try, so that the answer names them.
struct OtherFormat {
  std::string_view suffix;
  const char* what;
};
constexpr OtherFormat kOthers[] = {
    {".txt", "text of this name (call it .csv or .tsv if it is a table)"},
    {".mtx", "Matrix Market files"},
    {".npz", "rows in .npz archives (save the array as .npy)"},
    {".knng", "rows in graph files (.knng holds neighbours)"},
};

constexpr char kUnpack[] = "this format is not read through .gz, unpack it first";

[[noreturn]] void fail_unread(const std::string& path, const std::string& why) {
  std::string suffixes, packed;
  for (const RowFormat& f : kFormats) {
    suffixes.append(suffixes.empty() ? "" : " ").append(f.suffix);
    if (f.packed) packed.append(" ").append(f.suffix).append(".gz");
  }
  fail(KNNG_ERR_UNSUPPORTED, "path", "cannot read %s: %s; files that are read end in one of %s%s %s",
       shown(path).c_str(), why.c_str(), suffixes.c_str(), packed.c_str(), kHdf5Suffixes);
}

std::unique_ptr<RowReader> open_by_name(const std::string& path, Young young, Monitor* monitor) {
  // These have names in the file behind them, which may end in anything.
  if (const auto name = hdf5_name(path)) return open_hdf5(*name, young, monitor);
  constexpr std::string_view kGz = ".gz";
  const bool packed = has_suffix(path, kGz);
  const std::string_view name = std::string_view(path).substr(0, path.size() - (packed ? kGz.size() : 0));
  for (const RowFormat& f : kFormats) {
    if (!has_suffix(name, f.suffix)) continue;
    if (packed && !f.packed) fail_unread(path, kUnpack);
    // What is packed has a checksum.
    return f.open(packed ? open_gz(path) : open_plain(path, young, monitor), monitor);
  }
  if (packed && hdf5_name(name)) fail_unread(path, kUnpack);
  for (const OtherFormat& other : kOthers)
    if (has_suffix(name, other.suffix)) fail_unread(path, std::string("this version does not read ") + other.what);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) open_plain(path);  // says so
  fail_unread(path, "its name tells no format");
}

}  // namespace

std::unique_ptr<RowReader> open_reader(const std::string& path, Young young, Monitor* monitor) {
  std::unique_ptr<RowReader> reader = open_by_name(path, young, monitor);
  std::int64_t rows = reader->rows(), cols = reader->cols();
  if (reader->turned()) std::swap(rows, cols);
  if (rows < 1 || cols < 1)
    fail(KNNG_ERR_RANGE, "path", {.given = rows < 1 ? rows : cols, .limit = 1},
         "%s has %lld rows of %lld columns; both must be at least 1", shown(path).c_str(), static_cast<long long>(rows),
         static_cast<long long>(cols));
  return reader;
}

}  // namespace libknng
