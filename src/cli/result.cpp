#include "result.h"

#include "failure.h"
#include "interrupt.h"
#include "output.h"
#include "words.h"

namespace cli {

void deliver(const knng_graph* g, const Arguments& a, const Shape& data, Progress& progress) {
  progress.clear();
  if (!a.out.empty()) {
    const SignalScope scope(OnSignal::finish);
    progress.expect(0, "");
    knng_control control = progress.control();
    control.stop = nullptr;  // a result that is there is kept
    check(knng_graph_save(g, a.out.c_str(), nullptr, &control, error()));
    progress.clear();
  }
  std::string line = count(static_cast<std::int64_t>(stat(g, "rows"))) + " x " + count(data.dim) + ", k=" + count(a.k) +
                     ", " + text(g, "metric") + ": " + seconds(stat(g, "seconds_total")) + " on " + text(g, "device");
  if (!a.out.empty()) line += "; saved as " + saved_as(a.out);
  progress.note(line);
  mind_unread();
  check_interrupt();  // what is saved is said to be saved, even so
}

}  // namespace cli
