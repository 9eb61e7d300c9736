// Progress of long calls on standard error: one bar redrawn in place on a terminal, plain lines elsewhere, nothing if
// quiet. Also passes on the library's log lines. Knows nothing of what the stages do.
#pragma once

#include <knng.h>

#include <chrono>
#include <string>

namespace cli {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What the calls that follow work through, for the rate: expect(n, "rows").
  void expect(double amount, const char* unit);

  // For the calls to the library; has the stop flag too. Valid as long as this object.
  knng_control control();

  // A line of its own on standard error, unless quiet.
  void note(const std::string& line);
  // Takes the bar away.
  void clear();

 private:
  static std::int32_t on_progress(void* self, const char* stage, double done, double total);
  static void on_log(void* self, std::int32_t level, const char* text);
  void show(const char* stage, double fraction);

  using Clock = std::chrono::steady_clock;

  bool quiet_;
  bool terminal_;
  double amount_ = 0;
  std::string unit_;
  std::string stage_;
  Clock::time_point stage_start_;
  Clock::time_point next_;  // not before: keeps short runs free of flicker and logs short
  bool drawn_ = false;      // the bar is on the terminal now
};

// One line of at most `width` characters; parts go from the right when it is narrow. Pure.
std::string progress_bar(const std::string& stage, double fraction, const std::string& rate, const std::string& left,
                         std::size_t width);

}  // namespace cli
