// The floating-point state of a thread while the library computes: round to nearest, denormals kept, no traps, whatever
// the host program set (a program built with fast-math leaves flush-to-zero on); put back on leaving.
#pragma once

#include <cfenv>

namespace libknng {

class FloatEnv {
 public:
  FloatEnv() noexcept {
    std::fegetenv(&host_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnv() { std::fesetenv(&host_); }
  FloatEnv(const FloatEnv&) = delete;
  FloatEnv& operator=(const FloatEnv&) = delete;

  const std::fenv_t& host() const noexcept { return host_; }

 private:
  std::fenv_t host_;
};

}  // namespace libknng
