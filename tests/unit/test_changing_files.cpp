// Row files that somebody writes while they are read: no row of another write is taken for one of the file, and nobody
// waits for ever.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "core/float_env.h"
#include "core/monitor.h"
#include "io/reader.h"
#include "scratch.h"

#include "harness/cmocka.h"

using namespace libknng;
using scratch::bytes_of;
using scratch::Outcome;
using scratch::outcome;

namespace {

// Rows of two writes are not taken for rows of one file, however a write and the reading meet.
void written_while_it_is_read(void**) {
  const scratch::Directory dir;
  const std::string path = dir / "x.u8bin";
  constexpr std::uint32_t kRows = 4096, kCols = 1024;
  const auto size = static_cast<std::size_t>(kRows) * kCols;
  int refused = 0;
  for (int turn = 0; turn < 12; ++turn) {
    scratch::write(path, bytes_of(kRows) + bytes_of(kCols) + std::string(size, 'a'));
    const auto reader = open_reader(path, Young::wait);
    std::atomic<bool> started = false;
    std::jthread writer([&] {
      const int fd = ::open(path.c_str(), O_WRONLY);
      const std::string part(size / 16, 'b');
      started = true;
      for (std::size_t at = 0; at < size; at += part.size())
        if (::pwrite(fd, part.data(), part.size(), static_cast<off_t>(8 + at)) < 0) break;
      ::close(fd);
    });
    std::string rows(size, 0);
    while (turn % 2 == 0 && !started) std::this_thread::yield();
    for (std::uint32_t row = 0; row < kRows; row += kRows / 64)
      reader->read(kRows / 64, reinterpret_cast<std::byte*>(rows.data()) + std::size_t{row} * kCols);
    if (turn % 3 == 0) writer.join();
    const Outcome o = outcome([&] { reader->finish(); });
    if (o.code == KNNG_OK) {
      assert_true(rows == std::string(size, 'a'));
    } else {
      assert_true(o.code == KNNG_ERR_IO && o.says("changed since it was opened"));
      ++refused;
    }
  }
  assert_true(refused >= 4);  // those whose writer had ended by then
}

// One that is written again and again is refused in the end; whoever waits can stop before.
void written_without_end(void**) {
  const scratch::Directory dir;
  const std::string path = dir / "x.u8bin";
  // So large that its age has to be a second.
  scratch::write(path, bytes_of(2047u) + bytes_of(1u << 20));
  assert_int_equal(::truncate(path.c_str(), 8 + std::int64_t{2047} * (1 << 20)), 0);
  const std::jthread writer([&](const std::stop_token& stop) {
    const int fd = ::open(path.c_str(), O_WRONLY);
    while (!stop.stop_requested() && ::pwrite(fd, "A", 1, 8) == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::close(fd);
  });
  const auto waited = [&](volatile std::int32_t& stop) {
    const FloatEnv env;
    Monitor monitor(knng_control{sizeof(knng_control), 0, nullptr, nullptr, nullptr, &stop, 0}, env);
    return outcome([&] { open_reader(path, Young::wait, &monitor); });
  };
  using Clock = std::chrono::steady_clock;
  volatile std::int32_t stop = 0;
  {
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      stop = 1;
    });
    const auto begun = Clock::now();
    assert_int_equal(waited(stop).code, KNNG_ERR_CANCELLED);
    assert_true(Clock::now() - begun < std::chrono::seconds(3));
  }
  stop = 0;
  const Outcome o = waited(stop);
  assert_int_equal(o.code, KNNG_ERR_IO);
  assert_true(o.says("is being written"));
}

// Another file may take its place while it is read, as when libknng writes it anew: the rows of the old one come out.
// So may its mode change, and it may get other names.
void replaced_while_it_is_read(void**) {
  const scratch::Directory dir;
  const std::string path = dir / "x.u8bin", other = dir / "y.u8bin";
  const auto file = [](char c) { return bytes_of(2u) + bytes_of(3u) + std::string(6, c); };
  enum { renamed, removed, linked, changed_mode, kWays };
  for (int way = 0; way < kWays; ++way) {
    scratch::write(path, file('a'));
    const auto reader = open_reader(path, Young::wait);
    std::string rows(6, 0);
    reader->read(1, reinterpret_cast<std::byte*>(rows.data()));
    scratch::write(other, file('b'));
    if (way == renamed) assert_int_equal(::rename(other.c_str(), path.c_str()), 0);
    if (way == removed) assert_int_equal(::unlink(path.c_str()), 0);
    if (way == linked) assert_int_equal(::link(path.c_str(), (dir / "z.u8bin").c_str()), 0);
    if (way == changed_mode) assert_int_equal(::chmod(path.c_str(), 0600), 0);
    reader->read(1, reinterpret_cast<std::byte*>(rows.data()) + 3);
    assert_int_equal(outcome([&] { reader->finish(); }).code, KNNG_OK);
    assert_true(rows == std::string(6, 'a'));
    ::unlink(path.c_str());
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(written_while_it_is_read),
      cmocka_unit_test(written_without_end),
      cmocka_unit_test(replaced_while_it_is_read),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
