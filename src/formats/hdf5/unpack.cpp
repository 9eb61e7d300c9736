#include "formats/hdf5/unpack.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace knng_hdf5 {
namespace {

constexpr H5Z_filter_t kLzf = 32000;
constexpr std::size_t kSumBytes = 4;

bool known(H5Z_filter_t filter) noexcept {
  return filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32 ||
         filter == kLzf;
}

// Fletcher's sum over big-endian words of 16 bits, as libhdf5 has it (H5checksum.c).
std::uint32_t fletcher32(const std::byte* data, std::size_t bytes) noexcept {
  constexpr std::size_t kTogether = 360;  // words whose sums fit 32 bits
  std::uint32_t low = 0, high = 0;
  const auto fold = [](std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(data[i]); };
  const std::size_t words = bytes / 2;
  for (std::size_t first = 0; first < words; first += kTogether) {
    for (std::size_t word = first; word < std::min(first + kTogether, words); ++word) {
      low += byte(2 * word) << 8 | byte(2 * word + 1);
      high += low;
    }
    low = fold(low);
    high = fold(high);
  }
  if (bytes % 2 != 0) {
    low += byte(bytes - 1) << 8;
    high += low;
    low = fold(low);
    high = fold(high);
  }
  return fold(high) << 16 | fold(low);
}

}  // namespace

Unpacker::Unpacker(const Id& creation, std::int64_t chunk_bytes, std::string name)
    : chunk_bytes_(chunk_bytes), name_(std::move(name)) {
  const int count = checked(::H5Pget_nfilters(creation.get()), name_ + ": its filters cannot be read");
  // Chunks that are not filled may be left as they are, and say nothing of it.
  unsigned options = 0;
  checked(::H5Pget_chunk_opts(creation.get(), &options), name_ + ": its filters cannot be read");
  knows_ = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0;
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, configuration = 0;
    std::array<unsigned, 4> values{};
    std::size_t value_count = values.size();
    std::array<char, 128> text{};
    const H5Z_filter_t filter = checked(::H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags, &value_count,
                                                         values.data(), text.size() - 1, text.data(), &configuration),
                                        name_ + ": its filters cannot be read");
    steps_.push_back({filter, filter == H5Z_FILTER_SHUFFLE && value_count > 0 ? values[0] : 1});
    if (known(filter)) continue;
    knows_ = false;
    if (missing_.empty() && ::H5Zfilter_avail(filter) <= 0)
      missing_ = "filter " + std::to_string(filter) + (text[0] ? std::string(" (") + text.data() + ")" : "");
  }
}

std::byte* Unpacker::packed(std::uint64_t bytes) {
  // What cannot be packed becomes little longer.
  const auto most = static_cast<std::uint64_t>(chunk_bytes_) * 5 / 4 + 1024;
  if (bytes == 0 || bytes > most) fail_damaged("its size is none of a packed chunk");
  data_.resize(bytes);
  return data_.data();
}

const std::byte* Unpacker::unpack(std::uint32_t left_out) {
  const auto applied = [&](std::size_t i) { return i >= 32 || (left_out >> i & 1) == 0; };
  // A sum makes what comes after it so much longer.
  auto bytes = static_cast<std::size_t>(chunk_bytes_);
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (applied(i) && steps_[i].filter == H5Z_FILTER_FLETCHER32) bytes += kSumBytes;
  for (std::size_t i = steps_.size(); i-- > 0;) {
    if (!applied(i)) continue;
    switch (steps_[i].filter) {
      case H5Z_FILTER_DEFLATE: inflate(bytes); break;
      case H5Z_FILTER_SHUFFLE: unshuffle(steps_[i].item_bytes); break;
      case H5Z_FILTER_FLETCHER32:
        check_sum();
        bytes -= kSumBytes;
        break;
      default: decode_lzf(bytes); break;
    }
  }
  if (data_.size() != bytes) fail_damaged("it has another size when it is unpacked");
  return data_.data();
}

void Unpacker::inflate(std::size_t bytes) {
  other_.resize(bytes);
  auto got = static_cast<uLongf>(bytes);
  const int status = ::uncompress(reinterpret_cast<Bytef*>(other_.data()), &got,
                                  reinterpret_cast<const Bytef*>(data_.data()), static_cast<uLong>(data_.size()));
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status != Z_OK) fail_damaged("it is no gzip data, or has another size when it is unpacked");
  other_.resize(got);
  data_.swap(other_);
}

// LibLZF's form: runs of bytes as they are, and copies of what came before.
void Unpacker::decode_lzf(std::size_t bytes) {
  constexpr const char* kWrong = "it is no lzf data, or has another size when it is unpacked";
  other_.resize(bytes);
  const std::byte *from = data_.data(), *const end = from + data_.size();
  std::size_t done = 0;
  const auto next = [&]() -> std::size_t {
    if (from == end) fail_damaged(kWrong);
    return static_cast<std::size_t>(*from++);
  };
  while (from != end) {
    const std::size_t control = next();
    if (control < 32) {
      const std::size_t run = control + 1;
      if (run > static_cast<std::size_t>(end - from) || run > bytes - done) fail_damaged(kWrong);
      std::memcpy(other_.data() + done, from, run);
      from += run;
      done += run;
      continue;
    }
    std::size_t run = control >> 5;
    if (run == 7) run += next();
    run += 2;
    const std::size_t back = ((control & 31) << 8 | next()) + 1;
    if (back > done || run > bytes - done) fail_damaged(kWrong);
    for (; run > 0; --run, ++done) other_[done] = other_[done - back];  // they may overlap
  }
  other_.resize(done);
  data_.swap(other_);
}

// First bytes of all items, second bytes of all items, ...; what is no whole item stands behind them.
void Unpacker::unshuffle(std::size_t item_bytes) {
  const std::size_t items = item_bytes > 1 ? data_.size() / item_bytes : 0;
  if (items < 2) return;
  other_.resize(data_.size());
  const std::byte* from = data_.data();
  for (std::size_t b = 0; b < item_bytes; ++b)
    for (std::size_t i = 0; i < items; ++i) other_[i * item_bytes + b] = *from++;
  std::copy(from, static_cast<const std::byte*>(data_.data() + data_.size()),
            other_.begin() + static_cast<std::ptrdiff_t>(items * item_bytes));
  data_.swap(other_);
}

void Unpacker::check_sum() {
  if (data_.size() < kSumBytes) fail_damaged("it has no checksum");
  const std::size_t bytes = data_.size() - kSumBytes;
  std::uint32_t stored = 0;
  std::memcpy(&stored, data_.data() + bytes, sizeof stored);
  const std::uint32_t sum = fletcher32(data_.data(), bytes);
  // Old versions of libhdf5 on little-endian machines swapped the bytes of each half.
  const std::uint32_t swapped = (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff);
  if (stored != sum && stored != swapped) fail_damaged("its checksum is wrong");
  data_.resize(bytes);
}

void Unpacker::fail_damaged(const char* how) const {
  fail(KNNG_ERR_FORMAT, "%s is damaged: a chunk cannot be unpacked: %s", name_.c_str(), how);
}

}  // namespace knng_hdf5
