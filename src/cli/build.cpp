// knng build: the graph of all rows.
#include "commands.h"
#include "failure.h"
#include "interrupt.h"
#include "output.h"
#include "progress.h"
#include "read.h"
#include "report.h"
#include "result.h"

namespace cli {

int run_build(const Arguments& a) {
  const Handle h = make_handle(a.settings);
  if (!a.out.empty()) on_signal(OnSignal::finish, [&] { require_writable(a); });
  Progress progress(a.quiet);
  const double read_seconds = read_files(h.get(), a.data, progress);
  const Shape data = shape(h.get());
  if (!a.out.empty()) on_signal(OnSignal::finish, [&] { require_writable(a, data.rows); });
  const bool report = a.report || a.out.empty();  // a graph that is not kept is built to be reported on
  if (report) report_plan(h.get(), 0, a.k);

  progress.expect(static_cast<double>(data.rows), "rows");
  const knng_control control = progress.control();
  knng_graph* raw = nullptr;
  on_signal(OnSignal::stop, [&] { check(knng_build(h.get(), a.k, &control, &raw, error())); });
  const Graph g(raw);
  deliver(g.get(), a, data, progress);
  if (report) {
    report_work(g.get(), data.dim, read_seconds);
    report_shape(g.get());
  }
  return kDone;
}

}  // namespace cli
