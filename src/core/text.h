// Text from files, callers and the system made fit for a terminal: on one line, without control characters.
#pragma once

#include <cstddef>
#include <string>

namespace libknng {

// Puts '?' in place of control characters (C0, DEL, C1), of marks that turn the direction of text, of line separators
// and of bytes that are no UTF-8. A character that is cut off at the end goes. Returns the new length, never a larger.
std::size_t keep_plain(char* text) noexcept;
std::string plain_text(std::string text);

}  // namespace libknng
