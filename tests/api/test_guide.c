/* The guide's tables of settings and statistics (docs/guide/settings.md) are those of the library: every row, in order,
 * word for word. A row that is missing there is printed, to be copied. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

#define GUIDE HARNESS_DIR "/../../docs/guide/settings.md"

/* The next row of a table: a line that begins with a word in code. NULL at the end of the file. */
static const char* next_row(FILE* guide) {
  static char line[1024];
  while (fgets(line, sizeof line, guide))
    if (strncmp(line, "| `", 3) == 0) {
      line[strcspn(line, "\n")] = '\0';
      return line;
    }
  return NULL;
}

static void expect_row(FILE* guide, const char* row) {
  const char* written = next_row(guide);
  if (!written || strcmp(written, row) != 0)
    fail_msg("docs/guide/settings.md says\n  %s\ninstead of\n  %s", written ? written : "no more", row);
}

static void the_guide_has_the_tables_of_the_library(void** state) {
  (void)state;
  FILE* guide = fopen(GUIDE, "r");
  assert_non_null(guide);
  char row[1024];
  knng_option o;
  memset(&o, 0, sizeof o);
  o.struct_size = sizeof o;
  for (int32_t i = 0; knng_option_get(i, &o, NULL) == KNNG_OK; ++i) {
    snprintf(row, sizeof row, "| `%s` | `%s` | %s | %s |", o.name, o.fallback, o.range, o.doc);
    expect_row(guide, row);
  }
  const char *name = NULL, *doc = NULL, *aliases = NULL;
  for (int32_t i = 0; knng_metric_name(i, &name, &aliases, NULL) == KNNG_OK; ++i) {
    snprintf(row, sizeof row, "| `%s` | %s |", name, aliases);
    expect_row(guide, row);
  }
  for (int32_t i = 0; knng_stat_name(i, &name, &doc, NULL) == KNNG_OK; ++i) {
    snprintf(row, sizeof row, "| `%s` | %s |", name, doc);
    expect_row(guide, row);
  }
  const char* more = next_row(guide);
  if (more) fail_msg("docs/guide/settings.md has a row too many: %s", more);
  fclose(guide);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_guide_has_the_tables_of_the_library)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
