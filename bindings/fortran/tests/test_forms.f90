!> What is made of graphs: copies, views, numbers for each point, sparse matrices, files; and graphs of other origins.
program test_forms
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan, ieee_value, ieee_positive_inf
  use knng
  use checks
  implicit none

  integer, parameter :: d = 5, n = 80, k = 6
  integer, allocatable :: plain(:, :)
  real(real64), allocatable :: exact(:, :), x(:, :)
  type(knng_graph) :: graph
  integer :: i

  x = numbers(d, n, 9, 5)
  call brute_force("euclidean", x, x, k, [(i, i=1, n)], plain, exact)
  call graph%build(x, k)
  call copies()
  call ids_alone()
  call views()
  call numbers_of_points()
  call sparse_forms()
  call knng_files()
  call point_files()
  call imports()
  call descriptions()
  call plans()
  call no_copies()
  call versions()
  ! A main program's variables are not freed at its end, and a search for leaks would find them.
  call graph%close()
  deallocate (plain, exact, x)
  call finish_checks(71)

contains

  subroutine copies()
    integer(int32) :: ids(k, n), wide(2*k, n)
    integer(int64) :: long_ids(n, k)
    real(real32) :: distances(k, n)
    real(real64) :: long_distances(k, 2*n)

    call graph%fill(ids, distances)
    call check(all(ids == plain) .and. all(distances == real(exact, real32)), "fill")
    wide = -7
    call graph%fill(wide(2*k:1:-2, :), long_distances(:, n + 1:))
    call check(all(wide(2*k:1:-2, :) == plain) .and. all(wide(1::2, :) == -7), "fill of a section")
    call check(all(long_distances(:, n + 1:) == exact), "fill of a section of real64")
    long_ids = 0
    call graph%fill(ids, long_distances(:, :n))
    call check(all(ids == plain) .and. all(long_distances(:, :n) == exact), "fill of real64")
  end subroutine

  subroutine ids_alone()
    integer(int32), allocatable :: ids(:, :)
    integer(int64), allocatable :: long_ids(:, :)
    integer(int32) :: wide(2*k, n)
    integer(int64) :: long(k, n)
    integer(int32) :: short(2, 3) = reshape([2, 0, 1, 3, 0, 0], [2, 3])
    real, allocatable :: distances(:, :)
    type(knng_graph) :: made
    type(knng_error) :: error

    call graph%copy(ids)
    call graph%copy(long_ids)
    call check(all(shape(ids) == [k, n]) .and. all(ids == plain) .and. all(long_ids == plain), "copy of ids alone")
    wide = -7
    long = -7
    call graph%fill(wide(2*k:1:-2, :))
    call graph%fill(long)
    call check(all(wide(2*k:1:-2, :) == plain) .and. all(wide(1::2, :) == -7), "fill of a section, ids alone")
    call check(all(long == plain), "fill of ids alone")
    call graph%fill(long(2:, :), error=error)
    call check(error%code == knng_err_argument .and. error%given == k - 1, "fill of ids alone, another shape")

    call made%import(long_ids, metric="L1")
    call made%copy(ids, distances)
    call check(all(ids == plain) .and. all(distances == 0) .and. made%same_points(), "import of ids alone")
    call check(made%text("metric") == "manhattan", "import of ids alone: metric")
    call made%import(short, points=9)
    call made%copy(ids, distances)
    call check(all(ids == short) .and. made%points() == 9, "import of ids alone, of queries")
    call check(all((distances > huge(distances)) .eqv. short == 0), "import of ids alone: no neighbour is +inf far")
  end subroutine

  subroutine views()
    integer(int64), pointer :: ids(:, :)
    real(real64), pointer :: distances(:, :)
    real(real32), pointer :: short_distances(:, :)
    type(knng_graph) :: short

    call graph%view(ids, distances)
    call check(all(shape(ids) == [k, n]) .and. all(ids + 1 == plain), "view: ids count from 0")
    call check(all(distances == exact), "view: distances")
    call short%build(x, k, settings="value_type=f32")
    call short%view(ids, short_distances)
    call check(all(ids + 1 == plain) .and. all(short_distances == real(exact, real32)), "view of real32")
  end subroutine

  subroutine numbers_of_points()
    integer(int32), allocatable :: counts(:)
    integer(int64), allocatable :: long_counts(:)
    integer :: members(n), j, before
    type(knng_graph) :: queries, parted
    real(real64) :: two(1, 10)

    call graph%rows("indegree", counts)
    call check(all(counts == [(count(plain == i), i=1, n)]), "indegree")
    call graph%rows("indegree", long_counts)
    call check(all(long_counts == counts), "indegree in 64 bits")
    call queries%query(x, x(:, :7), 3)
    call queries%rows("indegree", counts)
    call check(size(counts) == n .and. sum(counts) == 21, "indegree of a graph of queries")
    call queries%rows("ties", counts)
    call check(size(counts) == 7 .and. all(counts == 0 .or. counts == 1), "ties")

    ! Two heaps of points far from each other.
    two(1, :) = [0, 1, 2, 3, 4, 100, 101, 102, 103, 104]
    call parted%build(two, 2)
    call parted%rows("component", counts)
    call check(all(counts == [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]), "component, counted from 1")

    ! Components by hand: the smallest number that reaches a point.
    members = [(i, i=1, n)]
    do
      before = sum(members)
      do i = 1, n
        do j = 1, k
          members(i) = min(members(i), members(plain(j, i)))
          members(plain(j, i)) = members(i)
        end do
      end do
      if (sum(members) == before) exit
    end do
    call graph%rows("component", long_counts)
    call check(all([(all((members == members(i)) .eqv. (long_counts == long_counts(i))), i=1, n)]), "components")
  end subroutine

  subroutine sparse_forms()
    type(knng_sparse) :: matrix
    integer, allocatable :: starts(:), columns(:), rows(:)
    integer(int64), allocatable :: long_starts(:), long_columns(:)
    integer(int64), pointer :: view_starts(:), view_rows(:), view_columns(:)
    real(real64), allocatable :: values(:)
    real(real32), allocatable :: short_values(:)
    real(real64), pointer :: view_values(:)
    real(real64) :: dense(n, n), wanted(n, n)
    integer :: j

    wanted = -1
    do i = 1, n
      do j = 1, k
        wanted(i, plain(j, i)) = exact(j, i)
      end do
    end do
    call matrix%make(graph, "directed")
    call check(matrix%rows() == n .and. matrix%columns() == n .and. matrix%entries() == n*k, "directed: shape")
    call matrix%csr(starts, columns, values)
    dense = -1
    do i = 1, n
      do j = starts(i), starts(i + 1) - 1
        dense(i, columns(j)) = values(j)
      end do
    end do
    call check(all(dense == wanted), "directed, csr")

    wanted = max(wanted, transpose(wanted))
    call matrix%make(graph, "union")
    call matrix%coo(rows, columns, values)
    dense = -1
    do j = 1, size(values)
      dense(rows(j), columns(j)) = values(j)
    end do
    call check(all(dense == wanted) .and. size(values) == count(wanted >= 0), "union, coo")
    call matrix%csr(long_starts, long_columns, short_values)
    call check(all(long_columns == columns) .and. all(short_values == real(values, real32)), "union, other kinds")
    call check(long_starts(1) == 1 .and. long_starts(n + 1) == size(values) + 1, "union: starts count from 1")
    call matrix%view(view_starts, view_rows, view_columns, view_values)
    call check(all(view_starts + 1 == long_starts) .and. all(view_rows + 1 == rows), "view: starts and rows from 0")
    call check(all(view_columns + 1 == columns) .and. all(view_values == values), "view: columns and values")

    call matrix%make(graph, "snn:number")
    call matrix%coo(rows, columns, values)
    call check(all([(shared(rows(j), columns(j)) == nint(values(j)), j=1, size(values))]), "snn:number")

    ! Two queries' lists have nothing in common, and neither is among the other's.
    block
      type(knng_graph) :: pairs
      call pairs%build(reshape([0d0, 1d0, 2.5d0], [1, 3]), 1) ! 1 -> 2, 2 -> 1, 3 -> 2
      call matrix%make(pairs, "mutual")
      call check(matrix%entries() == 2, "mutual")
      call pairs%import(reshape([2, 3, 1], [1, 3]), reshape([1d0, 1d0, 1d0], [1, 3])) ! a ring: nobody is mutual
      call matrix%make(pairs, "mutual")
      call matrix%csr(starts, columns, values)
      call check(all(starts == 1) .and. size(columns) == 0 .and. size(values) == 0, "no entries")
      call matrix%view(view_starts, view_rows, view_columns, view_values)
      call check(size(view_rows) == 0 .and. size(view_values) == 0 .and. size(view_starts) == 4, "view of no entries")
    end block
  end subroutine

  !> How many of a point's neighbours, itself among them, are another's.
  integer function shared(i, j)
    integer, intent(in) :: i, j
    integer :: a(k + 1), l

    a = [i, plain(:, i)]
    shared = count([(any(a(l) == [j, plain(:, j)]), l=1, k + 1)])
  end function

  subroutine knng_files()
    type(knng_graph) :: loaded
    integer, allocatable :: ids(:, :)
    real(real64), allocatable :: distances(:, :)
    type(knng_dataset) :: data
    integer(int64) :: first_wrong

    call graph%save("test_forms.knng")
    call loaded%load("test_forms.knng")
    call loaded%copy(ids, distances)
    call check(all(ids == plain) .and. all(distances == exact), "saved and loaded")
    call check(loaded%text("fingerprint") == graph%text("fingerprint"), "fingerprint")
    call data%add(x)
    call loaded%check(data, first_wrong)
    call check(first_wrong == 0, "a right graph is found right")
    call data%close()
    x(:, 33) = x(:, 33) + 1
    call data%add(x)
    x(:, 33) = x(:, 33) - 1
    call loaded%check(data, first_wrong, sample=0)
    call check(first_wrong >= 1 .and. first_wrong <= 33, "a graph of other data is found wrong, counted from 1")
    call graph%save("test_forms.anything", format="knng")
    call loaded%load("test_forms.anything")
    call check(loaded%lists() == n, "format by name")
    call remove("test_forms.knng")
    call remove("test_forms.anything")
  end subroutine

  subroutine point_files()
    type(knng_dataset) :: data
    type(knng_graph) :: made
    integer, allocatable :: ids(:, :)
    real(real64), allocatable :: distances(:, :)
    real(real32), target :: single(d, n)
    integer :: unit

    single = real(x, real32)
    open (newunit=unit, file="test_forms.fvecs", access="stream", form="unformatted", status="replace")
    do i = 1, n
      write (unit) int(d, int32), real(x(:, i), real32)
    end do
    close (unit)
    call data%set("value_type", "f64")
    call data%add_file("test_forms.fvecs")
    call made%build(data, k)
    call made%copy(ids, distances)
    call check(all(ids == plain) .and. all(distances == exact), "points of a file")
    call made%build(data, int(k, int64))
    call made%copy(ids, distances)
    call check(all(ids == plain) .and. all(distances == exact), "points of a file, k of 64 bits")
    call made%query_file(data, "test_forms.fvecs", 1)
    call made%copy(ids, distances)
    call check(all(distances == 0), "queries of a file")
    call made%query_file(data, "test_forms.fvecs", 2_int64)
    call made%copy(ids, distances)
    call check(all(distances(1, :) == 0) .and. made%width() == 2, "queries of a file, k of 64 bits")
    call check(data%file_text(1, "file") == "test_forms.fvecs", "the name of a file")
    call check(data%file_text(1, "matrix") == "", "what goes without saying")
    call check(data%points() == n, "a file's points")
    call data%add_file("test_forms.fvecs")
    call data%add(real(x, real32))
    call data%borrow(single)
    call check(data%points() == 4*n, "add_file, add and borrow append")
    call remove("test_forms.fvecs")
    call data%close()
    open (newunit=unit, file="test_forms.csv", status="replace")
    write (unit, "(a)") "gene;a;b", "x;1;2", "y;3;4"
    close (unit)
    call data%add_file("test_forms.csv")
    call check(data%points() == 2, "points of a table")
    call check(data%file_text(1, "header") == "yes", "the header of a table")
    call check(data%file_text(1, "row_names") == "yes", "the names of a table's rows")
    call check(data%file_text(1, "separator") == "semicolons", "what separates a table's cells")
    call remove("test_forms.csv")
  end subroutine

  subroutine remove(path)
    character(*), intent(in) :: path
    integer :: unit

    open (newunit=unit, file=path)
    close (unit, status="delete")
  end subroutine

  subroutine imports()
    type(knng_graph) :: made
    integer(int64), allocatable :: ids(:, :)
    real(real64), allocatable :: distances(:, :)
    integer :: short(2, 3) = reshape([2, 0, 1, 3, 0, 0], [2, 3])
    real :: far(2, 3)
    real(real64) :: number

    call made%import(plain, exact)
    call made%copy(ids, distances)
    call check(all(ids == plain) .and. all(distances == exact) .and. made%same_points(), "import")
    call check(made%text("metric") == "unknown", "the metric of an import")
    number = made%stat("rows")
    call check(nint(number) == size(plain, 2), "rows of an import")
    number = made%stat("duplicates")
    call check(ieee_is_nan(number), "a statistic that is not known")
    call made%import(plain, exact, metric="L2")
    call check(made%text("metric") == "euclidean", "the metric of an import that was given")
    far = ieee_value(1.0, ieee_positive_inf) ! where there is no neighbour
    where (short > 0) far = 1
    call made%import(short, far, points=9)
    call made%copy(ids, distances)
    call check(all((distances > huge(distances)) .eqv. (ids == 0)), "where there is no neighbour, the distance is +inf")
    call check(all(ids == short) .and. made%points() == 9 .and. .not. made%same_points(), "import of queries")
  end subroutine

  subroutine descriptions()
    type(knng_graph) :: made, loaded
    type(knng_error) :: error

    call made%describe(["text.metric=cosine"], error=error)
    call check(error%code == knng_err_state, "facts of no graph")
    call made%import(plain, exact)
    call made%describe([character(24) :: "text.metric=minkowski", "text.p=3", "stat.seconds_total=0.5"])
    call check(made%text("metric") == "minkowski", "texts of a description")
    call check(made%text("p") == "3", "texts of a description: result")
    call check(made%stat("seconds_total") == 0.5d0, "a statistic of a description")
    call made%save("test_forms.described.knng")
    call loaded%load("test_forms.described.knng")
    call check(loaded%text("metric") == "minkowski", "a description in a file")
    call check(loaded%stat("seconds_total") == 0.5d0, "a description in a file: result")
    call remove("test_forms.described.knng")
    call made%describe(["text.metric=round"], error=error)
    call check(error%code == knng_err_option .and. error%argument == "metric", "a metric that there is not")
    call made%describe([character(24) :: "stat.seconds_total=2", "metric=cosine"], error=error)
    call check(error%code == knng_err_data, "facts of which one is none")
    call check(made%stat("seconds_total") == 0.5d0, "facts of which one is none: result")
    call made%describe([character(1) ::])
    call check(made%text("metric") == "minkowski", "no facts")
    call graph%describe(["text.metric=cosine"], error=error)
    call check(error%code == knng_err_state, "facts of a graph that was built")
  end subroutine

  subroutine plans()
    type(knng_dataset) :: data, second
    type(knng_plan) :: plan, other, second_plan
    type(knng_graph) :: made
    integer, allocatable :: ids(:, :)
    real(real64), allocatable :: distances(:, :)

    call data%add(x)
    call data%estimate(k, plan)
    call data%estimate(k, other, queries=1000000)
    call check(plan%host_bytes > 0 .and. other%host_bytes > plan%host_bytes, "estimate")
    call data%estimate(int(k, int64), second_plan, queries=1000000_int64)
    call check(second_plan%host_bytes == other%host_bytes, "estimate, k of 64 bits")
    call second%share(data)
    call data%set("metric", "manhattan")
    call check(second%points() == n .and. second%dimension() == d, "share: shape")
    call data%close()
    call made%build(second, k)
    call made%copy(ids, distances)
    call check(all(ids == plain), "share: settings of its own, points of both")
    call check(nint(made%stat("rows")) == n, "a statistic")
  end subroutine

  !> A variable that was never used is assigned like any other; what an array or an allocatable holds is freed once.
  subroutine no_copies()
    type(knng_graph), allocatable :: one, many(:), moved
    type(knng_dataset) :: data, other

    data = other
    allocate (one, many(3))
    call one%build(x, k)
    do i = 1, 3
      call many(i)%build(x, i)
    end do
    call move_alloc(one, moved)
    call check(moved%width() == k .and. many(3)%width() == 3, "allocatable graphs")
    deallocate (many)
    call change(moved)
    call check(moved%width() == 2, "a graph as an argument")
  end subroutine

  subroutine change(graph)
    class(knng_graph), intent(inout) :: graph

    call graph%build(x, 2)
  end subroutine

  subroutine versions()
    integer :: stat

    call check(index(knng_library_version(), ".") > 0, "version")
    call knng_use_matrix_tiles(stat)
    call check(stat == knng_ok .or. stat == knng_err_unsupported, "matrix tiles")
  end subroutine
end program
