// The word that somebody may have meant, for messages of what is refused. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace libknng {

// "; did you mean 'cosine'?" with the one of the words in `list`, such as "euclidean, cosine", that is fewest edits
// away from `given` (a letter more, less or another, two neighbours swapped); "" if none is near. Capitals count as
// small letters, and - as _.
std::string did_you_mean(std::string_view given, std::string_view list);

// How many such edits make one word of the other; of words of more than 64 letters, so many as the longer has.
std::size_t edits(std::string_view a, std::string_view b);

}  // namespace libknng
