// Every command with its options. Values of settings are passed on as they are: the library knows what they take.
#include "arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "failure.h"
#include "nearest.h"
#include "words.h"

namespace cli {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done; 2 usage; 3 data or file content; 4 file cannot be opened, read or written;\n"
    "5 memory; 6 not available here; 7 defect; 8 a list that was made is wrong; 9 check found a row that differs;\n"
    "128 + N ended by signal N.";

std::string version_text() {
  const auto dotted = [](std::int32_t v) {
    return std::to_string(v >> 16) + "." + std::to_string((v >> 8) & 0xff) + "." + std::to_string(v & 0xff);
  };
  const std::string library = dotted(knng_version());
  const std::string header = dotted(KNNG_HEADER_VERSION);
  return "knng " + library + (library == header ? "" : " (command built for " + header + ")");
}

// Usage lines with the positional arguments in the order in which they are given.
class Formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    const std::string& name = app->get_name();
    std::string line = "\nUsage: knng";
    if (app->get_parent() == nullptr) return line + " COMMAND [OPTIONS]\n\n       knng COMMAND --help\n";
    line += " " + name;
    if (name == "build" || name == "estimate") line += " DATA... -k K [OPTIONS]";
    if (name == "query") line += " DATA... QUERIES -k K -o OUT [OPTIONS]";
    if (name == "check") line += " GRAPH DATA... [OPTIONS]";
    if (name == "convert") line += " GRAPH -o OUT [OPTIONS]";
    if (name == "info") line += " FILE [OPTIONS]";
    return line + "\n";
  }
};

// The parser's state: strings first, numbers and settings are made of them afterwards.
struct Raw {
  Arguments arguments;
  std::string k, sample, query_rows;
  std::vector<std::string> set, rows;
};

std::int64_t whole_number(const char* option, const std::string& given, std::int64_t fallback) {
  if (given.empty()) return fallback;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
  if (error != std::errc() || end != given.data() + given.size())
    throw Failure(kUsage, std::string(option) + "=" + given + ": it takes a whole number");
  return number;
}

// What a setting takes, as the library lists it.
std::string values_of(const char* key) {
  knng_option o{};
  o.struct_size = sizeof o;
  for (std::int32_t i = 0; knng_option_get(i, &o, nullptr) == KNNG_OK; ++i)
    if (std::string_view(key) == o.name) return o.range;
  return "";
}

void add_setting(CLI::App* app, Raw& raw, const char* names, const char* key, const std::string& doc,
                 const char* type) {
  const std::string all = names, option = all.substr(all.rfind(',') + 1);  // of a short and a long name, the long one
  app->add_option_function<std::string>(
         names,
         [&raw, key, option](const std::string& value) {
           raw.arguments.settings.push_back({key, value, option});
         },
         doc)
      ->type_name(type);
}

void add_metric(CLI::App* app, Raw& raw) {
  add_setting(app, raw, "-m,--metric", "metric", "what is small between near rows (euclidean)", "NAME");
  add_setting(app, raw, "-p", "p", "exponent of minkowski (2); other metrics have none", "P");
  add_setting(app, raw, "--value", "value", "distance or similarity", "WORD");
}

// Of graphs of the rows themselves.
void add_self(CLI::App* app, Raw& raw) {
  add_setting(app, raw, "--self", "self", "exclude, or first: each row itself before its neighbours (exclude)", "WORD");
}

void add_max_memory(CLI::App* app, Raw& raw) {
  add_setting(app, raw, "--max-memory", "max_host_bytes", "most host memory, e.g. 4GiB (no limit)", "SIZE");
}

void add_work(CLI::App* app, Raw& raw) {
  add_setting(app, raw, "--threads", "threads", "CPU threads (all)", "N");
  add_max_memory(app, raw);
  app->add_option("--set", raw.set, "any setting that 'knng settings' lists; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_how(CLI::App* app, Raw& raw) {
  add_setting(app, raw, "--selector", "selector", values_of("selector"), "NAME");
  add_setting(app, raw, "--engine", "engine", values_of("engine"), "NAME");
  add_setting(app, raw, "--device", "device", "auto, cpu, cuda or cuda:0,2", "NAME");
  add_setting(app, raw, "--max-device-memory", "max_device_bytes", "most memory of each GPU (what is free)", "SIZE");
  add_setting(app, raw, "--precision", "precision", "exact; this version refuses fast", "WORD");
}

void add_k(CLI::App* app, Raw& raw) {
  app->add_option("-k", raw.k, "neighbours per row; of a build, itself not counted")->required()->type_name("K");
}

void add_quiet(CLI::App* app, Raw& raw) {
  app->add_flag("-q,--quiet", raw.arguments.quiet, "no progress and no notes");
}

void add_transpose(CLI::App* app, Raw& raw) {
  app->add_flag_callback(
      "--transpose",
      [&raw] {
        raw.arguments.settings.push_back({"file_points", "columns", "--transpose"});
      },
      "the points are the columns of the data files");
}

void add_data(CLI::App* app, Raw& raw, const char* doc) {
  app->add_option("DATA", raw.arguments.data, doc)->required()->type_name("");
  add_transpose(app, raw);
}

void add_graph(CLI::App* app, Raw& raw) {
  app->add_option("GRAPH", raw.arguments.graph, "graph file (.npz, .knng)")->required()->type_name("");
}

void add_output(CLI::App* app, Raw& raw, bool required) {
  const auto take = [&raw](const std::string& path) {
    if (path.empty()) throw Failure(kUsage, "--output: the name of the file is empty");
    raw.arguments.out = path;
  };
  app->add_option_function<std::string>("-o,--output", take,
                                        "file for the graph: name.npz, .knng, .mtx, .tsv, .ivecs or .ibin")
      ->required(required)
      ->type_name("OUT");
}

void add_report(CLI::App* app, Raw& raw, const char* doc) { app->add_flag("--report", raw.arguments.report, doc); }

CLI::App* add_command(CLI::App& app, Raw& raw, Command command, const char* name, const char* doc) {
  CLI::App* sub = app.add_subcommand(name, doc);
  sub->callback([&raw, command] { raw.arguments.command = command; });
  return sub;
}

void describe(CLI::App& app, Raw& raw) {
  app.name("knng");
  app.formatter(std::make_shared<Formatter>());
  app.get_formatter()->column_width(28);
  app.footer(kExitCodes);
  app.set_help_flag("-h,--help", "print this and leave");
  app.set_version_flag("--version", version_text(), "print the version and leave");
  app.require_subcommand(0, 1);

  constexpr const char* data_doc =
      "data files (.npy, .csv, .tsv, .tab, IDX, these also with .gz, .fvecs, .bvecs, .ivecs, .fbin, .u8bin, .i8bin, "
      ".ibin, .h5, .h5:PATH, .hdf5, .h5ad, .h5mu, .loom); several are one data set";
  CLI::App* build = add_command(app, raw, Command::build, "build", "the exact k-nearest-neighbour graph of all rows");
  add_data(build, raw, data_doc);
  add_k(build, raw);
  add_output(build, raw, false);
  add_metric(build, raw);
  add_self(build, raw);
  add_how(build, raw);
  add_work(build, raw);
  add_report(build, raw, "plan, time and shape of the graph on standard output (also without -o)");
  add_quiet(build, raw);

  CLI::App* query = add_command(app, raw, Command::query, "query", "the k nearest rows of a data set for other rows");
  add_data(query, raw, "data files as for build; the last one has the queries");
  add_k(query, raw);
  add_output(query, raw, true);
  add_metric(query, raw);
  add_how(query, raw);
  add_work(query, raw);
  add_report(query, raw, "plan, time and shape of the graph on standard output");
  add_quiet(query, raw);

  CLI::App* info = add_command(app, raw, Command::info, "info", "what a graph file or a data file holds");
  info->add_option("FILE", raw.arguments.graph, "a graph (.npz, .knng) or a data file")->required()->type_name("");
  add_report(info, raw, "of a graph: also components, hubs and distances");
  info->add_option("--row", raw.rows, "of a graph: only the list of row N, from 0; may be repeated")
      ->type_name("N")
      ->allow_extra_args(false);
  add_transpose(info, raw);
  add_max_memory(info, raw);

  CLI::App* check =
      add_command(app, raw, Command::check, "check", "whether a graph is right, by plain fp64 evaluation");
  add_graph(check, raw);
  add_data(check, raw, "the data files from which the graph is said to come");
  check->add_option("--rows", raw.sample, "how many rows to check, spread evenly (all)")->type_name("N");
  add_metric(check, raw);
  add_self(check, raw);
  add_work(check, raw);
  add_quiet(check, raw);

  CLI::App* convert = add_command(app, raw, Command::convert, "convert", "a graph file in another format");
  add_graph(convert, raw);
  add_output(convert, raw, true);
  add_max_memory(convert, raw);
  add_quiet(convert, raw);

  CLI::App* estimate =
      add_command(app, raw, Command::estimate, "estimate", "memory and tiles of a build, without running it");
  add_data(estimate, raw, data_doc);
  add_k(estimate, raw);
  estimate->add_option("--queries", raw.query_rows, "plan a query of N rows instead")->type_name("N");
  add_metric(estimate, raw);
  add_self(estimate, raw);
  add_how(estimate, raw);
  add_work(estimate, raw);
  add_quiet(estimate, raw);

  add_command(app, raw, Command::devices, "devices", "processors, and why not for those that cannot be used");
  add_command(app, raw, Command::settings, "settings", "every setting with its default and what it takes");

  for (CLI::App* sub : app.get_subcommands({})) sub->formatter(app.get_formatter());
}

Arguments finish(Raw& raw) {
  Arguments a = std::move(raw.arguments);
  a.k = whole_number("-k", raw.k, 0);
  a.sample = whole_number("--rows", raw.sample, 0);
  a.query_rows = whole_number("--queries", raw.query_rows, 0);
  if (!raw.sample.empty() && a.sample < 1)
    throw Failure(kUsage, "--rows=" + raw.sample + ": it takes 1 or more; without it all rows are checked");
  if (!raw.query_rows.empty() && a.query_rows < 1)
    throw Failure(kUsage, "--queries=" + raw.query_rows + ": it takes 1 or more");
  for (const std::string& row : raw.rows) a.rows.push_back(whole_number("--row", row, 0));
  if (!a.rows.empty() && a.report) throw Failure(kUsage, "--row and --report: info takes one of them");
  for (const std::string& pair : raw.set) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Failure(kUsage, "--set=" + pair + ": it takes KEY=VALUE, with a KEY that 'knng settings' lists");
    a.settings.push_back({pair.substr(0, equals), pair.substr(equals + 1), ""});
  }
  if (a.command == Command::query) {
    if (a.data.size() < 2) throw Failure(kUsage, "query: two files are needed, DATA and QUERIES; 1 was given");
    a.queries = a.data.back();
    a.data.pop_back();
  }
  return a;
}

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Whether there is the option, of a command or of none, as one that takes a value or as one that takes none.
bool has_option(const CLI::App& app, const std::string& option, bool with_value) {
  auto owners = app.get_subcommands([](const CLI::App*) { return true; });
  owners.push_back(&app);
  return std::any_of(owners.begin(), owners.end(), [&](const CLI::App* owner) {
    const CLI::Option* const found = owner->get_option_no_throw(option);
    return found != nullptr && (found->get_items_expected_max() > 0) == with_value;
  });
}

// Of a word such as -k=3: whether it is short options, flags but for the last, and '='. -ok=3 is not: it is -o with the
// value "k=3".
bool is_short_with_equals(const CLI::App& app, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals < 2) return false;
  for (std::size_t i = 1; i + 1 < equals; ++i)
    if (!has_option(app, {'-', word[i]}, false)) return false;
  const std::string last = {'-', word[equals - 1]};
  return has_option(app, last, false) || has_option(app, last, true);
}

// -k=3 as -k 3: the parser would take "=3" for the value, and a bundle of short options for what it is not. And -metric
// would be -m with the value "etric".
std::vector<std::string> words_of(int argc, char** argv, const CLI::App& app) {
  std::vector<std::string> words;
  bool options = true;  // until --
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    options = options && word != "--";
    const bool is_short = options && name.size() > 1 && name[0] == '-' && name[1] != '-';
    if (is_short && name.size() > 2 && (has_option(app, "-" + name, false) || has_option(app, "-" + name, true)))
      throw Failure(kUsage, print("unknown option '%s'; did you mean '-%s'?", name.c_str(), name.c_str()));
    if (options && word != name && has_option(app, name, false))
      throw Failure(kUsage, print("%s: %s takes no value", word.c_str(), name.c_str()));
    if (!is_short || !is_short_with_equals(app, word)) {
      words.push_back(word);
      continue;
    }
    const std::string option = {'-', name.back()}, value = word.substr(name.size() + 1);
    if (!has_option(app, option, true))
      throw Failure(kUsage, print("%s: %s takes no value", word.c_str(), option.c_str()));
    if (value.empty()) throw Failure(kUsage, word + ": there is no value behind it");
    if (name.size() > 2)
      throw Failure(kUsage,
                    print("%s: '=' goes behind one option, as in %s=%s", word.c_str(), option.c_str(), value.c_str()));
    words.push_back(option);
    words.push_back(value);
  }
  return words;
}

// For an option that is spelt as a setting which has none of its own.
std::string as_setting(const std::string& option) {
  knng_option o{};
  o.struct_size = sizeof o;
  std::string key = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::replace(key.begin(), key.end(), '-', '_');
  for (std::int32_t i = 0; knng_option_get(i, &o, nullptr) == KNNG_OK; ++i)
    if (key == o.name) return "; it is a setting: --set " + key + "=VALUE";
  return "";
}

// Of words that no command takes: what is wrong with the first. "" if there are none.
std::string unexpected(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const std::vector<std::string> all = app.remaining(true);
  if (all.empty()) return "";
  const std::string word = all.front().substr(0, all.front().find('='));
  const bool option = word.size() > 1 && word[0] == '-';
  if (chosen.empty() && !option) return "unknown command '" + word + "'" + did_you_mean(word, names_of(app));
  if (chosen.empty()) return "unknown option '" + word + "'" + did_you_mean(word, options_of(app));
  const std::string command = chosen.front()->get_name();
  if (!option) return command + ": one argument too many, '" + all.front() + "'";
  const std::vector<std::string> names = options_of(*chosen.front());
  if (std::find(names.begin(), names.end(), word) != names.end())
    return word + ": options come behind the command, " + command;
  const std::string setting = as_setting(word);
  return command + " has no option '" + word + "'" + (setting.empty() ? did_you_mean(word, names) : setting);
}

// The parser's own words, on one line. "--row: 1 required N missing" is what it says of an option without its value.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  constexpr std::string_view kOnce = ": At Most 1 required but received ";
  if (const std::size_t at = text.find(kOnce); at != std::string::npos)
    return text.substr(0, at) + " is given " + text.substr(at + kOnce.size()) + " times: once is enough";
  constexpr std::string_view kRequired = ": 1 required ", kMissing = " missing";
  const std::size_t at = text.find(kRequired);
  if (at == std::string::npos || !text.ends_with(kMissing)) return text;
  const std::size_t value = at + kRequired.size();
  return text.substr(0, at) + " takes a value, " + text.substr(value, text.size() - kMissing.size() - value) +
         ": there is none";
}

}  // namespace

std::optional<Arguments> parse(int argc, char** argv) {
  CLI::App app("Exact k-nearest-neighbour graphs of large high-dimensional data.");
  Raw raw;
  describe(app, raw);
  try {
    std::vector<std::string> words = words_of(argc, argv, app);
    std::reverse(words.begin(), words.end());  // as the parser wants them
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    if (const std::string wrong = unexpected(app); chosen.empty() && !wrong.empty())
      throw Failure(kUsage, wrong + " (see 'knng --help')");
    std::fputs((chosen.empty() ? app.help() : chosen.front()->help()).c_str(), stdout);
    return std::nullopt;
  } catch (const CLI::CallForVersion&) {
    std::puts(version_text().c_str());
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    const auto chosen = app.get_subcommands();
    const std::string help = chosen.empty() ? "knng --help" : "knng " + chosen.front()->get_name() + " --help";
    const std::string wrong = unexpected(app);
    throw Failure(kUsage, (wrong.empty() ? one_line(e.what()) : wrong) + " (see '" + help + "')");
  }
  if (app.get_subcommands().empty())
    throw Failure(kUsage,
                  "a command is needed: build, query, info, check, convert, estimate, devices or settings "
                  "(see 'knng --help')");
  return finish(raw);
}

}  // namespace cli
