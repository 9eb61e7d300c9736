#include "io/graph_knng.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#define XXH_INLINE_ALL  // xxhash.h asks for it: the functions become ours, no library is linked
#include <xxhash.h>

#include "core/division.h"
#include "core/dtype.h"
#include "core/error.h"
#include "io/file.h"
#include "io/graph_facts.h"
#include "io/replaced_graph.h"

namespace libknng {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::int64_t kAlignment = 64;
constexpr std::uint32_t kMostSections = 64;
constexpr std::uint32_t kSquare = 1, kSelfFirst = 2;

// The machine is little-endian (checked at configure time), so that these are the bytes of the file.
struct FileHeader {
  char magic[kGraphFileMagicBytes];
  std::uint32_t version;
  std::uint32_t flags;
  std::int64_t file_bytes;
  std::uint64_t checksum;
  std::int64_t rows, columns, width;
  std::uint32_t sections;
  std::uint32_t zero;
};
static_assert(sizeof(FileHeader) == 64 && offsetof(FileHeader, checksum) == 24 && offsetof(FileHeader, sections) == 56);

struct FileSection {
  char name[32];  // zeros behind it
  std::int32_t dtype;
  std::uint32_t zero;
  std::int64_t offset, bytes;
  std::int64_t zero_too;
};
static_assert(sizeof(FileSection) == 64 && offsetof(FileSection, offset) == 40);

// XXH3, 64 bits, of the whole file with the checksum's own bytes taken as zero.
class Checksum {
 public:
  Checksum() noexcept { XXH3_64bits_reset(&state_); }
  void header(FileHeader header) noexcept {
    header.checksum = 0;
    add(&header, sizeof header);
  }
  void add(const void* data, std::int64_t bytes) noexcept {
    XXH3_64bits_update(&state_, data, static_cast<std::size_t>(bytes));
  }
  std::uint64_t value() const noexcept { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

struct Part {
  const char* name;
  std::int32_t dtype;
  const void* data;
  std::int64_t bytes;
};

constexpr std::byte kZeros[kAlignment] = {};
constexpr std::int64_t kHashBlock = std::int64_t{1} << 20;  // small enough to be hashed while it is in cache

// Everything behind the header, in the order of the file and in blocks.
template <class Sink>
void each_piece(const std::vector<FileSection>& table, const std::vector<Part>& parts, Sink&& sink) {
  sink(table.data(), static_cast<std::int64_t>(table.size() * sizeof(FileSection)));
  std::int64_t at = static_cast<std::int64_t>(sizeof(FileHeader) + table.size() * sizeof(FileSection));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sink(kZeros, table[i].offset - at);
    for (std::int64_t done = 0; done < parts[i].bytes; done += kHashBlock)
      sink(static_cast<const std::byte*>(parts[i].data) + done, std::min(kHashBlock, parts[i].bytes - done));
    at = table[i].offset + parts[i].bytes;
  }
}

class GraphFileReader {
 public:
  GraphFileReader(const std::string& path, const Work& work) : file_(path), work_(work) {}

  Graph read() {
    read_header();
    read_table();
    Graph g;
    g.rows = header_.rows;
    g.columns = header_.columns;
    g.width = header_.width;
    g.square = (header_.flags & kSquare) != 0;
    g.self_first = (header_.flags & kSelfFirst) != 0;
    // Counts are held against the sizes of sections, and those against the size of the file, before memory is asked
    // for.
    const std::int64_t entries = claimed(g.rows, g.width);
    expect("ids", KNNG_I64, claimed(entries, 8));
    g.value_dtype = section("values").dtype == KNNG_F64 ? KNNG_F64 : KNNG_F32;
    expect("values", g.value_dtype, claimed(entries, g.value_dtype == KNNG_F64 ? 8 : 4));
    expect("ties", KNNG_U8, g.rows);
    expect("proof", KNNG_U8, g.rows);
    const FileSection& facts_at = section("facts");
    expect("facts", KNNG_U8, facts_at.bytes);
    if (facts_at.bytes > kMostFactBytes) refuse("its facts are longer than 1 MiB");
    // All sections end with the file, so that their sum is a count of bytes; the last is the list that is checked.
    work_.require_room(section("ids").bytes + section("values").bytes + 2 * g.rows + facts_at.bytes + g.width * 8);

    g.ids = Buffer<std::int64_t>(entries, work_.budget);
    g.values = Buffer<std::byte>(section("values").bytes, work_.budget);
    g.ties = Buffer<std::uint8_t>(g.rows, work_.budget);
    g.proof = Buffer<std::uint8_t>(g.rows, work_.budget);
    Buffer<std::byte> facts(facts_at.bytes, work_.budget);
    work_.begin("read", file_.size());
    read_sections({{"ids", g.ids.data()},
                   {"values", g.values.data()},
                   {"ties", g.ties.data()},
                   {"proof", g.proof.data()},
                   {"facts", facts.data()}});
    file_.require_not_written();
    g.stats = Stats::unknown();
    g.stats[Stat::rows] = static_cast<double>(g.rows);
    Objection objection{
        read_file_facts({reinterpret_cast<const char*>(facts.data()), static_cast<std::size_t>(facts.size())}, g)};
    if (objection.text.empty() && (g.columns != header_.columns || g.square != ((header_.flags & kSquare) != 0) ||
                                   g.self_first != ((header_.flags & kSelfFirst) != 0)))
      objection.text = "its header and its facts contradict each other";
    if (objection.text.empty()) objection = graph_objection(g, work_);
    if (objection.text.empty()) count_marks(g);
    if (!objection.text.empty()) refuse(objection.text.c_str(), objection.where);
    return g;
  }

 private:
  struct Target {
    const char* name;
    void* data;
  };

  [[noreturn]] void refuse(const char* why, const Where& where = {}) const {
    fail(KNNG_ERR_FORMAT, "path", where, "%s is no valid .knng file: %s", shown(file_.path()).c_str(), why);
  }
  std::int64_t claimed(std::int64_t a, std::int64_t b) const {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) refuse("its counts are beyond 63 bits");
    return product;
  }

  void read_header() {
    file_.read(0, reinterpret_cast<std::byte*>(&header_), sizeof header_);
    if (std::memcmp(header_.magic, kGraphFileMagic, kGraphFileMagicBytes) != 0) refuse("it starts with other bytes");
    if (header_.version != kVersion)
      fail(KNNG_ERR_UNSUPPORTED, "path", {.given = header_.version, .limit = kVersion},
           "%s has version %u of the .knng layout; this library reads version %u", shown(file_.path()).c_str(),
           header_.version, kVersion);
    if (header_.file_bytes != file_.size())
      fail(KNNG_ERR_FORMAT, "path", {.given = file_.size(), .limit = header_.file_bytes},
           "%s is truncated or damaged: it has %lld bytes, its header says %lld", shown(file_.path()).c_str(),
           static_cast<long long>(file_.size()), static_cast<long long>(header_.file_bytes));
    if (header_.rows < 1 || header_.columns < 1 || header_.width < 1) refuse("a count is not positive");
    if ((header_.flags & ~(kSquare | kSelfFirst)) != 0 || header_.zero != 0) refuse("its flags are unknown");
    if (header_.sections > kMostSections) refuse("it claims more than 64 sections");
    sum_.header(header_);
  }

  void read_table() {
    table_.resize(header_.sections);
    const auto bytes = static_cast<std::int64_t>(table_.size() * sizeof(FileSection));
    file_.read(sizeof header_, reinterpret_cast<std::byte*>(table_.data()), bytes);
    sum_.add(table_.data(), bytes);
    std::int64_t end = static_cast<std::int64_t>(sizeof header_) + bytes;
    for (const FileSection& s : table_) {
      std::int64_t section_end = 0;
      if (s.offset < end || s.offset % kAlignment != 0 || s.bytes < 0 || s.zero != 0 || s.zero_too != 0 ||
          __builtin_add_overflow(s.offset, s.bytes, &section_end) || section_end > file_.size() ||
          s.name[sizeof s.name - 1] != 0)
        refuse("a section is outside the file, overlaps another or is not aligned");
      end = section_end;
    }
    if (end != file_.size()) refuse("its sections do not end with the file");
  }

  const FileSection& section(std::string_view name) const {
    const auto named = [&](const FileSection& s) { return name == s.name; };
    const auto found = std::find_if(table_.begin(), table_.end(), named);
    if (found == table_.end() || std::any_of(found + 1, table_.end(), named)) {
      const std::string why = "section " + std::string(name) + " is missing or there twice";
      refuse(why.c_str());
    }
    return *found;
  }

  void expect(const char* name, std::int32_t dtype, std::int64_t bytes) const {
    const FileSection& s = section(name);
    if (s.dtype == dtype && s.bytes == bytes) return;
    const std::string why = std::string("section ") + name + " has another type or size than its counts ask for";
    refuse(why.c_str());
  }

  // From front to back, through the checksum; what no target wants (gaps, sections of a later version) as well.
  void read_sections(const std::vector<Target>& targets) {
    std::int64_t at = static_cast<std::int64_t>(sizeof header_ + table_.size() * sizeof(FileSection));
    for (const FileSection& s : table_) {
      skip(at, s.offset);
      at = s.offset + s.bytes;
      const auto target = std::find_if(targets.begin(), targets.end(),
                                       [&](const Target& t) { return std::strcmp(t.name, s.name) == 0; });
      if (target == targets.end())
        skip(s.offset, at);
      else
        read_into(s.offset, static_cast<std::byte*>(target->data), s.bytes);
    }
    if (sum_.value() != header_.checksum) refuse("its checksum is wrong, so its content has changed");
  }
  void read_into(std::int64_t offset, std::byte* dst, std::int64_t bytes) {
    for (std::int64_t done = 0; done < bytes; done += kHashBlock) {
      const std::int64_t now = std::min(kHashBlock, bytes - done);
      file_.read(offset + done, dst + done, now);
      sum_.add(dst + done, now);
      work_.done(now);
    }
  }
  void skip(std::int64_t from, std::int64_t to) {
    std::byte block[4096];
    for (std::int64_t at = from; at < to; at += static_cast<std::int64_t>(sizeof block))
      read_into(at, block, std::min<std::int64_t>(sizeof block, to - at));
  }

  File file_;
  const Work work_;
  FileHeader header_ = {};
  std::vector<FileSection> table_;
  Checksum sum_;
};

}  // namespace

void save_knng(const Graph& g, const std::string& path, const Work& work) {
  OutputFile file(path);  // whether it can be written is known before anything is done
  require_graph_in_place(file);
  const std::string facts = write_facts(g);
  const std::vector<Part> parts = {
      {"ids", KNNG_I64, g.ids.data(), g.ids.bytes()},
      {"values", g.value_dtype, g.values.data(), g.values.bytes()},
      {"ties", KNNG_U8, g.ties.data(), g.ties.bytes()},
      {"proof", KNNG_U8, g.proof.data(), g.proof.bytes()},
      {"facts", KNNG_U8, facts.data(), static_cast<std::int64_t>(facts.size())},
  };
  std::vector<FileSection> table(parts.size());
  std::int64_t end = static_cast<std::int64_t>(sizeof(FileHeader) + table.size() * sizeof(FileSection));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::strncpy(table[i].name, parts[i].name, sizeof table[i].name - 1);
    table[i].dtype = parts[i].dtype;
    table[i].offset = round_up(end, kAlignment);
    table[i].bytes = parts[i].bytes;
    end = table[i].offset + table[i].bytes;
  }
  FileHeader header = {};
  std::memcpy(header.magic, kGraphFileMagic, kGraphFileMagicBytes);
  header.version = kVersion;
  header.flags = (g.square ? kSquare : 0) | (g.self_first ? kSelfFirst : 0);
  header.file_bytes = end;
  header.rows = g.rows;
  header.columns = g.columns;
  header.width = g.width;
  header.sections = static_cast<std::uint32_t>(table.size());
  Checksum sum;
  sum.header(header);
  work.begin("check", end);
  each_piece(table, parts, [&](const void* data, std::int64_t bytes) {
    sum.add(data, bytes);
    work.done(bytes);
  });
  header.checksum = sum.value();

  file.write(&header, sizeof header);
  work.begin("write", end);
  each_piece(table, parts, [&](const void* data, std::int64_t bytes) {
    file.write(data, bytes);
    work.done(bytes);
  });
  file.commit();
}

Graph load_knng(const std::string& path, const Work& work) { return GraphFileReader(path, work).read(); }

}  // namespace libknng
