#include "metric/metric.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>

#include "core/error.h"
#include "core/letter_case.h"
#include "core/nearest_word.h"
#include "metric/elementary.h"
#include "metric/ops.h"
#include "metric/report.h"

namespace libknng {
namespace {

constexpr Metric kMetrics[] = {
    {"sqeuclidean", Transform::identity, Term::squared_difference, 1, Report::key, false, 0,
     "l2sqr, squared_euclidean"},
    {"euclidean", Transform::identity, Term::squared_difference, 1, Report::root, false, 0, "l2"},
    {"cosine", Transform::unit, Term::squared_difference, 0.5, Report::key, true, 0, "cos"},
    {"correlation", Transform::centred_unit, Term::squared_difference, 0.5, Report::key, true, 0, "pearson"},
    {"spearman", Transform::rank_unit, Term::squared_difference, 0.5, Report::key, true, 0, ""},
    {"hellinger", Transform::square_root, Term::squared_difference, 1, Report::half_root, false, 0, ""},
    {"inner_product", Transform::identity, Term::product, 1, Report::key, true, 0, "dot, dot_product, ip"},
    {"manhattan", Transform::identity, Term::absolute_difference, 1, Report::key, false, 0, "l1, cityblock, taxicab"},
    {"chebyshev", Transform::identity, Term::largest_difference, 1, Report::key, false, 0, "linf, chebychev, maximum"},
    {"minkowski", Transform::identity, Term::power_difference, 1, Report::p_root, false, 0, "lp"},
    {"canberra", Transform::identity, Term::canberra, 1, Report::key, false, 0, ""},
    {"braycurtis", Transform::identity, Term::bray_curtis, 1, Report::key, false, 0, "bray_curtis, bray-curtis"},
    {"jensenshannon", Transform::share, Term::jensen_shannon, 0.5, Report::root, false, 0,
     "jensen_shannon, jensen-shannon, js"},
};

// Metrics that others have by themselves, and how to have them here.
struct Elsewhere {
  const char *names, *here;
};
constexpr Elsewhere kElsewhere[] = {
    {"hamming", "of bools manhattan counts the values that differ"},
    {"jaccard, tanimoto", "of bools braycurtis has the same neighbours"},
    {"dice, sorensen", "of bools it is braycurtis"},
    {"angular, arccos", "cosine has the same neighbours"},
    {"bhattacharyya", "of distributions hellinger has the same neighbours"},
    {"haversine", "places as x, y, z on a sphere have the same neighbours under euclidean"},
    {"seuclidean", "it is euclidean of columns divided by their standard deviations"},
    {"mahalanobis", "it is euclidean of rows times a root of the inverse covariance"},
};

bool is_listed(std::string_view words, std::string_view word) noexcept {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(", "), words.size());
    if (same_word(words.substr(0, end), word)) return true;
    words.remove_prefix(std::min(end + 2, words.size()));
  }
  return false;
}

}  // namespace

std::span<const Metric> metrics() noexcept { return kMetrics; }

const char* metric_names() {
  static const std::string names = [] {
    std::string joined;
    for (const Metric& m : kMetrics) joined.append(joined.empty() ? "" : ", ").append(m.name);
    return joined;
  }();
  return names.c_str();
}

const char* metric_named(std::string_view name) noexcept {
  for (const Metric& m : kMetrics)
    if (same_word(name, m.name) || is_listed(m.aliases, name)) return m.name;
  return nullptr;
}

std::string unknown_metric(std::string_view name) {
  std::string text = std::string("it takes ") + metric_names();
  for (const Elsewhere& m : kElsewhere)
    if (is_listed(m.names, name)) return text.append("; ").append(m.here);
  std::string words = metric_names();
  for (const Metric& m : kMetrics)
    if (*m.aliases) words.append(", ").append(m.aliases);
  return text + did_you_mean(name, words);
}

Metric find_metric(std::string_view name, double p) {
  const char* const known = metric_named(name);
  for (Metric m : kMetrics) {
    if (known != m.name) continue;
    if (m.term == Term::power_difference) {
      m.p = p;
      if (p == 1) {
        m.term = Term::absolute_difference;
        m.report = Report::key;
      } else if (p == 2) {
        m.term = Term::squared_difference;
        m.report = Report::root;
      }
    }
    return m;
  }
  fail(KNNG_ERR_OPTION, "metric", "unknown metric '%.*s'; there are %s", static_cast<int>(name.size()), name.data(),
       metric_names());
}

double largest_magnitude(const Metric& metric, std::int64_t dim) noexcept {
  // The largest sum is d times the largest term. Asking for DBL_MAX / 2 instead of DBL_MAX covers the roundings of the
  // sum: each adds at most 2^-53 of it, far less than a factor of 2 for any d < 2^31.
  const double most = DBL_MAX / 2 / static_cast<double>(dim);
  switch (metric.transform) {
    case Transform::unit:
    case Transform::rank_unit: return DBL_MAX;
    case Transform::square_root:
    case Transform::centred_unit:
    case Transform::share: return most / 2;
    case Transform::identity: break;
  }
  switch (metric.term) {
    case Term::product: return std::sqrt(most);
    case Term::squared_difference: return std::sqrt(most) / 2;
    // The factor of 2 above covers the error of pow as well, which is below kPowError of it.
    case Term::power_difference: return std::fmin(DBL_MAX / 2, pow<ScalarOps>(most / 2, 1 / metric.p) / 2);
    case Term::largest_difference:
    case Term::canberra: return DBL_MAX / 2;
    case Term::absolute_difference:
    case Term::bray_curtis:
    case Term::jensen_shannon: return most / 2;
  }
  return 0;
}

double reported_value(const Metric& metric, double key, bool similarity) noexcept {
  return report<ScalarOps>(metric, key, similarity);
}

}  // namespace libknng
