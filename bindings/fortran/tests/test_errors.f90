!> Bad input is a failure of Fortran's kind: stat, errmsg and error say what it was, counted from 1; nothing is changed.
program test_errors
  use, intrinsic :: iso_c_binding, only: c_associated, c_null_char
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan, ieee_value, ieee_quiet_nan, ieee_negative_inf
  use knng
  use checks
  implicit none

  real, allocatable, target :: x(:, :)
  type(knng_graph) :: graph
  type(knng_dataset) :: data
  type(knng_error) :: error
  integer :: stat
  character(400) :: message
  integer, allocatable :: ids(:, :)
  real, allocatable :: distances(:, :)
  integer, allocatable :: counts(:)
  integer(int64), pointer :: view_ids(:, :)
  real(real64), pointer :: view_distances(:, :)
  type(knng_sparse) :: matrix
  type(knng_dataset) :: none_either

  x = real(numbers(4, 30, 1000, 7))
  call arrays()
  call shapes()
  call settings()
  call queries()
  call lists()
  call nothing_there()
  call after_close()
  call files()
  call as_it_was()
  ! A main program's variables are not freed at its end, and a search for leaks would find them.
  call graph%close()
  call data%close()
  deallocate (x, ids, distances, error%argument, error%message)
  call finish_checks(230)

contains

  !> The last call failed, with this code and text.
  subroutine failed(code, part)
    integer, intent(in) :: code
    character(*), intent(in) :: part

    call check(error%code == code, part//": code")
    call check_text(error%message, part)
    error%code = knng_ok
    error%message = ""
  end subroutine

  !> The last call failed, and the data set has the settings from before it.
  subroutine unchanged(what)
    character(*), intent(in) :: what
    character(:), allocatable :: metric, threads

    metric = data%get("metric")
    threads = data%get("threads")
    call check(error%code /= knng_ok .and. metric == "manhattan" .and. threads == "1", what)
  end subroutine

  subroutine arrays()
    call graph%build(x, 30, error=error)
    call check(error%given == 30 .and. error%argument == "k", "k too large: given and argument")
    call failed(knng_err_range, "k=30 needs at least 31 rows, the data set has 30")
    call graph%build(x, 5000000000_int64, error=error)
    call check(error%given == 5000000000_int64, "k of 64 bits: given")
    call failed(knng_err_range, "k=5000000000 needs")
    call graph%build(x, 0, error=error)
    call failed(knng_err_range, "k=0")
    call graph%build(x, -3, error=error)
    call failed(knng_err_range, "k=-3")
    call graph%build(x(:, :0), 1, error=error)
    call failed(knng_err_range, "")
    call graph%build(x(:0, :), 1, error=error)
    call failed(knng_err_range, "")
    call graph%build(x(:, :1), 1, error=error)
    call failed(knng_err_range, "k=1 needs at least 2 rows, the data set has 1")

    x(3, 20) = ieee_value(x(1, 1), ieee_quiet_nan)
    call graph%build(x, 3, error=error)
    call check(error%point == 20 .and. error%element == 3, "NaN: where it is")
    call failed(knng_err_data, "NaN; every value must be finite (point 20, element 3)")
    x(3, 20) = ieee_value(x(1, 1), ieee_negative_inf)
    call graph%query(x(:, :19), x(:, 19:), 3, error=error)
    call check(error%point == 2 .and. error%element == 3, "infinity: where it is")
    call failed(knng_err_data, "infinite; every value must be finite (point 2, element 3)")
    x(3, 20) = -5
    call graph%build(x, 3, "hellinger", error=error)
    call check(error%point == 20 .and. error%element == 3, "negative: where it is")
    call failed(knng_err_data, "(point 20, element 3)")
    x(:, 7) = 0
    call graph%build(abs(x), 3, "jensenshannon", error=error)
    call check(error%point == 7 .and. error%element == 0, "a point of sum 0: where it is")
    call failed(knng_err_data, "(point 7)")
    call graph%build(reshape([2_int64**60, 1_int64, 3_int64], [1, 3]), 1, error=error)
    call failed(knng_err_data, "(point 1, element 1)")
    call data%add(x)
    call data%add(x(:3, :), error=error)
    call failed(knng_err_argument, "")
    call data%add(dble(x), error=error)
    call failed(knng_err_argument, "")
    call check(data%points() == 30, "what failed is not added")
    call data%read(x(:, :5), 27, error=error)
    call check(error%given == 27 .and. error%limit == 26, "read: given and limit")
    call failed(knng_err_range, "first=27: points 27 to 31 are wanted, the data set has 1 to 30")
    call data%read(x(:, :5), 0, error=error)
    call failed(knng_err_range, "points 0 to 4")
  end subroutine

  !> The last call refused a shape with all that the C library says, in Fortran's order.
  subroutine misshapen(code, argument, given, limit, text)
    integer, intent(in) :: code, given, limit
    character(*), intent(in) :: argument, text

    call check(error%code == code .and. error%argument == argument, text//": code and argument")
    call check(error%given == given .and. error%limit == limit, text//": given and limit")
    call check(error%message == text, """"//error%message//""" instead of """//text//"""")
  end subroutine

  subroutine shapes()
    type(knng_dataset) :: points
    type(knng_graph) :: made
    integer :: few(3, 30) = 1, turned(30, 3), mixed(2, 3) = reshape([2, 3, 1, 3, 1, 2], [2, 3])
    real :: far(3, 30)
    real, target :: other(3, 5) = 1

    call made%build(x, 3)
    call made%fill(turned, far, error=error)
    call misshapen(knng_err_argument, "ids", 3, 30, "ids: shape (30, 3), but the graph takes (3, 30)")
    call made%fill(few(:2, :), far, error=error)
    call misshapen(knng_err_argument, "ids", 2, 3, "ids: shape (2, 30), but the graph takes (3, 30)")
    call made%fill(few, far(:, :29), error=error)
    call misshapen(knng_err_argument, "values", 29, 30, "values: shape (3, 29), but the graph takes (3, 30)")
    call made%fill(few(:0, :), far, error=error)
    call misshapen(knng_err_range, "ids", 0, 1, "ids: shape (0, 30) is empty; at least (1, 1) is needed")
    call check(all(few == 1), "what is refused is not written to")
    call made%import(mixed, transpose(far(:2, :3)), error=error)
    call misshapen(knng_err_argument, "values", 2, 3, "values: shape (3, 2), but ids have (2, 3)")
    call made%import(mixed(:, :0), far(:2, :0), error=error)
    call misshapen(knng_err_range, "ids", 0, 1, "ids: shape (2, 0) is empty; at least (1, 1) is needed")
    call made%import(mixed, far(:, :0), error=error)
    call misshapen(knng_err_range, "values", 0, 1, "values: shape (3, 0) is empty; at least (1, 1) is needed")

    call made%build(x(:0, :5), 3, error=error)
    call misshapen(knng_err_range, "rows", 0, 1, "rows: shape (0, 5) is empty; at least (1, 1) is needed")
    call points%add(x(:, :0), error=error)
    call misshapen(knng_err_range, "rows", 0, 1, "rows: shape (4, 0) is empty; at least (1, 1) is needed")
    call points%borrow(other(:0, :), error=error)
    call misshapen(knng_err_range, "rows", 0, 1, "rows: shape (0, 5) is empty; at least (1, 1) is needed")
    call points%add(x)
    call points%add(other, error=error)
    call misshapen(knng_err_argument, "rows", 3, 4, "rows: points have 3 coordinates, the data set has 4")
    call points%borrow(other, error=error)
    call misshapen(knng_err_argument, "rows", 3, 4, "rows: points have 3 coordinates, the data set has 4")
    call points%add(dble(other), error=error)
    call failed(knng_err_argument, "rows: rows are float64")
    call points%read(other, 1, error=error)
    call misshapen(knng_err_argument, "dst", 3, 4, "dst: points have 3 coordinates, the data set has 4")
    call made%query(points, other, 2, error=error)
    call misshapen(knng_err_argument, "q", 3, 4, "q: points have 3 coordinates, the data set has 4")
    call made%query(x, other, 2, error=error)
    call misshapen(knng_err_argument, "q", 3, 4, "q: points have 3 coordinates, the data set has 4")
    call made%query(x, x(:, :0), 2, error=error)
    call misshapen(knng_err_range, "q", 0, 1, "q: shape (4, 0) is empty; at least (1, 1) is needed")
    call made%query(points, x(:, :2), 2, leave_out=[1, 2, 3], error=error)
    call misshapen(knng_err_argument, "leave_out", 3, 2, "leave_out: shape (3), but there are 2 queries")
    call made%query(points, x(:, :2), 2, leave_out=turned(:0, 1), error=error)
    call misshapen(knng_err_range, "leave_out", 0, 1, "leave_out: shape (0), but there are 2 queries")
    call check(made%width() == 3 .and. points%points() == 30, "what is refused changes nothing")
  end subroutine

  subroutine settings()
    character(*), parameter :: ill(6) = [character(28) :: "threads = 3", "threads= 3", "threads =3", &
      "threads=3,value=similarity", "threads=3;metric=cosine", "metric=cosine,threads=3"]
    character(*), parameter :: said(6) = [character(44) :: 'settings: "threads" is not', "threads=: it takes", &
      'settings: "threads" is not', "threads=3,value=similarity: it takes whole", "threads=3;metric=cosine: it", &
      "metric=cosine,threads=3: it takes"]
    integer :: i

    call graph%build(x, 3, "cosin", error=error)
    call check(error%argument == "metric", "metric: argument")
    call failed(knng_err_option, "metric=cosin: it takes sqeuclidean, euclidean")
    call graph%build(x, 3, settings="value_type=f64 threads", error=error)
    call failed(knng_err_option, """threads"" is not of the form key=value")
    call graph%build(x, 3, settings="metrik=cosine", stat=stat, errmsg=message)
    call check_text(message, "metrik")
    call check(stat == knng_err_option .and. index(message, "separated") == 0, "a setting that there is not")
    do i = 1, size(ill)
      call graph%build(x, 3, settings=ill(i), error=error)
      call check_text(error%message, trim(said(i)))
      call failed(knng_err_option, '; settings are separated by blanks, with no blank around "="')
    end do
    call graph%build(x, 3, settings="=cosine", error=error)
    call failed(knng_err_option, "")
    call graph%build(x, 3, "euclidean", "p=3", error=error)
    call failed(knng_err_option, "")
    call graph%build(x, 3, "cosine", "threads=1 metric=L2", error=error)
    call check(error%argument == "metric", "two metrics: argument")
    call failed(knng_err_option, "metric=cosine, but settings have metric=euclidean")
    call graph%query(x, x(:, :2), 3, "euclidean", "metric=manhattan", error=error)
    call failed(knng_err_option, "metric=euclidean, but settings have metric=manhattan")
    call graph%build(x, 3, "L2", "metric=euclidean", stat=stat)
    call check(stat == knng_ok, "the same metric twice")
    call check(graph%text("metric") == "euclidean", "the same metric twice: result")
    call graph%build(x, 3, settings="metric=cosine", stat=stat)
    call check(stat == knng_ok, "a metric in settings")
    call check(graph%text("metric") == "cosine", "a metric in settings: result")
    call data%set("threads", "many", error=error)
    call failed(knng_err_option, "threads")
    call data%set("threads=1 metric=manhattan")
    call data%set("metric=cosine threads=many", error=error)
    call unchanged("of several settings one is refused, and others are made")
    call data%set("threads=0 metric=cosine metric=chebyshev colour=red", error=error)
    call unchanged("what was set twice before one is refused is not as it was")
    call data%set("threads=0 metric=euclidean")
    call data%set("  metric=cosine   self=first ")
    call check(data%get("metric") == "cosine", "several settings at once: metric")
    call check(data%get("self") == "first", "several settings at once: self")
    call data%set("metric", "l1     ")
    call check(data%get("metric") == "manhattan", "padding of a value")
    call data%set("metric=euclidean self=exclude")
    message = data%get("threats", stat)
    call check(stat == knng_err_option .and. message == "", "a setting that there is not")
  end subroutine

  subroutine queries()
    call graph%query(data, x(:3, :), 3, error=error)
    call failed(knng_err_argument, "")
    call graph%query(data, transpose(x), 3, error=error)
    call failed(knng_err_argument, "q: points have 30 coordinates, the data set has 4")
    call graph%query(data, x(:, :2), 3, leave_out=[1], error=error)
    call failed(knng_err_argument, "leave_out")
    call graph%query(data, x(:, :2), 3, leave_out=[1, 31], error=error)
    call check(error%point == 2 .and. error%given == 31 .and. error%limit == 30, "leave_out: counted from 1")
    call failed(knng_err_range, "31")
    call graph%query(data, x(:, :2), 31, error=error)
    call failed(knng_err_range, "k=31")
    call graph%query(x, x(:, :0), 3, error=error)
    call failed(knng_err_range, "")
  end subroutine

  subroutine lists()
    integer :: wrong(2, 3) = reshape([2, 3, 1, 1, 1, 2], [2, 3])
    real :: far(2, 3) = 1
    real(real64) :: number

    call graph%import(wrong, far, error=error)
    call check(error%point == 2, "a repeated id: where it is")
    call failed(knng_err_data, "point 2")
    wrong(2, 2) = 4
    call graph%import(wrong, far, error=error)
    call check(error%point == 2 .and. error%element == 2, "an id that is too large: where it is")
    call failed(knng_err_data, "(point 2, element 2)")
    wrong(2, 2) = 3
    call graph%import(wrong, far(:1, :), error=error)
    call failed(knng_err_argument, "")
    call graph%import(wrong, far, points=2, error=error)
    call failed(knng_err_data, "")
    call graph%import(wrong, far, points=0, error=error)
    call failed(knng_err_range, "")
    call graph%import(wrong, far, metric="round", error=error)
    call failed(knng_err_option, "metric=round: it takes")
    wrong(2, 2) = 0
    call graph%import(wrong, far, error=error)
    call check(error%point == 2 .and. error%element == 2, "a distance without a neighbour: where it is")
    call failed(knng_err_data, "it must be +inf there")
    wrong(2, 2) = 3
    call graph%import(wrong, far)
    call check(graph%lists() == 3 .and. graph%width() == 2, "import")
    call graph%fill(wrong(:1, :), far(:1, :), error=error)
    call failed(knng_err_argument, "")
    number = graph%stat("rowz", stat)
    call check(stat == knng_err_option .and. ieee_is_nan(number), "a statistic that there is not")
    call graph%rows("hubness", counts, error=error)
    call failed(knng_err_option, "indegree")
    message = graph%text("colour", stat)
    call check(stat == knng_err_option, "a text that there is not")
    call graph%view(view_ids, view_distances, error=error)
    call failed(knng_err_argument, "real of 32 bits")
    call matrix%make(graph, "onion", error=error)
    call failed(knng_err_option, "union")
    call graph%query(x, x(:, :2), 3)
    call matrix%make(graph, "union", error=error)
    call failed(knng_err_state, "")
  end subroutine

  subroutine nothing_there()
    type(knng_graph) :: none
    type(knng_dataset) :: empty
    type(knng_plan) :: plan
    integer(int64) :: first_wrong
    integer, allocatable :: columns(:)
    real, allocatable :: values(:)
    real(real64) :: number

    number = none%stat("rows", error=error)
    call check(ieee_is_nan(number), "a statistic of no graph")
    call failed(knng_err_state, "graph: there is none")
    call none%copy(ids, distances, error=error)
    call failed(knng_err_state, "graph: there is none")
    call check(none%lists() == 0 .and. none%width() == 0 .and. .not. c_associated(none%c_handle()), "no graph")
    call none%save("nothing.knng", error=error)
    call failed(knng_err_state, "graph: there is none")
    call matrix%make(none, "union", error=error)
    call failed(knng_err_state, "graph: there is none")
    call matrix%csr(counts, columns, values, error=error)
    call failed(knng_err_state, "matrix: there is none")
    call none%check(data, first_wrong, error=error)
    call failed(knng_err_state, "graph: there is none")
    call none%build(empty, 3, error=error)
    call failed(knng_err_state, "data: the data set is empty")
    call empty%estimate(3, plan, error=error)
    call failed(knng_err_state, "data: the data set is empty")
    call empty%set("threads=1")
    call none%build(empty, 3, error=error)
    call failed(knng_err_state, "")
    call none%query(empty, x, 3, error=error)
    call failed(knng_err_state, "")
    call empty%share(none_either, error=error)
    call failed(knng_err_state, "data: the data set is empty")
  end subroutine

  subroutine after_close()
    call graph%build(x, 3)
    call graph%close()
    call graph%close()
    call graph%copy(ids, distances, error=error)
    call failed(knng_err_state, "graph: there is none")
    call data%close()
    call data%close()
    call graph%build(data, 3, error=error)
    call failed(knng_err_state, "data: the data set is empty")
    call data%add(x)
    call graph%build(data, 3)
    call check(graph%lists() == 30, "a data set that was closed can be filled again")
    call matrix%close()
  end subroutine

  subroutine files()
    call data%add_file("no-such-file.npy", error=error)
    call failed(knng_err_io, "no-such-file.npy")
    call data%add_file("no-such-format.jpeg", error=error)
    call check(error%code < 0, "a format that there is not")
    message = data%file_text(1, "file", error=error)
    call failed(knng_err_range, "file=1: no points were added")
    call graph%load("no-such-file.knng   ", error=error)
    call failed(knng_err_io, "no-such-file.knng")
    call graph%load("no-such"//c_null_char//".knng", error=error)
    call failed(knng_err_argument, "null character")
    call graph%save("nowhere/graph.knng", error=error)
    call failed(knng_err_io, "nowhere")
    call graph%save("graph", error=error)
    call failed(knng_err_option, "")
    call graph%save("graph.knng", format="xml", error=error)
    call failed(knng_err_option, "xml")
    call graph%query_file(data, "no-such-file.npy", 3, error=error)
    call failed(knng_err_io, "no-such-file.npy")
  end subroutine

  !> A call that fails leaves what was there, and messages as Fortran's own statements do.
  subroutine as_it_was()
    call graph%build(x, 3)
    call graph%copy(ids, distances)
    call graph%build(x, 300, stat=stat)
    call check(stat == knng_err_range .and. graph%lists() == 30 .and. graph%width() == 3, "the old graph stays")
    message = "as it was"
    call graph%build(x, 4, stat=stat, errmsg=message, error=error)
    call check(stat == knng_ok .and. message == "as it was", "a success leaves errmsg")
    call check(error%code == knng_ok .and. error%message == "" .and. error%argument == "", "a success empties error")
    call check(size(ids, 1) == 3, "a copy is not the graph's")
    call graph%build(x, 300, stat=stat, errmsg=message)
    call check_text(message, "k=300 needs at least 301 rows")
  end subroutine
end program
