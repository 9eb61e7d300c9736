# Julia's arrays as the library's matrices: a point is a column here and a row there, in the same memory.

const DTYPES = IdDict{DataType,Int32}(
    Int8 => KNNG_I8, Int16 => KNNG_I16, Int32 => KNNG_I32, Int64 => KNNG_I64, UInt8 => KNNG_U8, UInt16 => KNNG_U16,
    UInt32 => KNNG_U32, UInt64 => KNNG_U64, Float16 => KNNG_F16, Float32 => KNNG_F32, Float64 => KNNG_F64,
    Bool => KNNG_BOOL)

# Element types that the library takes.
const Number64 = Union{Int8,Int16,Int32,Int64,UInt8,UInt16,UInt32,UInt64,Float16,Float32,Float64,Bool}

c_matrix(T, rows, cols, row_stride, col_stride, data) =
    CMatrix(sizeof(CMatrix), DTYPES[T], KNNG_HOST, 0, rows, cols, row_stride, col_stride, 0, data, C_NULL, C_NULL)

# A matrix for a view function to fill in.
no_matrix() = CMatrix(sizeof(CMatrix), KNNG_NO_DTYPE, KNNG_HOST, 0, 0, 0, 0, 0, 0, C_NULL, C_NULL, C_NULL)

# Columns of `x` as rows. `x` must be preserved while the matrix is used.
as_rows(x::StridedMatrix{T}) where {T<:Number64} =
    c_matrix(T, size(x, 2), size(x, 1), stride(x, 2), stride(x, 1), Ptr{Cvoid}(pointer(x)))

# Of `x'` the rows of x are points, and are read where they are.
function as_rows(x::Union{Adjoint{T,<:StridedMatrix{T}},Transpose{T,<:StridedMatrix{T}}}) where {T<:Number64}
    p = parent(x)
    return c_matrix(T, size(p, 1), size(p, 2), stride(p, 1), stride(p, 2), Ptr{Cvoid}(pointer(p)))
end

# Numbers one after another as rows of one number each.
as_rows(x::Vector{T}) where {T<:Number64} = c_matrix(T, length(x), 1, 0, 0, Ptr{Cvoid}(pointer(x)))

const Points = Union{StridedMatrix{T},Adjoint{T,<:StridedMatrix{T}},Transpose{T,<:StridedMatrix{T}}} where {T<:Number64}

"""
    points(x)

`x` as the library can read it: itself where that is possible without a copy (matrices in memory with any strides, views of
them, `x'` and `transpose(x)`), otherwise a `Matrix`. Vectors of vectors, all of one length, become its columns.
"""
points(x::Points) = x
points(x::AbstractMatrix{T}) where {T<:Number64} = Matrix{T}(x)
points(x::AbstractMatrix) =
    throw(ArgumentError("points: numbers are $(eltype(x)); taken are Int8 to Int64, UInt8 to UInt64, Float16, Float32, " *
                        "Float64 and Bool"))

function points(x::AbstractVector{<:AbstractVector})
    isempty(x) && throw(ArgumentError("points: there are none"))
    d = length(first(x))
    for (i, point) in enumerate(x)
        length(point) == d || throw(DimensionMismatch("points: point $i has $(length(point)) coordinates, point 1 has $d"))
    end
    return points(reduce(hcat, x))
end

points(x) = throw(ArgumentError("points: a $(typeof(x)) is no matrix; points are the columns of a d × n matrix"))
