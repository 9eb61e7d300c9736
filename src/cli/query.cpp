// knng query: the nearest rows of a data set for the rows of another file.
#include "commands.h"
#include "failure.h"
#include "interrupt.h"
#include "output.h"
#include "progress.h"
#include "read.h"
#include "report.h"
#include "result.h"

namespace cli {

int run_query(const Arguments& a) {
  const Handle h = make_handle(a.settings);
  if (setting(h.get(), "self") == "first")
    throw Failure(kUsage,
                  "self=first: a query is no row of the data set, so that it cannot be put before its neighbours");
  on_signal(OnSignal::finish, [&] { require_writable(a); });
  Progress progress(a.quiet);
  const double read_seconds = read_files(h.get(), a.data, progress);
  const Shape data = shape(h.get());
  on_signal(OnSignal::finish, [&] { require_writable(a, data.rows); });

  progress.expect(0, "");  // how many queries there are is known only when they are read
  const knng_control control = progress.control();
  knng_graph* raw = nullptr;
  on_signal(OnSignal::stop, [&] { check(knng_query_file(h.get(), a.queries.c_str(), a.k, &control, &raw, error())); });
  const Graph g(raw);
  deliver(g.get(), a, data, progress);
  if (a.report) {
    report_plan(h.get(), static_cast<std::int64_t>(stat(g.get(), "rows")), a.k);
    report_work(g.get(), data.dim, read_seconds);
    report_shape(g.get());
  }
  return kDone;
}

}  // namespace cli
