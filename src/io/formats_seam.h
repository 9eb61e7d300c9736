/* The seam between libknng and libknng_formats.so: plain C, one function that hands over one table. Both sides carry
 * the hash of this header (KNNG_FORMATS_BUILD_ID), so that everything here may change from one build to the next.
 *
 * Rules: no exception, longjmp or output crosses the seam. A call that fails returns a knng_status and fills in the
 * error. Files stay on the library's side: the formats library reads and writes through the callbacks below, whose
 * failures the library itself remembers and words. Not part of the public API. */
#ifndef KNNG_IO_FORMATS_SEAM_H
#define KNNG_IO_FORMATS_SEAM_H

#include <stdint.h>

#define KNNG_FORMATS_SEAM_VERSION 1u
#define KNNG_FORMATS_FILE "libknng_formats.so"
#define KNNG_FORMATS_ENTRY "knng_formats_entry"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct knng_formats_error {
  int32_t status; /* a knng_status */
  char text[244]; /* what is wrong, without the file's name */
} knng_formats_error;

/* A file to read. Lives, with what user points to, as long as what was opened on it. */
typedef struct knng_formats_input {
  void* user;
  int64_t size;
  /* Bytes brought, fewer than wanted only at the end of the file; -1: failed. */
  int64_t (*read_at)(void* user, int64_t offset, void* dst, int64_t bytes);
} knng_formats_input;

/* A file to write; nothing is there yet. */
typedef struct knng_formats_output {
  void* user;
  int32_t (*write_at)(void* user, int64_t offset, const void* src, int64_t bytes); /* 0; -1: failed */
} knng_formats_output;

/* Unpacked bytes, from front to back. */
typedef struct knng_formats_stream knng_formats_stream;

typedef struct knng_formats_stream_calls {
  /* Bytes brought, fewer than wanted only at the end, which is reached only if the data's checksum is right;
   * -1: failed. */
  int64_t (*read)(knng_formats_stream* stream, void* dst, int64_t bytes, knng_formats_error* error);
  void (*close)(knng_formats_stream* stream);
} knng_formats_stream_calls;

/* gzip (RFC 1952), one or more members. */
typedef struct knng_formats_gz_calls {
  int32_t (*open)(knng_formats_stream** out, const knng_formats_input* input, knng_formats_error* error);
} knng_formats_gz_calls;

typedef struct knng_formats_archive knng_formats_archive;

typedef struct knng_formats_member {
  const char* name; /* owned by the archive */
  int64_t bytes;    /* unpacked, as the archive claims */
  int64_t packed;   /* bytes in the archive */
} knng_formats_member;

/* Memory that becomes a part of a member. */
typedef struct knng_formats_piece {
  const void* data;
  int64_t bytes;
} knng_formats_piece;

typedef struct knng_formats_new_member {
  const char* name;
  const knng_formats_piece* pieces; /* joined, in this order */
  int64_t piece_count;
} knng_formats_new_member;

/* zip archives, zip64 included. */
typedef struct knng_formats_zip_calls {
  int32_t (*open)(knng_formats_archive** out, const knng_formats_input* input, knng_formats_error* error);
  int64_t (*member_count)(const knng_formats_archive* archive);
  int32_t (*member)(const knng_formats_archive* archive, int64_t i, knng_formats_member* out,
                    knng_formats_error* error);
  /* Members stored or deflated. The stream ends before the archive does. */
  int32_t (*member_open)(knng_formats_stream** out, knng_formats_archive* archive, int64_t i,
                         knng_formats_error* error);
  void (*close)(knng_formats_archive* archive);
  /* Members are stored, not packed, and dated 1980: equal members give equal archives. */
  int32_t (*write)(const knng_formats_output* output, const knng_formats_new_member* members, int64_t member_count,
                   knng_formats_error* error);
} knng_formats_zip_calls;

/* What knng_formats_entry() returns; static. The first three members never move. Formats to come add a table each;
 * NULL: built without it. */
typedef struct knng_formats_seam {
  uint32_t struct_size;
  uint32_t version;
  const char* build_id;
  const knng_formats_stream_calls* stream;
  const knng_formats_gz_calls* gz;
  const knng_formats_zip_calls* zip;
} knng_formats_seam;

typedef const knng_formats_seam* (*knng_formats_entry_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
