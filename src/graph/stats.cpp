#include "graph/stats.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/nearest_word.h"

namespace libknng {
namespace {

constexpr std::array<StatInfo, kStats> kTable = {{
    {"rows", "rows of the graph"},
    {"columns", "rows of the data set that could be neighbours"},
    {"pairs", "pairs of rows compared (each once, when half of the matrix serves both sides)"},
    {"tiles", "tiles of the distance matrix that were evaluated, in all precisions together"},
    {"keys", "canonical keys evaluated: all pairs, or those that a filter could not leave out"},
    {"candidates_max", "most candidates that a row kept for later refinement; 0 if none had to wait"},
    {"proved", "rows whose neighbours are proved; all of them under precision=exact"},
    {"refined", "rows whose keys were evaluated in canonical fp64 after an inexact filter"},
    {"redone_fp32", "rows that the first filter could not prove, redone in fp32"},
    {"redone_fp64",
     "rows that no list of a filter could prove, redone with canonical keys of all pairs, or of those that a proved "
     "bound leaves"},
    {"bound_violations", "candidates whose key lay outside the proved bounds: 0, or the build fails"},
    {"checked",
     "rows compared with all of their canonical keys after they were proved (check_rows): equal, or the build fails"},
    {"ties_at_k", "rows for which a row that was not returned is exactly as far as the k-th neighbour"},
    {"duplicates", "rows that are equal to an earlier row, value by value; not known of queries"},
    {"bytes_host_peak", "most host memory that the library held, its copy of the rows included"},
    {"bytes_device_peak", "most memory held on one device"},
    {"seconds_copy", "time until rows are on the devices, checked and transformed"},
    {"seconds_prepare", "time to check and transform rows; on devices, time waited to know which are equal"},
    {"seconds_tile", "time for distances and selection, on devices with the operands for them"},
    {"seconds_merge", "time to merge lists"},
    {"seconds_refine", "time to refine and prove"},
    {"seconds_emit", "time to assemble the result; on devices a part of seconds_refine"},
    {"seconds_check", "time to compare rows with all of their canonical keys (check_rows)"},
    {"seconds_total", "time of the whole call"},
}};

}  // namespace

const std::array<StatInfo, kStats>& stat_table() noexcept { return kTable; }

Stat find_stat(std::string_view name) {
  std::string known;
  for (int i = 0; i < kStats; ++i) {
    const char* candidate = kTable[static_cast<std::size_t>(i)].name;
    if (name == candidate) return static_cast<Stat>(i);
    known.append(i ? ", " : "").append(candidate);
  }
  fail(KNNG_ERR_OPTION, "name", "unknown statistic '%.*s'; there are %s%s",
       static_cast<int>(std::min<std::size_t>(name.size(), 40)), name.data(), known.c_str(),
       did_you_mean(name, known).c_str());
}

}  // namespace libknng
