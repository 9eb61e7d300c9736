!> Points together with settings: what graphs are built from. Points are columns of arrays x(d, n); ids count from 1.
module knng_datasets
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use knng_c, only: knng_matrix, knng_plan, c_error => knng_error, knng_ok, knng_err_argument, knng_err_range, &
    knng_err_option, knng_err_state, c_create => knng_create, c_share => knng_share, c_destroy => knng_destroy, &
    c_set => knng_set, c_get => knng_get, c_add => knng_add, c_borrow => knng_borrow, c_add_file => knng_add_file, &
    c_file_text => knng_file_text, &
    c_shape => knng_shape, c_read => knng_read, c_estimate => knng_estimate
  use knng_support
  implicit none
  private
  public :: knng_dataset

  !> Every procedure takes stat, errmsg and error, all optional. A failure without stat and without error stops the
  !> program with its text. A failed call changes nothing. One thread at a time may change a data set; calls that only
  !> read it, building and querying among them, may run beside each other.
  type :: knng_dataset
    private
    type(c_ptr) :: handle = c_null_ptr
    ! What c_shape says, so that the functions are pure.
    integer(int64) :: n_points = 0, n_elements = 0
    integer(int32) :: element_type = 0
  contains
    !> call data%set("metric", "cosine"), or several at once: call data%set("metric=cosine threads=4")
    generic :: set => set_one, set_all
    procedure :: get           !< text = data%get("metric")
    !> call data%add(x): copies, and appends, as borrow and add_file do. Also takes a knng_matrix, for other element types
    !> and other memory
    generic :: add => add_f32, add_f64, add_i8, add_i16, add_i32, add_i64, add_bool, add_matrix
    !> call data%borrow(x): does not copy; x is a target, with contiguous columns. Also takes a knng_matrix.
    generic :: borrow => borrow_f32, borrow_f64, borrow_i8, borrow_i16, borrow_i32, borrow_i64, borrow_bool, &
      borrow_matrix
    procedure :: add_file      !< call data%add_file("points.npy")
    procedure :: file_text     !< text = data%file_text(1, "matrix"): what was taken of the first file, as "obsm/X_pca"
    !> call data%read(x, first): copies points back
    generic :: read => read_f32, read_f64, read_i8, read_i16, read_i32, read_i64, read_bool
    procedure :: points        !< how many there are
    procedure :: dimension => dimension_of !< elements of a point; 0 while open
    procedure :: dtype         !< knng_f32, ...; 0 while open
    !> call data%estimate(k, plan [, queries]): memory and tiles before the work; k and queries of 32 or of 64 bits
    generic :: estimate => estimate_k32, estimate_k64
    procedure :: share         !< call second%share(first): the same points, settings of its own
    procedure :: close => close_dataset !< frees it now; leaving the scope does so too
    procedure :: c_handle      !< for functions of module knng_c; c_null_ptr before the first use
    generic :: assignment(=) => no_assignment
    procedure, private :: set_one, set_all, estimate_k32, estimate_k64, no_assignment
    procedure, private :: add_f32, add_f64, add_i8, add_i16, add_i32, add_i64, add_bool, add_matrix
    procedure, private :: borrow_f32, borrow_f64, borrow_i8, borrow_i16, borrow_i32, borrow_i64, borrow_bool, &
      borrow_matrix
    procedure, private :: read_f32, read_f64, read_i8, read_i16, read_i32, read_i64, read_bool
    final :: finish
  end type

contains

#define TEMPLATE "dataset_of_type.fi"
#include "each_row_type.fi"

#define OF_K "dataset_with_k.fi"
#include "each_k_type.fi"

  subroutine add_matrix(self, x, control, stat, errmsg, error)
    class(knng_dataset), intent(inout) :: self
    type(knng_matrix), intent(in) :: x
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e

    call ready(self, e)
    if (e%code == knng_ok) e%code = c_add(self%handle, x, control_of(control), e)
    call look(self, e)
    call settle(e, stat, errmsg, error)
  end subroutine

  subroutine borrow_matrix(self, x, control, stat, errmsg, error)
    class(knng_dataset), intent(inout) :: self
    type(knng_matrix), intent(in) :: x
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e

    call ready(self, e)
    if (e%code == knng_ok) e%code = c_borrow(self%handle, x, control_of(control), e)
    call look(self, e)
    call settle(e, stat, errmsg, error)
  end subroutine

  subroutine add_columns(self, m, control, stat, errmsg, error)
    class(knng_dataset), intent(inout) :: self
    type(knng_matrix), intent(in) :: m
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e

    call check_added(self, m, e)
    if (e%code == knng_ok) then
      call self%add(m, control, stat, errmsg, error)
    else
      call settle(e, stat, errmsg, error)
    end if
  end subroutine

  ! Of another type the library says that first.
  subroutine check_added(self, m, e)
    class(knng_dataset), intent(in) :: self
    type(knng_matrix), intent(in) :: m
    type(c_error), intent(inout) :: e

    if (self%element_type == 0 .or. self%element_type == m%dtype) then
      call check_points(m, self%n_elements, "rows", e)
    else
      call check_not_empty(m, "rows", e)
    end if
  end subroutine

  ! A component of an array of a derived type (a%x, z%re) comes here with the address of another component: gfortran 12
  ! does so. Its elements are never one behind the other, so that arrays whose columns are contiguous are safe.
  subroutine borrow_columns(self, m, control, stat, errmsg, error)
    class(knng_dataset), intent(inout) :: self
    type(knng_matrix), intent(in) :: m
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e

    call check_added(self, m, e)
    if (e%code == knng_ok .and. (m%col_stride /= 1 .or. (m%cols == 1 .and. m%row_stride /= 1))) &
      call refuse(e, knng_err_argument, "x", "x: the elements of a column are not one behind the other in memory, "// &
      "so it cannot be borrowed; add copies it")
    if (e%code == knng_ok) then
      call self%borrow(m, control, stat, errmsg, error)
    else
      call settle(e, stat, errmsg, error)
    end if
  end subroutine

  subroutine read_columns(self, m, first, stat, errmsg, error)
    class(knng_dataset), intent(in) :: self
    type(knng_matrix), intent(inout) :: m
    integer, intent(in) :: first
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e
    character(120) :: text
    integer(int64) :: last

    call open_already(self, e)
    call check_points(m, self%dimension(), "dst", e)
    last = self%points()
    if (e%code == knng_ok .and. (first < 1 .or. first + m%rows - 1 > last)) then
      write (text, '("first=", i0, ": points ", i0, " to ", i0, " are wanted, the data set has 1 to ", i0)') &
        first, first, first + m%rows - 1, last
      call refuse(e, knng_err_range, "first", trim(text), int(first, int64), &
        merge(1_int64, last - m%rows + 1, first < 1 .or. m%rows > last))
    end if
    if (e%code == knng_ok) e%code = c_read(self%handle, first - 1_int64, m, e)
    call settle(e, stat, errmsg, error)
  end subroutine

  !> Adds all points of a file behind those that the data set has; the file's name tells the format.
  subroutine add_file(self, path, control, stat, errmsg, error)
    class(knng_dataset), intent(inout) :: self
    character(*), intent(in) :: path
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e

    call check_path(path, e)
    if (e%code == knng_ok) call ready(self, e)
    if (e%code == knng_ok) e%code = c_add_file(self%handle, c_text(path), control_of(control), e)
    call look(self, e)
    call settle(e, stat, errmsg, error)
  end subroutine

  !> Changes a setting, for the calls that follow.
  subroutine set_one(self, key, value, stat, errmsg, error)
    class(knng_dataset), intent(inout) :: self
    character(*), intent(in) :: key, value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e

    call ready(self, e)
    if (e%code == knng_ok) e%code = c_set(self%handle, c_text(key), c_text(adjustl(value)), e)
    call settle(e, stat, errmsg, error)
  end subroutine

  !> Changes settings: "key=value key=value ...", separated by blanks, with no blank around "=", in this order. Where
  !> one is refused (knng_err_option), those before it are as they were.
  subroutine set_all(self, settings, stat, errmsg, error)
    class(knng_dataset), intent(inout) :: self
    character(*), intent(in) :: settings
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e
    integer :: first, next, equals, ignored
    character(:), allocatable :: before, value
    character(*), parameter :: separated = 'settings are separated by blanks, with no blank around "="'

    call ready(self, e)
    before = ""
    first = 1
    do while (e%code == knng_ok .and. first <= len(settings))
      next = index(settings(first:)//" ", " ") + first
      associate (word => settings(first:next - 2))
        equals = index(word, "=")
        if (len(word) > 0 .and. equals == 0) then
          call refuse(e, knng_err_option, "settings", "settings: """//word//""" is not of the form key=value; "// &
            separated)
        else if (len(word) > 0) then
          value = self%get(word(:equals - 1), stat=ignored)
          e%code = c_set(self%handle, c_text(word(:equals - 1)), c_text(word(equals + 1:)), e)
          if (e%code == knng_err_option .and. (equals == 1 .or. equals == len(word) .or. &
            scan(word(equals + 1:), ",;=") > 0)) & ! perhaps more than one setting was meant
            call refuse(e, knng_err_option, text_of(e%argument), text_of(e%reason)//"; "//separated, (e%given), &
            (e%limit))
          if (e%code == knng_ok) before = word(:equals - 1)//"="//value//" "//before
        end if
      end associate
      first = next
    end do
    if (e%code /= knng_ok .and. len(before) > 0) call self%set(before, stat=ignored)
    call settle(e, stat, errmsg, error)
  end subroutine

  !> A setting as text.
  function get(self, key, stat, errmsg, error) result(text)
    class(knng_dataset), intent(inout) :: self
    character(*), intent(in) :: key
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    character(:), allocatable :: text
    character(kind=c_char), target :: buffer(4096)
    type(c_error) :: e

    text = ""
    call ready(self, e)
    if (e%code == knng_ok) e%code = c_get(self%handle, c_text(key), c_loc(buffer), size(buffer, kind=int64), error=e)
    if (e%code == knng_ok) text = text_of(buffer)
    call settle(e, stat, errmsg, error)
  end function

  !> What was taken of a file whose name leaves that open: "file", the name that was given; of an HDF5 file "matrix", its
  !> path there, and "form"; of a text table "header", "row_names" and "separator". Empty where it goes without saying.
  !> Files count from 1, as add_file() was called.
  function file_text(self, file, name, stat, errmsg, error) result(text)
    class(knng_dataset), intent(inout) :: self
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    character(:), allocatable :: text
    character(kind=c_char), target :: buffer(4096)
    type(c_error) :: e

    text = ""
    call ready(self, e)
    if (e%code == knng_ok) e%code = c_file_text(self%handle, int(file - 1, int32), c_text(name), c_loc(buffer), &
      size(buffer, kind=int64), error=e)
    if (text_of(e%argument) == "i") call refuse_file(e, file)
    if (e%code == knng_ok) text = text_of(buffer)
    call settle(e, stat, errmsg, error)
  end function

  !> Counted from 1.
  subroutine refuse_file(e, file)
    type(c_error), intent(inout) :: e
    integer, intent(in) :: file
    character(80) :: reason

    if (e%limit == 0) then
      write (reason, "(a, i0, a)") "file=", file, ": no points were added from a file"
    else
      write (reason, "(a, i0, a, i0, a)") "file=", file, " must be from 1 to ", e%limit, ", the last of the files"
    end if
    call refuse(e, knng_err_range, "file", trim(reason), int(file, int64), e%limit)
  end subroutine

  pure function points(self)
    class(knng_dataset), intent(in) :: self
    integer(int64) :: points

    points = self%n_points
  end function

  pure function dimension_of(self) result(d)
    class(knng_dataset), intent(in) :: self
    integer(int64) :: d

    d = self%n_elements
  end function

  pure function dtype(self)
    class(knng_dataset), intent(in) :: self
    integer(int32) :: dtype

    dtype = self%element_type
  end function

  subroutine look(self, e)
    class(knng_dataset), intent(inout) :: self
    type(c_error), intent(inout) :: e

    if (e%code == knng_ok) e%code = c_shape(self%handle, self%n_points, self%n_elements, self%element_type, e)
  end subroutine

  !> Makes self show the points that first has now, without copying them, with a copy of its settings.
  subroutine share(self, first, stat, errmsg, error)
    class(knng_dataset), intent(inout) :: self
    class(knng_dataset), intent(in) :: first
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e
    type(c_ptr) :: handle

    call open_already(first, e)
    if (e%code == knng_ok) then
      e%code = c_share(handle, first%handle, e)
      if (e%code == knng_ok) then
        call self%close()
        self%handle = handle
        call look(self, e)
      end if
    end if
    call settle(e, stat, errmsg, error)
  end subroutine

  subroutine close_dataset(self)
    class(knng_dataset), intent(inout) :: self

    call c_destroy(self%handle)
    self%handle = c_null_ptr
    self%n_points = 0
    self%n_elements = 0
    self%element_type = 0
  end subroutine

  impure elemental subroutine finish(self)
    type(knng_dataset), intent(inout) :: self

    call self%close()
  end subroutine

  pure function c_handle(self)
    class(knng_dataset), intent(in) :: self
    type(c_ptr) :: c_handle

    c_handle = self%handle
  end function

  ! Two variables would own one handle.
  subroutine no_assignment(left, right)
    class(knng_dataset), intent(inout) :: left
    class(knng_dataset), intent(in) :: right

    if (c_associated(left%handle) .or. c_associated(right%handle)) &
      error stop "knng: a knng_dataset cannot be assigned; share makes a second one with the same points"
  end subroutine

  !> Makes the handle on first use.
  subroutine ready(self, e)
    class(knng_dataset), intent(inout) :: self
    type(c_error), intent(inout) :: e

    if (c_associated(self%handle)) return
    e%code = c_create(self%handle, 0_int64, 0_int32, e)
  end subroutine

  subroutine open_already(self, e)
    class(knng_dataset), intent(in) :: self
    type(c_error), intent(inout) :: e

    if (.not. c_associated(self%handle)) &
      call refuse(e, knng_err_state, "data", "data: the data set is empty; add, borrow and add_file fill it")
  end subroutine
end module
