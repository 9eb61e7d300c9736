// The word that somebody may have meant, for messages of what is refused. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace libknng {

// "; did you mean 'cosine'?" with the one of `words` that is fewest edits away from `given` (a letter more, less or
// another, two neighbours swapped); "" if none is near. Capitals count as small letters, and - as _.
std::string did_you_mean(std::string_view given, const std::vector<std::string_view>& words);

// Adds what stands between the commas of "auto, cpu" to words.
void add_listed_words(std::string_view list, std::vector<std::string_view>& words);

}  // namespace libknng
