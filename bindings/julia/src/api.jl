# The C interface of libknng, as knng.h declares it: constants, structs, functions. Nothing else is called. A test
# compares this file with bindings/api, so each function is one call of the form
#     name(arguments) = ccall(symbol(:name), Result, (Types,), arguments)
# A pointer may be C_NULL where the header says so; a Ref is taken where it is to a value.

const KNNG_HEADER_VERSION = Int32(2304)
const KNNG_OK = Int32(0)
const KNNG_ERR_ARGUMENT = Int32(-1)
const KNNG_ERR_RANGE = Int32(-2)
const KNNG_ERR_OPTION = Int32(-3)
const KNNG_ERR_DATA = Int32(-4)
const KNNG_ERR_STATE = Int32(-5)
const KNNG_ERR_MEMORY = Int32(-6)
const KNNG_ERR_BUDGET = Int32(-7)
const KNNG_ERR_CANCELLED = Int32(-8)
const KNNG_ERR_IO = Int32(-9)
const KNNG_ERR_FORMAT = Int32(-10)
const KNNG_ERR_UNSUPPORTED = Int32(-11)
const KNNG_ERR_DEVICE = Int32(-12)
const KNNG_ERR_INTERNAL = Int32(-13)
const KNNG_ERR_CHECK = Int32(-14)
const KNNG_NO_DTYPE = Int32(-1)
const KNNG_I8 = Int32(8)
const KNNG_I16 = Int32(16)
const KNNG_I32 = Int32(32)
const KNNG_I64 = Int32(64)
const KNNG_U8 = Int32(264)
const KNNG_U16 = Int32(272)
const KNNG_U32 = Int32(288)
const KNNG_U64 = Int32(320)
const KNNG_F16 = Int32(528)
const KNNG_F32 = Int32(544)
const KNNG_F64 = Int32(576)
const KNNG_BF16 = Int32(1040)
const KNNG_BOOL = Int32(1544)
const KNNG_NO_SPACE = Int32(-1)
const KNNG_ANY = Int32(0)
const KNNG_HOST = Int32(1)
const KNNG_CUDA = Int32(2)
const KNNG_PINNED = Int32(3)
const KNNG_MANAGED = Int32(13)

struct CMatrix # knng_matrix
    struct_size::UInt32
    dtype::Int32
    space::Int32
    device::Int32
    rows::Int64
    cols::Int64
    row_stride::Int64
    col_stride::Int64
    stream::UInt64
    data::Ptr{Cvoid}
    release::Ptr{Cvoid}
    owner::Ptr{Cvoid}
end

struct CControl # knng_control
    struct_size::UInt32
    interval_ms::UInt32
    progress::Ptr{Cvoid}
    log::Ptr{Cvoid}
    user::Ptr{Cvoid}
    stop::Ptr{Int32}
    max_bytes::Int64
end

struct CError # knng_error
    struct_size::UInt32
    code::Int32
    row::Int64
    col::Int64
    given::Int64
    limit::Int64
    argument::NTuple{32,UInt8}
    message::NTuple{480,UInt8}
    reason::NTuple{416,UInt8}
end

struct COption # knng_option
    struct_size::UInt32
    type::Int32
    name::Ptr{UInt8}
    fallback::Ptr{UInt8}
    range::Ptr{UInt8}
    doc::Ptr{UInt8}
    environment::Ptr{UInt8}
end

struct CPlan # knng_plan
    struct_size::UInt32
    devices::UInt32
    host_bytes::Int64
    device_bytes::Int64
    smallest_host::Int64
    smallest_device::Int64
    tile_rows::Int64
    tile_cols::Int64
    tiles::Int64
    seconds::Float64
end

struct CDevice # knng_device
    struct_size::UInt32
    usable::Int32
    memory::Int64
    memory_free::Int64
    name::NTuple{96,UInt8}
    why_not::NTuple{256,UInt8}
end

knng_version() =
    ccall(symbol(:knng_version), Int32, ())

knng_last_error() =
    ccall(symbol(:knng_last_error), Ptr{UInt8}, ())

knng_create(out, dim, dtype, error) =
    ccall(symbol(:knng_create), Int32, (Ptr{Ptr{Cvoid}}, Int64, Int32, Ptr{CError}), out, dim, dtype, error)

knng_share(out, h, error) =
    ccall(symbol(:knng_share), Int32, (Ptr{Ptr{Cvoid}}, Ptr{Cvoid}, Ptr{CError}), out, h, error)

knng_destroy(h) =
    ccall(symbol(:knng_destroy), Cvoid, (Ptr{Cvoid},), h)

knng_set(h, key, value, error) =
    ccall(symbol(:knng_set), Int32, (Ptr{Cvoid}, Cstring, Cstring, Ptr{CError}), h, key, value, error)

knng_get(h, key, buf, cap, needed, error) =
    ccall(symbol(:knng_get), Int32, (Ptr{Cvoid}, Cstring, Ptr{UInt8}, Int64, Ptr{Int64}, Ptr{CError}),
          h, key, buf, cap, needed, error)

knng_option_get(i, out, error) =
    ccall(symbol(:knng_option_get), Int32, (Int32, Ptr{COption}, Ptr{CError}), i, out, error)

knng_device_get(i, out, error) =
    ccall(symbol(:knng_device_get), Int32, (Int32, Ptr{CDevice}, Ptr{CError}), i, out, error)

knng_metric_name(i, name, aliases, error) =
    ccall(symbol(:knng_metric_name), Int32, (Int32, Ptr{Ptr{UInt8}}, Ptr{Ptr{UInt8}}, Ptr{CError}),
          i, name, aliases, error)

knng_use_matrix_tiles(error) =
    ccall(symbol(:knng_use_matrix_tiles), Int32, (Ptr{CError},), error)

knng_stat_name(i, name, doc, error) =
    ccall(symbol(:knng_stat_name), Int32, (Int32, Ptr{Ptr{UInt8}}, Ptr{Ptr{UInt8}}, Ptr{CError}), i, name, doc, error)

knng_add(h, rows, control, error) =
    ccall(symbol(:knng_add), Int32, (Ptr{Cvoid}, Ptr{CMatrix}, Ptr{CControl}, Ptr{CError}), h, rows, control, error)

knng_borrow(h, rows, control, error) =
    ccall(symbol(:knng_borrow), Int32, (Ptr{Cvoid}, Ptr{CMatrix}, Ptr{CControl}, Ptr{CError}),
          h, rows, control, error)

knng_add_file(h, path, control, error) =
    ccall(symbol(:knng_add_file), Int32, (Ptr{Cvoid}, Cstring, Ptr{CControl}, Ptr{CError}), h, path, control, error)

knng_file_text(h, i, name, buf, cap, needed, error) =
    ccall(symbol(:knng_file_text), Int32, (Ptr{Cvoid}, Int32, Cstring, Ptr{UInt8}, Int64, Ptr{Int64}, Ptr{CError}),
          h, i, name, buf, cap, needed, error)

knng_shape(h, rows, dim, dtype, error) =
    ccall(symbol(:knng_shape), Int32, (Ptr{Cvoid}, Ptr{Int64}, Ptr{Int64}, Ptr{Int32}, Ptr{CError}),
          h, rows, dim, dtype, error)

knng_read(h, first, dst, error) =
    ccall(symbol(:knng_read), Int32, (Ptr{Cvoid}, Int64, Ptr{CMatrix}, Ptr{CError}), h, first, dst, error)

knng_estimate(h, nq, k, out, error) =
    ccall(symbol(:knng_estimate), Int32, (Ptr{Cvoid}, Int64, Int64, Ptr{CPlan}, Ptr{CError}), h, nq, k, out, error)

knng_build(h, k, control, out, error) =
    ccall(symbol(:knng_build), Int32, (Ptr{Cvoid}, Int64, Ptr{CControl}, Ptr{Ptr{Cvoid}}, Ptr{CError}),
          h, k, control, out, error)

knng_query(h, q, leave_out, base, k, control, out, error) =
    ccall(symbol(:knng_query), Int32, (Ptr{Cvoid}, Ptr{CMatrix}, Ptr{CMatrix}, Int32, Int64, Ptr{CControl},
           Ptr{Ptr{Cvoid}}, Ptr{CError}),
          h, q, leave_out, base, k, control, out, error)

knng_query_file(h, path, k, control, out, error) =
    ccall(symbol(:knng_query_file), Int32, (Ptr{Cvoid}, Cstring, Int64, Ptr{CControl}, Ptr{Ptr{Cvoid}}, Ptr{CError}),
          h, path, k, control, out, error)

knng_check(h, g, sample, control, first_wrong, error) =
    ccall(symbol(:knng_check), Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Int64, Ptr{CControl}, Ptr{Int64}, Ptr{CError}),
          h, g, sample, control, first_wrong, error)

knng_graph_import(out, ids, values, base, columns, same_points, error) =
    ccall(symbol(:knng_graph_import), Int32, (Ptr{Ptr{Cvoid}}, Ptr{CMatrix}, Ptr{CMatrix}, Int32, Int64, Int32,
           Ptr{CError}),
          out, ids, values, base, columns, same_points, error)

knng_graph_describe(g, facts, ties, proof, error) =
    ccall(symbol(:knng_graph_describe), Int32, (Ptr{Cvoid}, Cstring, Ptr{CMatrix}, Ptr{CMatrix}, Ptr{CError}),
          g, facts, ties, proof, error)

knng_graph_shape(g, rows, columns, width, same_points, error) =
    ccall(symbol(:knng_graph_shape), Int32, (Ptr{Cvoid}, Ptr{Int64}, Ptr{Int64}, Ptr{Int64}, Ptr{Int32}, Ptr{CError}),
          g, rows, columns, width, same_points, error)

knng_graph_view(g, ids, values, error) =
    ccall(symbol(:knng_graph_view), Int32, (Ptr{Cvoid}, Ptr{CMatrix}, Ptr{CMatrix}, Ptr{CError}),
          g, ids, values, error)

knng_graph_copy(g, base, ids, values, error) =
    ccall(symbol(:knng_graph_copy), Int32, (Ptr{Cvoid}, Int32, Ptr{CMatrix}, Ptr{CMatrix}, Ptr{CError}),
          g, base, ids, values, error)

knng_graph_rows(g, what, out, error) =
    ccall(symbol(:knng_graph_rows), Int32, (Ptr{Cvoid}, Cstring, Ptr{CMatrix}, Ptr{CError}), g, what, out, error)

knng_graph_stat(g, name, out, error) =
    ccall(symbol(:knng_graph_stat), Int32, (Ptr{Cvoid}, Cstring, Ptr{Float64}, Ptr{CError}), g, name, out, error)

knng_graph_text(g, name, buf, cap, needed, error) =
    ccall(symbol(:knng_graph_text), Int32, (Ptr{Cvoid}, Cstring, Ptr{UInt8}, Int64, Ptr{Int64}, Ptr{CError}),
          g, name, buf, cap, needed, error)

knng_graph_save(g, path, format, control, error) =
    ccall(symbol(:knng_graph_save), Int32, (Ptr{Cvoid}, Cstring, Cstring, Ptr{CControl}, Ptr{CError}),
          g, path, format, control, error)

knng_graph_load(out, path, control, error) =
    ccall(symbol(:knng_graph_load), Int32, (Ptr{Ptr{Cvoid}}, Cstring, Ptr{CControl}, Ptr{CError}),
          out, path, control, error)

knng_graph_destroy(g) =
    ccall(symbol(:knng_graph_destroy), Cvoid, (Ptr{Cvoid},), g)

knng_graph_sparse(g, rule, control, out, error) =
    ccall(symbol(:knng_graph_sparse), Int32, (Ptr{Cvoid}, Cstring, Ptr{CControl}, Ptr{Ptr{Cvoid}}, Ptr{CError}),
          g, rule, control, out, error)

knng_sparse_shape(s, rows, cols, entries, error) =
    ccall(symbol(:knng_sparse_shape), Int32, (Ptr{Cvoid}, Ptr{Int64}, Ptr{Int64}, Ptr{Int64}, Ptr{CError}),
          s, rows, cols, entries, error)

knng_sparse_view(s, indptr, row, col, value, error) =
    ccall(symbol(:knng_sparse_view), Int32, (Ptr{Cvoid}, Ptr{CMatrix}, Ptr{CMatrix}, Ptr{CMatrix},
           Ptr{CMatrix}, Ptr{CError}),
          s, indptr, row, col, value, error)

knng_sparse_copy(s, base, indptr, row, col, value, error) =
    ccall(symbol(:knng_sparse_copy), Int32, (Ptr{Cvoid}, Int32, Ptr{CMatrix}, Ptr{CMatrix}, Ptr{CMatrix},
           Ptr{CMatrix}, Ptr{CError}),
          s, base, indptr, row, col, value, error)

knng_sparse_destroy(s) =
    ccall(symbol(:knng_sparse_destroy), Cvoid, (Ptr{Cvoid},), s)
