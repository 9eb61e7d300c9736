/* A locale with a decimal comma, as numbers in text must not depend on it. */
#ifndef KNNG_TESTS_HARNESS_DECIMAL_COMMA_H
#define KNNG_TESTS_HARNESS_DECIMAL_COMMA_H

#include <locale.h>
#include <stdlib.h>

#include "harness/cmocka.h"

/* Whether it is set now. Made in the working directory where the system has none. */
static inline int use_decimal_comma(void) {
  if (setlocale(LC_ALL, "de_DE.UTF-8")) return 1;
  if (system("mkdir -p locale && localedef -i de_DE -f UTF-8 locale/de_DE.UTF-8 >/dev/null 2>&1") == -1) return 0;
  setenv("LOCPATH", "locale", 1);
  return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

/* Skips the test where there is none. */
static inline void need_decimal_comma(void) {
  if (use_decimal_comma()) return;
  print_message("no locale with a decimal comma (package locales)\n");
  skip();
}

#endif
