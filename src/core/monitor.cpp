#include "core/monitor.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <system_error>

#include "core/error.h"
#include "core/signals_blocked.h"

namespace libknng {
namespace {

// Callbacks are host code: they run with the host's floating-point state.
class AsHost {
 public:
  explicit AsHost(const FloatState& host) noexcept { host.set(); }
  ~AsHost() { ours_.set(); }
  AsHost(const AsHost&) = delete;
  AsHost& operator=(const AsHost&) = delete;

 private:
  FloatState ours_;
};

}  // namespace

Monitor::Monitor(const knng_control& control, const FloatEnv& env) noexcept : control_(control), host_(env.host()) {
  if (control_.interval_ms == 0) control_.interval_ms = 100;
  if (control_.progress) shown_ = std::chrono::steady_clock::now();
}

Monitor::Monitor(const Monitor& main) noexcept : control_{}, main_(&main), host_(main.host_) {}

void Monitor::stage(std::string_view name, double total) noexcept {
  if (!control_.progress && !control_.log) return;  // nobody is told
  {
    const std::lock_guard lock(stage_mutex_);
    try {
      stage_ = names_.emplace_front(name).c_str();
    } catch (...) {  // no memory: it goes by the name before
    }
    total_ = total;
    done_.store(0);
  }
  if (caller_ == std::this_thread::get_id()) try {
      deliver(false);
    } catch (...) {  // no memory: logs are lost, the work is not
    }
}

void Monitor::check() const {
  if (stopped()) fail(KNNG_ERR_CANCELLED, "", "stopped by the caller");
}

void Monitor::log(int level, const char* text) noexcept {
  if (!control_.log) return;
  try {
    const std::lock_guard lock(log_mutex_);
    log_.emplace_back(level, text);
  } catch (...) {
  }
}

void Monitor::log_once(int level, const std::string& text) noexcept {
  if (!control_.log) return;
  try {
    const std::lock_guard lock(log_mutex_);
    if (std::find(logged_once_.begin(), logged_once_.end(), text) != logged_once_.end()) return;
    logged_once_.push_front(text);
    log_.emplace_back(level, text);
  } catch (...) {
  }
}

void Monitor::deliver(bool always) {
  if (!control_.log && !control_.progress) return;
  const AsHost host(host_);
  if (control_.log) {
    std::vector<std::pair<int, std::string>> lines;
    {
      const std::lock_guard lock(log_mutex_);
      lines.swap(log_);
    }
    for (const auto& [level, text] : lines) control_.log(control_.user, level, text.c_str());
  }
  if (!control_.progress || stop_.load()) return;  // who asked to stop is not asked again
  const auto now = std::chrono::steady_clock::now();
  const char* stage = nullptr;
  double total = 0, done = 0;
  {
    const std::lock_guard lock(stage_mutex_);  // no stage is reported with another's numbers
    stage = stage_;
    total = total_;
    done = done_.load();
  }
  const bool due = now - shown_ >= std::chrono::milliseconds(control_.interval_ms) || stage != shown_stage_;
  if (!(due || always) || *stage == '\0') return;
  shown_ = now;
  shown_stage_ = stage;
  if (control_.progress(control_.user, stage, done < total ? done : total, total) != 0) stop_.store(true);
}

void Monitor::poll() {
  deliver(false);
  check();
}

void Monitor::run(const std::function<void()>& work, bool brief) {
  std::exception_ptr failure;
  try {
    if (brief) {
      caller_ = std::this_thread::get_id();
      work();
    } else {
      run_beside(work);
    }
  } catch (...) {
    failure = std::current_exception();
    control_.progress = nullptr;  // logs are still handed out
  }
  caller_ = {};
  deliver(true);
  if (failure) std::rethrow_exception(failure);
  check();  // the last call of progress may stop as any other
}

void Monitor::run_beside(const std::function<void()>& work) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  std::exception_ptr failure;
  std::thread driver;
  try {
    const SignalsBlocked blocked;
    driver = std::thread([&] {
      const FloatEnv env;
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      ended = true;
      changed.notify_one();
    });
  } catch (const std::system_error&) {
    fail(KNNG_ERR_MEMORY, "", "the system could not start a thread");
  }
  {
    std::unique_lock lock(mutex);
    const auto interval = std::chrono::milliseconds(control_.interval_ms);
    while (!changed.wait_for(lock, interval, [&] { return ended; })) {
      lock.unlock();
      try {
        deliver(false);
      } catch (...) {  // out of memory while handing out logs: they are lost, the work is not
      }
      lock.lock();
    }
  }
  driver.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace libknng
