// The table of settings: defaults, what each kind of value takes and keeps, refusals, environment, locales.
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cstring>
#include <locale>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "metric/metric.h"
#include "options/options.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

knng_error error_of_set(Settings& settings, std::string_view key, std::string_view value) {
  try {
    settings.set(key, value);
  } catch (const Error& e) {
    return e.info();
  }
  return {};
}

Setting setting(int i) { return static_cast<Setting>(i); }

std::vector<std::string> words_of(const char* range) {
  std::vector<std::string> words;
  std::string rest = range;
  for (std::size_t end; (end = rest.find(", ")) != std::string::npos; rest.erase(0, end + 2))
    words.push_back(rest.substr(0, end));
  words.push_back(rest);
  return words;
}

// The value is refused, the message names setting, value and range, and the setting keeps what it had.
void assert_refused(Settings& settings, const char* key, const std::string& value) {
  const std::string before = settings.get(key);
  const knng_error e = error_of_set(settings, key, value);
  if (e.code != KNNG_ERR_OPTION) print_error("%s took '%s' as '%s'\n", key, value.c_str(), settings.get(key).c_str());
  assert_int_equal(e.code, KNNG_ERR_OPTION);
  assert_string_equal(e.argument, key);
  assert_non_null(std::strstr(e.message, key));
  assert_non_null(std::strstr(e.message, value.substr(0, 80).c_str()));
  for (int i = 0; i < kSettings; ++i)
    if (std::strcmp(option(setting(i)).name, key) == 0)
      assert_non_null(std::strstr(e.message, option_range(setting(i))));
  assert_string_equal(settings.get(key).c_str(), before.c_str());
}

void assert_kept_as(Settings& settings, const char* key, const std::string& value, const char* kept) {
  const knng_error e = error_of_set(settings, key, value);
  if (e.code != KNNG_OK) print_error("%s\n", e.message);
  assert_int_equal(e.code, KNNG_OK);
  assert_string_equal(settings.get(key).c_str(), kept);
}

void table_is_complete(void**) {
  std::set<std::string> names;
  for (int i = 0; i < kSettings; ++i) {
    const Option& o = option(setting(i));
    assert_int_equal(static_cast<int>(o.setting), i);
    assert_true(names.insert(o.name).second);
    assert_true(std::strlen(o.doc) > 0 && std::strlen(option_range(setting(i))) > 0);
  }
  const std::set<std::string> documented = {
      "metric",           "p",         "selector",  "engine",     "device",     "self",
      "precision",        "value",     "threads",   "value_type", "graph",      "max_host_bytes",
      "max_device_bytes", "tile_rows", "tile_cols", "check_rows", "file_points"};
  assert_true(names == documented);
}

void defaults_are_values_that_the_setting_takes(void**) {
  Settings settings;
  for (int i = 0; i < kSettings; ++i) {
    const Option& o = option(setting(i));
    assert_string_equal(settings.get(o.name).c_str(), o.fallback);
    assert_kept_as(settings, o.name, o.fallback, o.fallback);
    assert_string_equal(settings.text(setting(i)).c_str(), o.fallback);
    assert_true(settings.is(setting(i), o.fallback));
  }
  assert_true(settings.is(Setting::metric, "euclidean") && settings.is(Setting::self, "exclude"));
  assert_true(settings.is(Setting::p, "auto"));
  assert_int_equal(settings.integer(Setting::threads), 0);
}

void words_are_taken_whole(void**) {
  Settings settings;
  for (int i = 0; i < kSettings; ++i) {
    const Option& o = option(setting(i));
    if (o.kind != Option::Kind::word) continue;
    const std::vector<std::string> words = words_of(option_range(setting(i)));
    assert_true(words.size() >= 2);
    for (const std::string& word : words) {
      assert_kept_as(settings, o.name, word, word.c_str());
      std::string upper = word;
      upper[0] = static_cast<char>(upper[0] - 'a' + 'A');
      for (const std::string& wrong :
           {upper, word + " ", " " + word, word.substr(0, word.size() - 1), word + "x", word + ",", word + '\0'})
        assert_refused(settings, o.name, wrong);
    }
    assert_refused(settings, o.name, "");
    assert_refused(settings, o.name, words[0] + ", " + words[1]);
    assert_refused(settings, o.name, ", ");
    assert_refused(settings, o.name, std::string(500, 'w'));
  }
  const std::vector<std::string> metric_words = words_of(option_range(Setting::metric));
  assert_int_equal(metric_words.size(), metrics().size());
  for (std::size_t i = 0; i < metric_words.size(); ++i) assert_string_equal(metric_words[i].c_str(), metrics()[i].name);
}

void devices_are_words_or_lists_of_numbers(void**) {
  Settings settings;
  for (const char* good : {"cpu", "cuda", "cuda:0", "cuda:0,2", "cuda:7,3,5", "cuda:1023", "auto"})
    assert_kept_as(settings, "device", good, good);
  for (const char* wrong :
       {"",        "gpu",       "CPU",      "cpu:0",      "cuda:",   "cuda:,",    "cuda:0,",
        "cuda:,0", "cuda:0,,1", "cuda:0,0", "cuda:1,2,1", "cuda:-1", "cuda:1024", "cuda:99999999999",
        "cuda:a",  "cuda:0x1",  "cuda: 0",  "cuda:0, 1",  "cuda:0 ", "cuda:+1",   "cuda:1.0",
        "cuda0",   "auto:0"})
    assert_refused(settings, "device", wrong);
}

void integers_have_their_limits(void**) {
  Settings settings;
  assert_kept_as(settings, "threads", "1", "1");
  assert_kept_as(settings, "threads", "4096", "4096");
  assert_int_equal(settings.integer(Setting::threads), 4096);
  assert_kept_as(settings, "threads", "007", "7");
  assert_kept_as(settings, "tile_rows", "1048576", "1048576");
  assert_kept_as(settings, "tile_cols", "3", "3");
  for (const char* key : {"threads", "tile_rows", "tile_cols"})
    for (const char* wrong : {"", " ", "-1", "1048577", "+4", "4.0", "4 ", " 4", "0x10", "1e2", "four", "1,000",
                              "9223372036854775807", "9223372036854775808", "99999999999999999999", "nan"})
      assert_refused(settings, key, wrong);
  assert_refused(settings, "threads", "4097");
  assert_int_equal(settings.integer(Setting::threads), 7);
}

void reals_have_their_limits(void**) {
  Settings settings;
  assert_kept_as(settings, "p", "0.5", "0.5");
  assert_true(settings.real(Setting::p) == 0.5);
  assert_kept_as(settings, "p", "1e3", "1000");
  assert_kept_as(settings, "p", "2.50", "2.5");
  assert_kept_as(settings, "p", "0.01", "0.01");
  // Shortest text that reads back as the same double: nothing is lost on the way.
  assert_kept_as(settings, "p", "0.1000000000000000055511151231257827", "0.1");
  assert_kept_as(settings, "p", "3.1415926535897931", "3.141592653589793");
  assert_true(settings.real(Setting::p) == 3.141592653589793);
  for (const char* wrong : {"", "0", "-1", "0.0099", "1000.0001", "nan", "inf", "infinity", "-inf", "1e999", "2,5",
                            "2.5 ", " 2.5", "+2", "0x1p1", "two", "2.5.1", "2e", "--2"})
    assert_refused(settings, "p", wrong);
}

void bytes_have_units(void**) {
  const struct {
    const char *text, *kept;
  } good[] = {{"0", "0"},
              {"1", "1"},
              {"123456789012", "123456789012"},
              {"7B", "7"},
              {"1KiB", "1024"},
              {"1K", "1024"},
              {"3KB", "3000"},
              {"1MiB", "1048576"},
              {"1M", "1048576"},
              {"1MB", "1000000"},
              {"4GiB", "4294967296"},
              {"4 GiB", "4294967296"},
              {"4gib", "4294967296"},
              {"1gb", "1000000000"},
              {"500mB", "500000000"},
              {"2g", "2147483648"},
              {"4G", "4294967296"},
              {"4GB", "4000000000"},
              {"2TiB", "2199023255552"},
              {"2T", "2199023255552"},
              {"2TB", "2000000000000"},
              {"1.5GiB", "1610612736"},
              {"0.3KiB", "307"},  // rounded down: never more than was allowed
              {"1e9", "1000000000"},
              {"9007199254740992", "9007199254740992"},
              {"0.0", "0"},
              {"0GiB", "0"},
              {"1.9B", "1"},
              {"8192TiB", "9007199254740992"}};
  const char* wrong[] = {"",     "-1",     "-1GiB",   "GiB",   "4gi",
                         "4 Gi", "4GiB ",  " 4GiB",   "4XB",   "nan",
                         "inf",  "infB",   "1e30",    "0x10",  "4,5G",
                         "+1",   "9008TB", "8193TiB", "1e",    "1e999",
                         "G4",   "4GiBB",  "4 G B",   "1 000", "9007199254740994"};
  Settings settings;
  for (const char* key : {"max_host_bytes", "max_device_bytes"}) {
    for (const auto& [text, kept] : good) assert_kept_as(settings, key, text, kept);
    assert_int_equal(settings.integer(Setting::max_host_bytes), std::int64_t{1} << 53);
    for (const char* text : wrong) assert_refused(settings, key, text);
    // Rounded down they would be 0, which is no limit at all.
    for (const char* text : {"0.5", "0.9B", "0.0009KiB", "1e-300", "5e-13 TiB"}) {
      assert_refused(settings, key, text);
      assert_non_null(std::strstr(error_of_set(settings, key, text).message, "less than 1 byte"));
    }
  }
}

void unknown_settings_are_refused_with_the_known_ones(void**) {
  Settings settings;
  for (const char* key : {"", "metrics", "Metric", "metric ", "tile", "KNNG_METRIC"}) {
    const knng_error e = error_of_set(settings, key, "euclidean");
    assert_int_equal(e.code, KNNG_ERR_OPTION);
    for (int i = 0; i < kSettings; ++i) assert_non_null(std::strstr(e.message, option(setting(i)).name));
    knng_status code = KNNG_OK;
    try {
      settings.get(key);
    } catch (const Error& caught) {
      code = caught.code();
    }
    assert_int_equal(code, KNNG_ERR_OPTION);
  }
}

void settings_are_copied_by_value(void**) {
  Settings a;
  a.set("metric", "cosine");
  Settings b = a;
  b.set("metric", "manhattan");
  assert_string_equal(a.get("metric").c_str(), "cosine");
  assert_string_equal(b.get("metric").c_str(), "manhattan");
}

// ---- environment: read once a process, so every case has a process of its own

template <class F>
int exit_code_of(F&& f) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(f());
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

void environment_replaces_defaults(void**) {
  const int code = exit_code_of([] {
    setenv("KNNG_ENGINE", "direct", 1);
    setenv("KNNG_MAX_HOST_BYTES", "1GiB", 1);
    setenv("KNNG_THREADS", "", 1);
    setenv("KNNG_METRIC", "cosine", 1);  // says what a result means: not for the environment
    Settings first;
    if (!first.is(Setting::engine, "direct")) return 1;
    if (first.integer(Setting::max_host_bytes) != 1 << 30) return 2;
    if (first.integer(Setting::threads) != 0) return 3;
    first.set("engine", "tiled");
    if (!first.is(Setting::engine, "tiled")) return 4;
    setenv("KNNG_ENGINE", "fused", 1);  // too late: it was read once
    if (!Settings().is(Setting::engine, "direct")) return 5;
    if (!first.is(Setting::metric, "euclidean")) return 6;
    return 42;
  });
  assert_int_equal(code, 42);
}

void environment_is_checked_like_a_setting(void**) {
  const int code = exit_code_of([] {
    setenv("KNNG_TILE_ROWS", "many", 1);
    try {
      Settings settings;
    } catch (const Error& e) {
      if (e.code() != KNNG_ERR_OPTION) return 1;
      if (std::strcmp(e.info().argument, "tile_rows") != 0) return 2;
      if (!std::strstr(e.what(), "many") || !std::strstr(e.what(), "KNNG_TILE_ROWS")) return 3;
      return 42;
    }
    return 4;
  });
  assert_int_equal(code, 42);
}

// ---- locales

struct CommaNumbers : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

void assert_numbers_are_of_the_c_locale() {
  Settings settings;
  assert_kept_as(settings, "p", "2.5", "2.5");
  assert_true(settings.real(Setting::p) == 2.5);
  assert_refused(settings, "p", "2,5");
  assert_kept_as(settings, "max_host_bytes", "1.5GiB", "1610612736");
  assert_refused(settings, "max_host_bytes", "1,5GiB");
  assert_refused(settings, "max_host_bytes", "1.000.000");
  assert_kept_as(settings, "tile_rows", "123456", "123456");
  assert_int_equal(settings.integer(Setting::tile_rows), 123456);
}

void numbers_do_not_depend_on_the_c_plus_plus_locale(void**) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaNumbers));
  assert_numbers_are_of_the_c_locale();
  std::locale::global(before);
}

void numbers_do_not_depend_on_the_c_locale(void**) {
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "es_ES.UTF-8", "it_IT.UTF-8",
                           "pt_BR.UTF-8", "ru_RU.UTF-8", "sv_SE.UTF-8"}) {
    if (!std::setlocale(LC_ALL, name) || std::strcmp(std::localeconv()->decimal_point, ",") != 0) continue;
    assert_numbers_are_of_the_c_locale();
    std::setlocale(LC_ALL, "C");
    return;
  }
  std::setlocale(LC_ALL, "C");
  print_message("no locale with a decimal comma is installed (package locales-all has them)\n");
  skip();
}

}  // namespace

int main() {
  for (int i = 0; i < kSettings; ++i) {
    std::string name = "KNNG_";
    for (const char* c = option(setting(i)).name; *c; ++c) name += static_cast<char>(*c == '_' ? '_' : *c - 'a' + 'A');
    unsetenv(name.c_str());
  }
  // Before the others: the first Settings of a process reads the environment.
  const CMUnitTest tests[] = {
      cmocka_unit_test(environment_replaces_defaults),
      cmocka_unit_test(environment_is_checked_like_a_setting),
      cmocka_unit_test(table_is_complete),
      cmocka_unit_test(defaults_are_values_that_the_setting_takes),
      cmocka_unit_test(words_are_taken_whole),
      cmocka_unit_test(devices_are_words_or_lists_of_numbers),
      cmocka_unit_test(integers_have_their_limits),
      cmocka_unit_test(reals_have_their_limits),
      cmocka_unit_test(bytes_have_units),
      cmocka_unit_test(unknown_settings_are_refused_with_the_known_ones),
      cmocka_unit_test(settings_are_copied_by_value),
      cmocka_unit_test(numbers_do_not_depend_on_the_c_plus_plus_locale),
      cmocka_unit_test(numbers_do_not_depend_on_the_c_locale),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
