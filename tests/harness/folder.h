/* A folder of a test program's own to work in, for files that it makes: set-up and tear-down of a group of tests. */
#ifndef KNNG_TESTS_HARNESS_FOLDER_H
#define KNNG_TESTS_HARNESS_FOLDER_H

int enter_folder(void** state);
/* Removes it, with what is in it. */
int leave_folder(void** state);

#endif
