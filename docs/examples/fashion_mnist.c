/* What the neighbours of Fashion-MNIST say about labels.
 *
 *   fashion_mnist GRAPH DIRECTORY PICTURE
 *
 * Loads a neighbour graph of the 70,000 images (training images first), prints how often the majority of an image's
 * neighbours has its label, and draws ten images with their neighbours: the first test image of every class, framed
 * green where a neighbour has the same label and red where it has not. */
#include <inttypes.h>
#include <knng.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CLASSES = 10, SIDE = 28, PIXELS = SIDE * SIDE, TRAINING = 60000, SHOWN = 10 };
enum { SCALE = 3, FRAME = 4, CELL = SIDE * SCALE + 2 * FRAME, GAP = 4, FIRST_GAP = 20 };

static const char* const class_names[CLASSES] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                                 "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

typedef struct {
  unsigned char red, green, blue;
} colour;

typedef struct {
  int width, height;
  colour* pixels;
} picture;

static int complain(const char* what, const char* why) {
  fprintf(stderr, "fashion_mnist: %s: %s\n", what, why);
  return 1;
}

static const char* in_directory(char* path, size_t size, const char* directory, const char* file) {
  snprintf(path, size, "%s/%s", directory, file);
  return path;
}

/* Appends the labels of an IDX file (one dimension of bytes) behind labels[*count]. */
static int read_labels(const char* path, unsigned char* labels, int64_t capacity, int64_t* count) {
  static const unsigned char magic[4] = {0, 0, 8, 1}; /* bytes, one dimension */
  unsigned char head[8];
  const gzFile file = gzopen(path, "rb");
  if (!file) return complain(path, "cannot be opened");
  int failed = gzread(file, head, sizeof head) != (int)sizeof head || memcmp(head, magic, sizeof magic) != 0;
  if (!failed) {
    const int64_t n = (int64_t)head[4] << 24 | (int64_t)head[5] << 16 | (int64_t)head[6] << 8 | head[7];
    failed = n > capacity - *count || gzread(file, labels + *count, (unsigned)n) != (int)n;
    for (int64_t i = 0; i < n && !failed; ++i) failed = labels[*count + i] >= CLASSES;
    if (!failed) *count += n;
  }
  gzclose(file);
  return failed ? complain(path, "is not a file of labels for these images") : 0;
}

/* A graph file may say anything; what follows uses its ids as indices. */
static int ids_fit(const knng_matrix* ids, int64_t rows) {
  const int64_t* id = ids->data;
  for (int64_t e = 0; e < ids->rows * ids->cols; ++e)
    if (id[e] < 0 || id[e] >= rows) return 0;
  return ids->rows == rows;
}

/* The label that most neighbours have; among equals the one that comes first, so the nearer. */
static int vote(const int64_t* neighbours, int64_t k, const unsigned char* labels) {
  int votes[CLASSES] = {0}, best = -1;
  for (int64_t j = 0; j < k; ++j) ++votes[labels[neighbours[j]]];
  for (int64_t j = 0; j < k; ++j) {
    const int label = labels[neighbours[j]];
    if (best < 0 || votes[label] > votes[best]) best = label;
  }
  return best;
}

static void print_agreement(const knng_matrix* ids, const unsigned char* labels) {
  int64_t agree[CLASSES] = {0}, size[CLASSES] = {0}, all = 0;
  const int64_t* id = ids->data;
  for (int64_t i = 0; i < ids->rows; ++i) {
    const int same = vote(id + i * ids->cols, ids->cols, labels) == labels[i];
    agree[labels[i]] += same;
    ++size[labels[i]];
    all += same;
  }
  printf("Label agreement, leave one out: the majority of the %" PRId64
         " neighbours (ties to the nearer) has the\n"
         "image's own label for %" PRId64 " of %" PRId64 " images (%.2f %%).\n",
         ids->cols, all, ids->rows, 100.0 * (double)all / (double)ids->rows);
  for (int c = 0; c < CLASSES; ++c)
    if (size[c])
      printf("  %-12s %6" PRId64 " of %6" PRId64 "  (%.1f %%)\n", class_names[c], agree[c], size[c],
             100.0 * (double)agree[c] / (double)size[c]);
}

static void fill(picture* p, int left, int top, int side, colour c) {
  for (int y = top; y < top + side; ++y)
    for (int x = left; x < left + side; ++x) p->pixels[y * p->width + x] = c;
}

/* One image with its frame. */
static int draw(picture* p, int left, int top, const knng* h, int64_t row, colour frame) {
  unsigned char image[PIXELS];
  knng_matrix pixels = knng_packed(KNNG_U8, 1, PIXELS, image);
  if (knng_read(h, row, &pixels, NULL)) return complain("image", knng_last_error());
  fill(p, left, top, CELL, frame);
  for (int y = 0; y < SIDE; ++y)
    for (int x = 0; x < SIDE; ++x) {
      const unsigned char level = (unsigned char)(255 - image[y * SIDE + x]); /* dark clothes on white */
      const colour grey = {level, level, level};
      fill(p, left + FRAME + x * SCALE, top + FRAME + y * SCALE, SCALE, grey);
    }
  return 0;
}

/* The first image of the class, test images before training images; -1 if there is none. */
static int64_t example_of(int label, const unsigned char* labels, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = (i + TRAINING) % rows;
    if (labels[row] == label) return row;
  }
  return -1;
}

static int draw_neighbours(picture* p, const knng* h, const knng_matrix* ids, const unsigned char* labels) {
  static const colour grey = {150, 150, 150}, green = {0, 160, 60}, red = {220, 30, 30};
  const int64_t shown = ids->cols < SHOWN ? ids->cols : SHOWN;
  for (int c = 0; c < CLASSES; ++c) {
    const int64_t row = example_of(c, labels, ids->rows);
    if (row < 0) continue;
    const int top = GAP + c * (CELL + GAP);
    if (draw(p, GAP, top, h, row, grey)) return 1;
    const int64_t* id = (const int64_t*)ids->data + row * ids->cols;
    for (int j = 0; j < (int)shown; ++j) {
      const int left = GAP + CELL + FIRST_GAP + j * (CELL + GAP);
      if (draw(p, left, top, h, id[j], labels[id[j]] == c ? green : red)) return 1;
    }
  }
  return 0;
}

static int write_picture(const char* path, const knng* h, const knng_matrix* ids, const unsigned char* labels) {
  picture p = {2 * GAP + CELL + FIRST_GAP + SHOWN * (CELL + GAP) - GAP, GAP + CLASSES * (CELL + GAP), NULL};
  const size_t bytes = (size_t)p.width * (size_t)p.height * sizeof(colour);
  p.pixels = malloc(bytes);
  if (!p.pixels) return complain(path, "no memory for the picture");
  memset(p.pixels, 255, bytes);
  int failed = draw_neighbours(&p, h, ids, labels);
  if (!failed) {
    png_image png;
    memset(&png, 0, sizeof png);
    png.version = PNG_IMAGE_VERSION;
    png.width = (png_uint_32)p.width;
    png.height = (png_uint_32)p.height;
    png.format = PNG_FORMAT_RGB;
    if (!png_image_write_to_file(&png, path, 0, p.pixels, 0, NULL)) failed = complain(path, png.message);
  }
  free(p.pixels);
  return failed;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: fashion_mnist GRAPH DIRECTORY PICTURE\n");
    return 2;
  }
  const char* directory = argv[2];
  char path[4096];
  knng* h = NULL;
  knng_graph* g = NULL;
  unsigned char* labels = NULL;
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL);
  int64_t rows = 0, dim = 0, labelled = 0;

  int failed = knng_create(&h, 0, KNNG_U8, NULL) ||
               knng_add_file(h, in_directory(path, sizeof path, directory, "train-images-idx3-ubyte.gz"), NULL, NULL) ||
               knng_add_file(h, in_directory(path, sizeof path, directory, "t10k-images-idx3-ubyte.gz"), NULL, NULL) ||
               knng_shape(h, &rows, &dim, NULL, NULL) || knng_graph_load(&g, argv[1], NULL, NULL) ||
               knng_graph_view(g, &ids, NULL, NULL);
  if (failed) {
    complain("graph and images", knng_last_error());
  } else if (dim != PIXELS || !ids_fit(&ids, rows)) {
    failed = complain(argv[1], "is not a graph of these images");
  } else {
    labels = malloc((size_t)rows);
    failed =
        !labels ||
        read_labels(in_directory(path, sizeof path, directory, "train-labels-idx1-ubyte.gz"), labels, rows,
                    &labelled) ||
        read_labels(in_directory(path, sizeof path, directory, "t10k-labels-idx1-ubyte.gz"), labels, rows, &labelled);
    if (!failed && labelled != rows) failed = complain(directory, "has not one label for each image");
    if (!failed) {
      print_agreement(&ids, labels);
      failed = write_picture(argv[3], h, &ids, labels);
    }
  }
  free(labels);
  knng_graph_destroy(g);
  knng_destroy(h);
  return failed;
}
