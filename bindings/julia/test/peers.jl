# Knng beside NearestNeighbors.jl: are the lists the same, and how long does a call take? A benchmark, never a test.
#
#   julia --project=ENVIRONMENT --threads=2 peers.jl      ENVIRONMENT: with Knng, Distances and NearestNeighbors
#
# NearestNeighbors.jl finds the point itself, too, so it is asked for one more; a call includes making its tree. It uses one
# thread, libknng all.

using Distances, Knng, NearestNeighbors, Printf, Random

# Columns whose numbers differ.
function differing(metric, T, d, n, k)
    x = rand(T, d, n)
    numbers, _ = allknn(Dataset(x; metric = metric), k)
    if metric isa Metric
        lists, _ = NearestNeighbors.knn(BruteTree(x, metric), x, k + 1, true)
    else
        distances = pairwise(metric, x, dims = 2)
        lists = [partialsortperm(distances[:, j], 1:k+1) for j in 1:n]
    end
    return count(filter(!=(j), lists[j])[1:k] != numbers[:, j] for j in 1:n)
end

function best_milliseconds(call, times)
    call()  # is compiled
    return 1e3 * minimum(@elapsed(call()) for _ in 1:times)
end

Random.seed!(1)
for metric in (Euclidean(), SqEuclidean(), Cityblock(), Chebyshev(), Minkowski(3), CosineDist(), CorrDist(), BrayCurtis())
    @printf("%-14s %d of 2000 lists differ\n", nameof(typeof(metric)), differing(metric, Float64, 8, 2000, 10))
end

println("\n| d x n, k | Knng | KDTree | BruteTree |\n| --- | ---: | ---: | ---: |")
for (d, n, k) in ((2, 1000, 10), (2, 20_000, 10), (3, 100_000, 5), (8, 20_000, 10), (32, 10_000, 10), (128, 5_000, 10))
    x = rand(Float32, d, n)
    ours = best_milliseconds(() -> allknn(x, k), 10)
    tree = best_milliseconds(() -> NearestNeighbors.knn(KDTree(x), x, k + 1, true), 5)
    brute = n > 10_000 ? "" : @sprintf("%.1f", best_milliseconds(() -> NearestNeighbors.knn(BruteTree(x), x, k + 1, true), 3))
    @printf("| %d x %d, %d | %.1f | %.1f | %s |\n", d, n, k, ours, tree, brute)
end
