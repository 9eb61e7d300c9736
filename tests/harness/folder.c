#include "harness/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "test-files-XXXXXX";

int enter_folder(void** state) {
  (void)state;
  return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

int leave_folder(void** state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  return chdir("..") == 0 && system(command) == 0 ? 0 : -1;
}
