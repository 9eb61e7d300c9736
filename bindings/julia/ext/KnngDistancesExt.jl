# Metrics of Distances.jl as settings: those that are the same function of two points. The weighted ones, and those that only
# share a name (HellingerDist and JSDivergence are other functions), are refused.
module KnngDistancesExt

using Distances, Knng

const NAMES = (
    Euclidean => "euclidean", SqEuclidean => "sqeuclidean", Cityblock => "manhattan", Chebyshev => "chebyshev",
    CosineDist => "cosine", CorrDist => "correlation", BrayCurtis => "braycurtis")

function Knng.settings_of(key::AbstractString, metric::PreMetric)
    metric isa Minkowski && return ("metric" => "minkowski", "p" => string(metric.p))
    for (type, name) in NAMES
        metric isa type && return ("metric" => name,)
    end
    throw(ArgumentError("$key: libknng has no $(typeof(metric)) of Distances.jl; there are Minkowski, " *
                        join((nameof(type) for (type, _) in NAMES), ", ") * ", and the names in Knng.metrics()"))
end

end
