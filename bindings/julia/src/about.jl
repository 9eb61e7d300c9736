# What the library has: its version, settings, metrics, statistics and devices, all as it lists them.

"""
    Knng.version() -> VersionNumber

Version of the C library.
"""
version() = version_of(knng_version())

# What `describe(i, error)` tells for i from 0 until the first that is out of range.
function listed(describe, read)
    all = []
    while true
        raw = no_error()
        status = describe(length(all), raw)
        status == KNNG_ERR_RANGE && return identity.(all)
        status == KNNG_OK || throw(failure(status, raw))
        push!(all, read())
    end
end

static_text(text::Ptr{UInt8}) = text == C_NULL ? "" : unsafe_string(text)

"""
    Knng.settings()

All settings, as named tuples of `name`, `default`, `range`, `doc` and `environment`.
"""
function settings()
    raw = Ref(COption(sizeof(COption), 0, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL))
    return listed((i, e) -> knng_option_get(i, raw, e),
                  () -> (name = static_text(raw[].name), default = static_text(raw[].fallback),
                         range = static_text(raw[].range), doc = static_text(raw[].doc),
                         environment = static_text(raw[].environment)))
end

"""
    Knng.metrics()

All metrics, as named tuples of `name` and `aliases`.
"""
function metrics()
    name, aliases = Ref{Ptr{UInt8}}(C_NULL), Ref{Ptr{UInt8}}(C_NULL)
    return listed((i, e) -> knng_metric_name(i, name, aliases, e),
                  () -> (name = static_text(name[]), aliases = static_text(aliases[])))
end

"""
    Knng.statistics()

All statistics that `statistic` knows, as named tuples of `name` and `doc`.
"""
function statistics()
    name, doc = Ref{Ptr{UInt8}}(C_NULL), Ref{Ptr{UInt8}}(C_NULL)
    return listed((i, e) -> knng_stat_name(i, name, doc, e), () -> (name = static_text(name[]), doc = static_text(doc[])))
end

"""
    Knng.devices()

Processors that can do the work, or cannot: named tuples of `name`, `usable`, `why_not`, `memory` and `memory_free` (-1: not
known).
"""
function devices()
    raw = Ref{CDevice}()
    function describe(i, e)
        GC.@preserve raw unsafe_store!(Ptr{UInt32}(Base.unsafe_convert(Ptr{CDevice}, raw)), UInt32(sizeof(CDevice)))
        return knng_device_get(i, raw, e)
    end
    return listed(describe, () -> (name = text_field(raw, :name), usable = raw[].usable != 0,
                                   why_not = text_field(raw, :why_not), memory = raw[].memory,
                                   memory_free = raw[].memory_free))
end

"""
    Knng.use_matrix_tiles()

Asks the system to let this process use the processor's matrix tiles (Intel AMX), with which builds are several times as fast.
Call it once, before the first build. Throws `KnngError` (`:unsupported`) where there are none.
"""
use_matrix_tiles() = checked(knng_use_matrix_tiles)
