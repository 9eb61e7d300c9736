// What stands under the formats: files read and written, and the plugin loader.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/file.h"
#include "io/formats.h"
#include "io/graph_file.h"
#include "io/gz.h"
#include "io/plugin.h"
#include "scratch.h"

#include "harness/cmocka.h"
#include "harness/full_disk.h"

using namespace libknng;
using scratch::Outcome;
using scratch::outcome;

namespace {

// What fsync() is called for while a target is watched, and what it fails with then.
struct Disk {
  std::string target;
  int error = 0;
  std::vector<std::string> seen;
};
Disk disk;

// Sets an environment variable and puts it back.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    const char* const before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { had_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  bool had_;
  std::string before_;
};

void only_regular_files_are_read(void**) {
  const scratch::Directory dir;
  Outcome o = outcome([&] { File(dir / "x"); });
  assert_true(o.code == KNNG_ERR_IO && o.says("No such file") && o.says((dir / "x").c_str()));
  o = outcome([&] { File file(dir.path()); });
  assert_true(o.code == KNNG_ERR_IO && o.says("a directory"));
  assert_int_equal(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  o = outcome([&] { File(dir / "pipe"); });  // must not wait for a writer
  assert_true(o.code == KNNG_ERR_IO && o.says("a pipe"));
  o = outcome([&] { File("/dev/zero"); });
  assert_true(o.code == KNNG_ERR_IO && o.says("a device"));
  o = outcome([&] { File(""); });
  assert_int_equal(o.code, KNNG_ERR_IO);
}

void reading(void**) {
  const scratch::Directory dir;
  scratch::write(dir / "x", "0123456789");
  const File file(dir / "x");
  assert_int_equal(file.size(), 10);
  std::byte block[16];
  file.read(3, block, 4);
  assert_memory_equal(block, "3456", 4);
  assert_int_equal(file.read_some(8, block, 16), 2);
  assert_int_equal(file.read_some(100, block, 16), 0);
  const Outcome o = outcome([&] { file.read(8, block, 4); });
  assert_true(o.code == KNNG_ERR_FORMAT && o.says("truncated") && o.says("10 bytes") && o.says("12"));
  file.require_unchanged();
  scratch::write(dir / "x", "0123456789+");
  assert_int_equal(outcome([&] { file.require_unchanged(); }).code, KNNG_ERR_IO);
}

void long_and_odd_names_stay_one_line(void**) {
  const std::string text = shown("/a\nb\x7f/" + std::string(3000, 'x') + "/end");
  assert_true(text.size() < 200 && text.find('\n') == std::string::npos && text.ends_with("/end'"));
  assert_string_equal(shown("a\nb").c_str(), "'a?b'");
  // Whole characters, wherever the beginning is cut.
  for (std::size_t more = 0; more < 4; ++more) {
    std::string name;
    for (int i = 0; i < 100; ++i) name += "\u20ac";
    const std::string cut = shown(name + std::string(more, 'x'));
    assert_true(cut.starts_with("'...\u20ac") && cut.find('?') == std::string::npos && cut.size() <= 164);
  }
}

void written_whole_or_not_at_all(void**) {
  const scratch::Directory dir;
  {
    OutputFile file(dir / "x");
    file.write("half", 4);
    assert_int_equal(dir.names().size(), 1);
    assert_true(dir.names()[0] != "x");
  }
  assert_true(dir.names().empty());
  const mode_t before = ::umask(027);
  {
    OutputFile file(dir / "x");
    file.write("whole", 5);
    file.write_at(1, "H", 1);
    file.write("!", 1);
    file.commit();
  }
  ::umask(before);
  assert_int_equal(dir.names().size(), 1);
  assert_string_equal(scratch::read(dir / "x").c_str(), "wHole!");
  struct stat now {};
  assert_int_equal(::stat((dir / "x").c_str(), &now), 0);
  assert_int_equal(now.st_mode & 0777, 0640);
  {
    OutputFile file(dir / "x");
    file.write("new", 3);
    assert_string_equal(scratch::read(dir / "x").c_str(), "wHole!");
    file.commit();
  }
  assert_string_equal(scratch::read(dir / "x").c_str(), "new");
}

void where_nothing_can_be_written(void**) {
  const scratch::Directory dir;
  Outcome o = outcome([&] { OutputFile file(dir / "none/x"); });
  assert_true(o.code == KNNG_ERR_IO && o.says("No such file"));
  o = outcome([&] { OutputFile file(dir.path()); });
  assert_true(o.code == KNNG_ERR_IO && o.says("a directory"));
  o = outcome([&] { OutputFile file("/dev/null"); });
  assert_true(o.code == KNNG_ERR_IO && o.says("a device"));
  struct stat null {};
  assert_int_equal(::stat("/dev/null", &null), 0);
  assert_true(S_ISCHR(null.st_mode));
  if (::geteuid() != 0) {  // root may write anywhere
    assert_int_equal(::chmod(dir.path().c_str(), 0500), 0);
    o = outcome([&] { OutputFile file(dir / "x"); });
    assert_int_equal(::chmod(dir.path().c_str(), 0700), 0);
    assert_true(o.code == KNNG_ERR_IO && o.says("Permission denied"));
  }
}

void what_is_replaced_keeps_its_mode_and_owner(void**) {
  const scratch::Directory dir;
  const std::string path = dir / "x";
  scratch::write(path, "old");
  assert_int_equal(::chmod(path.c_str(), 0604), 0);
  const bool root = ::geteuid() == 0;
  if (root) assert_int_equal(::chown(path.c_str(), 3, 4), 0);
  OutputFile file(path);
  file.write("new", 3);
  struct stat at {};
  for (const std::string& name : dir.names()) {  // nobody may look at the half of it who may not look at the whole
    assert_int_equal(::stat((dir / name).c_str(), &at), 0);
    if (name != "x") assert_int_equal(at.st_mode & 0777, 0600);
  }
  file.commit();
  assert_string_equal(scratch::read(path).c_str(), "new");
  assert_int_equal(::stat(path.c_str(), &at), 0);
  assert_int_equal(at.st_mode & 07777, 0604);
  if (root) assert_true(at.st_uid == 3 && at.st_gid == 4);
}

// Of another user, where only owners may replace files, for a user who may write it.
void files_of_others(void**) {
  if (::geteuid() != 0) skip();
  const scratch::Directory dir;
  const std::string path = dir / "x";
  scratch::write(path, "old");
  assert_int_equal(::chmod(path.c_str(), 0666), 0);
  for (const mode_t mode : {0777, 01777}) {
    assert_int_equal(::chmod(dir.path().c_str(), mode), 0);
    assert_int_equal(::seteuid(65534), 0);
    const Outcome o = outcome([&] { OutputFile file(path); });
    assert_int_equal(::seteuid(0), 0);
    if (mode == 0777)
      assert_int_equal(o.code, KNNG_OK);
    else
      assert_true(o.code == KNNG_ERR_IO && o.says("only owners replace"));
  }
}

void links_stay_links(void**) {
  const scratch::Directory dir;
  assert_int_equal(::mkdir((dir / "below").c_str(), 0700), 0);
  assert_int_equal(::symlink("below/second", (dir / "first").c_str()), 0);
  assert_int_equal(::symlink("../third", (dir / "below/second").c_str()), 0);
  for (const char* content : {"dangling", "there"}) {
    OutputFile file(dir / "first");
    file.write(content, static_cast<std::int64_t>(std::strlen(content)));
    file.commit();
    assert_string_equal(scratch::read(dir / "third").c_str(), content);
    for (const char* link : {"first", "below/second"}) {
      struct stat at {};
      assert_int_equal(::lstat((dir / link).c_str(), &at), 0);
      assert_true(S_ISLNK(at.st_mode));
    }
  }
  assert_int_equal(::symlink("ring", (dir / "ring").c_str()), 0);
  assert_int_equal(outcome([&] { OutputFile file(dir / "ring"); }).code, KNNG_ERR_IO);
  const Outcome empty = outcome([&] { OutputFile file(""); });
  assert_true(empty.code == KNNG_ERR_ARGUMENT && empty.says("empty"));
}

// The bytes are on disk before the name is, and the name before commit() returns; where the disk fails, nothing
// changes.
void files_are_on_disk_before_they_have_their_name(void**) {
  const scratch::Directory dir;
  scratch::write(dir / "x", "old");
  for (const int error : {EIO, 0}) {
    OutputFile file(dir / "x");
    file.write("new", 3);
    disk = {dir / "x", error, {}};
    const Outcome o = outcome([&] { file.commit(); });
    const std::vector<std::string> seen = std::exchange(disk, {}).seen;
    if (error != 0) {
      assert_true(o.code == KNNG_ERR_IO && o.says("Input/output error"));
      assert_string_equal(scratch::read(dir / "x").c_str(), "old");
    } else {
      assert_int_equal(o.code, KNNG_OK);
      assert_true(seen == (std::vector<std::string>{"file while x is old", "directory while x is new"}));
    }
  }
  assert_int_equal(dir.names().size(), 1);
}

void no_room_left(void**) {
  const scratch::Directory dir;
  // Begins as any graph: nothing else is replaced.
  const std::string old = "\x89KNNG\r\n\x1a, an old one";
  scratch::write(dir / "g.knng", old);
  scratch::write(dir / "g.npz", old);
  Graph g;
  g.rows = g.columns = 1000;
  g.width = 1;
  g.ids = Buffer<std::int64_t>(1000, std::int64_t{5});
  g.value_dtype = KNNG_F64;
  g.values = Buffer<std::byte>(8000, std::byte{0});
  g.ties = Buffer<std::uint8_t>(1000, std::uint8_t{0});
  g.proof = Buffer<std::uint8_t>(1000, std::uint8_t{0});
  for (const char* name : {"g.knng", "g.npz"}) {
    const full_disk space = fill_disk();
    const Outcome o = outcome([&] { save_graph(g, dir / name, nullptr); });
    free_disk(&space);
    assert_true(o.code == KNNG_ERR_IO && o.says("File too large") && o.says(name));
    assert_true(scratch::read(dir / name) == old);
    assert_int_equal(dir.names().size(), 2);
  }
}

void plugins_are_looked_for_in_order(void**) {
  const scratch::Directory dir;
  {
    const Environment chosen("KNNG_BACKEND_DIR", dir.path() + "/");
    const std::vector<std::string> found = plugin_directories();
    assert_true(found.size() >= 2);
    assert_string_equal(found[0].c_str(), dir.path().c_str());
    for (const std::string& directory : found) assert_int_equal(directory[0], '/');
    assert_true(
        std::any_of(found.begin() + 1, found.end(), [](const std::string& d) { return d.ends_with("/knng0"); }));
  }
  const Environment relative("KNNG_BACKEND_DIR", "plugins");
  for (const std::string& directory : plugin_directories()) assert_int_equal(directory[0], '/');
}

std::string accept_all(const void*) { return ""; }
std::string refuse_all(const void*) { return "is of another build"; }

void plugins_that_cannot_be_used(void**) {
  const scratch::Directory dir;
  const Environment chosen("KNNG_BACKEND_DIR", dir.path());
  Plugin missing("libknng_none.so", "knng_none_entry", &call_entry<knng_formats_seam>, &accept_all);
  std::string why;
  assert_null(missing.load(why));
  assert_true(why.find((dir / "libknng_none.so") + " is not there") != std::string::npos);

  scratch::write(dir / "libknng_none.so", "no library at all");
  why.clear();
  assert_null(missing.load(why));
  assert_true(why.find((dir / "libknng_none.so") + " cannot be loaded") != std::string::npos);
}

// The formats library, whose directory the test suite names, is loaded.
bool formats_are_loaded() {
  const std::string file = std::string(std::getenv("KNNG_BACKEND_DIR")) + "/" + KNNG_FORMATS_FILE;
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle) ::dlclose(handle);
  return handle != nullptr;
}

// Before a test takes it, as then it stays.
void refused_plugins_are_closed(void**) {
  assert_false(formats_are_loaded());
  Plugin refused(KNNG_FORMATS_FILE, KNNG_FORMATS_ENTRY, &call_entry<knng_formats_seam>, [](const void*) -> std::string {
    assert_true(formats_are_loaded());
    return "is of another build";
  });
  std::string why;
  for (int tries = 0; tries < 3; ++tries) {
    assert_null(refused.load(why));
    assert_true(why.find(KNNG_FORMATS_FILE " is of another build") != std::string::npos);
    assert_false(formats_are_loaded());
  }
  Plugin nameless(KNNG_FORMATS_FILE, "no_such_entry", &call_entry<knng_formats_seam>, &accept_all);
  assert_null(nameless.load(why));
  assert_false(formats_are_loaded());
}

// With the real formats library, whose directory the test suite names.
void plugins_that_are_there(void**) {
  std::string why;
  Plugin refused(KNNG_FORMATS_FILE, KNNG_FORMATS_ENTRY, &call_entry<knng_formats_seam>, &refuse_all);
  assert_null(refused.load(why));
  assert_true(why.find(KNNG_FORMATS_FILE " is of another build") != std::string::npos);
  Plugin nameless(KNNG_FORMATS_FILE, "no_such_entry", &call_entry<knng_formats_seam>, &accept_all);
  assert_null(nameless.load(why));
  assert_true(why.find("has no no_such_entry") != std::string::npos);
  Plugin good(KNNG_FORMATS_FILE, KNNG_FORMATS_ENTRY, &call_entry<knng_formats_seam>, &seam_objection);
  const void* const table = good.load(why);
  assert_non_null(table);
  const Environment nowhere("KNNG_BACKEND_DIR", "/nonexistent");
  assert_ptr_equal(good.load(why), table);  // found once, kept
}

void formats_library_of_another_build(void**) {
  std::string why;
  Plugin good(KNNG_FORMATS_FILE, KNNG_FORMATS_ENTRY, &call_entry<knng_formats_seam>, &seam_objection);
  const auto* const real = static_cast<const knng_formats_seam*>(good.load(why));
  assert_non_null(real);
  assert_string_equal(seam_objection(real).c_str(), "");
  knng_formats_seam other = *real;
  other.build_id = "0123456789abcdef";
  assert_true(seam_objection(&other).find("1.0123456789abcdef") != std::string::npos);
  other = *real;
  other.version = 2;
  assert_true(!seam_objection(&other).empty());
  other = *real;
  other.struct_size += 8;
  assert_true(!seam_objection(&other).empty());
}

// First of all tests: what is loaded once stays.
void formats_library_missing(void**) {
  const scratch::Directory dir;
  const Environment chosen("KNNG_BACKEND_DIR", dir.path());
  for (const std::string& directory : plugin_directories())
    if (::access((directory + "/" KNNG_FORMATS_FILE).c_str(), F_OK) == 0) skip();  // one is installed
  scratch::write(dir / "x.npy.gz", "x");
  const Outcome o = outcome([&] { open_gz(dir / "x.npy.gz"); });
  assert_int_equal(o.code, KNNG_ERR_UNSUPPORTED);
  assert_true(o.says("install the package") && o.says("libknng-formats") && o.says("is not there"));
  assert_int_equal(outcome([&] { open_gz(dir / "y.npy.gz"); }).code, KNNG_ERR_IO);
}

void many_threads_load_it_once(void**) {
  const scratch::Directory dir;
  scratch::write(dir / "x.gz", scratch::gzip("0123456789"));
  std::vector<std::thread> threads;
  std::vector<Outcome> outcomes(4);
  for (Outcome& o : outcomes)
    threads.emplace_back([&] {
      o = outcome([&] {
        const auto source = open_gz(dir / "x.gz");
        std::byte block[10];
        source->read(block, 10);
        source->finish();
      });
    });
  for (std::thread& t : threads) t.join();
  for (const Outcome& o : outcomes) assert_string_equal(o.message.c_str(), "");
}

}  // namespace

// In place of the system's.
extern "C" int fsync(int fd) {
  if (disk.target.empty()) return 0;
  struct stat at {};
  ::fstat(fd, &at);
  disk.seen.push_back(std::string(S_ISDIR(at.st_mode) ? "directory" : "file") + " while x is " +
                      scratch::read(disk.target));
  errno = disk.error;
  return disk.error == 0 ? 0 : -1;
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(formats_library_missing),
      cmocka_unit_test(refused_plugins_are_closed),
      cmocka_unit_test(many_threads_load_it_once),
      cmocka_unit_test(only_regular_files_are_read),
      cmocka_unit_test(reading),
      cmocka_unit_test(long_and_odd_names_stay_one_line),
      cmocka_unit_test(written_whole_or_not_at_all),
      cmocka_unit_test(links_stay_links),
      cmocka_unit_test(what_is_replaced_keeps_its_mode_and_owner),
      cmocka_unit_test(files_of_others),
      cmocka_unit_test(files_are_on_disk_before_they_have_their_name),
      cmocka_unit_test(where_nothing_can_be_written),
      cmocka_unit_test(no_room_left),
      cmocka_unit_test(plugins_are_looked_for_in_order),
      cmocka_unit_test(plugins_that_cannot_be_used),
      cmocka_unit_test(plugins_that_are_there),
      cmocka_unit_test(formats_library_of_another_build),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
