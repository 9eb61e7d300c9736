# Finds libknng, when it is first needed: by the preference `library`, in the package knng_jll if that is loaded, or as the
# system finds shared libraries. Knows one function of it, its version.

const SONAME = "libknng.so.0"
const library_handle = Ref{Ptr{Cvoid}}(C_NULL)
const library_lock = ReentrantLock()

# The names to try, each with what it is from.
function library_names()
    preference = get(Base.get_preferences(Base.PkgId(Knng).uuid), "library", nothing)
    preference === nothing || return [(String(preference), "preference \"library\" of Knng")]
    names = [(SONAME, "the system")]
    for (id, loaded) in Base.loaded_modules
        if id.name == "knng_jll" && isdefined(loaded, :libknng_path)
            pushfirst!(names, (String(getfield(loaded, :libknng_path)), "knng_jll"))
        end
    end
    return names
end

function open_library(names = library_names())
    reasons = String[]
    for (name, origin) in names
        try
            opened = Libdl.dlopen(name)
            # Before 1.0 the second number changes with the interface.
            version = ccall(Libdl.dlsym(opened, :knng_version), Int32, ())
            if version >> 8 != KNNG_HEADER_VERSION >> 8
                found, wanted = version_of(version), version_of(KNNG_HEADER_VERSION)
                Libdl.dlclose(opened)
                push!(reasons, "$name ($origin) is version $found, and this package is for $(wanted.major).$(wanted.minor)")
                continue
            end
            return opened
        catch reason
            reason isa InterruptException && rethrow()
            push!(reasons, "$name ($origin): " * sprint(showerror, reason))
        end
    end
    error("libknng was not found. Install it (Debian: libknng0), or say where it is: a file LocalPreferences.toml beside ",
          "your Project.toml with the lines\n    [Knng]\n    library = \"/usr/local/lib/$SONAME\"\nTried:\n    ",
          join(reasons, "\n    "))
end

version_of(number::Integer) = VersionNumber(number >> 16, (number >> 8) & 0xff, number & 0xff)

function library()
    library_handle[] == C_NULL || return library_handle[]
    lock(library_lock) do
        library_handle[] == C_NULL && (library_handle[] = open_library())
    end
    return library_handle[]
end

# Address of a function of the library.
symbol(name::Symbol) = Libdl.dlsym(library(), name)

# A handle in a precompiled image would be that of another process.
__init__() = (library_handle[] = C_NULL; nothing)
