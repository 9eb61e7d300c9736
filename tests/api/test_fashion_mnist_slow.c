/* Fashion-MNIST, 784 bytes an image: all rows under every engine and selector, once, for sqeuclidean. The 10,000 test
 * images, or with the argument `all` the 60,000 for training, too. Every metric is in fashion_mnist_metrics.c. */
#include <stdio.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

#define FOLDER "/usr/share/datasets/fashion-mnist/"
enum { neighbours = 10 };

static int all; /* images */

/* All rows and columns: engines that share no arithmetic and no selection. */
static void whole_builds_are_the_same(void** state) {
  (void)state;
  knng* h = HANDLE(NULL, "device", "cpu");
  if (all) expect_ok(knng_add_file(h, FOLDER "train-images-idx3-ubyte.gz", NULL, NULL), "training images");
  expect_ok(knng_add_file(h, FOLDER "t10k-images-idx3-ubyte.gz", NULL, NULL), "test images");
  set_metric(h, &(metric_case){"sqeuclidean", "2", 1});
  knng_graph* reference = NULL;
  for (const engine_case* e = engines_for(&metric_cases[0]); e->engine; ++e) {
    set_engine(h, e);
    knng_graph* g = built(h, neighbours);
    assert_true(stat_of(g, "proved") == (all ? 70000 : 10000) && stat_of(g, "bound_violations") == 0);
    char selector[32];
    expect_ok(knng_graph_text(g, "selector", selector, sizeof selector, NULL, NULL), "selector");
    assert_string_equal(selector, strcmp(e->engine, "tiled") == 0 ? e->selector : "none");
    if (!reference) {
      reference = g;
      continue;
    }
    expect_same_graph(reference, g, e->selector);
    knng_graph_destroy(g);
  }
  knng_graph_destroy(reference);
  knng_destroy(h);
}

int main(int argc, char** argv) {
  all = argc > 1 && strcmp(argv[1], "all") == 0;
  FILE* data = fopen(FOLDER "train-images-idx3-ubyte.gz", "rb");
  if (!data || small_run()) {
    printf("skipped: %s\n", data ? "a brief run" : "no Fashion-MNIST (package dataset-fashion-mnist)");
    if (data) fclose(data);
    return 77;
  }
  fclose(data);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_builds_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
