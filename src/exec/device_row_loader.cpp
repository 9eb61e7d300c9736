#include "exec/device_row_loader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/memory.h"
#include "core/dtype.h"
#include "dataset/fingerprint.h"

namespace libknng {
namespace {

// Of rows as fp64: enough for a call not to be dear, and little beside what else there is for a thread.
constexpr std::int64_t kBytesTogether = std::int64_t{4} << 20;

// Rows that a device is asked about in one call, which takes some time whatever they are; and no more than such bytes
// of fp64, so that a stop is noticed soon if they are brought.
constexpr std::int64_t kAskedTogether = 1 << 14;
constexpr std::int64_t kBytesAsked = std::int64_t{256} << 20;

// Of the rows of a call.
std::int64_t stored_bytes(const Dataset& data) {
  const std::int64_t row_bytes = checked_mul(data.dim(), find_dtype(data.dtype())->bytes, "rows");
  return checked_mul(DeviceRowLoader::together(data), row_bytes, "rows");
}

// About two rows, or one; number: which of the questions it is.
struct Question {
  Dataset::Place a, b;
  std::size_t number;
};
// Memory that a row takes in the lists of a thread that asks.
constexpr std::int64_t kBytesOfAsked = 48;

const MatrixView& view_of(const Dataset& data, const Dataset::Place& place) {
  return data.chunks()[place.chunk]->view();
}

std::vector<std::int64_t> rows_of(std::span<const Question> questions, Dataset::Place Question::*place) {
  std::vector<std::int64_t> rows;
  rows.reserve(questions.size());
  for (const Question& q : questions) rows.push_back((q.*place).row);
  return rows;
}

// Calls answer(some, their answers) for all that are about the same two chunks. Sorts them.
template <class F>
void answer_by_chunks(std::span<Question> questions, std::uint8_t* out, F&& answer) {
  const auto chunks = [](const Question& q) { return std::pair(q.a.chunk, q.b.chunk); };
  std::sort(questions.begin(), questions.end(),
            [&](const Question& x, const Question& y) { return chunks(x) < chunks(y); });
  std::vector<std::uint8_t> answers(questions.size());
  for (auto first = questions.begin(); first != questions.end();) {
    const auto end =
        std::find_if(first, questions.end(), [&](const Question& q) { return chunks(q) != chunks(*first); });
    const std::span<const Question> some(first, end);
    answer(some, answers.data());
    for (std::size_t i = 0; i < some.size(); ++i) out[some[i].number] = answers[i];
    first = end;
  }
}

}  // namespace

DeviceRowLoader::DeviceRowLoader(const Dataset& data, Budget* budget)
    : RowLoader(data), stored_(stored_bytes(data), budget) {}

std::int64_t DeviceRowLoader::together(const Dataset& data) noexcept {
  return std::clamp<std::int64_t>(kBytesTogether / 8 / data.dim(), 2, 2 * data.rows());
}

std::int64_t DeviceRowLoader::asked_together(const Dataset& data) noexcept {
  const std::int64_t most = std::min(kAskedTogether, 2 * data.rows());
  return std::clamp<std::int64_t>(kBytesAsked / 8 / data.dim() / 2 * 2, 2, most);
}

std::int64_t DeviceRowLoader::bytes(const Dataset& data) {
  // Numbers of rows: of a call, and of what each thread asks.
  const std::int64_t numbers = checked_mul(together(data), 8 * 2, "rows");
  const std::int64_t asked = checked_mul(asked_together(data), kThreads * kBytesOfAsked, "rows");
  return checked_add(stored_bytes(data), checked_add(numbers, asked, "rows"), "rows");
}

void DeviceRowLoader::same(std::span<const std::int64_t> rows, double* values, std::uint8_t* same) const {
  std::vector<Question> questions;
  questions.reserve(rows.size() / 2);
  for (std::size_t i = 0; i < rows.size(); i += 2)
    questions.push_back({data_.place(rows[i]), data_.place(rows[i + 1]), i / 2});
  answer_by_chunks(questions, same, [&](std::span<const Question> of_chunks, std::uint8_t* answers) {
    const MatrixView &a = view_of(data_, of_chunks.front().a), &b = view_of(data_, of_chunks.front().b);
    if (a.on_device() && a.device == b.device)
      return compare_on_device(a, rows_of(of_chunks, &Question::a), b, rows_of(of_chunks, &Question::b), answers,
                               "rows");
    std::vector<std::int64_t> listed;
    listed.reserve(2 * of_chunks.size());
    for (const Question& q : of_chunks) listed.insert(listed.end(), {rows[2 * q.number], rows[2 * q.number + 1]});
    RowLoader::same(listed, values, answers);
  });
}

void DeviceRowLoader::without_direction(Transform transform, std::span<const std::int64_t> rows, double* values,
                                        std::uint8_t* without) const {
  std::vector<Question> questions;
  questions.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) questions.push_back({data_.place(rows[i]), data_.place(rows[i]), i});
  answer_by_chunks(questions, without, [&](std::span<const Question> of_chunk, std::uint8_t* answers) {
    const MatrixView& m = view_of(data_, of_chunk.front().a);
    if (m.on_device())
      return find_directionless_on_device(m, transform, rows_of(of_chunk, &Question::a), answers, "rows");
    std::vector<std::int64_t> listed;
    listed.reserve(of_chunk.size());
    for (const Question& q : of_chunk) listed.push_back(rows[q.number]);
    RowLoader::without_direction(transform, listed, values, answers);
  });
}

void DeviceRowLoader::load(std::span<const std::int64_t> rows, double* out) const {
  const std::int64_t dim = data_.dim(), row_bytes = dim * find_dtype(data_.dtype())->bytes;
  std::vector<std::int64_t> listed, places;
  std::int64_t first = 0;
  for (const auto& chunk : data_.chunks()) {
    const MatrixView& m = chunk->view();
    listed.clear();
    places.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t row = rows[i] - first;
      if (row < 0 || row >= m.rows) continue;
      listed.push_back(row);
      places.push_back(static_cast<std::int64_t>(i));
    }
    first += m.rows;
    if (listed.empty()) continue;
    if (!m.on_device()) {
      for (const std::int64_t place : places) data_.load(rows[static_cast<std::size_t>(place)], out + place * dim);
      continue;
    }
    const std::lock_guard lock(mutex_);
    copy_listed_from_device(m, listed, stored_.data(), "rows");
    for (std::size_t i = 0; i < places.size(); ++i)
      load_row({m.dtype, 1, dim, dim, 1, stored_.data() + static_cast<std::int64_t>(i) * row_bytes}, 0,
               out + places[i] * dim);
  }
}

std::unique_ptr<const RowLoader> make_row_loader(const Dataset& data, Budget* budget) {
  if (data.on_devices()) return std::make_unique<DeviceRowLoader>(data, budget);
  return std::make_unique<RowLoader>(data);
}

std::int64_t bytes_to_group(const Dataset& data) {
  if (!data.on_devices()) return 0;
  const std::int64_t values = checked_mul(DeviceRowLoader::together(data), 8 * (data.dim() + 1), "rows");
  return checked_add(values, DeviceRowLoader::bytes(data), "rows");
}

std::int64_t bytes_to_fingerprint(const Dataset& data, int threads) {
  if (!data.on_devices()) return fingerprint_bytes(data.rows(), data.dim(), threads, RowLoader::kTogether);
  const std::int64_t together = DeviceRowLoader::together(data);
  const int loading = std::min(threads, DeviceRowLoader::kThreads);
  return checked_add(fingerprint_bytes(data.rows(), data.dim(), loading, together), DeviceRowLoader::bytes(data),
                     "rows");
}

}  // namespace libknng
