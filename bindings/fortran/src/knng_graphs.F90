!> Neighbour graphs: made from data sets, arrays, files or another library's lists, and asked. Lists are columns of
!> arrays (width, lists), nearest first; ids count from 1.
module knng_graphs
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan
  use knng_c, only: knng_matrix, c_error => knng_error, knng_ok, knng_err_argument, knng_err_option, &
    knng_err_range, knng_err_state, knng_err_unsupported, knng_host, knng_f32, knng_f64, c_build => knng_build, &
    c_query => knng_query, c_query_file => knng_query_file, c_check => knng_check, c_import => knng_graph_import, &
    c_describe => knng_graph_describe, &
    c_shape => knng_graph_shape, c_view => knng_graph_view, c_copy => knng_graph_copy, &
    c_rows => knng_graph_rows, c_stat => knng_graph_stat, c_graph_text => knng_graph_text, c_save => knng_graph_save, &
    c_load => knng_graph_load, c_destroy => knng_graph_destroy
  use knng_support
  use knng_datasets, only: knng_dataset
  implicit none
  private
  public :: knng_graph

  !> Every procedure takes stat, errmsg and error, all optional. A failure without stat and without error stops the
  !> program with its text. A call that fills a graph replaces what was in it, and leaves that when it fails. Graphs
  !> need neither data set nor points that they were made from. All that does not fill one may run on many threads.
  type :: knng_graph
    private
    type(c_ptr) :: handle = c_null_ptr
    ! What c_shape says, so that the functions are pure.
    integer(int64) :: n_lists = 0, n_entries = 0, n_points = 0
    integer(int32) :: square = 0
  contains
    !> call graph%build(x, k [, metric, settings, control]) or call graph%build(data, k [, control]). k, here and below,
    !> is an integer of 32 or 64 bits
    generic :: build => build_data_k32, build_data_k64
    !> call graph%query(x, q, k [, metric, settings, leave_out, control]) or
    !> call graph%query(data, q, k [, leave_out, control]); leave_out(i): the id that query i must not get, 0 for none,
    !> of k's type
    generic :: query => query_matrix_k32, query_matrix_k64
    !> call graph%query_file(data, "queries.npy", k [, control]): the queries come from a file
    generic :: query_file => query_file_k32, query_file_k64
    procedure, private :: build_data_k32, build_data_k64, query_matrix_k32, query_matrix_k64, query_file_k32, &
      query_file_k64
    ! Those of arrays.
#define TEMPLATE "each_k_type.fi"
#define OF_K "graph_bindings.fi"
#include "each_row_type.fi"
#undef OF_K
#undef TEMPLATE
    !> call graph%import(ids [, distances, points, metric]): another library's lists, by a copy; points: of queries, how
    !> many could be neighbours; metric: what the distances are, which files then name. Without distances they are 0
    generic :: import => import_i32_f32, import_i32_f64, import_i64_f32, import_i64_f64, import_i32, import_i64
    procedure :: describe      !< call graph%describe(["stat.seconds_total=0.5"]): what is known of an imported graph
    procedure :: load          !< call graph%load("graph.knng")
    procedure :: save => save_graph !< call graph%save("graph.npz")
    !> call graph%copy(ids, distances): allocates both; integer of 32 or 64 bits, real of 32 or 64 bits; or copy(ids)
    generic :: copy => copy_i32_f32, copy_i32_f64, copy_i64_f32, copy_i64_f64, copy_i32, copy_i64
    !> call graph%fill(ids, distances): into arrays that are there; or fill(ids)
    generic :: fill => fill_i32_f32, fill_i32_f64, fill_i64_f32, fill_i64_f64, fill_i32, fill_i64
    !> call graph%view(ids, distances): pointers to the graph's own arrays. Not to be written to, valid as long as the
    !> graph is; ids count from 0, -1 where there is no neighbour. distances must be of the graph's kind
    generic :: view => view_f32, view_f64
    procedure :: lists         !< how many lists: points, or queries
    procedure :: width         !< entries of a list: k, or k + 1 under self=first
    procedure :: points        !< points that could be neighbours
    procedure :: same_points   !< .true.: list i is that of point i; .false.: of query i
    !> call graph%rows("indegree", numbers): a number for each point: ties (refused where nobody knows
    !> them), proof, indegree, component (from 1)
    generic :: rows => rows_i32, rows_i64
    procedure :: stat => statistic !< seconds = graph%stat("seconds_total"); a NaN if it is not known (ieee_is_nan)
    procedure :: text          !< metric = graph%text("metric")
    procedure :: check         !< call graph%check(data, first_wrong): 0 if all lists are right
    procedure :: close => close_graph !< frees it now; leaving the scope does so too
    procedure :: c_handle      !< for functions of module knng_c; c_null_ptr where there is no graph
    generic :: assignment(=) => no_assignment
    procedure, private :: import_i32_f32, import_i32_f64, import_i64_f32, import_i64_f64, import_i32, import_i64
    procedure, private :: copy_i32_f32, copy_i32_f64, copy_i64_f32, copy_i64_f64, copy_i32, copy_i64
    procedure, private :: fill_i32_f32, fill_i32_f64, fill_i64_f32, fill_i64_f64, fill_i32, fill_i64
    procedure, private :: view_f32, view_f64, rows_i32, rows_i64, no_assignment
    final :: finish
  end type

contains

#define TEMPLATE "each_k_type.fi"
#define OF_K "graph_of_type.fi"
#include "each_row_type.fi"
#undef OF_K
#define OF_K "graph_with_k.fi"
#include "each_k_type.fi"
#undef OF_K
#undef TEMPLATE

#define TEMPLATE "lists_of_types.fi"
#include "each_list_type.fi"
#undef TEMPLATE

#define TEMPLATE "ids_of_type.fi"
#include "each_id_type.fi"

  subroutine build_columns(self, m, k, metric, settings, control, stat, errmsg, error)
    class(knng_graph), intent(inout) :: self
    type(knng_matrix), intent(in) :: m
    integer(int64), intent(in) :: k
    character(*), intent(in), optional :: metric, settings
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(knng_dataset) :: data
    type(knng_error) :: why

    call show(data, m, metric, settings, control, why)
    if (why%code == knng_ok) call self%build(data, k, control, error=why)
    call data%close()
    call hand_on(why, stat, errmsg, error)
  end subroutine

  subroutine query_points(self, data, q, k, leave_out, control, stat, errmsg, error)
    class(knng_graph), intent(inout) :: self
    class(knng_dataset), intent(in) :: data
    type(knng_matrix), intent(in) :: q
    integer(int64), intent(in) :: k
    integer(int64), intent(in), optional :: leave_out(:)
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e

    call filled(data, e)
    call check_points(q, data%dimension(), "q", e)
    if (present(leave_out)) call check_left_out(size(leave_out, kind=int64), q%rows, e)
    if (e%code == knng_ok) then
      call self%query(data, q, k, leave_out, control, stat, errmsg, error)
    else
      call settle(e, stat, errmsg, error)
    end if
  end subroutine

  subroutine check_left_out(given, queries, e)
    integer(int64), intent(in) :: given, queries
    type(c_error), intent(inout) :: e
    character(120) :: text

    if (e%code /= knng_ok .or. given == queries) return
    write (text, '("leave_out: shape (", i0, "), but there are ", i0, " queries")') given, queries
    if (given == 0) then
      call refuse(e, knng_err_range, "leave_out", trim(text), given, 1_int64)
    else
      call refuse(e, knng_err_argument, "leave_out", trim(text), given, queries)
    end if
  end subroutine

  subroutine query_matrices(self, x, q, k, metric, settings, leave_out, control, stat, errmsg, error)
    class(knng_graph), intent(inout) :: self
    type(knng_matrix), intent(in) :: x, q
    integer(int64), intent(in) :: k
    character(*), intent(in), optional :: metric, settings
    integer(int64), intent(in), optional :: leave_out(:)
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(knng_dataset) :: data
    type(knng_error) :: why

    call show(data, x, metric, settings, control, why)
    if (why%code == knng_ok) call query_points(self, data, q, k, leave_out, control, error=why)
    call data%close()
    call hand_on(why, stat, errmsg, error)
  end subroutine

  !> A data set for one call: points that are not copied, and its settings.
  subroutine show(data, x, metric, settings, control, why)
    type(knng_dataset), intent(inout) :: data
    type(knng_matrix), intent(in) :: x
    character(*), intent(in), optional :: metric, settings
    type(knng_control), intent(in), optional :: control
    type(knng_error), intent(out) :: why
    type(c_error) :: e

    why%code = knng_ok
    if (present(metric)) call data%set("metric", metric, error=why)
    if (why%code == knng_ok .and. present(settings)) call set_beside(data, metric, settings, why)
    if (why%code /= knng_ok) return
    call check_not_empty(x, "rows", e)
    if (e%code /= knng_ok) then
      call settle(e, error=why)
    else
      call data%borrow(x, control, error=why)
    end if
  end subroutine

  !> Sets settings, which may name no other metric than the argument does.
  subroutine set_beside(data, metric, settings, why)
    type(knng_dataset), intent(inout) :: data
    character(*), intent(in), optional :: metric
    character(*), intent(in) :: settings
    type(knng_error), intent(out) :: why
    character(:), allocatable :: asked, set
    type(c_error) :: e

    asked = data%get("metric")
    call data%set(settings, error=why)
    set = data%get("metric")
    if (why%code /= knng_ok .or. .not. present(metric) .or. set == asked) return
    call refuse(e, knng_err_option, "metric", "metric="//asked//", but settings have metric="//set// &
      ": only one of them can be meant")
    call settle(e, error=why)
  end subroutine

  !> Reads a graph that save wrote.
  subroutine load(self, path, control, stat, errmsg, error)
    class(knng_graph), intent(inout) :: self
    character(*), intent(in) :: path
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e
    type(c_ptr) :: handle

    call check_path(path, e)
    if (e%code == knng_ok) e%code = c_load(handle, c_text(path), control_of(control), e)
    call take(self, handle, e)
    call settle(e, stat, errmsg, error)
  end subroutine

  !> Writes the graph to a file: "knng" keeps everything, "npz" is NumPy's; "mtx", "tsv", "ivecs" and "ibin" are for other
  !> programs and not loaded again; without format the suffix tells. A file that is there is replaced if it is a graph, or
  !> empty; any other may be data and stays.
  subroutine save_graph(self, path, format, control, stat, errmsg, error)
    class(knng_graph), intent(in) :: self
    character(*), intent(in) :: path
    character(*), intent(in), optional :: format
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e

    call there(self, e)
    if (e%code == knng_ok) call check_path(path, e)
    if (e%code == knng_ok .and. present(format)) then
      e%code = c_save(self%handle, c_text(path), c_text(format), control_of(control), e)
    else if (e%code == knng_ok) then
      e%code = c_save(self%handle, c_text(path), control=control_of(control), error=e)
    end if
    call settle(e, stat, errmsg, error)
  end subroutine

  !> Writes ids, and distances if they are wanted, to memory that these matrices describe.
  subroutine copy_lists(self, e, ids, distances)
    class(knng_graph), intent(in) :: self
    type(c_error), intent(inout) :: e
    type(knng_matrix), intent(inout) :: ids
    type(knng_matrix), intent(inout), optional :: distances
    type(knng_matrix) :: wanted

    wanted%rows = self%n_lists
    wanted%cols = self%n_entries
    call check_lists(ids, wanted, "ids", "the graph takes", e)
    if (present(distances)) call check_lists(distances, wanted, "values", "the graph takes", e)
    if (e%code == knng_ok) e%code = c_copy(self%handle, 1, ids, distances, e)
  end subroutine

  subroutine import_lists(self, e, ids, distances, points, metric)
    class(knng_graph), intent(inout) :: self
    type(c_error), intent(inout) :: e
    type(knng_matrix), intent(in) :: ids
    type(knng_matrix), intent(in), optional :: distances
    integer, intent(in), optional :: points
    character(*), intent(in), optional :: metric
    type(c_ptr) :: handle

    call check_not_empty(ids, "ids", e)
    if (present(distances)) call check_lists(distances, ids, "values", "ids have", e)
    if (e%code == knng_ok .and. present(points)) then
      e%code = c_import(handle, ids, distances, 1, int(points, int64), 0, e)
    else if (e%code == knng_ok) then
      e%code = c_import(handle, ids, distances, 1, ids%rows, 1, e)
    end if
    call name_metric(handle, metric, e)
    call take(self, handle, e)
  end subroutine

  !> Tells an imported graph what is known of it beside its lists, for text, stat and files. Each element of facts is
  !> one: "text.metric=cosine" and the other names of text, "stat.duplicates=3" and those of stat. What is not named stays
  !> as it is. knng_err_option for a metric that there is not, knng_err_data for an element that is no fact or cannot be
  !> true of the graph, knng_err_state for a graph that the library made.
  subroutine describe(self, facts, stat, errmsg, error)
    class(knng_graph), intent(inout) :: self
    character(*), intent(in) :: facts(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    character(:), allocatable :: lines
    type(c_error) :: e
    integer :: i

    lines = ""
    do i = 1, size(facts)
      lines = lines//trim(facts(i))//new_line("a")
    end do
    call there(self, e)
    if (e%code == knng_ok) e%code = c_describe(self%handle, c_text(lines), error=e)
    call settle(e, stat, errmsg, error)
  end subroutine

  subroutine view_f32(self, ids, distances, stat, errmsg, error)
    class(knng_graph), intent(in) :: self
    integer(int64), pointer, intent(inout) :: ids(:, :)
    real(real32), pointer, intent(inout) :: distances(:, :)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(knng_matrix) :: m, v
    type(c_error) :: e

    call view_lists(self, knng_f32, m, v, e)
    if (e%code == knng_ok) then
      call c_f_pointer(m%data, ids, [m%cols, m%rows])
      call c_f_pointer(v%data, distances, [v%cols, v%rows])
    end if
    call settle(e, stat, errmsg, error)
  end subroutine

  subroutine view_f64(self, ids, distances, stat, errmsg, error)
    class(knng_graph), intent(in) :: self
    integer(int64), pointer, intent(inout) :: ids(:, :)
    real(real64), pointer, intent(inout) :: distances(:, :)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(knng_matrix) :: m, v
    type(c_error) :: e

    call view_lists(self, knng_f64, m, v, e)
    if (e%code == knng_ok) then
      call c_f_pointer(m%data, ids, [m%cols, m%rows])
      call c_f_pointer(v%data, distances, [v%cols, v%rows])
    end if
    call settle(e, stat, errmsg, error)
  end subroutine

  subroutine view_lists(self, dtype, ids, values, e)
    class(knng_graph), intent(in) :: self
    integer(int32), intent(in) :: dtype
    type(knng_matrix), intent(inout) :: ids, values
    type(c_error), intent(inout) :: e

    call there(self, e)
    if (e%code == knng_ok) e%code = c_view(self%handle, ids, values, e)
    if (e%code /= knng_ok) return
    if (ids%space /= knng_host) then
      call refuse(e, knng_err_unsupported, "graph", "graph: its lists are in memory of a device; copy brings them here")
    else if (values%dtype /= dtype) then
      call refuse(e, knng_err_argument, "distances", "distances: the graph has its distances as real of "// &
        merge("32", "64", values%dtype == knng_f32)//" bits; the pointer must have that kind, or set value_type")
    end if
  end subroutine

  pure function lists(self)
    class(knng_graph), intent(in) :: self
    integer(int64) :: lists

    lists = self%n_lists
  end function

  pure function width(self)
    class(knng_graph), intent(in) :: self
    integer(int64) :: width

    width = self%n_entries
  end function

  pure function points(self)
    class(knng_graph), intent(in) :: self
    integer(int64) :: points

    points = self%n_points
  end function

  pure function same_points(self)
    class(knng_graph), intent(in) :: self
    logical :: same_points

    same_points = self%square == 1
  end function

  ! Points are counted from both sides of a graph of queries: indegree has as many numbers as there are points.
  function numbers_of(self, what) result(n)
    class(knng_graph), intent(in) :: self
    character(*), intent(in) :: what
    integer(int64) :: n

    n = self%lists()
    if (what == "indegree") n = self%points()
  end function

  subroutine numbers_into(self, what, m, e)
    class(knng_graph), intent(in) :: self
    character(*), intent(in) :: what
    type(knng_matrix), value :: m
    type(c_error), intent(inout) :: e

    e%code = c_rows(self%handle, c_text(what), m, e)
  end subroutine

  !> A statistic of the build as a number; a NaN if it is not known, and after a failure (knng_err_option for a name
  !> that there is not, knng_err_state without a graph).
  function statistic(self, name, stat, errmsg, error) result(number)
    class(knng_graph), intent(in) :: self
    character(*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    real(real64) :: number
    type(c_error) :: e

    call there(self, e)
    if (e%code == knng_ok) e%code = c_stat(self%handle, c_text(name), number, e)
    if (e%code /= knng_ok) number = ieee_value(number, ieee_quiet_nan)
    call settle(e, stat, errmsg, error)
  end function

  !> A text of the build: metric, p, precision, engine, selector, device, version, fingerprint, value, self.
  function text(self, name, stat, errmsg, error)
    class(knng_graph), intent(in) :: self
    character(*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    character(:), allocatable :: text
    character(kind=c_char), target :: buffer(4096)
    type(c_error) :: e

    text = ""
    call there(self, e)
    if (e%code == knng_ok) &
      e%code = c_graph_text(self%handle, c_text(name), c_loc(buffer), size(buffer, kind=int64), error=e)
    if (e%code == knng_ok) text = text_of(buffer)
    call settle(e, stat, errmsg, error)
  end function

  !> Compares lists with a plain evaluation of the definition: sample of them, all without it. first_wrong is the number
  !> of the first that differs, 0 if none does.
  subroutine check(self, data, first_wrong, sample, control, stat, errmsg, error)
    class(knng_graph), intent(in) :: self
    class(knng_dataset), intent(in) :: data
    integer(int64), intent(out) :: first_wrong
    integer, intent(in), optional :: sample
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e
    integer(int64) :: wanted

    wanted = 0
    first_wrong = -1
    if (present(sample)) wanted = sample
    call there(self, e)
    if (e%code == knng_ok) call filled(data, e)
    if (e%code == knng_ok) &
      e%code = c_check(data%c_handle(), self%handle, wanted, control_of(control), first_wrong, e)
    if (e%code == knng_ok) first_wrong = first_wrong + 1
    call settle(e, stat, errmsg, error)
  end subroutine

  subroutine close_graph(self)
    class(knng_graph), intent(inout) :: self

    call c_destroy(self%handle)
    self%handle = c_null_ptr
    self%n_lists = 0
    self%n_entries = 0
    self%n_points = 0
    self%square = 0
  end subroutine

  impure elemental subroutine finish(self)
    type(knng_graph), intent(inout) :: self

    call self%close()
  end subroutine

  pure function c_handle(self)
    class(knng_graph), intent(in) :: self
    type(c_ptr) :: c_handle

    c_handle = self%handle
  end function

  ! Two variables would own one graph.
  subroutine no_assignment(left, right)
    class(knng_graph), intent(inout) :: left
    class(knng_graph), intent(in) :: right

    if (c_associated(left%handle) .or. c_associated(right%handle)) &
      error stop "knng: a knng_graph cannot be assigned; pass it as an argument, or point to it"
  end subroutine

  !> Puts a new graph in the place of the old one, if there is a new one.
  subroutine take(self, handle, e)
    class(knng_graph), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    type(c_error), intent(inout) :: e

    if (e%code /= knng_ok) return
    call self%close()
    self%handle = handle
    e%code = c_shape(handle, self%n_lists, self%n_points, self%n_entries, self%square, e)
  end subroutine

  !> Tells a graph that was just imported its metric; ends it where that is refused.
  subroutine name_metric(handle, metric, e)
    type(c_ptr), intent(in) :: handle
    character(*), intent(in), optional :: metric
    type(c_error), intent(inout) :: e

    if (e%code /= knng_ok .or. .not. present(metric)) return
    e%code = c_describe(handle, c_text("text.metric="//trim(metric)//new_line("a")), error=e)
    if (e%code /= knng_ok) call c_destroy(handle)
  end subroutine

  subroutine there(self, e)
    class(knng_graph), intent(in) :: self
    type(c_error), intent(inout) :: e

    if (.not. c_associated(self%handle)) &
      call refuse(e, knng_err_state, "graph", "graph: there is none; build, query, import and load make one")
  end subroutine

  subroutine filled(data, e)
    class(knng_dataset), intent(in) :: data
    type(c_error), intent(inout) :: e

    if (.not. c_associated(data%c_handle())) &
      call refuse(e, knng_err_state, "data", "data: the data set is empty; add, borrow and add_file fill it")
  end subroutine
end module
