#include "exec/rows/device_row_loader.h"

#include <algorithm>
#include <map>
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

// Pairs of rows on a device that are to be compared, and which of the questions each is.
struct Asked {
  std::vector<MatrixView> matrices;
  std::map<std::size_t, std::int64_t> matrix_of;  // by chunk
  std::vector<knng_backend_pair> pairs;
  std::vector<std::size_t> numbers;

  std::int64_t matrix(const Dataset& data, std::size_t chunk) {
    const auto [at, is_new] = matrix_of.try_emplace(chunk, std::ssize(matrices));
    if (is_new) matrices.push_back(data.chunks()[chunk]->view());
    return at->second;
  }
  void add(const Dataset& data, const Dataset::Place& a, const Dataset::Place& b, std::size_t number) {
    const std::int64_t of_a = matrix(data, a.chunk), of_b = matrix(data, b.chunk);
    pairs.push_back({of_a, a.row, of_b, b.row});
    numbers.push_back(number);
  }
};

// About a row; number: which of the questions it is.
struct Question {
  Dataset::Place place;
  std::size_t number;
};
// Memory that a row takes in the lists of a thread that asks.
constexpr std::int64_t kBytesOfAsked = 64;

const MatrixView& view_of(const Dataset& data, const Dataset::Place& place) {
  return data.chunks()[place.chunk]->view();
}

// Calls answer(some, their answers) for all that are about the same chunk. Sorts them.
template <class F>
void answer_by_chunks(std::span<Question> questions, std::uint8_t* out, F&& answer) {
  std::sort(questions.begin(), questions.end(),
            [](const Question& x, const Question& y) { return x.place.chunk < y.place.chunk; });
  std::vector<std::uint8_t> answers(questions.size());
  for (auto first = questions.begin(); first != questions.end();) {
    const auto end =
        std::find_if(first, questions.end(), [&](const Question& q) { return q.place.chunk != first->place.chunk; });
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

// Those of one device in one call, whichever matrices they are of; what has no memory there goes through the host.
void DeviceRowLoader::same(std::span<const std::int64_t> rows, double* values, std::uint8_t* same) const {
  std::map<std::int32_t, Asked> asked;  // by device
  std::vector<std::int64_t> listed;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    const Dataset::Place a = data_.place(rows[i]), b = data_.place(rows[i + 1]);
    const MatrixView &of_a = view_of(data_, a), &of_b = view_of(data_, b);
    if (of_a.on_device() && of_a.device == of_b.device) {
      asked[of_a.device].add(data_, a, b, i / 2);
    } else {
      listed.insert(listed.end(), {rows[i], rows[i + 1]});
      numbers.push_back(i / 2);
    }
  }
  std::vector<std::uint8_t> answers(rows.size() / 2);
  for (const auto& [device, questions] : asked) try {
      compare_on_device(questions.matrices, questions.pairs, answers.data(), "rows");
      for (std::size_t i = 0; i < questions.numbers.size(); ++i) same[questions.numbers[i]] = answers[i];
    } catch (const Error& e) {
      if (e.code() != KNNG_ERR_MEMORY) throw;
      for (const std::size_t number : questions.numbers) {
        listed.insert(listed.end(), {rows[2 * number], rows[2 * number + 1]});
        numbers.push_back(number);
      }
    }
  if (listed.empty()) return;
  RowLoader::same(listed, values, answers.data());
  for (std::size_t i = 0; i < numbers.size(); ++i) same[numbers[i]] = answers[i];
}

void DeviceRowLoader::without_direction(Transform transform, std::span<const std::int64_t> rows, double* values,
                                        std::uint8_t* without) const {
  std::vector<Question> questions;
  questions.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) questions.push_back({data_.place(rows[i]), i});
  answer_by_chunks(questions, without, [&](std::span<const Question> of_chunk, std::uint8_t* answers) {
    const MatrixView& m = view_of(data_, of_chunk.front().place);
    std::vector<std::int64_t> listed;
    listed.reserve(of_chunk.size());
    for (const Question& q : of_chunk) listed.push_back(m.on_device() ? q.place.row : rows[q.number]);
    if (m.on_device()) return find_directionless_on_device(m, transform, listed, answers, "rows");
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
