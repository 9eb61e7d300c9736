// knng estimate: what a build or a query would need.
#include "budget.h"
#include "commands.h"
#include "failure.h"
#include "progress.h"
#include "read.h"
#include "report.h"

namespace cli {

int run_estimate(const Arguments& a) {
  const Handle h = make_handle(a.settings);
  Progress progress(a.quiet);
  read_files(h.get(), a.data, progress);
  require_machine(report_plan(h.get(), a.query_rows, a.k));
  return kDone;
}

}  // namespace cli
