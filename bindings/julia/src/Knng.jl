"""
Exact k-nearest-neighbour graphs of large high-dimensional data, by libknng. Points are columns of a `d × n` matrix, which
is not copied; lists of neighbours are columns of `k × n` matrices, and ids count from 1.

    using Knng
    idxs, dists = allknn(x, 10)                 # every point's 10 nearest others
    idxs, dists = knn(x, queries, 10)           # 10 nearest points of x, for every column of queries
    g = graph(Dataset(x; metric = "cosine"), 10)
    w = sparse(g, "snn:jaccard")
"""
module Knng

using Libdl, LinearAlgebra
import SparseArrays
import SparseArrays: sparse

export Dataset, Graph, KnngError, Stop
export allknn, allknn!, graph, knn, knn!, sparse
export check, distances, estimate, file_text, graph_text, import_graph, indices, load_graph, row_numbers, save, share, statistic, stop!

include("library.jl")
include("api.jl")
include("errors.jl")
include("matrices.jl")
include("control.jl")
include("dataset.jl")
include("graph.jl")
include("knn.jl")
include("about.jl")

end
