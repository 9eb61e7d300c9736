#include "io/graph_facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "io/file.h"
#include "metric/metric.h"

namespace libknng {
namespace {

template <class Number>
std::string number_text(Number x) {
  char buffer[40];  // to_chars: the shortest text that reads back as the same bits, in any locale
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr);
}

template <class Number>
bool read_number(std::string_view text, Number& x) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  return error == std::errc() && end == text.data() + text.size();
}

// One line: a backslash stands before what would end it.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\')
      out += "\\\\";
    else
      out += c;
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size())
      out += text[++i] == 'n' ? '\n' : text[i];
    else
      out += text[i];
  }
  return out;
}

// A whole number must be one that a double is, not merely near. What is not known has no line.
bool read_statistic(std::string_view text, double& x) {
  std::int64_t whole = 0;
  return read_number(text, x) && !std::isnan(x) &&
         (!read_number(text, whole) || std::fabs(x) >= 0x1p63 || static_cast<std::int64_t>(x) == whole);
}

bool read_fact(std::string_view name, std::string_view value, Graph& g) {
  constexpr std::string_view kText = "text.", kStat = "stat.";
  if (name == "columns") {
    const bool valid = read_number(value, g.columns);
    g.stats[Stat::columns] = static_cast<double>(g.columns);
    return valid;
  }
  if (name == "square" || name == "self_first") {
    (name == "square" ? g.square : g.self_first) = value == "1";
    return value == "0" || value == "1";
  }
  if (name.starts_with(kText)) {
    for (const GraphTextField& field : graph_texts())
      if (name.substr(kText.size()) == field.name) g.text.*field.text = plain_text(unescaped(value));
  } else if (name.starts_with(kStat)) {
    for (int i = 0; i < kStats; ++i)
      if (name.substr(kStat.size()) == stat_table()[static_cast<std::size_t>(i)].name)
        return read_statistic(value, g.stats[static_cast<Stat>(i)]);
  }
  return true;  // from a later version
}

bool has_repeats(const std::int64_t* row, Buffer<std::int64_t>& scratch) {
  std::copy(row, row + scratch.size(), scratch.begin());
  std::sort(scratch.begin(), scratch.end());
  const auto first = std::lower_bound(scratch.begin(), scratch.end(), 0);
  return std::adjacent_find(first, scratch.end()) != scratch.end();
}

// Numbers that a statistic of this graph can be. All but times are whole; each is one that an int64_t can hold. None is
// negative, and no zero either.
struct Range {
  double least, most;
  bool whole;
};

Range range_of(Stat s, const Graph& g) {
  constexpr double kMostBytes = 0x1p53, kMostSeconds = 1e10;  // beyond what a machine has, and beyond 300 years
  const auto rows = static_cast<double>(g.rows), columns = static_cast<double>(g.columns);
  switch (s) {
    case Stat::rows: return {rows, rows, true};
    case Stat::columns: return {columns, columns, true};
    case Stat::pairs: return {0, rows * columns, true};
    case Stat::tiles: return {0, kMostPasses * rows * columns, true};  // a tile has a pair at least
    case Stat::keys: return {0, kMostPasses * rows * std::ceil(columns / kMostInGroup) * kMostInGroup, true};
    case Stat::candidates_max: return {0, columns, true};
    case Stat::proved:
    case Stat::refined:
    case Stat::redone_fp32:
    case Stat::redone_fp64:
    case Stat::checked:
    case Stat::ties_at_k: return {0, rows, true};
    case Stat::duplicates: return {0, std::max(rows, columns) - 1, true};
    case Stat::bound_violations: return {0, 0, true};
    case Stat::seconds_copy:
    case Stat::seconds_prepare:
    case Stat::seconds_tile:
    case Stat::seconds_merge:
    case Stat::seconds_refine:
    case Stat::seconds_emit:
    case Stat::seconds_check:
    case Stat::seconds_total: return {0, kMostSeconds, false};
    default: return {0, kMostBytes, true};
  }
}

bool possible(Stat s, const Graph& g) {
  if (!g.stats.knows(s) && s != Stat::rows && s != Stat::columns) return true;
  const Range range = range_of(s, g);
  const double x = g.stats[s];
  // NaN is in no range.
  return x >= range.least && x <= range.most && !std::signbit(x) && (!range.whole || x == std::floor(x));
}

// Texts that others decide by: the metric must be one of ours, and `self` must be what the lists have. Older files lack
// some.
std::string objection_to_texts(const Graph& g) {
  const GraphText& t = g.text;
  if (!t.metric.empty() && t.metric != "unknown" && !metric_named(t.metric))
    return "its metric " + shown(t.metric) + " is unknown";
  if (!t.self.empty() && t.self != (g.self_first ? "first" : "exclude"))
    return "its text self=" + shown(t.self) + " contradicts its mark self_first";
  return "";
}

std::int64_t count_proved(const Graph& g) {
  return std::count_if(g.proof.begin(), g.proof.end(),
                       [](std::uint8_t how) { return how != static_cast<std::uint8_t>(Proof::none); });
}
std::int64_t count_tied(const Graph& g) { return std::count(g.ties.begin(), g.ties.end(), std::uint8_t{1}); }

// Older versions of libknng wrote these zeros for a graph that came from elsewhere, which no build has all at once.
// They wrote a line for every statistic; newer ones write those that are known.
bool is_without_build(const Graph& g) {
  if (g.text.version != "unknown" && !g.text.version.empty()) return false;
  if (!g.stats.knows(Stat::seconds_total)) return false;
  return std::all_of(stat_table().begin(), stat_table().end(), [&](const StatInfo& info) {
    const Stat s = find_stat(info.name);
    return s == Stat::rows || s == Stat::columns || !g.stats.knows(s) || g.stats[s] == 0;
  });
}

// Counts that are known must be those of the marks.
std::string objection_to_counts(const Graph& g, std::int64_t proved, std::int64_t tied) {
  const auto counted = [&](Stat s, std::int64_t marks) {
    return !g.stats.knows(s) || g.stats[s] == static_cast<double>(marks);
  };
  if (!counted(Stat::proved, proved)) return "its statistic proved is not the number of rows that are marked so";
  if (!counted(Stat::ties_at_k, tied)) return "its statistic ties_at_k is not the number of rows that are marked so";
  return "";
}

// What is wrong with the marks of a row, or with its ids taken together. null: nothing.
const char* objection_to_row(const Graph& g, std::int64_t i, Buffer<std::int64_t>& scratch) {
  const std::int64_t* const row = g.ids.data() + i * g.width;
  if (has_repeats(row, scratch)) return "a row has an id twice";
  if (g.self_first && row[0] != i) return "a row does not start with itself, although it is marked self_first";
  if (g.ties[i] > 1) return "a row has a mark for ties that is neither 0 nor 1";
  if (g.proof[i] > static_cast<std::uint8_t>(Proof::fp64)) return "a row has an unknown kind of proof";
  return nullptr;
}

}  // namespace

std::string write_facts(const Graph& g) {
  std::string lines;
  const auto add = [&](const std::string& name, const std::string& value) {
    lines.append(name).append("=").append(value).append("\n");
  };
  add("columns", number_text(g.columns));
  add("square", g.square ? "1" : "0");
  add("self_first", g.self_first ? "1" : "0");
  for (const GraphTextField& field : graph_texts()) add(std::string("text.") + field.name, escaped(g.text.*field.text));
  for (int i = 0; i < kStats; ++i)
    if (const auto s = static_cast<Stat>(i); g.stats.knows(s))
      add(std::string("stat.") + stat_table()[static_cast<std::size_t>(i)].name, number_text(g.stats[s]));
  return lines;
}

std::string read_facts(std::string_view lines, Graph& g) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    const std::size_t equals = line.find('=');
    if (end == std::string_view::npos || equals == std::string_view::npos)
      return "a line of its facts is no name=value";
    if (!read_fact(line.substr(0, equals), line.substr(equals + 1), g))
      return "its fact " + std::string(line.substr(0, std::min<std::size_t>(equals, 40))) + " has no valid value";
    lines.remove_prefix(end + 1);
  }
  return "";
}

std::string read_file_facts(std::string_view lines, Graph& g) {
  std::string wrong = read_facts(lines, g);
  if (!wrong.empty()) return wrong;
  if (is_without_build(g)) {
    const double rows = g.stats[Stat::rows], columns = g.stats[Stat::columns];
    g.stats = Stats::unknown();
    g.stats[Stat::rows] = rows;
    g.stats[Stat::columns] = columns;
  }
  if (!g.square && g.stats[Stat::duplicates] == 0) g.stats.forget(Stat::duplicates);  // a query looks for none
  return "";
}

void count_marks(Graph& g) {
  const auto counted = [&](Stat s, std::int64_t marks) {
    if (!g.stats.knows(s) && marks > 0) g.stats[s] = static_cast<double>(marks);
  };
  counted(Stat::proved, count_proved(g));
  counted(Stat::ties_at_k, count_tied(g));
}

Objection graph_objection(const Graph& g, const Work& work) {
  if (g.columns < 1) return {"it has no columns"};
  if (g.square && g.rows != g.columns) return {"it is marked square, but has other counts of rows and columns"};
  if (g.self_first && (!g.square || g.width < 2)) return {"it is marked self_first, which it cannot be"};
  for (int i = 0; i < kStats; ++i)
    if (const auto s = static_cast<Stat>(i); !possible(s, g)) {
      const Range range = range_of(s, g);
      return {std::string("its statistic ") + stat_table()[static_cast<std::size_t>(i)].name + "=" +
              number_text(g.stats[s]) + " is none that such a graph can have: " + (range.whole ? "whole " : "") +
              "numbers from " + number_text(range.least) + " to " + number_text(range.most) + " are"};
    }
  if (std::string text = objection_to_texts(g); !text.empty()) return {std::move(text)};
  work.begin("check", g.rows);
  Buffer<std::int64_t> scratch(g.width, work.budget);
  for (std::int64_t i = 0; i < g.rows; ++i) {
    const std::int64_t* const row = g.ids.data() + i * g.width;
    for (std::int64_t t = 0; t < g.width; ++t) {
      const Where entry{.row = i, .col = t};
      if (row[t] < -1 || row[t] >= g.columns) return {"an id is outside [-1, columns)", entry};
      const double value = g.value(i * g.width + t);
      if (std::isnan(value)) return {"a value is NaN", entry};
      if (row[t] == -1 && value != HUGE_VAL) return {"a value without a neighbour is not +inf", entry};
    }
    if (const char* const what = objection_to_row(g, i, scratch)) return {what, {.row = i}};
    work.row_done();
  }
  return {objection_to_counts(g, count_proved(g), count_tied(g))};
}

}  // namespace libknng
