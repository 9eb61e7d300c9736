// The header of a .npy: a Python dictionary literal with the keys descr, fortran_order and shape, and nothing else. It
// is read by a parser of exactly that, so that a hostile header can do nothing but be refused.
#include <charconv>
#include <cstring>

#include "core/error.h"
#include "io/file.h"
#include "io/npy.h"

namespace libknng {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr std::int64_t kMagicBytes = 6;
// Ours take 128 bytes; NumPy itself does not read more than 10,000 from strangers.
constexpr std::int64_t kMostHeader = 65536;
constexpr std::size_t kMostDimensions = 32;

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const Source& source) : text_(text), source_(source) {}

  NpyHeader parse() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        parse_descr(header);
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = tuple();
      } else {
        refuse(key == "descr" || key == "fortran_order" || key == "shape" ? "a key is there twice" : "an unknown key");
      }
      if (!accept(',') && peek() != '}') refuse("',' or '}' is missing");
    }
    if (peek() != 0) refuse("something follows the dictionary");
    if (!descr) refuse("descr is missing");
    if (!order) refuse("fortran_order is missing");
    if (!shape) refuse("shape is missing");
    return header;
  }

 private:
  [[noreturn]] void refuse(const char* why) const {
    fail(KNNG_ERR_FORMAT, "path", {.given = static_cast<std::int64_t>(at_)},
         "%s has a damaged .npy header: %s, near its character %zu", shown(source_.name()).c_str(), why, at_);
  }
  // The next character that is no blank; 0 at the end.
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    if (at_ == text_.size()) return 0;
    if (text_[at_] == 0) refuse("a zero byte");
    return text_[at_];
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (accept(c)) return;
    const char why[] = {'\'', c, '\'', ' ', 'i', 's', ' ', 'm', 'i', 's', 's', 'i', 'n', 'g', 0};
    refuse(why);
  }
  bool accept_word(std::string_view word) {
    peek();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse("a string is missing");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("a string does not end");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != std::string_view::npos) refuse("a string has a backslash");
    at_ = end + 1;
    return std::string(inside);
  }
  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    refuse("fortran_order is neither True nor False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> counts;
    expect('(');
    while (!accept(')')) {
      if (counts.size() == kMostDimensions) refuse("shape has more than 32 dimensions");
      counts.push_back(count());
      if (!accept(',')) {
        if (peek() != ')') refuse("',' or ')' is missing in shape");
        if (counts.size() == 1) refuse("shape is no tuple");
      }
    }
    return counts;
  }
  std::int64_t count() {
    if (peek() == '-') refuse("shape has a negative number");
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) refuse("shape has a number beyond 63 bits");
    if (error != std::errc()) refuse("shape has something that is no number");
    at_ += static_cast<std::size_t>(end - begin);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
    return value;
  }
  void parse_descr(NpyHeader& header) {
    if (peek() == '[' || peek() == '(')
      fail(KNNG_ERR_UNSUPPORTED, "path", "%s holds records (a structured dtype); plain numbers are read",
           shown(source_.name()).c_str());
    header.descr = string();
    std::string_view rest = header.descr;
    if (rest.empty()) refuse("descr is empty");
    if (const char order = rest.front(); order == '<' || order == '>' || order == '|' || order == '=') {
      header.swapped = order == '>';
      rest.remove_prefix(1);
    }
    if (rest.empty()) refuse("descr has no type");
    header.kind = rest.front();
    rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), header.item_bytes);
    // Kinds without a size ('O'), or with more behind it ("M8[ns]"), are refused later by name.
    if (error != std::errc() || end != rest.data() + rest.size() || header.item_bytes < 0) header.item_bytes = 0;
  }

  std::string_view text_;
  const Source& source_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader read_npy_header(Source& source) {
  std::byte fixed[12];
  source.read(fixed, kMagicBytes + 2);
  if (std::memcmp(fixed, kMagic, kMagicBytes) != 0)
    fail(KNNG_ERR_FORMAT, "path", "%s is no .npy file: it does not start with \\x93NUMPY",
         shown(source.name()).c_str());
  const int major = static_cast<int>(fixed[6]), minor = static_cast<int>(fixed[7]);
  if (major < 1 || major > 3 || minor != 0)
    fail(KNNG_ERR_UNSUPPORTED, "path", {.given = major, .limit = 3},
         "%s has version %d.%d of the .npy format; 1.0, 2.0 and 3.0 are read", shown(source.name()).c_str(), major,
         minor);
  const int length_bytes = major == 1 ? 2 : 4;
  source.read(fixed + 8, length_bytes);
  std::int64_t bytes = 0;
  for (int i = length_bytes - 1; i >= 0; --i) bytes = bytes << 8 | static_cast<std::int64_t>(fixed[8 + i]);
  if (bytes > kMostHeader)
    fail(KNNG_ERR_FORMAT, "path", {.given = bytes, .limit = kMostHeader},
         "%s claims a .npy header of %lld bytes; at most %lld are read", shown(source.name()).c_str(),
         static_cast<long long>(bytes), static_cast<long long>(kMostHeader));
  std::string text(static_cast<std::size_t>(bytes), 0);
  source.read(reinterpret_cast<std::byte*>(text.data()), bytes);
  return HeaderParser(text, source).parse();
}

std::string make_npy_header(const char* descr, std::span<const std::int64_t> shape) {
  std::string dictionary = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i) dictionary += ' ';
    dictionary += std::to_string(shape[i]);
    if (i + 1 < shape.size() || shape.size() == 1) dictionary += ',';
  }
  dictionary += "), }";
  constexpr std::size_t kPrefix = kMagicBytes + 4;
  const std::size_t whole = (kPrefix + dictionary.size() + 1 + 63) / 64 * 64;
  dictionary.append(whole - kPrefix - dictionary.size() - 1, ' ').push_back('\n');
  std::string header(kMagic, kMagicBytes);
  header.append({1, 0, static_cast<char>(dictionary.size() & 0xff), static_cast<char>(dictionary.size() >> 8)});
  return header + dictionary;
}

}  // namespace libknng
