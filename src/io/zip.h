// zip archives (NumPy's .npz is one): members by name, read from front to back; and archives written whole. Knows
// nothing of what members mean.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/work.h"
#include "io/formats.h"

namespace libknng {

class ZipReader {
 public:
  // Throws KNNG_ERR_IO, KNNG_ERR_FORMAT, and KNNG_ERR_UNSUPPORTED without the formats library.
  explicit ZipReader(const std::string& path);

  bool has(const std::string& member) const;
  // The member's bytes; it keeps the archive open. KNNG_ERR_FORMAT if there is no such member.
  std::unique_ptr<Source> open(const std::string& member) const;

 private:
  struct Member {
    std::string name;
    std::int64_t bytes, packed, index;
  };
  const Member* find(const std::string& name) const;

  std::shared_ptr<LentFile> file_;
  const knng_formats_seam& seam_;
  std::shared_ptr<knng_formats_archive> archive_;
  std::vector<Member> members_;
};

struct ZipMember {
  std::string name;
  std::vector<knng_formats_piece> pieces;
};

// Writes the archive into `file`, uncompressed; commit() is the caller's.
void write_zip(OutputFile& file, std::span<const ZipMember> members, const Work& work = {});

}  // namespace libknng
