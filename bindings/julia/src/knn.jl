# NearestNeighbors.jl's spellings. Lists are always sorted, nearest first, and neighbours that are equally far by their number.

"""
    allknn(x, k; metric, progress, log, stop, interval, settings...) -> idxs, dists
    allknn(data::Dataset, k; progress, log, stop, interval) -> idxs, dists

Every point's `k` nearest others: `k × n` matrices of numbers from 1 and of distances. A point is left out of its own list by
its number, so that others that equal it stay.
"""
allknn(data::Dataset, k::Integer; control...) = lists(graph(data, k; control...))
allknn(x, k::Integer; progress = nothing, log = nothing, stop = nothing, interval = 0.1, settings...) =
    allknn(Dataset(x; settings...), k; progress, log, stop, interval)

"""
    allknn!(idxs, dists, data, k = size(idxs, 1); progress, log, stop, interval, settings...)

As `allknn`, into the caller's `k × n` matrices: `Int16`, `UInt16`, `Int32` or `Int64`, and `Float64`, `Float32` or `Float16`.
"""
allknn!(idxs, dists, data::Dataset, k::Integer = size(idxs, 1); control...) =
    copyto!(idxs, dists, graph(data, k; control...))
allknn!(idxs, dists, x, k::Integer = size(idxs, 1); progress = nothing, log = nothing, stop = nothing, interval = 0.1,
        settings...) =
    allknn!(idxs, dists, Dataset(x; settings...), k; progress, log, stop, interval)

"""
    knn(x, queries, k; leave_out, metric, progress, log, stop, interval, settings...) -> idxs, dists
    knn(data::Dataset, queries, k; leave_out, progress, log, stop, interval) -> idxs, dists

The `k` nearest points of `x` for every column of `queries`, as `k × n` matrices; for one query, a vector of numbers, as vectors.
A point of `x` that equals the query is found like any other. `leave_out[i]` is a point that query i must not return, or 0.
"""
knn(data::Dataset, queries, k::Integer; control...) = lists(graph(data, queries, k; control...))
knn(data::Dataset, query::AbstractVector{<:Real}, k::Integer; control...) =
    map(vec, knn(data, reshape(query, :, 1), k; control...))
knn(x, queries, k::Integer; leave_out = nothing, progress = nothing, log = nothing, stop = nothing, interval = 0.1,
    settings...) =
    knn(Dataset(x; settings...), queries, k; leave_out, progress, log, stop, interval)

"""
    knn!(idxs, dists, data, queries, k = size(idxs, 1); leave_out, progress, log, stop, interval)

As `knn`, into the caller's `k × n` matrices.
"""
knn!(idxs, dists, data::Dataset, queries, k::Integer = size(idxs, 1); control...) =
    copyto!(idxs, dists, graph(data, queries, k; control...))

lists(g::Graph) = (indices(g), distances(g))
