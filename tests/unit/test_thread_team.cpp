// Teams of threads: every piece is done once, whoever comes; what fails comes out; nothing is left behind.
#include <dirent.h>
#include <sched.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/float_env.h"
#include "core/monitor.h"
#include "core/other_processor.h"
#include "core/thread_team.h"
#include "no_room.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

int threads_of_process() {
  DIR* tasks = opendir("/proc/self/task");
  int count = 0;
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// Waits until `members` of a team are there, so that a test sees them all.
void meet(std::atomic<int>& there, int members) {
  ++there;
  while (there.load() < members) std::this_thread::yield();
}

void every_piece_is_done_once(void**) {
  for (const int size : {1, 2, 3, 8}) {
    ThreadTeam team(size);
    for (const std::int64_t count : {0, 1, 2, 7, 64, 1000})
      for (const std::int64_t grain : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> times(static_cast<std::size_t>(count));
        std::atomic<bool> right{true};
        team.for_each(count, grain, [&](int member, std::int64_t begin, std::int64_t end) {
          if (member < 0 || member >= size || begin % grain != 0 || end - begin > grain || end <= begin) right = false;
          for (std::int64_t i = begin; i < end; ++i) ++times[static_cast<std::size_t>(i)];
        });
        assert_true(right);
        for (const auto& t : times) assert_int_equal(t, 1);
      }
  }
}

// Short calls follow each other while helpers wake up and fall asleep: none is lost and none is done twice.
void short_calls_in_a_row(void**) {
  ThreadTeam team(4);
  for (int call = 0; call < 20000; ++call) {
    std::atomic<int> done{0};
    team.for_each(5, 1, [&](int, std::int64_t, std::int64_t) { ++done; });
    if (done != 5) fail_msg("call %d: %d of 5", call, done.load());
    if (call % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void members_have_numbers_of_their_own(void**) {
  ThreadTeam team(20);
  for (const int members : {2, 3, 4, 9, 20}) {
    std::atomic<int> there{0};
    std::mutex mutex;
    std::set<int> numbers;
    std::set<std::thread::id> threads;
    team.run(
        [&](int member) {
          meet(there, members);
          const std::lock_guard lock(mutex);
          numbers.insert(member);
          threads.insert(std::this_thread::get_id());
        },
        members);
    assert_int_equal(numbers.size(), members);
    assert_int_equal(threads.size(), members);
    assert_int_equal(*numbers.rbegin(), members - 1);
  }
}

void members_compute_as_the_library_does(void**) {
  std::fesetround(FE_UPWARD);
  {
    const FloatEnv env;
    ThreadTeam team(3);
    std::atomic<int> there{0}, wrong{0};
    team.run([&](int) {
      meet(there, 3);
      if (std::fegetround() != FE_TONEAREST) ++wrong;
    });
    assert_int_equal(wrong, 0);
  }
  assert_int_equal(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
}

void what_fails_comes_out(void**) {
  for (const int size : {1, 2, 4}) {
    ThreadTeam team(size);
    for (int again = 0; again < 20; ++again) {
      std::atomic<std::int64_t> begun{0};
      std::atomic<bool> failing{false};
      bool caught = false;
      try {
        team.for_each(1000000, 1, [&](int, std::int64_t piece, std::int64_t) {
          ++begun;
          if (piece == 3) {
            failing = true;
            throw std::runtime_error("piece 3");
          }
          if (piece < 3) return;
          while (!failing) std::this_thread::yield();  // who has piece 3 may have no processor just now
          std::this_thread::sleep_for(std::chrono::microseconds(10));
        });
      } catch (const std::runtime_error& e) {
        caught = std::string(e.what()) == "piece 3";
      }
      assert_true(caught);
      assert_true(begun < 1000000);
    }
    std::atomic<int> done{0};
    team.for_each(10, 1, [&](int, std::int64_t, std::int64_t) { ++done; });  // it works on
    assert_int_equal(done, 10);
  }
}

void work_is_followed_and_stopped(void**) {
  const FloatEnv env;
  volatile std::int32_t stop = 0;
  Monitor monitor({sizeof(knng_control), 0, nullptr, nullptr, nullptr, &stop, 0}, env);
  ThreadTeam team(3);
  std::atomic<std::int64_t> done{0};
  knng_status code = KNNG_OK;
  try {
    team.for_each(monitor, 1000, 1, [&](int, std::int64_t, std::int64_t) {
      if (++done == 10) __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    });
  } catch (const Error& e) {
    code = e.code();
  }
  assert_int_equal(code, KNNG_ERR_CANCELLED);
  assert_in_range(done, 10, 12);
}

// Where the system has no room for another thread the calling one does all.
void nobody_else_is_needed(void**) {
  NoRoomForThreads::skip_where_impossible();
  const int threads = threads_of_process();
  std::atomic<int> done{0}, most{0};
  {
    ThreadTeam team(8);
    const NoRoomForThreads full;
    team.for_each(100, 1, [&](int member, std::int64_t, std::int64_t) {
      ++done;
      if (member > most) most = member;
    });
    assert_int_equal(threads_of_process(), threads);
  }
  assert_int_equal(done, 100);
  assert_int_equal(most, 0);
}

void threads_start_when_wanted_and_end_with_the_team(void**) {
  const int before = threads_of_process();
  {
    ThreadTeam team(4);
    team.for_each(1, 1, [](int, std::int64_t, std::int64_t) {});
    assert_int_equal(threads_of_process(), before);
    team.for_each(2, 1, [](int, std::int64_t, std::int64_t) {});
    assert_int_equal(threads_of_process(), before + 1);
    team.run([](int) {});
    assert_int_equal(threads_of_process(), before + 3);
  }
  // A thread that has been joined leaves the system's list a moment later.
  for (int i = 0; i < 1000 && threads_of_process() > before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  assert_int_equal(threads_of_process(), before);
}

cpu_set_t processors_of_this_thread() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) fail_msg("sched_getaffinity");
  return mine;
}

cpu_set_t set_of(std::initializer_list<int> processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  return set;
}

// Limits this thread, and those that it starts, to some processors, and lifts that.
class Limited {
 public:
  explicit Limited(std::initializer_list<int> processors) : before_(processors_of_this_thread()) {
    const cpu_set_t some = set_of(processors);
    if (sched_setaffinity(0, sizeof some, &some) != 0) fail_msg("sched_setaffinity");
  }
  ~Limited() { sched_setaffinity(0, sizeof before_, &before_); }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;

 private:
  cpu_set_t before_;
};

std::vector<int> allowed_processors() {
  const cpu_set_t mine = processors_of_this_thread();
  std::vector<int> allowed;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &mine)) allowed.push_back(processor);
  return allowed;
}

// Whoever works may run where the caller may, before and after.
void expect_processors_kept() {
  const cpu_set_t mine = processors_of_this_thread();
  std::atomic<int> wrong{0};
  {
    ThreadTeam team(4);
    for (int call = 0; call < 50; ++call) {
      std::atomic<int> there{0};
      team.run([&](int) {
        meet(there, 4);
        // The caller may be moving a helper yet.
        for (int i = 0; i < 1000; ++i) {
          const cpu_set_t now = processors_of_this_thread();
          if (CPU_EQUAL(&now, &mine)) return;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        ++wrong;
      });
    }
  }
  assert_int_equal(wrong, 0);
  const cpu_set_t after = processors_of_this_thread();
  assert_true(CPU_EQUAL(&after, &mine));
}

void members_keep_the_processors_that_they_may_use(void**) {
  const std::vector<int> allowed = allowed_processors();
  expect_processors_kept();
  const Limited one({allowed.back()});
  expect_processors_kept();
}

// A thread that nothing else would move from where it is.
void threads_are_moved_and_stay_free(void**) {
  const std::vector<int> allowed = allowed_processors();
  if (allowed.size() < 2) skip();
  const int here = allowed.front(), there = allowed.back();
  const cpu_set_t both = set_of({here, there});
  int moved = 0, brought = 0;
  // Other programs may have it moved again at once: some turns show both.
  for (int turn = 0; turn < 500 && (moved < 3 || brought < 3); ++turn) {
    std::atomic<int> at{-1};
    std::atomic<bool> ends{false};
    std::thread thread;
    {
      const Limited to_here({here});
      thread = std::thread([&] {
        for (; !ends.load(); std::this_thread::yield()) at = sched_getcpu();
      });
      const auto where_if_free = [&](int first) {
        // It stays where it was put while nothing else wants that processor.
        for (const cpu_set_t& set : {set_of({first}), both})
          assert_int_equal(pthread_setaffinity_np(thread.native_handle(), sizeof set, &set), 0);
        return [&at] {
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          return at.load();
        };
      };
      const auto from_here = where_if_free(here);
      move_to_other_processor(thread);
      moved += from_here() == there;
      const auto from_there = where_if_free(there);
      move_to_this_processor(thread);
      brought += from_there() == here;
      cpu_set_t now;
      assert_int_equal(pthread_getaffinity_np(thread.native_handle(), sizeof now, &now), 0);
      assert_true(CPU_EQUAL(&now, &both));
    }
    ends = true;
    thread.join();
  }
  assert_true(moved >= 3);
  assert_true(brought >= 3);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(nobody_else_is_needed),
      cmocka_unit_test(every_piece_is_done_once),
      cmocka_unit_test(short_calls_in_a_row),
      cmocka_unit_test(members_have_numbers_of_their_own),
      cmocka_unit_test(members_compute_as_the_library_does),
      cmocka_unit_test(what_fails_comes_out),
      cmocka_unit_test(work_is_followed_and_stopped),
      cmocka_unit_test(threads_start_when_wanted_and_end_with_the_team),
      cmocka_unit_test(members_keep_the_processors_that_they_may_use),
      cmocka_unit_test(threads_are_moved_and_stay_free),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
