// Monitor: who calls the callbacks, when, in which state; how a call is stopped; that nothing is left behind.
#include <dirent.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/float_env.h"
#include "core/monitor.h"
#include "core/thread_team.h"
#include "no_room.h"

#include "harness/cmocka.h"

using namespace libknng;  // (fail)(...) is libknng::fail: cmocka has a macro of that name

namespace {

using std::chrono::milliseconds;

struct Shown {
  std::string stage;
  double done, total;
};

// A caller that writes down what is reported, and in which state.
struct Caller {
  std::thread::id thread = std::this_thread::get_id();
  bool always_here = true;
  std::vector<Shown> shown;
  std::vector<std::pair<int, std::string>> lines;
  std::atomic<int> times{0};
  std::vector<int> rounding;
  std::vector<bool> blocked;  // whether SIGUSR1 was, in a callback
  int stop_at = 0;            // the call of progress that returns nonzero; 0: none
  volatile std::int32_t stop = 0;

  void here() {
    always_here = always_here && std::this_thread::get_id() == thread;
    rounding.push_back(std::fegetround());
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    blocked.push_back(sigismember(&mask, SIGUSR1) == 1);
  }
  static std::int32_t progress(void* user, const char* stage, double done, double total) {
    auto& caller = *static_cast<Caller*>(user);
    caller.here();
    caller.shown.push_back({stage, done, total});
    return ++caller.times == caller.stop_at;
  }
  static void log(void* user, std::int32_t level, const char* text) {
    auto& caller = *static_cast<Caller*>(user);
    caller.here();
    caller.lines.emplace_back(level, text);
  }
  knng_control control(std::uint32_t interval = 1) {
    return {sizeof(knng_control), interval, progress, log, this, &stop, 0};
  }
};

// As a call of the C interface: the library's state outside, the host's in callbacks.
void run(const knng_control& control, const std::function<void(Monitor&)>& work) {
  const FloatEnv env;
  Monitor monitor(control, env);
  monitor.run([&] { work(monitor); });
}

template <class F>
knng_status code_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return KNNG_OK;
}

// Waits for a condition that another thread brings about; false after ten seconds.
template <class F>
bool comes_true(F&& condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

int threads_of_process() {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

void work_runs_on_a_thread_of_its_own_and_callbacks_do_not(void**) {
  Caller caller;
  std::thread::id worker;
  bool seen = false;
  run(caller.control(), [&](Monitor& monitor) {
    worker = std::this_thread::get_id();
    monitor.stage("first", 10);
    monitor.advance(4);
    monitor.log(0, "a line");
    seen = comes_true([&] { return caller.times > 0; });
    monitor.stage("second", 3);
    monitor.advance(3);
  });
  assert_true(seen);
  assert_true(worker != caller.thread);
  assert_true(caller.always_here);
  assert_string_equal(caller.shown.front().stage.c_str(), "first");
  assert_true(caller.shown.front().done == 4 && caller.shown.front().total == 10);
  // The end is always reported.
  assert_string_equal(caller.shown.back().stage.c_str(), "second");
  assert_true(caller.shown.back().done == 3 && caller.shown.back().total == 3);
}

void done_never_passes_total(void**) {
  Caller caller;
  run(caller.control(), [&](Monitor& monitor) {
    monitor.stage("work", 5);
    monitor.advance(7);
  });
  assert_true(caller.shown.back().done == 5 && caller.shown.back().total == 5);
}

void nothing_is_shown_before_the_first_stage(void**) {
  Caller caller;
  run(caller.control(), [](Monitor&) { std::this_thread::sleep_for(milliseconds(20)); });
  assert_int_equal(caller.shown.size(), 0);
}

void progress_keeps_its_interval(void**) {
  // A long interval: only changes of stage and the end are reported, however long the work takes.
  Caller rare;
  run(rare.control(3'600'000), [](Monitor& monitor) { monitor.stage("only", 1); });
  assert_int_equal(rare.shown.size(), 1);
  // A short one: reported again and again without a change of stage.
  Caller often;
  bool seen = false;
  run(often.control(1), [&](Monitor& monitor) {
    monitor.stage("only", 1);
    seen = comes_true([&] { return often.times >= 5; });
  });
  assert_true(seen);
  // 0 stands for 100 ms: a burst of polls within it tells the stage once.
  Caller standard;
  const FloatEnv env;
  Monitor monitor(standard.control(0), env);
  const auto before = std::chrono::steady_clock::now();
  monitor.stage("polled", 1);
  for (int i = 0; i < 100; ++i) monitor.poll();
  if (std::chrono::steady_clock::now() - before < milliseconds(100)) assert_int_equal(standard.shown.size(), 1);
  std::this_thread::sleep_for(milliseconds(110));
  monitor.poll();
  assert_true(standard.shown.size() >= 2);
}

void progress_can_stop_the_work(void**) {
  Caller caller;
  caller.stop_at = 2;
  bool stopped = false;
  const knng_status code = code_of([&] {
    run(caller.control(), [&](Monitor& monitor) {
      monitor.stage("endless", 1);
      stopped = comes_true([&] { return monitor.stopped(); });
      monitor.check();
    });
  });
  assert_true(stopped);
  assert_int_equal(code, KNNG_ERR_CANCELLED);
  assert_int_equal(caller.times, 2);
}

// However fast the work is: a nonzero result of any call of progress, the last one included, ends in CANCELLED.
void stop_in_the_last_call_of_progress_counts(void**) {
  Caller caller;
  caller.stop_at = 1;
  const knng_status code =
      code_of([&] { run(caller.control(3'600'000), [](Monitor& monitor) { monitor.stage("quick", 1); }); });
  assert_int_equal(caller.times, 1);
  assert_int_equal(code, KNNG_ERR_CANCELLED);
}

void flag_can_stop_the_work(void**) {
  for (const bool with_callbacks : {true, false}) {
    Caller caller;
    knng_control control = caller.control();
    if (!with_callbacks) control.progress = nullptr, control.log = nullptr;
    bool running = false, stopped = false;
    std::atomic<bool> started{false};
    std::thread other([&] {
      running = comes_true([&] { return started.load(); });
      __atomic_store_n(&caller.stop, 1, __ATOMIC_RELAXED);
    });
    const knng_status code = code_of([&] {
      run(control, [&](Monitor& monitor) {
        monitor.check();  // not yet
        started = true;
        stopped = comes_true([&] { return monitor.stopped(); });
        monitor.check();
      });
    });
    other.join();
    assert_true(running && stopped);
    assert_int_equal(code, KNNG_ERR_CANCELLED);
  }
}

void poll_shows_and_stops(void**) {
  Caller caller;
  caller.stop_at = 2;
  const FloatEnv env;
  Monitor monitor(caller.control(), env);
  monitor.stage("read", 2);
  monitor.advance(1);
  monitor.log(1, "so far");
  assert_int_equal(code_of([&] { monitor.poll(); }), KNNG_OK);
  assert_int_equal(caller.shown.size(), 1);
  assert_int_equal(caller.lines.size(), 1);
  monitor.stage("read more", 2);
  assert_int_equal(code_of([&] { monitor.poll(); }), KNNG_ERR_CANCELLED);
  assert_true(monitor.stopped());
}

void exceptions_of_the_work_come_out(void**) {
  Caller caller;
  try {
    run(caller.control(), [](Monitor&) { (fail)(KNNG_ERR_DATA, "rows", {.row = 7}, "bad"); });
    fail_msg("nothing was thrown");
  } catch (const Error& e) {
    assert_int_equal(e.code(), KNNG_ERR_DATA);
    assert_int_equal(e.info().row, 7);
    assert_string_equal(e.what(), "bad (row 7)");
  }
  bool out_of_memory = false;
  try {
    run(caller.control(), [](Monitor&) { throw std::bad_alloc(); });
  } catch (const std::bad_alloc&) {
    out_of_memory = true;
  }
  assert_true(out_of_memory);
}

void callbacks_see_the_hosts_state_and_the_work_does_not(void**) {
  Caller caller;
  int in_work = -1;
  bool seen = false;
  std::fesetround(FE_UPWARD);
  run(caller.control(), [&](Monitor& monitor) {
    in_work = std::fegetround();
    monitor.stage("rounding", 1);
    monitor.log(0, "line");
    seen = comes_true([&] { return caller.times > 2; });
  });
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  assert_true(seen);
  assert_int_equal(in_work, FE_TONEAREST);
  assert_int_equal(after, FE_UPWARD);
  for (const int mode : caller.rounding) assert_int_equal(mode, FE_UPWARD);

  // And what a callback sets is gone afterwards.
  knng_control control = caller.control();
  control.progress = [](void*, const char*, double, double) -> std::int32_t {
    std::fesetround(FE_DOWNWARD);
    return 0;
  };
  const FloatEnv env;
  Monitor monitor(control, env);
  monitor.stage("one", 1);
  monitor.poll();
  assert_int_equal(std::fegetround(), FE_TONEAREST);
}

void signals_are_for_the_hosts_threads(void**) {
  sigset_t one, before, after;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &one, &before);  // the host blocks one signal
  Caller caller;
  sigset_t in_work;
  sigemptyset(&in_work);
  std::atomic<int> in_team{0}, unblocked_in_team{0};
  bool seen = false;
  run(caller.control(), [&](Monitor& monitor) {
    pthread_sigmask(SIG_BLOCK, nullptr, &in_work);
    ThreadTeam team(3);
    team.run([&](int) {
      ++in_team;
      comes_true([&] { return in_team == 3; });
      sigset_t mask;
      pthread_sigmask(SIG_BLOCK, nullptr, &mask);
      if (!sigismember(&mask, SIGINT) || !sigismember(&mask, SIGUSR2)) ++unblocked_in_team;
    });
    monitor.stage("signals", 1);
    seen = comes_true([&] { return caller.times > 0; });
  });
  pthread_sigmask(SIG_SETMASK, &before, &after);
  assert_true(seen);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGPIPE, SIGRTMIN, SIGRTMAX})
    assert_int_equal(sigismember(&in_work, signal), 1);
  assert_int_equal(in_team, 3);
  assert_int_equal(unblocked_in_team, 0);
  for (const bool blocked : caller.blocked) assert_true(blocked);
  // Faults that a thread brings upon itself are the host's as well.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) assert_int_equal(sigismember(&in_work, signal), 0);
  for (int signal = 1; signal < 32; ++signal) assert_int_equal(sigismember(&after, signal), signal == SIGUSR1);
}

void no_thread_is_left(void**) {
  run(Caller().control(), [](Monitor&) {});  // whatever the first use of a library starts
  // A thread that has been joined leaves the system's list a moment later.
  std::this_thread::sleep_for(milliseconds(50));
  const int before = threads_of_process();
  for (int i = 0; i < 5; ++i) {
    std::atomic<int> team{0};
    int during = 0;
    const auto work = [&](Monitor&) {
      ThreadTeam helpers(4);
      helpers.run([&](int) {
        ++team;
        comes_true([&] { return team == 4; });
      });
      during = threads_of_process();
      if (i == 4) throw std::runtime_error("the work fails");
    };
    Caller caller;
    try {
      run(caller.control(), work);
    } catch (const std::runtime_error&) {
    }
    assert_int_equal(team, 4);
    assert_true(during > before);
    assert_true(comes_true([&] { return threads_of_process() <= before; }));
  }
}

void lines_arrive_once_in_order(void**) {
  constexpr int kThreads = 4, kLines = 500;
  Caller caller;
  run(caller.control(), [&](Monitor& monitor) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&monitor, t] {
        for (int i = 0; i < kLines; ++i) {
          monitor.log(t % 2, (std::to_string(t) + " " + std::to_string(i)).c_str());
          if (i % 100 == 0) std::this_thread::sleep_for(milliseconds(2));
        }
      });
    for (std::thread& t : threads) t.join();
  });
  assert_true(caller.always_here);
  assert_int_equal(caller.lines.size(), kThreads * kLines);
  int next[kThreads] = {};
  for (const auto& [level, text] : caller.lines) {
    const int thread = text[0] - '0';
    assert_int_equal(level, thread % 2);
    assert_string_equal(text.c_str(), (std::to_string(thread) + " " + std::to_string(next[thread]++)).c_str());
  }
}

// The lines that say why are needed most when the work fails.
void lines_arrive_although_the_work_fails(void**) {
  Caller caller;
  const knng_status code = code_of([&] {
    run(caller.control(3'600'000), [](Monitor& monitor) {
      monitor.log(1, "this is why");
      (fail)(KNNG_ERR_DATA, "rows", "no good");
    });
  });
  assert_int_equal(code, KNNG_ERR_DATA);
  assert_int_equal(caller.lines.size(), 1);
}

void callbacks_may_be_missing(void**) {
  const knng_control nothing = {sizeof(knng_control), 1, nullptr, nullptr, nullptr, nullptr, 0};
  bool done = false;
  run(nothing, [&](Monitor& monitor) {
    monitor.stage("alone", 1);
    monitor.log(1, "nobody hears");
    monitor.check();
    std::this_thread::sleep_for(milliseconds(5));
    done = !monitor.stopped();
  });
  assert_true(done);
}

void no_thread_can_start(void**) {
  NoRoomForThreads::skip_where_impossible();
  Caller caller;
  bool worked = false;
  std::string message;
  knng_status code = KNNG_OK;
  try {
    const NoRoomForThreads full;
    run(caller.control(), [&](Monitor&) { worked = true; });
  } catch (const Error& e) {
    code = e.code();
    message = e.info().message;
  }
  assert_int_equal(code, KNNG_ERR_MEMORY);
  assert_true(message.find("could not start a thread") != std::string::npos);
  assert_false(worked);
  run(caller.control(), [&](Monitor&) { worked = true; });
  assert_true(worked);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(no_thread_can_start),
      cmocka_unit_test(work_runs_on_a_thread_of_its_own_and_callbacks_do_not),
      cmocka_unit_test(done_never_passes_total),
      cmocka_unit_test(nothing_is_shown_before_the_first_stage),
      cmocka_unit_test(progress_keeps_its_interval),
      cmocka_unit_test(progress_can_stop_the_work),
      cmocka_unit_test(stop_in_the_last_call_of_progress_counts),
      cmocka_unit_test(flag_can_stop_the_work),
      cmocka_unit_test(poll_shows_and_stops),
      cmocka_unit_test(exceptions_of_the_work_come_out),
      cmocka_unit_test(callbacks_see_the_hosts_state_and_the_work_does_not),
      cmocka_unit_test(signals_are_for_the_hosts_threads),
      cmocka_unit_test(no_thread_is_left),
      cmocka_unit_test(lines_arrive_once_in_order),
      cmocka_unit_test(lines_arrive_although_the_work_fails),
      cmocka_unit_test(callbacks_may_be_missing),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
