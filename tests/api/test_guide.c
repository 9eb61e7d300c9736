/* The guide's tables of settings and statistics (docs/guide/settings.md), and the lists of settings and metrics in the
 * header, are those of the library, word for word. What is missing there is printed, to be copied. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

#define GUIDE HARNESS_DIR "/../../docs/guide/settings.md"
#define HEADER HARNESS_DIR "/../../include/knng/settings.h"

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

/* settings.h, its comments' lines joined by single blanks. */
static char* read_header(void) {
  static char text[1 << 16];
  FILE* file = fopen(HEADER, "r");
  assert_non_null(file);
  char line[512];
  size_t size = 0;
  while (fgets(line, sizeof line, file)) {
    const char* from = line + strspn(line, " ");
    if (*from == '*') from += 1 + strspn(from + 1, " ");
    const size_t length = strcspn(from, "\n");
    assert_true(size + length + 2 < sizeof text);
    memcpy(text + size, from, length);
    size += length;
    text[size++] = ' ';
    text[size] = '\0';
  }
  fclose(file);
  return text;
}

static void expect_in_header(const char* header, const char* item) {
  if (!strstr(header, item)) fail_msg("knng/settings.h does not say\n  %s", item);
}

static void the_header_has_the_settings_and_metrics_of_the_library(void** state) {
  (void)state;
  const char* header = read_header();
  char item[1024];
  knng_option o;
  memset(&o, 0, sizeof o);
  o.struct_size = sizeof o;
  int32_t i = 0;
  for (; knng_option_get(i, &o, NULL) == KNNG_OK; ++i) {
    const char* values = strcmp(o.name, "metric") == 0 ? "a metric, see below" : o.range;
    snprintf(item, sizeof item, "- \"%s\" = \"%s\"; %s: %s ", o.name, o.fallback, values, o.doc);
    expect_in_header(header, item);
  }
  assert_true(i > 0);
  const char *name, *aliases;
  for (i = 0; knng_metric_name(i, &name, &aliases, NULL) == KNNG_OK; ++i) {
    snprintf(item, sizeof item, *aliases ? "- \"%s\" (%s): " : "- \"%s\"%s: ", name, aliases);
    expect_in_header(header, item);
  }
  assert_true(i > 0);
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
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_guide_has_the_tables_of_the_library),
      cmocka_unit_test(the_header_has_the_settings_and_metrics_of_the_library),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
