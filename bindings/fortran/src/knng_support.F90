!> What all of module knng rests on: errors as Fortran gives them, control of long calls, and arrays of any kind and
!> stride as the library's matrices, without a copy. Knows nothing of data sets and graphs.
module knng_support
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use knng_c, only: knng_matrix, c_error => knng_error, c_control => knng_control, &
    c_matrix_tiles => knng_use_matrix_tiles, knng_ok, &
    knng_err_argument, knng_err_range, knng_host, knng_i8, knng_i16, knng_i32, knng_i64, knng_f32, knng_f64, knng_bool
  implicit none
  private
  public :: knng_error, knng_control, knng_progress, knng_log, use_matrix_tiles
  public :: settle, hand_on, refuse, check_not_empty, check_points, check_lists, control_of, matrix_of, vector_of
  public :: check_path, c_text, text_of, text_at

  !> Why a call failed, for programs that want more than stat and errmsg.
  type :: knng_error
    integer :: code = knng_ok             !< knng_ok, or one of the negative codes knng_err_...
    integer(int64) :: point = 0           !< point (column of the array, or list) at fault, from 1; 0: none
    integer(int64) :: element = 0         !< which of its elements, from 1; 0: none
    integer(int64) :: given = -1          !< the number that was given; -1 also if it was no number
    integer(int64) :: limit = -1          !< the limit that it broke, or the nearest that would do; -1: none
    character(:), allocatable :: argument !< name of the argument or setting at fault, or ""
    character(:), allocatable :: message  !< one line of text, or ""
  end type

  abstract interface
    !> Called on the calling thread with the name of a stage and how much of it is done, in units that are good for a
    !> ratio alone (total may be 0). stop = .true. ends the call with knng_err_cancelled. Must return.
    subroutine knng_progress(stage, done, total, stop)
      import :: real64
      character(*), intent(in) :: stage
      real(real64), intent(in) :: done, total
      logical, intent(inout) :: stop
    end subroutine
    !> Called on the calling thread with a line of text; level 0 is information, 1 a warning. Must return.
    subroutine knng_log(level, text)
      integer, intent(in) :: level
      character(*), intent(in) :: text
    end subroutine
  end interface

  !> How a long call reports and how it is stopped.
  type :: knng_control
    procedure(knng_progress), pointer, nopass :: progress => null()
    procedure(knng_log), pointer, nopass :: log => null()
    integer(int32), pointer :: stop => null() !< not 0: the call ends; for signal handlers and other threads
    integer(int32) :: interval_ms = 0         !< time between two calls of progress; 0: 100 ms
    integer(int64) :: max_bytes = 0           !< most memory of sparse forms, save and load; 0: no limit
  end type

  interface matrix_of
    procedure matrix_of_f32, matrix_of_f64, matrix_of_i8, matrix_of_i16, matrix_of_i32, matrix_of_i64, matrix_of_bool
  end interface
  interface vector_of
    procedure vector_of_i32, vector_of_i64, vector_of_f32, vector_of_f64
  end interface

  integer(int8), target, save :: nothing(8) = 0 ! what an array without elements shows

  interface
    pure function c_strlen(text) bind(c, name="strlen") result(length)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  !> Ends every procedure of the module: hands a failure on, or stops the program where nobody takes it.
  subroutine settle(e, stat, errmsg, error)
    type(c_error), intent(in) :: e
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error

    type(knng_error) :: why

    why%code = e%code
    why%point = e%row + 1
    why%element = e%col + 1
    why%given = e%given
    why%limit = e%limit
    why%argument = text_of(e%argument)
    why%message = text_of(e%reason)
    if (e%code /= knng_ok) why%message = why%message//place_of(e)
    call hand_on(why, stat, errmsg, error)
  end subroutine

  !> The same for what another procedure of the module has said.
  subroutine hand_on(why, stat, errmsg, error)
    type(knng_error), intent(in) :: why
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error

    if (present(stat)) stat = why%code
    if (present(error)) error = why
    if (why%code == knng_ok) return
    if (present(errmsg)) errmsg = why%message
    if (.not. (present(stat) .or. present(error))) error stop "knng: "//why%message
  end subroutine

  !> Where it was, counted from 1; the library's own message counts from 0.
  function place_of(e) result(text)
    type(c_error), intent(in) :: e
    character(:), allocatable :: text
    character(64) :: place

    place = ""
    if (e%row >= 0 .and. e%col >= 0) then
      write (place, '(" (point ", i0, ", element ", i0, ")")') e%row + 1, e%col + 1
    else if (e%row >= 0) then
      write (place, '(" (point ", i0, ")")') e%row + 1
    end if
    text = trim(place)
  end function

  !> A failure that is found on this side of the interface.
  subroutine refuse(e, code, argument, reason, given, limit)
    type(c_error), intent(inout) :: e
    integer(c_int32_t), intent(in) :: code
    character(*), intent(in) :: argument, reason
    integer(int64), intent(in), optional :: given, limit

    e = c_error(code=code, row=-1, col=-1, given=-1, limit=-1)
    if (present(given)) e%given = given
    if (present(limit)) e%limit = limit
    call put(e%argument, argument)
    call put(e%reason, reason)
  end subroutine

  subroutine put(array, text)
    character(kind=c_char), intent(inout) :: array(:)
    character(*), intent(in) :: text
    integer :: i

    do i = 1, min(len(text), size(array) - 1)
      array(i) = text(i:i)
    end do
  end subroutine

  ! Shapes are looked at here, as the library would say them the other way round. Codes, arguments and numbers are its
  ! own.

  !> "(3, 1000)", as shape() of the array is.
  function shape_of(m) result(text)
    type(knng_matrix), intent(in) :: m
    character(:), allocatable :: text
    character(48) :: buffer

    write (buffer, '("(", i0, ", ", i0, ")")') m%cols, m%rows
    text = trim(buffer)
  end function

  !> An array has elements.
  subroutine check_not_empty(m, argument, e)
    type(knng_matrix), intent(in) :: m
    character(*), intent(in) :: argument
    type(c_error), intent(inout) :: e

    if (e%code == knng_ok .and. min(m%rows, m%cols) < 1) call refuse(e, knng_err_range, argument, &
      argument//": shape "//shape_of(m)//" is empty; at least (1, 1) is needed", 0_int64, 1_int64)
  end subroutine

  !> Points have as many coordinates as those of a data set; dimension is 0 if it has none yet.
  subroutine check_points(m, dimension, argument, e)
    type(knng_matrix), intent(in) :: m
    integer(int64), intent(in) :: dimension
    character(*), intent(in) :: argument
    type(c_error), intent(inout) :: e
    character(120) :: text

    call check_not_empty(m, argument, e)
    if (e%code /= knng_ok .or. dimension == 0 .or. m%cols == dimension) return
    write (text, '(a, i0, a, i0)') ": points have ", m%cols, " coordinates, the data set has ", dimension
    call refuse(e, knng_err_argument, argument, argument//trim(text), m%cols, dimension)
  end subroutine

  !> An array of lists has the shape of wanted; whose says who has that shape.
  subroutine check_lists(m, wanted, argument, whose, e)
    type(knng_matrix), intent(in) :: m, wanted
    character(*), intent(in) :: argument, whose
    type(c_error), intent(inout) :: e

    call check_not_empty(m, argument, e)
    if (e%code /= knng_ok .or. (m%rows == wanted%rows .and. m%cols == wanted%cols)) return
    call refuse(e, knng_err_argument, argument, argument//": shape "//shape_of(m)//", but "//whose//" "// &
      shape_of(wanted), merge(m%cols, m%rows, m%rows == wanted%rows), &
      merge(wanted%cols, wanted%rows, m%rows == wanted%rows))
  end subroutine

  !> The control as the library takes it. The argument must outlive the result.
  function control_of(control) result(c)
    type(knng_control), intent(in), target, optional :: control
    type(c_control) :: c

    if (.not. present(control)) return
    c%user = c_loc(control)
    if (associated(control%progress)) c%progress = c_funloc(on_progress)
    if (associated(control%log)) c%log = c_funloc(on_log)
    if (associated(control%stop)) c%stop = c_loc(control%stop)
    c%interval_ms = max(control%interval_ms, 0_int32)
    c%max_bytes = control%max_bytes
  end function

  function on_progress(user, stage, done, total) bind(c, name="") result(stop)
    type(c_ptr), value :: user, stage
    real(c_double), value :: done, total
    integer(c_int32_t) :: stop
    type(knng_control), pointer :: control
    logical :: wanted

    call c_f_pointer(user, control)
    wanted = .false.
    call control%progress(text_at(stage), done, total, wanted)
    stop = merge(1_c_int32_t, 0_c_int32_t, wanted)
  end function

  subroutine on_log(user, level, text) bind(c, name="")
    type(c_ptr), value :: user, text
    integer(c_int32_t), value :: level
    type(knng_control), pointer :: control

    call c_f_pointer(user, control)
    call control%log(int(level), text_at(text))
  end subroutine

#define TEMPLATE "matrix_of_type.fi"
#include "each_row_type.fi"

  !> Strides from the addresses of the first element and of its neighbours in both directions.
  subroutine place(m, first, below, beside, bytes)
    type(knng_matrix), intent(inout) :: m
    type(c_ptr), intent(in) :: first, below, beside
    integer, intent(in) :: bytes
    integer(c_intptr_t) :: origin

    origin = transfer(first, origin)
    m%space = knng_host
    m%data = first
    m%col_stride = (transfer(below, origin) - origin)/bytes
    m%row_stride = (transfer(beside, origin) - origin)/bytes
    ! The step in a direction with one element is nobody's business, but 0 in both would mean packed rows.
    if (m%cols <= 1) m%col_stride = 1
    if (m%rows <= 1) m%row_stride = max(m%cols, 1_int64)
  end subroutine

  ! Packed vectors, as the library writes them: n x 1.

  function vector(data, n, dtype) result(m)
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: n
    integer(c_int32_t), intent(in) :: dtype
    type(knng_matrix) :: m

    m = knng_matrix(dtype=dtype, space=knng_host, rows=n, cols=1, row_stride=1, col_stride=1, data=data)
    if (n == 0) m%data = c_loc(nothing)
  end function

  function vector_of_i32(x) result(m)
    integer(int32), intent(in), target, contiguous :: x(:)
    type(knng_matrix) :: m
    m = vector(c_loc(x), size(x, kind=int64), knng_i32)
  end function

  function vector_of_i64(x) result(m)
    integer(int64), intent(in), target, contiguous :: x(:)
    type(knng_matrix) :: m
    m = vector(c_loc(x), size(x, kind=int64), knng_i64)
  end function

  function vector_of_f32(x) result(m)
    real(real32), intent(in), target, contiguous :: x(:)
    type(knng_matrix) :: m
    m = vector(c_loc(x), size(x, kind=int64), knng_f32)
  end function

  function vector_of_f64(x) result(m)
    real(real64), intent(in), target, contiguous :: x(:)
    type(knng_matrix) :: m
    m = vector(c_loc(x), size(x, kind=int64), knng_f64)
  end function

  !> Asks the system, once and before the first build, to let this process use the processor's matrix tiles (Intel AMX),
  !> with which builds are several times as fast. knng_err_unsupported where there are none: builds run without them.
  !> Programs know it as knng_use_matrix_tiles: gfortran 12 does not let a module procedure have that name beside C's.
  subroutine use_matrix_tiles(stat, errmsg, error)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e

    e%code = c_matrix_tiles(e)
    call settle(e, stat, errmsg, error)
  end subroutine

  !> A file name must not have what would hide the rest of it.
  subroutine check_path(path, e)
    character(*), intent(in) :: path
    type(c_error), intent(inout) :: e

    if (index(path, c_null_char) > 0) &
      call refuse(e, knng_err_argument, "path", "path: there is a null character in it")
  end subroutine

  !> As C takes text. Blanks at the end are Fortran's padding; a null character is shown as ?.
  function c_text(text) result(array)
    character(*), intent(in) :: text
    character(kind=c_char) :: array(len_trim(text) + 1)
    integer :: i

    do i = 1, len_trim(text)
      array(i) = text(i:i)
      if (text(i:i) == c_null_char) array(i) = "?"
    end do
    array(size(array)) = c_null_char
  end function

  !> Text in an array of a struct.
  function text_of(array) result(text)
    character(kind=c_char), intent(in) :: array(:)
    character(:), allocatable :: text
    integer :: i, n

    n = findloc(array, c_null_char, 1) - 1
    allocate (character(n) :: text)
    do i = 1, n
      text(i:i) = array(i)
    end do
  end function

  !> Text at an address.
  function text_at(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: array(:)
    integer :: i

    text = ""
    if (.not. c_associated(address)) return
    call c_f_pointer(address, array, [c_strlen(address)])
    deallocate (text)
    allocate (character(size(array)) :: text)
    do i = 1, size(array)
      text(i:i) = array(i)
    end do
  end function
end module
