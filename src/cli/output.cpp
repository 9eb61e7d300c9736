// A rehearsal: a graph of two rows is saved under the same name in a fresh directory beside the target, and removed. So
// the directory, the suffix and the formats library are tried by the very call that comes at the end.
#include "output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "failure.h"
#include "library.h"

namespace cli {
namespace {

[[noreturn]] void refuse(const std::string& path, const char* why) {
  throw Failure(kIo, "output '" + path + "' cannot be written: " + why);
}

class FreshDirectory {
 public:
  explicit FreshDirectory(const std::string& parent) : name_(parent + ".knng-XXXXXX") {
    made_ = mkdtemp(name_.data()) != nullptr;
  }
  ~FreshDirectory() {
    if (!made_) return;
    unlink(file_.c_str());
    rmdir(name_.c_str());
  }
  FreshDirectory(const FreshDirectory&) = delete;
  FreshDirectory& operator=(const FreshDirectory&) = delete;

  bool made() const noexcept { return made_; }
  const std::string& place(const std::string& base) { return file_ = name_ + "/" + base; }

 private:
  std::string name_;
  std::string file_;
  bool made_;
};

Graph two_rows() {
  static constexpr std::int64_t kIds[] = {1, 0};
  const knng_matrix ids = knng_packed(KNNG_I64, 2, 1, kIds);
  knng_graph* raw = nullptr;
  check(knng_graph_import(&raw, &ids, nullptr, 0, 2, 1, error()));
  return Graph(raw);
}

}  // namespace

void require_writable(const std::string& path) {
  struct stat target {};
  if (stat(path.c_str(), &target) == 0) {
    // The finished file is renamed over the target, which must not replace a device or a pipe.
    if (S_ISDIR(target.st_mode)) refuse(path, "it is a directory");
    if (!S_ISREG(target.st_mode)) refuse(path, "it is not a regular file");
    if (access(path.c_str(), W_OK) != 0) refuse(path, std::strerror(errno));
  }
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string base = slash == std::string::npos ? path : path.substr(slash + 1);
  if (base.empty()) refuse(path, "it names no file");

  FreshDirectory beside(parent);
  if (!beside.made()) refuse(path, std::strerror(errno));
  const std::string& trial = beside.place(base);
  const Graph graph = two_rows();
  const knng_status status = knng_graph_save(graph.get(), trial.c_str(), nullptr, nullptr, error());
  if (status == KNNG_OK) return;
  std::string message = error()->message;
  if (const std::size_t at = message.find(trial); at != std::string::npos) message.replace(at, trial.size(), path);
  throw Failure(exit_code(status), message);
}

}  // namespace cli
