#include "exec/rows/session_rows.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "backend/memory.h"
#include "exec/rows/host_copy.h"

namespace libknng {

SessionRows::SessionRows(const Dataset& data, const std::atomic<int>& threads, const Monitor& monitor,
                         FirstFailure& failure)
    : data_(data), threads_(threads), monitor_(monitor), failure_(failure) {
  const std::span<const std::int64_t> picked = data.picked();
  std::int64_t first = 0;  // of the chunk's rows, in the data set as it is stored
  for (const auto& chunk : data.chunks()) {
    const MatrixView& m = chunk->view();
    if (m.on_device() && picked.empty()) pieces_.push_back({first, m.rows, describe_matrix(m), nullptr, 0});
    if (m.on_device() && !picked.empty()) {
      const auto begin = std::lower_bound(picked.begin(), picked.end(), first);
      const auto end = std::lower_bound(begin, picked.end(), first + m.rows);
      if (begin != end) pieces_.push_back({begin - picked.begin(), end - begin, describe_matrix(m), &*begin, first});
    }
    first += m.rows;
  }
}

void SessionRows::describe(knng_backend_rows& rows) const noexcept {
  rows.user = this;
  rows.read = &SessionRows::read;
  rows.pieces = pieces_.data();
  rows.piece_count = std::ssize(pieces_);
}

template <class F>
void SessionRows::with_team(F&& f) const {
  std::unique_ptr<ThreadTeam> team;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      team = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!team) team = std::make_unique<ThreadTeam>(INT32_MAX);
  f(*team, threads_.load());
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(team));
}

void SessionRows::copy(const void* user, void* dst, const void* src, std::int64_t bytes) {
  const auto& rows = *static_cast<const SessionRows*>(user);
  try {
    rows.with_team([&](ThreadTeam& team, int members) { copy_bytes(dst, src, bytes, team, members); });
  } catch (...) {  // no memory for a team
    std::memcpy(dst, src, static_cast<std::size_t>(bytes));
  }
}

template <class F>
bool SessionRows::unless_cancelled(F&& f) const noexcept {
  if (failure_.happened()) return false;
  try {
    monitor_.check();
    f();
    return true;
  } catch (...) {
    failure_.note();
    return false;
  }
}

std::int32_t SessionRows::read(const void* user, std::int64_t first, std::int64_t count, void* dst) {
  const auto& rows = *static_cast<const SessionRows*>(user);
  return rows.unless_cancelled([&] {
    rows.with_team([&](ThreadTeam& team, int members) {
      pack_rows(rows.data_, first, count, static_cast<std::byte*>(dst), team, members);
    });
  });
}

bool SessionRows::cancelled() const noexcept {
  return !unless_cancelled([] {});
}

}  // namespace libknng
