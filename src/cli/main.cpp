// The knng command: parses, runs one command, turns failures into one line and an exit code.
#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "arguments.h"
#include "budget.h"
#include "commands.h"
#include "failure.h"
#include "interrupt.h"
#include "words.h"

namespace {

using cli::Command;

int run_command(const cli::Arguments& a) {
  switch (a.command) {
    case Command::build: return cli::run_build(a);
    case Command::query: return cli::run_query(a);
    case Command::info: return cli::run_info(a);
    case Command::check: return cli::run_check(a);
    case Command::convert: return cli::run_convert(a);
    case Command::estimate: return cli::run_estimate(a);
    case Command::devices: return cli::run_devices();
    case Command::settings: return cli::run_settings();
  }
  return cli::kDefect;
}

int run_or_tell_enough(const cli::Arguments& a) {
  try {
    return run_command(a);
  } catch (const cli::Failure& e) {
    throw cli::with_enough(e, a);
  }
}

int run(const cli::Arguments& a) {
  try {
    return run_or_tell_enough(a);
  } catch (const cli::Failure& e) {
    throw cli::Failure(e.exit_code(), cli::as_typed(e.what(), e.setting(), a.settings));
  }
}

int fail(int code, const char* line) {
  std::fflush(stdout);
  std::fprintf(stderr, "knng: %s\n", cli::plain(line).c_str());
  return code;
}

// By a signal; after SIGPIPE nobody reads what would be said.
int leave_interrupted(const char* line) {
  const int number = cli::signal_received(), code = cli::kInterrupted + number;
  return number == SIGPIPE ? code : fail(code, line);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    cli::catch_signals();
    const auto arguments = cli::parse(argc, argv);
    if (arguments && !arguments->out.empty()) cli::keep_working_unread();
    knng_use_matrix_tiles(nullptr);  // where there are none builds run without
    const int code = arguments ? run(*arguments) : cli::kDone;
    // A result that did not reach a full disk is no result.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return fail(cli::kIo, (std::string("standard output cannot be written: ") + std::strerror(errno)).c_str());
    return code;
  } catch (const cli::Failure& e) {
    return e.exit_code() == cli::kInterrupted ? leave_interrupted(e.what()) : fail(e.exit_code(), e.what());
  } catch (const std::bad_alloc&) {
    return fail(cli::kMemory, "out of memory");
  } catch (const std::exception& e) {
    return fail(cli::kDefect, e.what());
  }
}
