# The package against a brute force, and what a wrapper adds to the library and could get wrong. Points are small integers, for
# which the distances are exact, so that nothing is compared with a tolerance.
using Knng, Test, Random, SparseArrays

sqeuclidean(a, b) = sum(abs2, Float64.(a) .- Float64.(b))
manhattan(a, b) = sum(abs, Float64.(a) .- Float64.(b))

# (number, distance) of the k nearest columns of x, without column `left_out`.
function nearest(x, q, k, metric; left_out = 0)
    all = [(metric(q, x[:, j]), j) for j in axes(x, 2) if j != left_out]
    return [(j, distance) for (distance, j) in sort!(all)[1:k]]
end

listed(idxs, dists, i) = collect(zip(idxs[:, i], Float64.(dists[:, i])))

kind_of(call) =
    try
        call()
        nothing
    catch reason
        reason isa KnngError ? reason.kind : typeof(reason)
    end

rng = MersenneTwister(1)

# Julia's own offsets and sizes beside those of the C compiler, where the table of them is.
@testset "structs" begin
    table = joinpath(@__DIR__, "..", "..", "api", "knng.tsv")
    structs = Dict("knng_matrix" => Knng.CMatrix, "knng_control" => Knng.CControl, "knng_error" => Knng.CError,
                   "knng_option" => Knng.COption, "knng_plan" => Knng.CPlan, "knng_device" => Knng.CDevice)
    place = Dict(name => 0 for name in keys(structs))
    lines = isfile(table) ? split.(eachline(table), '\t') : []
    for line in lines
        if line[1] == "struct"
            @test sizeof(structs[line[2]]) == parse(Int, line[3])
        elseif line[1] == "field"
            T, i = structs[line[2]], (place[line[2]] += 1)
            @test (fieldoffset(T, i), sizeof(fieldtype(T, i))) == (parse(Int, line[4]), parse(Int, line[5]))
        end
    end
    @test all(place[name] == (isempty(lines) ? 0 : fieldcount(T)) for (name, T) in structs)
end

@testset "graphs of $T" for T in (Float32, Float64, UInt8, Int32, UInt64, Float16)
    x = T.(rand(rng, 0:6, 5, 120))
    for (name, metric) in (("sqeuclidean", sqeuclidean), ("manhattan", manhattan))
        idxs, dists = allknn(x, 7; metric = name)
        @test size(idxs) == size(dists) == (7, 120)
        @test eltype(idxs) == Int && eltype(dists) == (T == Float64 ? Float64 : Float32)
        @test all(listed(idxs, dists, i) == nearest(x, x[:, i], 7, metric; left_out = i) for i in 1:120)
    end
end

@testset "layouts" begin
    x = Float64.(rand(rng, 0:9, 4, 60))
    wanted = allknn(x, 5)
    @test allknn(collect(x')', 5) == wanted
    @test allknn(transpose(collect(transpose(x))), 5) == wanted
    wide = vcat(fill(NaN, 2, 60), x, fill(NaN, 1, 60))
    @test allknn(view(wide, 3:6, :), 5) == wanted
    @test allknn([x[:, i] for i in 1:60], 5) == wanted
    @test allknn(sparse(x), 5) == wanted
    idxs, dists = zeros(Int32, 5, 60), zeros(Float32, 5, 60)
    @test allknn!(idxs, dists, x) === (idxs, dists)
    @test idxs == wanted[1] && dists == Float32.(wanted[2])
end

@testset "queries" begin
    x, q = rand(rng, UInt8(0):UInt8(5), 3, 80), rand(rng, UInt8(0):UInt8(5), 3, 20)
    data = Dataset(x; metric = "manhattan")
    idxs, dists = knn(data, q, 6)
    @test all(listed(idxs, dists, i) == nearest(x, q[:, i], 6, manhattan) for i in 1:20)
    left_out = [i % 3 == 0 ? 0 : i for i in 1:20]
    idxs, dists = knn(data, q, 6; leave_out = left_out)
    @test all(listed(idxs, dists, i) == nearest(x, q[:, i], 6, manhattan; left_out = left_out[i]) for i in 1:20)
    idxs, dists = knn(data, q[:, 1], 6)
    @test idxs isa Vector{Int} && collect(zip(idxs, dists)) == nearest(x, q[:, 1], 6, manhattan)
end

@testset "sparse" begin
    x = Float64.(rand(rng, 0:9, 3, 50))
    g = graph(Dataset(x), 4)
    idxs, dists = indices(g), distances(g)
    directed = zeros(50, 50)
    for i in 1:50, r in 1:4
        directed[idxs[r, i], i] = dists[r, i] + 1 # 0 is an entry
    end
    w = sparse(g, "directed")
    @test nnz(w) == 200 && all(w[j, i] + 1 == directed[j, i] for i in 1:50 for j in idxs[:, i])
    u, m = sparse(g, "union"), sparse(g, "mutual")
    pairs_of(a) = Set(zip(findnz(a)[1:2]...))
    both = Set((i, j) for i in 1:50 for j in 1:50 if directed[i, j] > 0 && directed[j, i] > 0)
    any_of = Set((i, j) for i in 1:50 for j in 1:50 if directed[i, j] > 0 || directed[j, i] > 0)
    @test u == u' && pairs_of(u) == any_of && pairs_of(m) == both
end

@testset "graphs and files" begin
    x = Float32.(rand(rng, 0:9, 3, 50))
    data = Dataset(x; threads = 2)
    g = graph(data, 4)
    @test size(data) == (3, 50) && size(g) == (4, 50) && data["threads"] == "2"
    @test check(data, g) === nothing
    second = share(data; metric = "cosine")
    @test second["metric"] == "cosine" && data["metric"] == "euclidean"
    mktempdir() do folder
        path = joinpath(folder, "g.knng")
        save(g, path)
        loaded = load_graph(path)
        @test indices(loaded) == indices(g) && distances(loaded) == distances(g)
        @test graph_text(loaded, "fingerprint") == graph_text(g, "fingerprint")
    end
    mktempdir() do folder
        path = joinpath(folder, "table.csv")
        write(path, "gene;a;b\nx;1;2\ny;3;4\n")
        table = Dataset(path)
        @test size(table) == (2, 2) && endswith(file_text(table, "file"), "table.csv")
        @test file_text(table, "header") == "yes" && file_text(table, "separator") == "semicolons"
        @test_throws KnngError file_text(table, "heading")
    end
    @test_throws KnngError file_text(data, "file")
    again = import_graph(indices(g), distances(g))
    @test indices(again, Int32) == indices(g)
    named = import_graph(indices(g), distances(g); metric = "minkowski", p = 3)
    @test graph_text(named, "metric") == "minkowski" && graph_text(named, "p") == "3"
    @test_throws KnngError import_graph(indices(g), distances(g); metric = "nearness")
    @test_throws ArgumentError Dataset(zeros(3, 5); file_points = "columns")
    @test minimum(row_numbers(g, "component")) == 1
    @test sum(row_numbers(g, "indegree")) == 200
    @test statistic(g, "rows") == 50
    @test ismissing(statistic(import_graph(indices(g), distances(g)), "duplicates"))
    @test estimate(data, 4).smallest_host > 0
    @test any(m.name == "euclidean" for m in Knng.metrics()) && any(s.name == "metric" for s in Knng.settings())
    @test startswith(Knng.devices()[1].name, "cpu") && Knng.version() >= v"0.9"
end

@testset "bad input" begin
    x = rand(rng, Float32, 2, 40)
    e = try
        allknn(x, 50)
    catch reason
        reason
    end
    @test e isa KnngError && e.kind === :range && e.given == 50 && e.limit == 39
    @test sprint(showerror, e) == "KnngError (range): k=50 needs at least 51 rows, the data set has 40"
    @test all(kind_of(() -> allknn(x, k)) === :range for k in (40, 0, -1))
    @test all(kind_of(() -> allknn(x, k)) === MethodError for k in (2.5, "2", nothing))
    y = copy(x)
    for wrong in (NaN, Inf)
        y[2, 7] = wrong
        e = try
            Dataset(y)
        catch reason
            reason
        end
        @test (e.kind, e.point, e.coordinate) == (:data, 7, 2) && occursin("(point 7, coordinate 2)", sprint(showerror, e))
    end
    @test kind_of(() -> Dataset(x; metric = "euclid")) === :option
    @test kind_of(() -> Dataset(x; metrik = "euclidean")) === :option
    @test kind_of(() -> Dataset(ComplexF64.(x))) === ArgumentError
    @test kind_of(() -> Dataset(big.(x))) === ArgumentError
    @test kind_of(() -> Dataset(['a' 'b'; 'c' 'd'])) === ArgumentError
    @test kind_of(() -> Dataset(["a" "b"; "c" "d"])) === ArgumentError
    @test kind_of(() -> Dataset(Any[1 2; nothing 4])) === ArgumentError
    @test kind_of(() -> Dataset("no such file.npy")) === :io
    @test kind_of(() -> Dataset([[1.0, 2.0], [1.0]])) === DimensionMismatch
    @test kind_of(() -> Dataset(zeros(3, 0))) === :range
    @test kind_of(() -> knn(Dataset(x), zeros(Float32, 3, 2), 1)) === :argument
    @test kind_of(() -> knn(Dataset(x), collect(x'), 1)) === :argument
    @test kind_of(() -> knn(Dataset(x), x, 1; leave_out = [1])) === :argument
    @test kind_of(() -> allknn!(zeros(Int32, 3, 39), nothing, x)) === :argument
    @test kind_of(() -> sparse(graph(Dataset(x), 3), "both")) === :option
end

@testset "the library is missing, or another" begin
    for name in ("/nowhere/libknng.so.0", "libc.so.6")
        reason = try
            Knng.open_library([(name, "a test")])
        catch reason
            sprint(showerror, reason)
        end
        @test occursin("libknng was not found", reason) && occursin("$name (a test): ", reason)
    end
end

@testset "other threads" begin
    x = rand(rng, Float32, 6, 400)
    data = Dataset(x; threads = 1)
    wanted = allknn(data, 7)
    tasks = [Threads.@spawn allknn(data, 7) == wanted && kind_of(() -> allknn(data, 400)) === :range for _ in 1:8]
    @test all(fetch, tasks)
end

@testset "control" begin
    data = Dataset(rand(rng, UInt8, 64, 60_000); metric = "manhattan", device = "cpu")
    seen = String[]
    @test kind_of(() -> graph(data, 10; interval = 0.01, progress = (stage, done, total) -> (push!(seen, stage); error("enough")))) ===
          ErrorException
    @test length(seen) == 1
    @test kind_of(() -> graph(data, 10; interval = 0.01, progress = (args...) -> throw(InterruptException()))) === InterruptException
    flag = Stop()
    stop!(flag)
    @test kind_of(() -> graph(data, 10; stop = flag)) === :cancelled
end

@testset "Distances.jl" begin
    if Base.find_package("Distances") === nothing
        @test_skip "Distances is not there"
    else
        @eval using Distances
        x = Float64.(rand(rng, 0:9, 3, 30))
        @test allknn(x, 3; metric = @eval(Cityblock())) == allknn(x, 3; metric = "manhattan")
        @test allknn(x, 3; metric = @eval(Minkowski(3))) == allknn(x, 3; metric = "minkowski", p = 3)
        @test kind_of(() -> allknn(x, 3; metric = @eval(HellingerDist()))) === ArgumentError
    end
end
