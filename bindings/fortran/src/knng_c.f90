!> The C interface of libknng as it is, one declaration for one of the headers: names, order of parameters and
!> structs are C's, ids and positions count from 0, texts end with c_null_char. Programs use module knng, which is built
!> on this one; what that does not have (devices, memory of GPUs, lists of settings) is called from here. What each
!> function does is said in the headers of include/knng. A parameter that may be NULL in C is optional here, but for
!> buffers of text, which are pointers. The tests compare this file with bindings/api/knng.tsv.
module knng_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  !> Version of the header that this file mirrors: major * 65536 + minor * 256 + patch.
  integer(c_int32_t), parameter :: &
    knng_header_version = 2304

  !> Status codes.
  integer(c_int32_t), parameter :: &
    knng_ok = 0, knng_err_argument = -1, knng_err_range = -2, knng_err_option = -3, knng_err_data = -4, &
    knng_err_state = -5, knng_err_memory = -6, knng_err_budget = -7, knng_err_cancelled = -8, knng_err_io = -9, &
    knng_err_format = -10, knng_err_unsupported = -11, knng_err_device = -12, knng_err_internal = -13, &
    knng_err_check = -14

  !> Element types.
  integer(c_int32_t), parameter :: &
    knng_no_dtype = -1, knng_i8 = 8, knng_i16 = 16, knng_i32 = 32, knng_i64 = 64, knng_u8 = 264, knng_u16 = 272, &
    knng_u32 = 288, knng_u64 = 320, knng_f16 = 528, knng_f32 = 544, knng_f64 = 576, knng_bf16 = 1040, &
    knng_bool = 1544

  !> Where memory is.
  integer(c_int32_t), parameter :: &
    knng_no_space = -1, knng_any = 0, knng_host = 1, knng_cuda = 2, knng_pinned = 3, knng_managed = 13

  ! Structs. struct_size comes first in each and is set already.

  !> A matrix in anybody's memory: C's rows are Fortran's columns.
  type, bind(c) :: knng_matrix
    integer(c_int32_t) :: struct_size = 80
    integer(c_int32_t) :: dtype = 0
    integer(c_int32_t) :: space = 0
    integer(c_int32_t) :: device = 0
    integer(c_int64_t) :: rows = 0
    integer(c_int64_t) :: cols = 0
    integer(c_int64_t) :: row_stride = 0
    integer(c_int64_t) :: col_stride = 0
    integer(c_int64_t) :: stream = 0
    type(c_ptr) :: data = c_null_ptr
    type(c_funptr) :: release = c_null_funptr
    type(c_ptr) :: owner = c_null_ptr
  end type

  !> How a long call reports and is stopped.
  type, bind(c) :: knng_control
    integer(c_int32_t) :: struct_size = 48
    integer(c_int32_t) :: interval_ms = 0
    type(c_funptr) :: progress = c_null_funptr
    type(c_funptr) :: log = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
    type(c_ptr) :: stop = c_null_ptr
    integer(c_int64_t) :: max_bytes = 0
  end type

  !> Why a call failed; rows and columns count from 0 here.
  type, bind(c) :: knng_error
    integer(c_int32_t) :: struct_size = 968
    integer(c_int32_t) :: code = 0
    integer(c_int64_t) :: row = 0
    integer(c_int64_t) :: col = 0
    integer(c_int64_t) :: given = 0
    integer(c_int64_t) :: limit = 0
    character(kind=c_char) :: argument(32) = c_null_char
    character(kind=c_char) :: message(480) = c_null_char
    character(kind=c_char) :: reason(416) = c_null_char
  end type

  !> A setting, as knng_option_get() shows it.
  type, bind(c) :: knng_option
    integer(c_int32_t) :: struct_size = 48
    integer(c_int32_t) :: type = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: fallback = c_null_ptr
    type(c_ptr) :: range = c_null_ptr
    type(c_ptr) :: doc = c_null_ptr
    type(c_ptr) :: environment = c_null_ptr
  end type

  !> What a build or query would do.
  type, bind(c) :: knng_plan
    integer(c_int32_t) :: struct_size = 72
    integer(c_int32_t) :: devices = 0
    integer(c_int64_t) :: host_bytes = 0
    integer(c_int64_t) :: device_bytes = 0
    integer(c_int64_t) :: smallest_host = 0
    integer(c_int64_t) :: smallest_device = 0
    integer(c_int64_t) :: tile_rows = 0
    integer(c_int64_t) :: tile_cols = 0
    integer(c_int64_t) :: tiles = 0
    real(c_double) :: seconds = 0
  end type

  !> A processor that can do the work.
  type, bind(c) :: knng_device
    integer(c_int32_t) :: struct_size = 376
    integer(c_int32_t) :: usable = 0
    integer(c_int64_t) :: memory = 0
    integer(c_int64_t) :: memory_free = 0
    character(kind=c_char) :: name(96) = c_null_char
    character(kind=c_char) :: why_not(256) = c_null_char
  end type

  ! What the members progress, log and release point to, by c_funloc().
  abstract interface
    function knng_progress_callback(user, stage, done, total) bind(c) result(stop)
      import
      type(c_ptr), value :: user, stage
      real(c_double), value :: done, total
      integer(c_int32_t) :: stop
    end function
    subroutine knng_log_callback(user, level, text) bind(c)
      import
      type(c_ptr), value :: user, text
      integer(c_int32_t), value :: level
    end subroutine
    subroutine knng_release_callback(owner) bind(c)
      import
      type(c_ptr), value :: owner
    end subroutine
  end interface

  interface
    function knng_version() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function
    function knng_last_error() bind(c) result(answer)
      import
      type(c_ptr) :: answer
    end function
    function knng_create(out, dim, dtype, error) bind(c) result(status)
      import
      type(c_ptr), intent(out) :: out
      integer(c_int64_t), value :: dim
      integer(c_int32_t), value :: dtype
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_share(out, h, error) bind(c) result(status)
      import
      type(c_ptr), intent(out) :: out
      type(c_ptr), value :: h
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    subroutine knng_destroy(h) bind(c)
      import
      type(c_ptr), value :: h
    end subroutine
    function knng_set(h, key, value, error) bind(c) result(status)
      import
      type(c_ptr), value :: h
      character(kind=c_char), intent(in) :: key(*), value(*)
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_get(h, key, buf, cap, needed, error) bind(c) result(status)
      import
      type(c_ptr), value :: h, buf
      character(kind=c_char), intent(in) :: key(*)
      integer(c_int64_t), value :: cap
      integer(c_int64_t), intent(out), optional :: needed
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_option_get(i, out, error) bind(c) result(status)
      import
      integer(c_int32_t), value :: i
      type(knng_option), intent(inout) :: out
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_device_get(i, out, error) bind(c) result(status)
      import
      integer(c_int32_t), value :: i
      type(knng_device), intent(inout) :: out
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_metric_name(i, name, aliases, error) bind(c) result(status)
      import
      integer(c_int32_t), value :: i
      type(c_ptr), intent(out) :: name
      type(c_ptr), intent(out), optional :: aliases
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_use_matrix_tiles(error) bind(c) result(status)
      import
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_stat_name(i, name, doc, error) bind(c) result(status)
      import
      integer(c_int32_t), value :: i
      type(c_ptr), intent(out) :: name
      type(c_ptr), intent(out), optional :: doc
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_add(h, rows, control, error) bind(c) result(status)
      import
      type(c_ptr), value :: h
      type(knng_matrix), intent(in) :: rows
      type(knng_control), intent(in), optional :: control
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_borrow(h, rows, control, error) bind(c) result(status)
      import
      type(c_ptr), value :: h
      type(knng_matrix), intent(in) :: rows
      type(knng_control), intent(in), optional :: control
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_add_file(h, path, control, error) bind(c) result(status)
      import
      type(c_ptr), value :: h
      character(kind=c_char), intent(in) :: path(*)
      type(knng_control), intent(in), optional :: control
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_file_text(h, i, name, buf, cap, needed, error) bind(c) result(status)
      import
      type(c_ptr), value :: h, buf
      integer(c_int32_t), value :: i
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: cap
      integer(c_int64_t), intent(out), optional :: needed
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_shape(h, rows, dim, dtype, error) bind(c) result(status)
      import
      type(c_ptr), value :: h
      integer(c_int64_t), intent(out), optional :: rows, dim
      integer(c_int32_t), intent(out), optional :: dtype
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_read(h, first, dst, error) bind(c) result(status)
      import
      type(c_ptr), value :: h
      integer(c_int64_t), value :: first
      type(knng_matrix), intent(inout) :: dst
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_estimate(h, nq, k, out, error) bind(c) result(status)
      import
      type(c_ptr), value :: h
      integer(c_int64_t), value :: nq, k
      type(knng_plan), intent(inout) :: out
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_build(h, k, control, out, error) bind(c) result(status)
      import
      type(c_ptr), value :: h
      integer(c_int64_t), value :: k
      type(knng_control), intent(in), optional :: control
      type(c_ptr), intent(out) :: out
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_query(h, q, leave_out, base, k, control, out, error) bind(c) result(status)
      import
      type(c_ptr), value :: h
      type(knng_matrix), intent(in) :: q
      type(knng_matrix), intent(in), optional :: leave_out
      integer(c_int32_t), value :: base
      integer(c_int64_t), value :: k
      type(knng_control), intent(in), optional :: control
      type(c_ptr), intent(out) :: out
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_query_file(h, path, k, control, out, error) bind(c) result(status)
      import
      type(c_ptr), value :: h
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int64_t), value :: k
      type(knng_control), intent(in), optional :: control
      type(c_ptr), intent(out) :: out
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_check(h, g, sample, control, first_wrong, error) bind(c) result(status)
      import
      type(c_ptr), value :: h, g
      integer(c_int64_t), value :: sample
      type(knng_control), intent(in), optional :: control
      integer(c_int64_t), intent(out) :: first_wrong
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_graph_import(out, ids, values, base, columns, same_points, error) bind(c) result(status)
      import
      type(c_ptr), intent(out) :: out
      type(knng_matrix), intent(in) :: ids
      type(knng_matrix), intent(in), optional :: values
      integer(c_int32_t), value :: base, same_points
      integer(c_int64_t), value :: columns
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_graph_describe(g, facts, ties, proof, error) bind(c) result(status)
      import
      type(c_ptr), value :: g
      character(kind=c_char), intent(in) :: facts(*)
      type(knng_matrix), intent(in), optional :: ties, proof
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_graph_shape(g, rows, columns, width, same_points, error) bind(c) result(status)
      import
      type(c_ptr), value :: g
      integer(c_int64_t), intent(out), optional :: rows, columns, width
      integer(c_int32_t), intent(out), optional :: same_points
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_graph_view(g, ids, values, error) bind(c) result(status)
      import
      type(c_ptr), value :: g
      type(knng_matrix), intent(inout), optional :: ids, values
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_graph_copy(g, base, ids, values, error) bind(c) result(status)
      import
      type(c_ptr), value :: g
      integer(c_int32_t), value :: base
      type(knng_matrix), intent(inout), optional :: ids, values
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_graph_rows(g, what, out, error) bind(c) result(status)
      import
      type(c_ptr), value :: g
      character(kind=c_char), intent(in) :: what(*)
      type(knng_matrix), intent(inout) :: out
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_graph_stat(g, name, out, error) bind(c) result(status)
      import
      type(c_ptr), value :: g
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(out) :: out
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_graph_text(g, name, buf, cap, needed, error) bind(c) result(status)
      import
      type(c_ptr), value :: g, buf
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: cap
      integer(c_int64_t), intent(out), optional :: needed
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_graph_save(g, path, format, control, error) bind(c) result(status)
      import
      type(c_ptr), value :: g
      character(kind=c_char), intent(in) :: path(*)
      character(kind=c_char), intent(in), optional :: format(*)
      type(knng_control), intent(in), optional :: control
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_graph_load(out, path, control, error) bind(c) result(status)
      import
      type(c_ptr), intent(out) :: out
      character(kind=c_char), intent(in) :: path(*)
      type(knng_control), intent(in), optional :: control
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    subroutine knng_graph_destroy(g) bind(c)
      import
      type(c_ptr), value :: g
    end subroutine
    function knng_graph_sparse(g, rule, control, out, error) bind(c) result(status)
      import
      type(c_ptr), value :: g
      character(kind=c_char), intent(in) :: rule(*)
      type(knng_control), intent(in), optional :: control
      type(c_ptr), intent(out) :: out
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_sparse_shape(s, rows, cols, entries, error) bind(c) result(status)
      import
      type(c_ptr), value :: s
      integer(c_int64_t), intent(out), optional :: rows, cols, entries
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_sparse_view(s, indptr, row, col, value, error) bind(c) result(status)
      import
      type(c_ptr), value :: s
      type(knng_matrix), intent(inout), optional :: indptr, row, col, value
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    function knng_sparse_copy(s, base, indptr, row, col, value, error) bind(c) result(status)
      import
      type(c_ptr), value :: s
      integer(c_int32_t), value :: base
      type(knng_matrix), intent(inout), optional :: indptr, row, col, value
      type(knng_error), intent(inout), optional :: error
      integer(c_int32_t) :: status
    end function
    subroutine knng_sparse_destroy(s) bind(c)
      import
      type(c_ptr), value :: s
    end subroutine
  end interface
end module
