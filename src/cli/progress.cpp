#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "interrupt.h"
#include "words.h"

namespace cli {
namespace {

// Also takes away what the terminal itself echoed behind the bar, such as ^C.
constexpr const char* kEraseRest = "\033[K";
constexpr auto kBarDelay = std::chrono::milliseconds(300);
constexpr auto kFirstLine = std::chrono::milliseconds(1000);
// Hours of work shall not fill a log: the interval grows with the time spent.
constexpr double kShortestInterval = 5, kLongestInterval = 60, kIntervalShare = 0.05;  // seconds; share of the stage

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

// Asked for at every redraw: windows change. The last column stays free, where terminals would wrap.
std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return static_cast<std::size_t>(size.ws_col) - 1;
  return 79;
}

}  // namespace

std::string progress_bar(const std::string& stage, double fraction, const std::string& rate, const std::string& left,
                         std::size_t width) {
  constexpr std::size_t kWidest = 40, kNarrowest = 8;
  const std::string share = print("%3.0f %%", 100 * fraction);
  std::string tail = " " + share;
  // The time left matters more than the rate, both more than a long bar.
  const std::size_t fixed = stage.size() + 1 + 2 + kNarrowest;
  if (!left.empty() && fixed + tail.size() + 2 + left.size() <= width) {
    if (!rate.empty() && fixed + tail.size() + 4 + rate.size() + left.size() <= width) tail += "  " + rate;
    tail += "  " + left;
  }
  std::string line;
  if (fixed + tail.size() <= width) {
    const std::size_t cells = std::min(kWidest, kNarrowest + width - fixed - tail.size());
    const auto full = std::min(cells, static_cast<std::size_t>(fraction * static_cast<double>(cells)));
    line = stage + " [" + std::string(full, '#') + std::string(cells - full, '.') + "]" + tail;
  } else {
    line = stage + tail;
  }
  return line.substr(0, width);
}

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(is_terminal()), stage_start_(Clock::now()) {
  next_ = stage_start_ + (terminal_ ? kBarDelay : kFirstLine);
}

void Progress::expect(double amount, const char* unit) {
  amount_ = amount;
  unit_ = unit;
  stage_.clear();
}

knng_control Progress::control() {
  knng_control c{};
  c.struct_size = sizeof c;
  if (!quiet_) {
    c.progress = on_progress;
    c.log = on_log;
  }
  c.user = this;
  c.stop = stop_flag();
  return c;
}

std::int32_t Progress::on_progress(void* self, const char* stage, double done, double total) {
  static_cast<Progress*>(self)->show(stage, total > 0 ? std::clamp(done / total, 0.0, 1.0) : 0.0);
  return 0;
}

void Progress::on_log(void* self, std::int32_t level, const char* text) {
  static_cast<Progress*>(self)->note(std::string(level > 0 ? "warning: " : "") + text);
}

void Progress::show(const char* stage, double fraction) {
  const auto now = Clock::now();
  if (stage_ != stage) {
    stage_ = stage;
    stage_start_ = now;
  }
  if (now < next_) return;
  const double elapsed = std::chrono::duration<double>(now - stage_start_).count();
  std::string speed, left;
  if (elapsed > 0.5 && fraction > 0 && fraction < 1) {
    if (amount_ > 0) speed = rate(fraction * amount_ / elapsed) + " " + unit_ + "/s";
    left = seconds(elapsed * (1 - fraction) / fraction);
    if (const std::size_t point = left.find('.'); point != std::string::npos)  // hundredths are no forecast
      left.erase(point, left.find(' ') - point);
    left += " left";
  }
  if (terminal_) {
    std::fprintf(stderr, "\r%s%s", progress_bar(stage_, fraction, speed, left, terminal_width()).c_str(), kEraseRest);
    std::fflush(stderr);
    drawn_ = true;
    next_ = now;
  } else {
    std::fprintf(stderr, "knng: %s %.0f %%%s%s%s%s\n", stage, 100 * fraction, speed.empty() ? "" : ", ", speed.c_str(),
                 left.empty() ? "" : ", ", left.c_str());
    const double interval = std::clamp(kIntervalShare * elapsed, kShortestInterval, kLongestInterval);
    next_ = now + std::chrono::milliseconds(static_cast<std::int64_t>(1000 * interval));
  }
}

void Progress::note(const std::string& line) {
  if (quiet_) return;
  clear();
  std::fprintf(stderr, "knng: %s\n", plain(line).c_str());
}

void Progress::clear() {
  if (!drawn_) return;
  std::fprintf(stderr, "\r%s", kEraseRest);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace cli
