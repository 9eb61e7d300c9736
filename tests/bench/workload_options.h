// What rows and settings a program's arguments name, the same for all of these programs.
#pragma once

#include <CLI/CLI.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "workloads.h"

namespace bench {

// Where the files of Fashion-MNIST are, if not elsewhere.
inline constexpr char kFashion[] = "/usr/share/datasets/fashion-mnist";

// To be called before the other options are parsed: these change parts of the workload that --workload names.
inline Workload workload_of(int argc, char** argv) {
  Workload workload;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--workload" && i + 1 < argc) workload = named_workload(argv[i + 1]);
    if (word.starts_with("--workload=")) workload = named_workload(word.substr(word.find('=') + 1));
  }
  return workload;
}

// `named` is where the name goes that workload_of() has read.
inline void declare_workload(CLI::App& app, Workload& w, std::string& named, std::string& fashion) {
  app.add_option("--workload", named,
                 std::string("a named problem: ") + workload_names() + "; other options change parts of it");
  app.add_option("--data", w.data, std::string("rows: ") + data_names())->capture_default_str();
  app.add_option("-n", w.n, "number of rows (fashion: 70000 at most)")->capture_default_str();
  app.add_option("-d", w.d, "dimension (fashion: 784)")->capture_default_str();
  app.add_option("-k", w.k, "neighbours")->capture_default_str();
  app.add_option("--dtype", w.dtype, "f32, f64, f16, bf16, u8, i8")->capture_default_str();
  app.add_option("--metric", w.metric, "any metric of the library")->capture_default_str();
  app.add_option("--order", w.order, std::string("in which generated rows stand: ") + order_names())
      ->capture_default_str();
  app.add_option("--seed", w.seed, "of the generated rows")->capture_default_str();
  app.add_option("--fashion-directory", fashion, "where the files of Fashion-MNIST are")->capture_default_str();
}

// Of KEY=VALUE each.
inline Settings settings_of(const std::vector<std::string>& words) {
  Settings settings;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("--set " + word + ": it takes KEY=VALUE");
    settings.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return settings;
}

}  // namespace bench
