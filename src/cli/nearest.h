// The word of the command line that somebody may have meant; for settings and their values the library says it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cli {

// The one of `words` that is fewest edits away from `given` (a letter more, less or another, two neighbours swapped),
// "" if none is near. Capitals count as small letters, _ as -, and leading dashes not at all.
std::string nearest(std::string_view given, const std::vector<std::string>& words);
// As a tail for a message: "; did you mean 'build'?", "" if no word is near.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& words);

}  // namespace cli
