// What leaves a session: rows refined from their lists, rows of which all pairs are evaluated, rows answered at once;
// and what is looked at again.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "backend/admission.h"
#include "backend/cuda/keys/all_products.cuh"
#include "backend/cuda/keys/exact_rows.cuh"
#include "backend/cuda/keys/list_check.cuh"
#include "backend/cuda/keys/product_keys.cuh"
#include "backend/cuda/keys/refine.cuh"
#include "backend/cuda/keys/whole_keys.cuh"
#include "backend/cuda/result/delivery.cuh"
#include "backend/cuda/result/listed_rows.cuh"
#include "backend/cuda/rows/caller_memory.cuh"
#include "backend/cuda/session/session.cuh"
#include "backend/cuda/session/work_sizes.cuh"
#include "core/division.h"

namespace libknng::cuda {

// Once, when lists are complete; whether it did. The tile is not needed any more: products lie there. Points on their
// way to them are where rows are refined later. Where some have no direction keys do not come from products.
bool Session::multiply_all_points() {
  const knng_backend_problem& p = problem_;
  const bool can = (p.units.usable & KNNG_UNIT_FP64) != 0 && maker_->centre() && !left_out_->first_directionless();
  if (table_ || !can || !takes_product_keys(p)) return false;
  auto* const products = reinterpret_cast<double*>(space_->tiles->tile.data());
  double* const squares = products + p.rows.count * p.rows.count;
  all_products({points_.columns(), maker_->centre(), reinterpret_cast<double*>(workspace()), products, squares},
               handles_.blas(), context_.stream);
  table_.emplace(ProductTable{products, squares, p.rows.count, {metric_, p.rows.dim}, p.metric.similarity != 0});
  return true;
}

void Session::refine(std::int64_t first, std::int64_t count, knng_backend_result& result) {
  enter(Stage::refine);
  if (points_.is_paged() && !knows_directionless_) find_directionless();
  const knng_backend_problem& p = problem_;
  // Results leave from some spaces while those of the next rows are made in others; lists that stay on this device are
  // made in place.
  const bool in_place = result.device == device_;
  const Stream out;
  const UntilDone left(out);
  if (multiply_all_points()) {
    const Event multiplied;
    multiplied.record(context_.stream);
    multiplied.hold(out);
  }
  const std::int64_t soon = refined_at_a_time(p, device_);
  const std::int64_t together = std::min(refined_together(p), soon);
  const std::int64_t most_in_flight = together == soon ? 2 : kResultSpaces;
  std::vector<ResultSpace> spaces;
  void* memory = workspace();
  for (int i = 0; i < kResultSpaces; ++i) memory = spaces.emplace_back(p, together, memory).rest;
  for (ResultSpace& space : spaces) space.rows.findings = spaces.front().rows.findings;
  Delivery delivery(p, spaces.front().rows.findings, result, staging_, out);
  const Event cleared;  // what is found is counted from then on
  cleared.record(out);
  cleared.hold(context_.stream);

  const Event made[kResultSpaces], gone[kResultSpaces];
  const std::int64_t parts = ceil_div(count, together);
  const auto first_of = [&](std::int64_t part) { return first + part * together; };
  const auto rows_of = [&](std::int64_t part) { return std::min(together, count - part * together); };
  std::int64_t delivered = 0;
  const auto deliver_oldest = [&] {
    const std::int64_t part = delivered++, turn = part % kResultSpaces;
    const ResultSpace& from = spaces[static_cast<std::size_t>(turn)];
    if (together == soon) made[turn].wait();  // long parts: one is in flight when a stop is asked for
    made[turn].hold(out);
    if (in_place)
      delivery.facts(from, 0, first_of(part), rows_of(part));
    else
      delivery.rows(from, 0, first_of(part), rows_of(part));
    gone[turn].record(out);
  };
  for (std::int64_t part = 0; part < parts; ++part) {
    if (part - delivered == most_in_flight) deliver_oldest();
    throw_if_cancelled();
    const std::int64_t turn = part % kResultSpaces;
    gone[turn].hold(context_.stream);
    ResultRows to = spaces[static_cast<std::size_t>(turn)].rows;
    if (in_place) {
      const std::int64_t entry = first_of(part) * to.width;
      to.ids = result.ids + entry;
      to.values = static_cast<std::byte*>(result.values) + entry * value_bytes(p);
    }
    refine_rows(first_of(part), rows_of(part), to, memory);
    made[turn].record(context_.stream);
  }
  while (delivered < parts) deliver_oldest();
  delivery.findings();
}

// Puts the rows' results at the front of `to`.
void Session::refine_rows(std::int64_t first, std::int64_t count, const ResultRows& to, void* workspace) {
  const knng_backend_problem& p = problem_;
  RefineJob job = refine_job(p, metric_);
  job.rows = points_.rows();
  job.columns = points_.columns();
  job.first = first;
  job.count = count;
  job.admission = left_out_->admission();
  job.places = points_.places();
  const std::int64_t first_list = job.places ? 0 : first;
  const CandidateLists lists = lists_->from(first_list);
  job.lists = {lists.entries, lists.counts, lists.capacity, lists.dropped, lists.cutoffs};
  const TileMeaning& meaning = maker_->meaning();
  job.bounds = {meaning.scale, nullptr, nullptr, meaning.sums, meaning.integers && !meaning.column_bounds};
  job.order = points_.order_of_columns(0);
  if (meaning.column_bounds) {
    job.bounds.rows = meaning.row_bounds + first_list;
    job.bounds.columns = meaning.column_bounds;
  }
  if (points_.is_paged()) {
    job.keys = keys_->of_lists.data() + first * lists.capacity;
    job.self_keys = keys_->of_selves.size() > 0 ? keys_->of_selves.data() + first : nullptr;
  }
  job.table = table_ ? &*table_ : nullptr;
  job.directionless = left_out_->first_directionless();
  job.directionless_count = left_out_->directionless_count;
  job.result = to;
  job.result.first = first;
  job.result.rung = static_cast<std::uint8_t>(rung_ == KNNG_RUNG_ROUNDED_BYTES ? KNNG_RUNG_FILTER : rung_);
  job.workspace = workspace;
  libknng::cuda::refine(job, context_.stream);
}

void Session::answer(std::int64_t first, std::int64_t count, knng_backend_result& result) {
  answerer_->answer(first, count, *left_out_, workspace(), result);
}

namespace {

// Some rows' lists on the host, as they were made, and what their keys say.
struct CheckedLists {
  CheckedLists(const knng_backend_problem& p, std::int64_t count)
      : entries(width(p)),
        value_bytes(entries * cuda::value_bytes(p)),
        ids(static_cast<std::size_t>(count * entries)),
        values(static_cast<std::size_t>(count * value_bytes)),
        listed(static_cast<std::size_t>(count * entries)),
        counts(static_cast<std::size_t>(count)) {}

  const std::int64_t entries, value_bytes;  // of a row
  std::vector<std::int64_t> ids;
  std::vector<std::byte> values;
  std::vector<double> listed;
  std::vector<KeyCounts> counts;
};

// Where lists lie one behind the other: on the device, and on the host.
struct ListsOnDevice {
  const std::int64_t* rows;
  std::int64_t* ids;
  std::byte* values;
};
struct ListsOnHost {
  std::int64_t* ids;
  std::byte* values;
};

// Lists of these rows, of `width` ids and `value_bytes` of values each, from wherever the result is: from a device's
// memory to this one's, from the host's to both.
void collect_lists(std::span<const std::int64_t> rows, std::int64_t width, std::int64_t value_bytes,
                   const knng_backend_result& result, int device, const ListsOnDevice& there, const ListsOnHost& here,
                   const Stream& stream) {
  const auto* const values = static_cast<const std::byte*>(result.values);
  if (result.device == device)
    return gather_lists({there.rows, std::ssize(rows), width, value_bytes}, result.ids, values, there.ids, there.values,
                        stream);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t row = rows[i], place = static_cast<std::int64_t>(i);
    const auto copy = [&](void* to_device, void* to_host, const void* from, std::int64_t bytes) {
      if (bytes == 0) return;
      if (result.device >= 0)
        copy_between(to_device, device, from, result.device, bytes, stream);
      else
        std::memcpy(to_host, from, static_cast<std::size_t>(bytes));
    };
    copy(there.ids + place * width, here.ids + place * width, result.ids + row * width, 8 * width);
    copy(there.values + place * value_bytes, here.values + place * value_bytes, values + row * value_bytes,
         value_bytes);
  }
  if (result.device < 0)
    check(cudaMemcpyAsync(there.ids, here.ids, rows.size() * static_cast<std::size_t>(8 * width),
                          cudaMemcpyHostToDevice, stream));
}

}  // namespace

void Session::redo(std::span<const std::int64_t> rows, bool by_lists, knng_backend_result& result) {
  if (points_.is_paged() && rung_ == 0 && !points_.paged().all_have_come()) {  // without tiles rows come here first
    leave_stage();
    points_.paged().look_for_refused();
  }
  enter(Stage::redo);
  if (by_lists)
    redo_by_lists(rows, result);
  else
    redo_by_all(rows, result);
}

ContendingRowsJob Session::contending_job() const {
  ContendingRowsJob job = cuda::contending_job(problem_, metric_);
  job.rows = points_.rows();
  job.columns = points_.columns();
  job.admission = left_out_->admission();
  job.filter = maker_->row_filter();
  job.scale = maker_->meaning().scale;
  job.places = points_.queries() ? nullptr : points_.places();
  job.parts = key_parts_;
  return job;
}

namespace {

// Calls make(rows) for as many of some rows at a time as there is room for, with their numbers in list on the device,
// and hands over what it made of them.
template <class Make>
void make_listed(std::span<const std::int64_t> rows, const ResultSpace& results, std::int64_t* list, Delivery& delivery,
                 const Stream& stream, Make&& make) {
  const auto most = static_cast<std::size_t>(results.together);
  for (std::size_t done = 0; done < rows.size(); done += most) {
    const auto together = rows.subspan(done, std::min(rows.size() - done, most));
    check(cudaMemcpyAsync(list, together.data(), together.size_bytes(), cudaMemcpyHostToDevice, stream));
    make(together);
    delivery.listed(results, together, list);
  }
  delivery.findings();
}

}  // namespace

// Those that may belong to a row are found with its list as it is, whichever device made it. Rows with too many stay
// without a proof.
void Session::redo_by_lists(std::span<const std::int64_t> rows, knng_backend_result& result) {
  const knng_backend_problem& p = problem_;
  const ContendingSpace space(p, workspace());
  const ResultSpace& results = space.results;
  Delivery delivery(p, results.rows.findings, result, staging_, context_.stream);
  std::vector<std::int64_t> listed(static_cast<std::size_t>(results.together * results.rows.width));
  ContendingRowsJob job = contending_job();
  job.list = space.list;
  job.listed = space.listed;
  job.result = results.rows;
  job.result.packed = true;
  job.result.rung = KNNG_RUNG_FP64;
  job.workspace = space.workspace;
  make_listed(rows, results, space.list, delivery, context_.stream, [&](std::span<const std::int64_t> together) {
    collect_lists(together, results.rows.width, 0, result, device_, {space.list, space.listed, nullptr},
                  {listed.data(), nullptr}, context_.stream);
    job.count = std::ssize(together);
    contending_rows(job, context_.stream);
  });
}

void Session::redo_by_all(std::span<const std::int64_t> rows, knng_backend_result& result) {
  const knng_backend_problem& p = problem_;
  const RedoSpace space(p, workspace());
  const ResultSpace& results = space.results;
  Delivery delivery(p, results.rows.findings, result, staging_, context_.stream);
  ExactJob job = exact_job(p, metric_);
  job.columns = points_.columns();
  job.list = space.list;
  job.parts = key_parts_;
  job.admission = left_out_->admission();
  job.result = results.rows;
  job.result.packed = true;
  job.result.rung = KNNG_RUNG_FP64;
  job.workspace = space.workspace;
  std::optional<const Points> picked;
  make_listed(rows, results, space.list, delivery, context_.stream, [&](std::span<const std::int64_t> together) {
    job.rows = points_.rows();
    job.count = std::ssize(together);
    if (points_.is_paged()) {
      job.columns_from = [this](std::int64_t first) {
        blocks_used();
        return points_.view_of_columns(first).view;
      };
      if (!points_.queries()) {
        const PickedRows from{p.columns, {together.begin(), together.end()}};
        picked.emplace(from.rows(), metric_.transform, p.metric.largest, staging_, context_);
        job.rows = picked->view();
        job.rows_picked = true;
      }
    }
    exact_rows(job, context_.stream);
  });
}

std::int64_t Session::find_wrong(std::int64_t first, std::int64_t count, const knng_backend_result& result) {
  const knng_backend_problem& p = problem_;
  const std::span<const std::int64_t> all(p.checked, static_cast<std::size_t>(p.checked_count));
  const auto begin = std::lower_bound(all.begin(), all.end(), first);
  const std::span<const std::int64_t> checked(begin, std::lower_bound(begin, all.end(), first + count));
  if (checked.empty()) return -1;
  enter(Stage::redo);
  const CheckSpace space(p, workspace());
  CheckedLists lists(p, space.together);
  const Admission admission = admission_of(p);  // on the host
  for (std::size_t done = 0; done < checked.size(); done += static_cast<std::size_t>(space.together)) {
    const auto rows = checked.subspan(done, std::min(checked.size() - done, static_cast<std::size_t>(space.together)));
    const auto number = std::ssize(rows);
    check(cudaMemcpyAsync(space.rows, rows.data(), rows.size_bytes(), cudaMemcpyHostToDevice, context_.stream));
    collect_lists(rows, lists.entries, lists.value_bytes, result, device_, {space.rows, space.ids, space.values},
                  {lists.ids.data(), lists.values.data()}, context_.stream);
    const bool on_device = result.device >= 0;
    ListCheckJob job;
    job.count = number;
    job.columns = p.columns.count;
    job.k = p.k;
    job.width = lists.entries;
    job.rows = space.rows;
    job.admission = left_out_->admission();
    job.ids = space.ids;
    job.listed = space.listed;
    job.counts = space.counts;
    if (checked_keys_) {
      job.keys = checked_keys_->of(begin - all.begin() + static_cast<std::ptrdiff_t>(done));
    } else {
      WholeKeysJob of_rows;
      of_rows.rows = points_.rows();
      of_rows.list = space.rows;
      of_rows.count = number;
      of_rows.columns = points_.columns();
      of_rows.column_count = p.columns.count;
      of_rows.metric = metric_;
      of_rows.keys = space.keys;
      of_rows.ld = p.columns.count;
      of_rows.u = space.u;
      of_rows.parts = key_parts_;
      whole_keys(of_rows, context_.stream);
      job.keys = space.keys;
    }
    count_keys(job, context_.stream);
    const Outgoing found[] = {{space.listed, lists.listed.data(), 8 * number * lists.entries},
                              {space.counts, lists.counts.data(), number * std::int64_t{sizeof(KeyCounts)}},
                              {space.ids, lists.ids.data(), 8 * number * lists.entries},
                              {space.values, lists.values.data(), number * lists.value_bytes}};
    staging_.download(std::span(found).first(on_device ? 4 : 2), context_.stream);
    for (std::int64_t i = 0; i < number; ++i) {
      const std::int64_t row = rows[static_cast<std::size_t>(i)];
      const ListClaim claim{lists.ids.data() + i * lists.entries, lists.values.data() + i * lists.value_bytes,
                            result.ties[row] != 0, admission.of(row)};
      if (!is_right(p, metric_, claim, lists.listed.data() + i * lists.entries,
                    lists.counts[static_cast<std::size_t>(i)]))
        return row;
    }
  }
  return -1;
}

}  // namespace libknng::cuda
