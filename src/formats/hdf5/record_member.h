// A member of each record of a data set (a compound type), as a matrix: AnnData before 0.7 has all matrices of obsm so.
// Knows nothing of how records are stored.
#pragma once

#include <cstdint>
#include <string>

#include "formats/hdf5/driver.h"
#include "formats/hdf5/item.h"
#include "formats/hdf5/library.h"
#include "formats/hdf5/stored_array.h"
#include "io/hdf5_seam.h"

namespace knng_hdf5 {

class RecordMember {
 public:
  // Whether it is a data set of records of which `member` is one.
  static bool is_in(const Id& object, const std::string& member);

  // member: one that is_in() is true of; an array in each record is a row, a single value a row of one. Throws
  // KNNG_ERR_UNSUPPORTED or KNNG_ERR_FORMAT with `name` where it is not read. file: lives longer.
  RecordMember(Id dataset, const std::string& name, const std::string& member, Access& file);

  const knng_hdf5_array& facts() const noexcept { return facts_; }
  void read(std::int64_t first, std::int64_t count, void* dst) const;

 private:
  void find_member(const std::string& member);

  std::string name_;
  Id type_;  // of a record
  StoredArray records_;
  std::int64_t record_bytes_ = 0, at_ = 0;  // where in a record the items begin
  Item item_;
  knng_hdf5_array facts_ = {};
};

}  // namespace knng_hdf5
