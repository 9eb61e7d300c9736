!> What all of module knng rests on: errors as Fortran gives them, control of long calls, and arrays of any kind and
!> stride as the library's matrices, without a copy. Knows nothing of data sets and graphs.
module knng_support
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use knng_c, only: knng_matrix, c_error => knng_error, c_control => knng_control, knng_ok, knng_err_argument, &
    knng_err_state, knng_err_option, knng_host, knng_i8, knng_i16, knng_i32, knng_i64, knng_f32, knng_f64, knng_bool
  implicit none
  private
  public :: knng_error, knng_control, knng_progress, knng_log
  public :: settle, refuse, control_of, matrix_of, vector_of, c_text, text_of, text_at, c_error, c_control

  !> Why a call failed, for programs that want more than stat and errmsg.
  type :: knng_error
    integer :: code = 0              !< knng_ok, or one of the negative codes knng_err_...
    integer(int64) :: point = 0      !< point (column of the array, or list) at fault, from 1; 0: none
    integer(int64) :: element = 0    !< which of its elements, from 1; 0: none
    integer(int64) :: given = -1     !< the number that was given; -1 also if it was no number
    integer(int64) :: limit = -1     !< the limit that it broke, or the nearest that would do; -1: none
    character(:), allocatable :: argument !< name of the argument or setting at fault, or ""
    character(:), allocatable :: message  !< one line of text
  end type

  abstract interface
    !> Called on the calling thread with the name of a stage and how much of it is done, in units that are good for a
    !> ratio alone (total may be 0). stop=.true. ends the call with knng_err_cancelled. Must return.
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

  !> How a long call reports and is stopped. What stop points to must stay until the call has returned.
  type :: knng_control
    procedure(knng_progress), pointer, nopass :: progress => null()
    procedure(knng_log), pointer, nopass :: log => null()
    integer(int32), pointer :: stop => null() !< not 0: the call ends; set by a signal handler or another thread
    integer(int32) :: interval_ms = 0         !< time between two calls of progress; 0: 100 ms
    integer(int64) :: max_bytes = 0           !< most memory of sparse forms, save and load; 0: no limit
  end type

  integer(int8), target, save :: nothing(8) = 0 ! what an array without elements shows

contains

  !> Ends every procedure of the module: hands the failure on, or stops the program where nobody takes it.
  subroutine settle(e, stat, errmsg, error)
    type(c_error), intent(in) :: e
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    character(:), allocatable :: message
    character(64) :: place

    if (present(stat)) stat = e%code
    if (e%code == knng_ok) then
      if (present(error)) then
        error%argument = ""
        error%message = ""
      end if
      return
    end if
    place = ""
    if (e%row >= 0 .and. e%col >= 0) then
      write (place, '(" (point ", i0, ", element ", i0, ")")') e%row + 1, e%col + 1
    else if (e%row >= 0) then
      write (place, '(" (point ", i0, ")")') e%row + 1
    else if (e%col >= 0) then
      write (place, '(" (element ", i0, ")")') e%col + 1
    end if
    message = text_of(e%reason)//trim(place)
    if (present(errmsg)) errmsg = message
    if (present(error)) then
      error%code = e%code
      error%point = e%row + 1
      error%element = e%col + 1
      error%given = e%given
      error%limit = e%limit
      error%argument = text_of(e%argument)
      error%message = message
    end if
    if (.not. (present(stat) .or. present(error))) error stop "knng: "//message
  end subroutine

  !> A failure that this module finds itself.
  subroutine refuse(e, code, argument, reason, given, limit)
    type(c_error), intent(inout) :: e
    integer(c_int32_t), intent(in) :: code
    character(*), intent(in) :: argument, reason
    integer(int64), intent(in), optional :: given, limit

    e%code = code
    e%row = -1
    e%col = -1
    e%given = -1
    e%limit = -1
    if (present(given)) e%given = given
    if (present(limit)) e%limit = limit
    call put(e%argument, argument)
    call put(e%reason, reason)
    call put(e%message, reason)
  end subroutine

  subroutine put(array, text)
    character(kind=c_char), intent(out) :: array(:)
    character(*), intent(in) :: text
    integer :: i

    array = c_null_char
    do i = 1, min(len(text), size(array) - 1)
      array(i) = text(i:i)
    end do
  end subroutine

  !> The control that the library takes. control must outlive it.
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
    call control%log(level, text_at(text))
  end subroutine

  !> An array as the library sees it: a column is a point, in memory that stays where it is.
  subroutine matrix_of(x, name, m, e)
    class(*), intent(in), target :: x(:, :)
    character(*), intent(in) :: name
    type(knng_matrix), intent(out) :: m
    type(c_error), intent(inout) :: e
    integer :: i, j

    m%rows = size(x, 2, kind=int64)
    m%cols = size(x, 1, kind=int64)
    i = min(2, size(x, 1))
    j = min(2, size(x, 2))
    if (i == 0 .or. j == 0) then
      m%dtype = dtype_of_vector(reshape_none(x))
    end if
    select type (x)
    type is (real(real32))
      m%dtype = knng_f32
      if (i * j > 0) call place(m, c_loc(x(1, 1)), c_loc(x(i, 1)), c_loc(x(1, j)), 4, e)
    end select
  end subroutine
end module
