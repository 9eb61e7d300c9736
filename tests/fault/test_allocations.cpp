// Every allocation of the library fails once, in every call that allocates: the call answers KNNG_ERR_MEMORY, nothing
// leaks, and the objects that were there before work afterwards. It must not know how the library allocates, only that
// C++ code asks operator new. The C library uses malloc and is left alone.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string>

#include <unistd.h>

#include "knng.h"

extern "C" {
#include "harness/row_files.h"
#include "harness/rows.h"
}
#ifdef KNNG_TEST_HDF5
#include "harness/hdf5_writer.h"
#endif
#include "harness/cmocka.h"

namespace {

std::atomic<std::int64_t> countdown{-1};  // allocations until the one that fails; below 0: none fails
std::atomic<std::int64_t> live{0};        // allocations that were not freed
std::atomic<std::int64_t> failed{0};

void* allocate(std::size_t size, std::size_t alignment) {
  if (countdown.load() >= 0 && countdown.fetch_sub(1) == 0) {
    ++failed;
    throw std::bad_alloc();
  }
  void* p = nullptr;
  if (posix_memalign(&p, alignment < sizeof(void*) ? sizeof(void*) : alignment, size ? size : 1) != 0)
    throw std::bad_alloc();
  ++live;
  return p;
}

void release(void* p) noexcept {
  if (!p) return;
  --live;
  std::free(p);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 16); }
void* operator new[](std::size_t size) { return allocate(size, 16); }
void* operator new(std::size_t size, std::align_val_t a) { return allocate(size, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t size, std::align_val_t a) { return allocate(size, static_cast<std::size_t>(a)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size, 16);
  } catch (...) {
    return nullptr;
  }
}
void* operator new[](std::size_t size, const std::nothrow_t& n) noexcept { return operator new(size, n); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }

namespace {

constexpr const char* kOtherTargets[] = {"fault-target.mtx", "fault-target.tsv", "fault-target.ivecs",
                                         "fault-target.ibin"};

constexpr std::int64_t kRows = 60, kDim = 5, kNeighbours = 4;

struct World {
  test_rows rows;
  knng* handle = nullptr;
  knng_graph* graph = nullptr;
};

void require(knng_status status, const char* what) {
  if (status != KNNG_OK) fail_msg("%s: status %d: %s", what, static_cast<int>(status), knng_last_error());
}

int setup(void** state) {
  static World world;
  world.rows = rows_grid(KNNG_F32, kRows, kDim, 4, 151);
  require(knng_create(&world.handle, 0, 0, nullptr), "create");
  require(knng_set(world.handle, "threads", "2", nullptr), "threads");
  const knng_matrix m = knng_packed(KNNG_F32, kRows, kDim, world.rows.data);
  require(knng_add(world.handle, &m, nullptr, nullptr), "add");
  require(knng_build(world.handle, kNeighbours, nullptr, &world.graph, nullptr), "build");
  require(knng_graph_save(world.graph, "fault-source.knng", nullptr, nullptr, nullptr), "save");
  *state = &world;
  return 0;
}

int teardown(void** state) {
  auto& world = *static_cast<World*>(*state);
  knng_graph_destroy(world.graph);
  knng_destroy(world.handle);
  rows_free(&world.rows);
  unlink("fault-source.knng");
  unlink("fault-target.knng");
  unlink("fault-target.npz");
  for (const char* other : kOtherTargets) unlink(other);
  unlink("fault-target.fvecs");
  unlink("fault-target.fbin");
  unlink("fault-rows.idx");
  unlink("fault-rows.fvecs");
  unlink("fault-rows.csv");
  unlink("fault-rows.h5");
  return 0;
}

// Calls `call` with the first, second, ... allocation failing, until none fails. `call` returns the status of the one
// library call that is tested and destroys what it made.
template <class Call>
void every_allocation_fails(const char* what, World& world, std::int64_t at_least, Call&& call) {
  require(call(), what);  // once in peace: what is made once per process is made now
  std::int64_t failures = 0;
  for (std::int64_t n = 0;; ++n) {
    const std::int64_t before = live.load();
    failed = 0;
    countdown = n;
    const knng_status status = call();
    countdown = -1;
    // Threads of the call may still be giving back what is theirs.
    for (int i = 0; i < 1000 && live.load() != before; ++i) usleep(1000);
    if (live.load() != before)
      fail_msg("%s: allocation %lld failed, and %lld more are alive than before", what, static_cast<long long>(n),
               static_cast<long long>(live.load() - before));
    if (failed.load() == 0) {
      require(status, what);
      break;
    }
    ++failures;
    // What is only a courtesy (a log line, say) may go missing instead.
    if (status != KNNG_OK && status != KNNG_ERR_MEMORY)
      fail_msg("%s: allocation %lld failed with status %d: %s", what, static_cast<long long>(n),
               static_cast<int>(status), knng_last_error());
    if (status == KNNG_ERR_MEMORY && knng_last_error()[0] == '\0') fail_msg("%s: no message", what);

    knng_graph* again = nullptr;
    require(knng_build(world.handle, kNeighbours, nullptr, &again, nullptr), "build after a failure");
    std::int64_t wrong = 0;
    require(knng_check(world.handle, again, 0, nullptr, &wrong, nullptr), "check after a failure");
    assert_int_equal(wrong, -1);
    knng_graph_destroy(again);
  }
  std::printf("%s: %lld allocations\n", what, static_cast<long long>(failures));
  assert_true(failures >= at_least);
}

void handles(void** state) {
  auto& world = *static_cast<World*>(*state);
  every_allocation_fails("knng_create", world, 1, [&] {
    knng* h = nullptr;
    const knng_status status = knng_create(&h, 0, 0, nullptr);
    if (status != KNNG_OK) assert_null(h);
    knng_destroy(h);
    return status;
  });
  every_allocation_fails("knng_share", world, 1, [&] {
    knng* h = nullptr;
    const knng_status status = knng_share(&h, world.handle, nullptr);
    if (status != KNNG_OK) assert_null(h);
    knng_destroy(h);
    return status;
  });
  every_allocation_fails("knng_set", world, 0, [&] { return knng_set(world.handle, "metric", "euclidean", nullptr); });
}

int released;
void count_release(void*) { ++released; }

void rows(void** state) {
  auto& world = *static_cast<World*>(*state);
  const knng_matrix m = knng_packed(KNNG_F32, kRows, kDim, world.rows.data);
  knng_matrix borrowed = m;
  borrowed.release = count_release;
  const auto on_new_handle = [&](auto&& call) {
    const std::int64_t armed = countdown.exchange(-1);  // the handle itself is not what is tested
    knng* h = nullptr;
    require(knng_create(&h, 0, 0, nullptr), "create");
    countdown = armed;
    const knng_status status = call(h);
    countdown = -1;
    std::int64_t n = -1;
    require(knng_shape(h, &n, nullptr, nullptr, nullptr), "shape");
    assert_int_equal(n, status == KNNG_OK ? kRows : 0);
    knng_destroy(h);
    return status;
  };
  // The rows' copy, which there is no memory for, is told by its size.
  const std::string of_copy = "an array of " + std::to_string(kRows * kDim * 4) + " bytes";
  int named = 0;
  every_allocation_fails("knng_add", world, 2, [&] {
    return on_new_handle([&](knng* h) {
      const knng_status status = knng_add(h, &m, nullptr, nullptr);
      if (status == KNNG_ERR_MEMORY && std::strstr(knng_last_error(), of_copy.c_str())) ++named;
      return status;
    });
  });
  assert_int_equal(named, 1);
  every_allocation_fails("knng_borrow", world, 1, [&] {
    released = 0;
    const knng_status status = on_new_handle([&](knng* h) { return knng_borrow(h, &borrowed, nullptr, nullptr); });
    assert_int_equal(released, status == KNNG_OK ? 1 : 0);
    return status;
  });
  std::FILE* f = std::fopen("fault-rows.idx", "wb");
  assert_non_null(f);
  const unsigned char idx[12 + 60 * 5] = {0, 0, 8, 2, 0, 0, 0, 60, 0, 0, 0, 5};
  std::fwrite(idx, 1, sizeof idx, f);
  std::fclose(f);
  every_allocation_fails("knng_add_file", world, 3, [&] {
    return on_new_handle([&](knng* h) { return knng_add_file(h, "fault-rows.idx", nullptr, nullptr); });
  });
  f = std::fopen("fault-rows.csv", "wb");
  assert_non_null(f);
  std::fputs("name,height,width\n", f);
  for (std::int64_t i = 0; i < kRows; ++i) std::fprintf(f, "row %d,%d.5,%d\n", static_cast<int>(i), 7, 8);
  std::fclose(f);
  every_allocation_fails("knng_add_file, text", world, 4, [&] {
    return on_new_handle([&](knng* h) { return knng_add_file(h, "fault-rows.csv", nullptr, nullptr); });
  });
}

#ifdef KNNG_TEST_HDF5
// libhdf5 allocates with malloc.
void hdf5_rows(void** state) {
  auto& world = *static_cast<World*>(*state);
  const std::string items(kRows * kDim * sizeof(float), '\0');
  {
    const hdf5::Writer file("fault-rows.h5");
    file.add("dense", {kRows, kDim}, H5T_IEEE_F32LE, items, {.chunk = {7, 2}, .gzip = 1});
    file.group("sparse");
    file.text("sparse", "encoding-type", "csr_matrix");
    file.integers("sparse", "shape", {kRows, kDim});
    file.add("sparse/data", {1}, H5T_IEEE_F32LE, items);
    file.add("sparse/indices", {1}, H5T_STD_I32LE, items);
    file.add("sparse/indptr", {kRows + 1}, H5T_STD_U8LE, std::string(kRows, '\0') + '\1');
    file.group("columns");
    file.text("columns", "encoding-type", "csc_matrix");
    file.integers("columns", "shape", {kRows, kDim});
    file.add("columns/data", {1}, H5T_IEEE_F32LE, items);
    file.add("columns/indices", {1}, H5T_STD_I32LE, items);
    file.add("columns/indptr", {kDim + 1}, H5T_STD_U8LE, std::string(kDim, '\0') + '\1');
    const hsize_t dim = kDim;
    const hid_t record = hdf5::good(H5Tcreate(H5T_COMPOUND, kDim * sizeof(float)));
    hdf5::must(H5Tinsert(record, "x", 0, hdf5::good(H5Tarray_create2(H5T_IEEE_F32LE, 1, &dim))));
    file.add("records", {kRows}, record, items);
  }
  const auto add = [](const char* path, knng_status refused) {
    const std::int64_t armed = countdown.exchange(-1);  // the handle itself is not what is tested
    knng* h = nullptr;
    require(knng_create(&h, 0, 0, nullptr), "create");
    countdown = armed;
    const knng_status status = knng_add_file(h, path, nullptr, nullptr);
    countdown = -1;
    std::int64_t n = -1;
    require(knng_shape(h, &n, nullptr, nullptr, nullptr), "shape");
    assert_int_equal(n, status == KNNG_OK ? kRows : 0);
    // Told of are files that were added, and no others.
    std::int64_t needed = -1;
    knng_file_text(h, 0, "file", nullptr, 0, &needed, nullptr);
    assert_int_equal(needed, status == KNNG_OK ? static_cast<std::int64_t>(std::strlen(path) + 1) : 0);
    knng_destroy(h);
    return status == refused ? KNNG_OK : status;
  };
  every_allocation_fails("knng_add_file, HDF5", world, 8, [&] { return add("fault-rows.h5:dense", KNNG_OK); });
  every_allocation_fails("knng_add_file, sparse", world, 8, [&] { return add("fault-rows.h5:sparse", KNNG_OK); });
  every_allocation_fails("knng_add_file, columns", world, 8, [&] { return add("fault-rows.h5:columns", KNNG_OK); });
  every_allocation_fails("knng_add_file, records", world, 8, [&] { return add("fault-rows.h5:records/x", KNNG_OK); });
  every_allocation_fails("knng_add_file, which", world, 8, [&] { return add("fault-rows.h5", KNNG_ERR_FORMAT); });
}
#endif

// Rows that stay in their file, and work that needs a copy of them.
void rows_in_files(void** state) {
  auto& world = *static_cast<World*>(*state);
  test_rows wide = rows_grid(KNNG_F32, kRows, 400, 9, 153);
  write_rows("fault-rows.fvecs", &wide);
  knng* h = nullptr;
  every_allocation_fails("knng_add_file, rows stay", world, 6, [&] {
    const std::int64_t armed = countdown.exchange(-1);
    knng_destroy(h);
    h = nullptr;
    require(knng_create(&h, 0, 0, nullptr), "create");
    require(knng_set(h, "threads", "2", nullptr), "threads");
    require(knng_set(h, "device", "cpu", nullptr), "device");
    require(knng_set(h, "max_host_bytes", "90000", nullptr), "max_host_bytes");
    countdown = armed;
    const knng_status status = knng_add_file(h, "fault-rows.fvecs", nullptr, nullptr);
    countdown = -1;
    std::int64_t n = -1;
    require(knng_shape(h, &n, nullptr, nullptr, nullptr), "shape");
    assert_int_equal(n, status == KNNG_OK ? kRows : 0);
    knng_destroy(h);
    h = nullptr;
    return status;
  });
  require(knng_create(&h, 0, 0, nullptr), "create");
  require(knng_set(h, "max_host_bytes", "90000", nullptr), "max_host_bytes");
  require(knng_add_file(h, "fault-rows.fvecs", nullptr, nullptr), "add");
  require(knng_set(h, "max_host_bytes", "0", nullptr), "max_host_bytes");
  require(knng_set(h, "device", "cpu", nullptr), "device");
  require(knng_set(h, "threads", "2", nullptr), "threads");
  every_allocation_fails("knng_build, rows in a file", world, 6, [&] {
    knng_graph* g = nullptr;
    const knng_status status = knng_build(h, kNeighbours, nullptr, &g, nullptr);
    if (status != KNNG_OK) assert_null(g);
    knng_graph_destroy(g);
    return status;
  });
  float x[400];
  knng_matrix one = knng_packed(KNNG_F32, 1, 400, x);
  every_allocation_fails("knng_read, rows in a file", world, 2, [&] { return knng_read(h, kRows - 1, &one, nullptr); });
  knng_destroy(h);
  rows_free(&wide);
}

void builds(void** state) {
  auto& world = *static_cast<World*>(*state);
  static const char* const settings[][2] = {{"euclidean", "direct"},
                                            {"euclidean", "fused"},
                                            {"spearman", "direct"},
                                            {"spearman", "fused"},
                                            {"manhattan", "auto"}};
  for (const auto& s : settings) {
    require(knng_set(world.handle, "metric", s[0], nullptr), s[0]);
    require(knng_set(world.handle, "engine", s[1], nullptr), s[1]);
    every_allocation_fails(s[0], world, 5, [&] {
      knng_graph* g = nullptr;
      const knng_status status = knng_build(world.handle, kNeighbours, nullptr, &g, nullptr);
      if (status != KNNG_OK) assert_null(g);
      knng_graph_destroy(g);
      return status;
    });
  }
  require(knng_set(world.handle, "metric", "euclidean", nullptr), "euclidean");
  require(knng_set(world.handle, "engine", "auto", nullptr), "auto");

  // Half of the rows or more equal others: they are left out and come back.
  test_rows few = rows_grid(KNNG_F32, kRows, kDim, 2, 152);
  knng* of_few = nullptr;
  require(knng_create(&of_few, 0, 0, nullptr), "create");
  require(knng_set(of_few, "threads", "2", nullptr), "threads");
  // A tree of so few rows takes less memory than what tells which of them are equal.
  require(knng_set(of_few, "engine", "tiled", nullptr), "engine");
  const knng_matrix all = knng_packed(KNNG_F32, kRows, kDim, few.data);
  require(knng_add(of_few, &all, nullptr, nullptr), "add");
  every_allocation_fails("duplicates", world, 8, [&] {
    knng_graph* g = nullptr;
    const knng_status status = knng_build(of_few, kNeighbours, nullptr, &g, nullptr);
    if (status != KNNG_OK) assert_null(g);
    double pairs = 0;
    if (g) require(knng_graph_stat(g, "pairs", &pairs, nullptr), "pairs");
    if (g) assert_true(failed.load() > 0 || pairs < kRows * (kRows - 1) / 4);
    knng_graph_destroy(g);
    return status;
  });
  knng_destroy(of_few);
  rows_free(&few);

  const knng_matrix m = knng_packed(KNNG_F32, 7, kDim, world.rows.data);
  every_allocation_fails("knng_query", world, 5, [&] {
    knng_graph* g = nullptr;
    const knng_status status = knng_query(world.handle, &m, nullptr, 0, kNeighbours, nullptr, &g, nullptr);
    if (status != KNNG_OK) assert_null(g);
    knng_graph_destroy(g);
    return status;
  });
  every_allocation_fails("knng_check", world, 2, [&] {
    std::int64_t wrong = -2;
    return knng_check(world.handle, world.graph, 0, nullptr, &wrong, nullptr);
  });
}

int progressed;
std::int32_t on_progress(void*, const char*, double, double) {
  ++progressed;
  return 0;
}
void on_log(void*, std::int32_t, const char*) {}

void builds_with_callbacks(void** state) {
  auto& world = *static_cast<World*>(*state);
  const knng_control control = {sizeof control, 1, on_progress, on_log, nullptr, nullptr, 0};
  every_allocation_fails("knng_build with callbacks", world, 5, [&] {
    knng_graph* g = nullptr;
    const knng_status status = knng_build(world.handle, kNeighbours, &control, &g, nullptr);
    knng_graph_destroy(g);
    return status;
  });
  assert_true(progressed > 0);
}

void graphs(void** state) {
  auto& world = *static_cast<World*>(*state);
  for (const char* rule : {"directed", "union", "mutual:product", "snn"})
    every_allocation_fails(rule, world, 2, [&] {
      knng_sparse* s = nullptr;
      const knng_status status = knng_graph_sparse(world.graph, rule, nullptr, &s, nullptr);
      if (status != KNNG_OK) assert_null(s);
      knng_sparse_destroy(s);
      return status;
    });
  std::int64_t numbers[kRows];
  knng_matrix out = knng_packed(KNNG_I64, kRows, 1, numbers);
  for (const char* what : {"component", "indegree"})
    every_allocation_fails(what, world, 0, [&] { return knng_graph_rows(world.graph, what, &out, nullptr); });
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, nullptr), values = ids;
  require(knng_graph_view(world.graph, &ids, &values, nullptr), "view");
  every_allocation_fails("knng_graph_import", world, 2, [&] {
    knng_graph* g = nullptr;
    const knng_status status = knng_graph_import(&g, &ids, &values, 0, ids.rows, 1, nullptr);
    if (status != KNNG_OK) assert_null(g);
    knng_graph_destroy(g);
    return status;
  });
  std::uint8_t marks[kRows] = {};
  const knng_matrix ties = knng_packed(KNNG_U8, ids.rows, 1, marks);
  knng_graph* other = nullptr;
  require(knng_graph_import(&other, &ids, &values, 0, ids.rows, 1, nullptr), "import");
  const char* known = "unknown";
  bool cosine = false;
  every_allocation_fails("knng_graph_describe", world, 2, [&] {
    cosine = !cosine;
    const knng_status status = knng_graph_describe(other,
                                                   cosine ? "text.metric=cosine\ntext.engine=of another library\n"
                                                          : "text.metric=manhattan\ntext.engine=of one more library\n",
                                                   &ties, nullptr, nullptr);
    if (status == KNNG_OK) known = cosine ? "cosine" : "manhattan";
    char metric[16] = "";
    require(knng_graph_text(other, "metric", metric, sizeof metric, nullptr, nullptr), "metric");
    assert_string_equal(metric, known);
    return status;
  });
  knng_graph_destroy(other);
}

void files(void** state) {
  auto& world = *static_cast<World*>(*state);
  for (const char* path : {"fault-target.knng", "fault-target.npz"}) {
    // The archive's library allocates with malloc, so that little is left to fail here.
    every_allocation_fails(path, world, 1,
                           [&] { return knng_graph_save(world.graph, path, nullptr, nullptr, nullptr); });
    every_allocation_fails("knng_graph_load", world, 2, [&] {
      knng_graph* g = nullptr;
      const knng_status status = knng_graph_load(&g, path, nullptr, nullptr);
      if (status != KNNG_OK) assert_null(g);
      knng_graph_destroy(g);
      return status;
    });
  }
  for (const char* path : kOtherTargets)
    every_allocation_fails(path, world, 3,
                           [&] { return knng_graph_save(world.graph, path, nullptr, nullptr, nullptr); });
}

// Errors are reported even when there is no memory for it.
void errors(void** state) {
  auto& world = *static_cast<World*>(*state);
  for (std::int64_t n = 0; n < 20; ++n) {
    countdown = n;
    const knng_status status = knng_set(world.handle, "metric", "nonsense", nullptr);
    countdown = -1;
    assert_true(status == KNNG_ERR_OPTION || status == KNNG_ERR_MEMORY);
    assert_true(knng_last_error()[0] != '\0');
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(handles),       cmocka_unit_test(rows),
#ifdef KNNG_TEST_HDF5
      cmocka_unit_test(hdf5_rows),
#endif
      cmocka_unit_test(rows_in_files), cmocka_unit_test(builds), cmocka_unit_test(builds_with_callbacks),
      cmocka_unit_test(graphs),        cmocka_unit_test(files),  cmocka_unit_test(errors),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
