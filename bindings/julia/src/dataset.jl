# Points and settings: what graphs are made from.

"""
    Dataset(x; metric = nothing, settings...)
    Dataset(path::AbstractString; settings...)

The columns of `x`, or the rows of a file (`.npy`, `.csv`, `.h5`, IDX and others), as points, with settings, which are
those of the C library: `metric = "cosine"`, `self = "first"`, `threads = 4`. `Knng.settings()` lists them. A metric may be one
of Distances.jl as well.

`x` is not copied where it is a matrix in memory, a view of one, or `x'`: it must not be changed while the data set is used.
Other matrices, and vectors of vectors, are copied to a `Matrix`. Numbers are integers of 8 to 64 bits (up to ±2^53), `Float16`,
`Float32`, `Float64` or `Bool`.

`data["metric"]` reads a setting, `data["metric"] = "manhattan"` changes it for calls that follow. Several threads may build and
query on one data set at the same time; a setting is changed by one, while no other is at work.

Throws `KnngError`: `:data` for NaN and infinity, with point and coordinate; `:option` for settings.
"""
mutable struct Dataset
    handle::Ptr{Cvoid}
    points::Any # what the library reads

    function Dataset(handle::Ptr{Cvoid}, points)
        data = new(handle, points)
        # Reads no point, so that the points may be gone already.
        return finalizer(d -> (knng_destroy(d.handle); d.handle = C_NULL), data)
    end
end

function empty_dataset(settings)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    checked(e -> knng_create(out, 0, 0, e))
    data = Dataset(out[], nothing)
    for (key, value) in settings
        value === nothing || (data[String(key)] = value)
    end
    return data
end

function Dataset(x; progress = nothing, stop = nothing, settings...)
    haskey(settings, :file_points) && string(settings[:file_points]) != "rows" && throw(ArgumentError(
        "file_points is for files; the points of a matrix are its columns, those of x' the rows of x"))
    data = empty_dataset(settings)
    data.points = points(x)
    GC.@preserve data begin
        p = data.points
        GC.@preserve p begin
            rows = Ref(as_rows(p))
            long_call((c, e) -> knng_borrow(data.handle, rows, c, e); progress, stop)
        end
    end
    return data
end

function Dataset(path::AbstractString; progress = nothing, stop = nothing, settings...)
    data = empty_dataset(settings)
    GC.@preserve data long_call((c, e) -> knng_add_file(data.handle, path, c, e); progress, stop)
    return data
end

"""
    share(data::Dataset; settings...)

A second data set on the same points, not copied, with a copy of the settings and those given here.
"""
function share(data::Dataset; settings...)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    GC.@preserve data checked(e -> knng_share(out, data.handle, e))
    second = Dataset(out[], data.points)
    for (key, value) in settings
        second[String(key)] = value
    end
    return second
end

# A metric is the one setting that may be given as something else than its text: KnngDistancesExt adds methods.
settings_of(key::AbstractString, value) = (key => string(value),)

function Base.setindex!(data::Dataset, value, key::AbstractString)
    for (name, text) in settings_of(key, value)
        GC.@preserve data checked(e -> knng_set(data.handle, name, text, e))
    end
    return data
end

Base.getindex(data::Dataset, key::AbstractString) =
    GC.@preserve data text_of((buf, cap, needed, e) -> knng_get(data.handle, key, buf, cap, needed, e))

"""
    file_text(data::Dataset, name) -> String

What was taken of the file that the points come from, where its name leaves that open: `"file"`, the name that was given;
of an HDF5 file `"matrix"`, its path there, and `"form"`; of a text table `"header"`, `"row_names"` and `"separator"`. Empty
where it goes without saying. Throws `KnngError`: `:range` for points that come from no file, `:option` for another name.
"""
file_text(data::Dataset, name::AbstractString) =
    GC.@preserve data text_of((buf, cap, needed, e) -> knng_file_text(data.handle, 0, name, buf, cap, needed, e))

# Text that a function writes to a buffer whose size it says.
function text_of(call)
    buffer, needed = zeros(UInt8, 128), Ref{Int64}(0)
    while true
        raw = no_error()
        status = call(buffer, length(buffer), needed, raw)
        if status == KNNG_OK
            return GC.@preserve buffer unsafe_string(pointer(buffer))
        elseif status == KNNG_ERR_RANGE && needed[] > length(buffer)
            resize!(buffer, needed[])
        else
            throw(failure(status, raw))
        end
    end
end

"""
    size(data::Dataset) -> (d, n)

Dimension and number of the points.
"""
function Base.size(data::Dataset)
    rows, dim, dtype = Ref{Int64}(0), Ref{Int64}(0), Ref{Int32}(0)
    GC.@preserve data checked(e -> knng_shape(data.handle, rows, dim, dtype, e))
    return (Int(dim[]), Int(rows[]))
end

Base.show(io::IO, data::Dataset) =
    print(io, "Dataset(", size(data)[2], " points of ", size(data)[1], " dimensions, ", data["metric"], ")")

"""
    estimate(data, k; queries = 0)

What `graph(data, k)`, or a query of so many points, would need, without running it: a named tuple with `host_bytes`,
`device_bytes`, `smallest_host` (the smallest setting `max_host_bytes` that would do), `smallest_device`, `tiles` and others.
"""
function estimate(data::Dataset, k::Integer; queries::Integer = 0)
    plan = Ref(CPlan(sizeof(CPlan), 0, 0, 0, 0, 0, 0, 0, 0, -1.0))
    GC.@preserve data checked(e -> knng_estimate(data.handle, queries, k, plan, e))
    p = plan[]
    return (; p.devices, p.host_bytes, p.device_bytes, p.smallest_host, p.smallest_device, p.tile_rows, p.tile_cols, p.tiles,
            p.seconds)
end
