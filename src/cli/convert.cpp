// knng convert: a graph file in another format.
#include "commands.h"
#include "failure.h"
#include "interrupt.h"
#include "output.h"
#include "progress.h"
#include "read.h"
#include "words.h"

namespace cli {

int run_convert(const Arguments& a) {
  on_signal(OnSignal::finish, [&] { require_writable(a); });
  Progress progress(a.quiet);
  const Graph g = read_graph(a, progress);
  std::int64_t rows = 0, width = 0;
  check(knng_graph_shape(g.get(), &rows, nullptr, &width, nullptr, error()));
  const std::string metric = text(g.get(), "metric");
  {
    const SignalScope scope(OnSignal::finish);
    const knng_control control = progress.control();  // its stop flag ends the call, which leaves no file then
    check(knng_graph_save(g.get(), a.out.c_str(), nullptr, &control, error()));
  }
  progress.note(count(rows) + " rows, " + count(width) + " neighbours each, metric " +
                (metric.empty() ? "unknown" : metric) + "; saved as " + saved_as(a.out));
  mind_unread();
  check_interrupt();  // what is saved is said to be saved, even so
  return kDone;
}

}  // namespace cli
