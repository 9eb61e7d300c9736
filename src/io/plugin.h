// Shared libraries that are loaded on first need (formats; GPU backends): where they are looked for, what is asked of
// them, and why one cannot be used. Knows nothing of what is behind a table.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace libknng {

// Absolute directories, in the order of the search: $KNNG_BACKEND_DIR, knng/ beside libknng, the install directory.
// Never the current directory: relative names are left out.
std::vector<std::string> plugin_directories();

class Plugin {
 public:
  // Calls the function of the library, which it knows the type of: a call through another type is undefined.
  using Call = const void* (*)(void* function);
  // "" if the table can be used, else the reason, as in "is of another build".
  using Judge = std::string (*)(const void* table);

  // `entry` is a function without arguments that returns the plugin's table. Names are string literals.
  constexpr Plugin(const char* file, const char* entry, Call call, Judge judge) noexcept
      : file_(file), entry_(entry), call_(call), judge_(judge) {}

  // The table, or nullptr and why. Loaded at most once and never unloaded; what is refused is closed again, and after a
  // failure the next call tries again. no_memory, if it is there: whether a library was found that this process has no
  // memory for. Any thread.
  const void* load(std::string& why_not, bool* no_memory = nullptr);
  // The table if it is loaded already, else nullptr.
  const void* loaded();

 private:
  const void* try_file(const std::string& path, std::string& why_not, bool& no_memory) const;

  const char* file_;
  const char* entry_;
  Call call_;
  Judge judge_;
  std::mutex mutex_;
  const void* table_ = nullptr;
};

// What every table begins with; it never moves.
struct PluginSeam {
  std::uint32_t struct_size;
  std::uint32_t version;
  const char* build_id;
};
// Plugin::Judge of a table that both sides must have the same declaration of: "" if it is `ours`, else the reason.
std::string build_objection(const void* table, const PluginSeam& ours);

// Plugin::Call for an entry that returns a Table.
template <class Table>
const void* call_entry(void* function) {
  return reinterpret_cast<const Table* (*)()>(function)();
}

}  // namespace libknng
