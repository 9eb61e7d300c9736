# Why a call failed, as an exception. Points and coordinates count from 1 here.

"""
    KnngError

Why a call of the library failed. `kind` is one of `:argument`, `:range`, `:option`, `:data`, `:state`, `:memory`,
`:budget`, `:cancelled`, `:io`, `:format`, `:unsupported`, `:device`, `:internal`, `:check`; `code` the C library's number;
`argument` the parameter or setting at fault, or ""; `point` and `coordinate` where the fault is, from 1, or `nothing`;
`given` the number that was given and `limit` the one that would do, or `nothing`.
"""
struct KnngError <: Exception
    kind::Symbol
    code::Int
    argument::String
    point::Union{Nothing,Int}
    coordinate::Union{Nothing,Int}
    given::Union{Nothing,Int}
    limit::Union{Nothing,Int}
    reason::String
end

const KINDS = (:argument, :range, :option, :data, :state, :memory, :budget, :cancelled, :io, :format, :unsupported, :device,
               :internal, :check)

function Base.showerror(io::IO, e::KnngError)
    print(io, "KnngError (", e.kind, "): ", e.reason)
    if e.point !== nothing
        print(io, " (point ", e.point)
        e.coordinate === nothing || print(io, ", coordinate ", e.coordinate)
        print(io, ")")
    end
end

# An error for a call to fill in.
function no_error()
    raw = Ref{CError}()
    GC.@preserve raw begin
        bytes = Ptr{UInt8}(Base.unsafe_convert(Ptr{CError}, raw))
        ccall(:memset, Ptr{Cvoid}, (Ptr{Cvoid}, Cint, Csize_t), bytes, 0, sizeof(CError))
        unsafe_store!(Ptr{UInt32}(bytes), UInt32(sizeof(CError)))
    end
    return raw
end

# Text of an array within a struct.
function text_field(raw::Ref{T}, name::Symbol) where {T}
    GC.@preserve raw begin
        start = Ptr{UInt8}(Base.unsafe_convert(Ptr{T}, raw)) + fieldoffset(T, Base.fieldindex(T, name))
        return unsafe_string(start)
    end
end

# A number of the struct, which is -1 where there is none.
number_or_nothing(number) = number == -1 ? nothing : Int(number)

function failure(status, raw::Ref{CError})
    e = raw[]
    place = -Int(status)
    kind = checkbounds(Bool, Base.OneTo(length(KINDS)), place) ? KINDS[place] : :unknown
    point, coordinate = (n < 0 ? nothing : Int(n) + 1 for n in (e.row, e.col))
    return KnngError(kind, Int(status), text_field(raw, :argument), point, coordinate, number_or_nothing(e.given),
                     number_or_nothing(e.limit), text_field(raw, :reason))
end

# Makes a call, and throws what it says is wrong.
function checked(call)
    raw = no_error()
    status = call(raw)
    status == KNNG_OK || throw(failure(status, raw))
    return nothing
end
