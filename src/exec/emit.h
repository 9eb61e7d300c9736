// From neighbour lists to the result: sorted, values as they are reported, the row itself in front if that is asked
// for.
#pragma once

#include <atomic>
#include <span>

#include "core/monitor.h"
#include "core/thread_team.h"
#include "exec/task.h"
#include "graph/graph.h"
#include "merge/neighbour_lists.h"
#include "prepare/canonical_rows.h"

namespace libknng {

// Makes ids, values, ties and proof of a graph whose shape is set, charged to `budget`; and lets them go from it, to
// outlive the call. Lists that are kept on a device are not made here.
void allocate_result(const Task& task, Budget* budget, Graph& graph);
void release_result(Graph& graph) noexcept;

// Entries of one row, itself first if the graph has that, from the k nearest in order. False if a value that is finite
// is not so in the graph's type.
bool emit_row(const Task& task, std::int64_t row, double self, const Neighbour* list, Graph& graph) noexcept;
// Keeps the smallest such row; several threads may find one.
void note_large_value(std::atomic<std::int64_t>& first, std::int64_t row) noexcept;
// Throws KNNG_ERR_RANGE for the first value of such a row, which is in the graph, that does not fit. list: the row's
// neighbours, for the value in the message, or null where only a device had them.
[[noreturn]] void refuse_large_value(const Task& task, std::int64_t row, const Neighbour* list, const Graph& graph);

// Fills ids, values, ties and proof (all rows `proof`) of a graph whose shape is set, from lists in the order of
// `rows`. Throws KNNG_ERR_RANGE for a finite value that fp32 cannot hold.
void emit(NeighbourLists& lists, const CanonicalRows& rows, const Task& task, Proof proof, ThreadTeam& team,
          Budget* budget, Monitor& monitor, Graph& graph);

// A key as it is reported, rounded once to the value type; infinite if it is finite but fp32 cannot hold it.
double rounded_value(const Task& task, double key) noexcept;
// What is reported for a row with itself, in the same way: key 0, but under inner_product, where it is like any other.
double self_value(const Task& task, std::span<const double> u) noexcept;

}  // namespace libknng
