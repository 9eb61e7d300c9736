# Progress, log, stop and Ctrl-C of a long call. Nothing may leave a callback but by returning from it: an exception is
# kept, the call stopped, and the exception thrown when the library has returned.

"""
    Stop()

A flag that stops calls that were given it as `stop = flag`: any task on another thread calls `stop!(flag)`. A call that is
stopped throws a `KnngError` with `kind == :cancelled`.
"""
struct Stop
    flag::Threads.Atomic{Int32}
end
Stop() = Stop(Threads.Atomic{Int32}(0))

"""
    stop!(flag::Stop)

Stops the calls that were given `flag`, and those that will be.
"""
stop!(s::Stop) = (s.flag[] = 1; nothing)

# What the callbacks know of the call at work.
mutable struct Callbacks
    progress::Any # nothing, or a function of (stage, done, total)
    log::Any      # nothing, or a function of (level, text)
    failed::Any   # nothing, or what a callback threw
end

# Also where this thread stops for the garbage collector, for which all others would wait until the call ends, and where
# InterruptException comes.
function on_progress(user::Ptr{Cvoid}, stage::Ptr{UInt8}, done::Float64, total::Float64)::Int32
    callbacks = unsafe_pointer_to_objref(user)::Callbacks
    callbacks.failed === nothing || return Int32(1)
    try
        reenable_sigint(GC.safepoint)
        callbacks.progress === nothing || callbacks.progress(unsafe_string(stage), done, total)
        return Int32(0)
    catch reason
        callbacks.failed = reason
        return Int32(1)
    end
end

function on_log(user::Ptr{Cvoid}, level::Int32, text::Ptr{UInt8})::Cvoid
    callbacks = unsafe_pointer_to_objref(user)::Callbacks
    callbacks.failed === nothing || return nothing
    try
        callbacks.log(level == 0 ? :information : :warning, unsafe_string(text))
    catch reason
        callbacks.failed = reason
    end
    return nothing
end

"""
    long_call(call; progress, log, stop, interval, max_bytes)

Makes `call(control, error)`, which may take long, and throws what goes wrong, an `InterruptException` too.
"""
function long_call(call; progress = nothing, log = nothing, stop::Union{Nothing,Stop} = nothing, interval::Real = 0.1,
                   max_bytes::Integer = 0)
    callbacks = Callbacks(progress, log, nothing)
    raw = no_error()
    status = GC.@preserve callbacks stop begin
        control = Ref(CControl(sizeof(CControl), round(UInt32, 1000 * interval),
                               @cfunction(on_progress, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Float64, Float64)),
                               log === nothing ? C_NULL : @cfunction(on_log, Cvoid, (Ptr{Cvoid}, Int32, Ptr{UInt8})),
                               pointer_from_objref(callbacks),
                               stop === nothing ? Ptr{Int32}(C_NULL) : Base.unsafe_convert(Ptr{Int32}, stop.flag),
                               max_bytes))
        # InterruptException must not unwind through C.
        disable_sigint(() -> call(control, raw))
    end
    callbacks.failed === nothing || throw(callbacks.failed)
    status == KNNG_OK || throw(failure(status, raw))
    return nothing
end
