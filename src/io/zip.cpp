#include "io/zip.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace libknng {
namespace {

const knng_formats_seam& seam_with_zip(const std::string& path) {
  const knng_formats_seam& seam = formats_seam(path);
  if (!seam.zip) fail(KNNG_ERR_UNSUPPORTED, "path", "%s: this formats library has no zip", shown(path).c_str());
  return seam;
}

// An OutputFile lent to the formats library.
struct LentOutput {
  OutputFile& file;
  const Work& work;
  std::exception_ptr failure;

  static std::int32_t write_at(void* user, std::int64_t offset, const void* src, std::int64_t bytes) noexcept {
    auto& self = *static_cast<LentOutput*>(user);
    try {
      self.file.write_at(offset, src, bytes);
      self.work.done(bytes);
      return 0;
    } catch (...) {
      self.failure = std::current_exception();
      return -1;
    }
  }
};

}  // namespace

ZipReader::ZipReader(const std::string& path) : file_(std::make_shared<LentFile>(path)), seam_(seam_with_zip(path)) {
  knng_formats_archive* archive = nullptr;
  knng_formats_error error = {};
  if (seam_.zip->open(&archive, &file_->input(), &error) != KNNG_OK) fail_at_seam(path, error, file_->take_failure());
  // The archive reads from the file to its very end.
  archive_ =
      std::shared_ptr<knng_formats_archive>(archive, [file = file_, close = seam_.zip->close](auto* a) { close(a); });
  const std::int64_t count = seam_.zip->member_count(archive);
  for (std::int64_t i = 0; i < count; ++i) {
    knng_formats_member member = {};
    if (seam_.zip->member(archive, i, &member, &error) != KNNG_OK) fail_at_seam(path, error, file_->take_failure());
    members_.push_back({member.name, member.bytes, member.packed, i});
  }
}

const ZipReader::Member* ZipReader::find(const std::string& name) const {
  const auto named = [&](const Member& m) { return m.name == name; };
  const auto first = std::find_if(members_.begin(), members_.end(), named);
  if (first == members_.end()) return nullptr;
  if (std::any_of(first + 1, members_.end(), named))
    fail(KNNG_ERR_FORMAT, "path", "%s has two members named %s", shown(file_->file().path()).c_str(), name.c_str());
  return &*first;
}

bool ZipReader::has(const std::string& member) const { return find(member) != nullptr; }

std::unique_ptr<Source> ZipReader::open(const std::string& name) const {
  const std::string& path = file_->file().path();
  const Member* const member = find(name);
  if (!member) fail(KNNG_ERR_FORMAT, "path", "%s has no member %s", shown(path).c_str(), name.c_str());
  const std::string whole_name = path + ":" + name;
  if (member->packed > file_->file().size() || member->bytes > most_unpacked(member->packed))
    fail(KNNG_ERR_FORMAT, "path", {.given = member->bytes, .limit = most_unpacked(member->packed)},
         "%s claims %lld bytes, packed %lld, in an archive of %lld", shown(whole_name).c_str(),
         static_cast<long long>(member->bytes), static_cast<long long>(member->packed),
         static_cast<long long>(file_->file().size()));
  auto open = [&seam = seam_, archive = archive_, index = member->index](knng_formats_stream** stream,
                                                                         knng_formats_error* error) {
    return seam.zip->member_open(stream, archive.get(), index, error);
  };
  return std::make_unique<SeamSource>(whole_name, member->bytes, seam_, file_, std::move(open));
}

void write_zip(OutputFile& file, std::span<const ZipMember> members, const Work& work) {
  const knng_formats_seam& seam = seam_with_zip(file.path());
  std::vector<knng_formats_new_member> list;
  for (const ZipMember& m : members)
    list.push_back({m.name.c_str(), m.pieces.data(), static_cast<std::int64_t>(m.pieces.size())});
  LentOutput lent{file, work, nullptr};
  const knng_formats_output output = {&lent, &LentOutput::write_at};
  knng_formats_error error = {};
  if (seam.zip->write(&output, list.data(), static_cast<std::int64_t>(list.size()), &error) != KNNG_OK)
    fail_at_seam(file.path(), error, lent.failure);
}

}  // namespace libknng
