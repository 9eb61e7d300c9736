# Neighbour graphs: lists, facts about points, sparse matrices, files.

"""
    Graph

A neighbour graph: for every point a list of others, the nearest first. It needs neither the data set nor the points that it
came from, and never changes. `size(g)` is `(k, n)`; `indices(g)` and `distances(g)` are its lists.
"""
mutable struct Graph
    handle::Ptr{Cvoid}

    Graph() = finalizer(g -> (knng_graph_destroy(g.handle); g.handle = C_NULL), new(C_NULL))
end

# The graph that `call(out)` makes. It is destroyed if an exception comes when it has been made.
function make_graph(call)
    g, out = Graph(), Ref{Ptr{Cvoid}}(C_NULL)
    try
        call(out)
    finally
        g.handle = out[]
    end
    return g
end

"""
    graph(data, k; progress, log, stop, interval)
    graph(data, queries, k; leave_out, progress, log, stop, interval)

The exact graph of all points, each left out of its own list by its number; or the `k` nearest points of the data set for every
column of `queries`. `leave_out[i]` is the number of the point that query `i` must not return, or 0.

`progress(stage, done, total)` is called about every `interval` seconds, `log(level, text)` with lines of text; what they throw
stops the call and is thrown. `stop` is a `Stop`. Ctrl-C stops the call with an `InterruptException`.

Throws `KnngError`: `:range` for a `k` that does not fit, `:data` for points that the metric cannot take, `:option`, `:budget`,
`:cancelled` and others.
"""
function graph(data::Dataset, k::Integer; control...)
    GC.@preserve data begin
        make_graph(out -> long_call((c, e) -> knng_build(data.handle, k, c, out, e); control...))
    end
end

function graph(data::Dataset, queries, k::Integer; leave_out = nothing, control...)
    q = points(queries)
    left_out = leave_out === nothing ? Int64[] : Vector{Int64}(leave_out)
    GC.@preserve data q left_out begin
        rows = Ref(as_rows(q))
        ids = leave_out === nothing ? C_NULL : Ref(as_rows(left_out))
        make_graph(out -> long_call((c, e) -> knng_query(data.handle, rows, ids, 1, k, c, out, e); control...))
    end
end

"""
    import_graph(idxs, dists = nothing; columns = size(idxs, 2), same_points = true, metric = nothing, p = nothing, value = nothing)

Another library's result as a graph: `k × n` numbers of neighbours from 1 (0 where a list is shorter) and distances. Of queries
say `same_points = false`, and how many points could be neighbours. `metric`, `p` and `value` say what the distances are, as the
settings of the same names do; files of the graph name them, and `knng check` goes by them. `nothing`: unknown.
"""
function import_graph(idxs::StridedMatrix{<:Union{Int32,Int64}},
                      dists::Union{Nothing,StridedMatrix{Float32},StridedMatrix{Float64}} = nothing;
                      columns::Integer = size(idxs, 2), same_points::Bool = true,
                      metric = nothing, p = nothing, value = nothing)
    g = GC.@preserve idxs dists begin
        ids = Ref(as_rows(idxs))
        values = dists === nothing ? C_NULL : Ref(as_rows(dists))
        make_graph(out -> checked(e -> knng_graph_import(out, ids, values, 1, columns, same_points, e)))
    end
    told = ("metric" => metric, "p" => p, "value" => value)
    facts = join("text.$name=$(replace(string(text), '\n' => "\\n"))\n" for (name, text) in told if text !== nothing)
    isempty(facts) || GC.@preserve g checked(e -> knng_graph_describe(g.handle, facts, C_NULL, C_NULL, e))
    return g
end

function shape(g::Graph)
    rows, columns, width, same_points = Ref{Int64}(0), Ref{Int64}(0), Ref{Int64}(0), Ref{Int32}(0)
    GC.@preserve g checked(e -> knng_graph_shape(g.handle, rows, columns, width, same_points, e))
    return (; rows = Int(rows[]), columns = Int(columns[]), width = Int(width[]), same_points = same_points[] != 0)
end

"""
    size(g::Graph) -> (k, n)

Entries of a list (one more under `self = "first"`) and number of points that have one.
"""
Base.size(g::Graph) = (shape(g).width, shape(g).rows)

Base.show(io::IO, g::Graph) =
    print(io, "Graph(", size(g)[2], " lists of ", size(g)[1], ", ", graph_text(g, "metric"), ")")

# Float32, but Float64 for points that are, and under value_type = "f64".
function value_type(g::Graph)
    values = Ref(no_matrix())
    GC.@preserve g checked(e -> knng_graph_view(g.handle, C_NULL, values, e))
    return values[].dtype == KNNG_F64 ? Float64 : Float32
end

"""
    copyto!(idxs, dists, g::Graph)

Copies the lists into `k × n` matrices: numbers as `Int16`, `UInt16`, `Int32` or `Int64`, distances as `Float64`, `Float32` or
`Float16`. Either may be `nothing`. Memory with any strides; views will do.
"""
function Base.copyto!(idxs::Union{Nothing,StridedMatrix{<:Union{Int16,UInt16,Int32,Int64}}},
                      dists::Union{Nothing,StridedMatrix{<:Union{Float16,Float32,Float64}}}, g::Graph)
    GC.@preserve idxs dists g begin
        ids = idxs === nothing ? C_NULL : Ref(as_rows(idxs))
        values = dists === nothing ? C_NULL : Ref(as_rows(dists))
        checked(e -> knng_graph_copy(g.handle, 1, ids, values, e))
    end
    return idxs, dists
end

"""
    indices(g::Graph, T = Int) -> Matrix{T}

Numbers of the neighbours, `k × n`, from 1; 0 where there is none, as only imported graphs have it.
"""
indices(g::Graph, ::Type{T} = Int) where {T} = first(copyto!(Matrix{T}(undef, size(g)), nothing, g))

"""
    distances(g::Graph) -> Matrix

Distances, `k × n`, or similarities under `value = "similarity"`: `Float32`, but `Float64` for points that are, and under
`value_type = "f64"`.
"""
distances(g::Graph, ::Type{T} = value_type(g)) where {T} = last(copyto!(nothing, Matrix{T}(undef, size(g)), g))

"""
    row_numbers(g::Graph, what) -> Vector{Int}

One number for each point: "ties" (an error where nobody knows them), "proof", "indegree" (in how many other lists it
is) or "component" (from 1).
"""
function row_numbers(g::Graph, what::AbstractString)
    s = shape(g)
    numbers = Vector{Int64}(undef, s.rows)
    fill_in() = GC.@preserve g numbers begin
        out = Ref(as_rows(numbers))
        checked(e -> knng_graph_rows(g.handle, what, out, e))
    end
    try
        fill_in()
    catch reason
        # Which words have a number for each column is the library's to say.
        reason isa KnngError && reason.kind === :argument && s.columns != s.rows || rethrow()
        resize!(numbers, s.columns)
        fill_in()
    end
    return what == "component" ? numbers .+ 1 : numbers
end

"""
    statistic(g::Graph, name) -> Union{Float64, Missing}

A statistic of the build; `Knng.statistics()` lists them. `missing` if it is not known: all but rows and columns of a graph
from elsewhere, duplicates of a graph of queries.
"""
function statistic(g::Graph, name::AbstractString)
    number = Ref{Float64}(0)
    GC.@preserve g checked(e -> knng_graph_stat(g.handle, name, number, e))
    return isnan(number[]) ? missing : number[]
end

"""
    graph_text(g::Graph, name) -> String

A text of the build: "metric", "p", "precision", "engine", "selector", "device", "version", "fingerprint", "value", "self".
"""
graph_text(g::Graph, name::AbstractString) =
    GC.@preserve g text_of((buf, cap, needed, e) -> knng_graph_text(g.handle, name, buf, cap, needed, e))

"""
    check(data::Dataset, g::Graph; sample = 0, progress, log, stop)

Compares a graph, whoever made it, with the definition. The first of the points looked at (0: all) whose list differs, or
`nothing`.
"""
function check(data::Dataset, g::Graph; sample::Integer = 0, control...)
    wrong = Ref{Int64}(-1)
    GC.@preserve data g long_call((c, e) -> knng_check(data.handle, g.handle, sample, c, wrong, e); control...)
    return wrong[] < 0 ? nothing : Int(wrong[]) + 1
end

"""
    save(g::Graph, path; format = nothing, progress, stop, max_bytes)

Writes the graph to a file: `.knng`, which keeps everything, or `.npz` for NumPy; `.mtx`, `.tsv`, `.ivecs` (values go to `.fvecs`) and `.ibin`
(values go to `.fbin`) for other programs, which `load_graph` does not read. An interrupted call leaves no half file. A file
that is there is replaced if it is a graph, or empty; any other may be data and stays (`:io`).
"""
function save(g::Graph, path::AbstractString; format::Union{Nothing,AbstractString} = nothing, control...)
    kind = format === nothing ? C_NULL : String(format)
    GC.@preserve g long_call((c, e) -> knng_graph_save(g.handle, path, kind, c, e); control...)
    return path
end

"""
    load_graph(path; progress, stop, max_bytes)

Reads a graph that `save` wrote.
"""
load_graph(path::AbstractString; control...) =
    make_graph(out -> long_call((c, e) -> knng_graph_load(out, path, c, e); control...))

"""
    sparse(g::Graph, rule = "directed"; progress, stop, max_bytes) -> SparseMatrixCSC

The graph as a sparse matrix: "directed" has point i's neighbours in column i; "union", "mutual", "snn:jaccard" and others are
symmetric. Distances of 0 are entries like any other.
"""
function sparse(g::Graph, rule::AbstractString = "directed"; control...)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    try
        GC.@preserve g long_call((c, e) -> knng_graph_sparse(g.handle, rule, c, out, e); control...)
        return csc(out[])
    finally
        knng_sparse_destroy(out[])
    end
end

# The library's compressed rows are compressed columns of the matrix turned over.
function csc(s::Ptr{Cvoid})
    rows, cols, entries, value = Ref{Int64}(0), Ref{Int64}(0), Ref{Int64}(0), Ref(no_matrix())
    checked(e -> knng_sparse_shape(s, rows, cols, entries, e))
    checked(e -> knng_sparse_view(s, C_NULL, C_NULL, C_NULL, value, e))
    T = value[].dtype == KNNG_F64 ? Float64 : Float32
    starts, ids, values = Vector{Int64}(undef, rows[] + 1), Vector{Int64}(undef, entries[]), Vector{T}(undef, entries[])
    GC.@preserve starts ids values begin
        indptr, col, number = Ref(as_rows(starts)), Ref(as_rows(ids)), Ref(as_rows(values))
        checked(e -> knng_sparse_copy(s, 1, indptr, C_NULL, col, number, e))
    end
    return SparseArrays.SparseMatrixCSC(Int(cols[]), Int(rows[]), starts, ids, values)
end
