#include "io/plugin.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace libknng {
namespace {

// The file that holds the code at `address`, as the kernel names it: absolute even where the loader was given a
// relative name. "" if unknown.
std::string mapped_file(const void* address) {
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> maps(std::fopen("/proc/self/maps", "re"));
  if (!maps) return "";
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  char* line = nullptr;
  std::size_t capacity = 0;
  std::string found;
  while (found.empty() && ::getline(&line, &capacity, maps.get()) > 0) {
    unsigned long low = 0, high = 0;
    int name_at = 0;
    if (std::sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &low, &high, &name_at) < 2 || name_at == 0) continue;
    if (low <= wanted && wanted < high) {
      found = line + name_at;
      break;
    }
  }
  std::free(line);
  while (!found.empty() && found.back() == '\n') found.pop_back();
  return found;
}

std::string own_directory() {
  Dl_info info{};
  const void* const self = reinterpret_cast<const void*>(&plugin_directories);
  std::string file = ::dladdr(self, &info) != 0 && info.dli_fname ? info.dli_fname : "";
  if (file.empty() || file.front() != '/') file = mapped_file(self);
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash);
}

// The loader keeps to itself that a library could not be mapped for want of room. With all that it needs, a library of
// ours takes less than this.
bool room_for_library() noexcept {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  void* const room = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  ::munmap(room, kBytes);
  return true;
}

}  // namespace

std::vector<std::string> plugin_directories() {
  std::vector<std::string> found;
  const auto add = [&](std::string directory) {
    while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
    if (directory.empty() || directory.front() != '/') return;
    if (std::find(found.begin(), found.end(), directory) == found.end()) found.push_back(std::move(directory));
  };
  if (const char* chosen = ::secure_getenv("KNNG_BACKEND_DIR")) add(chosen);
  if (const std::string beside = own_directory(); !beside.empty()) add(beside + "/" KNNG_PLUGINS);
  add(KNNG_INSTALL_PLUGIN_DIR);
  return found;
}

std::string build_objection(const void* table, const PluginSeam& ours) {
  PluginSeam seam;
  std::memcpy(&seam, table, sizeof seam);
  // In this order: what comes after the size is looked at only if that is ours.
  if (seam.struct_size == ours.struct_size && seam.version == ours.version && seam.build_id &&
      std::strcmp(seam.build_id, ours.build_id) == 0)
    return "";
  char text[160];
  std::snprintf(text, sizeof text, "is of another build (seam %u.%.24s, this library has %u.%s)", seam.version,
                seam.build_id ? seam.build_id : "?", ours.version, ours.build_id);
  return text;
}

const void* Plugin::try_file(const std::string& path, std::string& why_not, bool& no_memory) const {
  if (::access(path.c_str(), F_OK) != 0) {
    why_not = path + " is not there";
    return nullptr;
  }
  errno = 0;
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    no_memory = no_memory || errno == ENOMEM || !room_for_library();
    const char* const reason = ::dlerror();
    why_not = path + " cannot be loaded: " + (reason ? reason : "no reason given");
    return nullptr;
  }
  void* const entry = ::dlsym(handle, entry_);
  const void* const table = entry ? call_(entry) : nullptr;
  std::string objection = table ? judge_(table) : std::string("has no ") + entry_;
  if (objection.empty()) return table;
  why_not = path + " " + objection;  // a copy: nothing of the library is there any more
  ::dlclose(handle);
  return nullptr;
}

const void* Plugin::load(std::string& why_not, bool* no_memory) {
  const std::lock_guard lock(mutex_);
  bool ignored = false;
  bool& lacks_memory = no_memory ? *no_memory : ignored;
  lacks_memory = false;
  if (table_) return table_;
  std::string reasons;
  for (const std::string& directory : plugin_directories()) {
    std::string reason;
    table_ = try_file(directory + "/" + file_, reason, lacks_memory);
    if (table_) return table_;
    reasons.append(reasons.empty() ? "" : "; ").append(reason);
  }
  why_not = reasons;
  return nullptr;
}

const void* Plugin::loaded() {
  const std::lock_guard lock(mutex_);
  return table_;
}

}  // namespace libknng
