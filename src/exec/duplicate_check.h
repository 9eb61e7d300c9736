// What is known of duplicates while a call's work begins. If there are many, the distinct rows are compared in place of
// all rows, and work that has begun stops.
#pragma once

#include <functional>

namespace libknng {

// unknown: the check is still at work.
enum class Duplicates { none, found, unknown };
using DuplicateCheck = std::function<Duplicates(bool wait)>;

}  // namespace libknng
