// The floating-point state of a thread while the library computes: round to nearest, denormals kept, no traps, whatever
// the host program set (a program built with fast-math leaves flush-to-zero on); put back on leaving.
#pragma once

#include <cfenv>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace libknng {

// The state of the thread that makes it, to be set again. If it is the standard one, as it nearly always is (vector
// instructions may have raised flags), it is read and set in some cycles; fegetenv() and fesetenv() take a hundred, for
// the sake of the x87, which the library leaves alone.
class FloatState {
 public:
  FloatState() noexcept {
#ifdef __x86_64__
    vectors_ = _mm_getcsr();
    standard_ = (vectors_ & kVectorControl) == kStandardVectors && x87_is_standard();
#endif
    if (!standard_) std::fegetenv(&all_);
  }

  void set() const noexcept {
    if (!standard_) {
      std::fesetenv(&all_);
      return;
    }
#ifdef __x86_64__
    if (!x87_is_standard()) std::fesetenv(FE_DFL_ENV);
    _mm_setcsr(vectors_);
#endif
  }

  // Gives the thread the standard state in place of this one, which is its own.
  void replace() const noexcept {
    if (!standard_) {
      std::fesetenv(FE_DFL_ENV);
      return;
    }
#ifdef __x86_64__
    _mm_setcsr(kStandardVectors);
#endif
  }

 private:
#ifdef __x86_64__
  // Of MXCSR all but the flags; the flags of the x87; and control words when a program starts (System V ABI, AMD64,
  // "Registers").
  static constexpr unsigned kVectorControl = 0xffc0, kX87Flags = 0x3f, kStandardVectors = 0x1f80, kStandardX87 = 0x37f;

  static bool x87_is_standard() noexcept {
    unsigned short control, status;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    __asm__ volatile("fnstsw %0" : "=m"(status));
    return control == kStandardX87 && (status & kX87Flags) == 0;
  }

  unsigned vectors_;
#endif
  bool standard_ = false;
  std::fenv_t all_{};  // if it is not standard
};

class FloatEnv {
 public:
  FloatEnv() noexcept { host_.replace(); }
  ~FloatEnv() { host_.set(); }
  FloatEnv(const FloatEnv&) = delete;
  FloatEnv& operator=(const FloatEnv&) = delete;

  const FloatState& host() const noexcept { return host_; }

 private:
  FloatState host_;
};

}  // namespace libknng
