!> Sparse matrices made from graphs. Rows, columns and starts count from 1.
module knng_sparses
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use knng_c, only: knng_matrix, c_error => knng_error, knng_ok, knng_err_argument, knng_err_state, knng_f32, &
    knng_f64, c_sparse => knng_graph_sparse, c_shape => knng_sparse_shape, c_view => knng_sparse_view, &
    c_copy => knng_sparse_copy, c_destroy => knng_sparse_destroy
  use knng_support
  use knng_graphs, only: knng_graph
  implicit none
  private
  public :: knng_sparse

  !> Every procedure takes stat, errmsg and error, all optional. A failure without stat and without error stops the
  !> program with its text. Entries are sorted by row, then column. All rules but "directed" make symmetric matrices,
  !> whose compressed rows are compressed columns as well.
  type :: knng_sparse
    private
    type(c_ptr) :: handle = c_null_ptr
    ! What c_shape says, so that the functions are pure.
    integer(int64) :: n_rows = 0, n_columns = 0, n_entries = 0
  contains
    procedure :: make           !< call matrix%make(graph, "union" [, control])
    !> call matrix%csr(starts, columns, values): allocates all three
    generic :: csr => csr_i32_f32, csr_i32_f64, csr_i64_f32, csr_i64_f64
    !> call matrix%coo(rows, columns, values): allocates all three
    generic :: coo => coo_i32_f32, coo_i32_f64, coo_i64_f32, coo_i64_f64
    !> call matrix%view(starts, rows, columns, values): pointers to the matrix's own arrays. Not to be written to, valid
    !> as long as the matrix is; starts, rows and columns count from 0. values must be of the matrix's kind
    generic :: view => view_f32, view_f64
    procedure :: rows           !< how many rows, and as many columns unless the graph is one of queries
    procedure :: columns
    procedure :: entries
    procedure :: close => close_sparse !< frees it now; leaving the scope does so too
    procedure :: c_handle       !< for functions of module knng_c; c_null_ptr where there is no matrix
    generic :: assignment(=) => no_assignment
    procedure, private :: csr_i32_f32, csr_i32_f64, csr_i64_f32, csr_i64_f64
    procedure, private :: coo_i32_f32, coo_i32_f64, coo_i64_f32, coo_i64_f64
    procedure, private :: view_f32, view_f64, no_assignment
    final :: finish
  end type

contains

#define TEMPLATE "sparse_of_types.fi"
#include "each_list_type.fi"

  !> Makes the matrix by a rule: directed, union, union:max, mutual, snn:jaccard, ...
  subroutine make(self, graph, rule, control, stat, errmsg, error)
    class(knng_sparse), intent(inout) :: self
    class(knng_graph), intent(in) :: graph
    character(*), intent(in) :: rule
    type(knng_control), intent(in), optional :: control
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(c_error) :: e
    type(c_ptr) :: handle

    if (.not. c_associated(graph%c_handle())) then
      call refuse(e, knng_err_state, "graph", "graph: there is none; build, query, import and load make one")
    else
      e%code = c_sparse(graph%c_handle(), c_text(rule), control_of(control), handle, e)
    end if
    if (e%code == knng_ok) then
      call self%close()
      self%handle = handle
      e%code = c_shape(handle, self%n_rows, self%n_columns, self%n_entries, e)
    end if
    call settle(e, stat, errmsg, error)
  end subroutine

  ! The matrices describe arrays that are written to; they are not changed themselves.
  function copied(handle, e, indptr, row, col, value) result(code)
    type(c_ptr), intent(in) :: handle
    type(c_error), intent(inout) :: e
    type(knng_matrix), intent(in), optional :: indptr, row
    type(knng_matrix), intent(in) :: col, value
    integer(c_int32_t) :: code
    type(knng_matrix) :: own_start, own_row, own_col, own_value

    own_col = col
    own_value = value
    if (present(indptr)) then
      own_start = indptr
      code = c_copy(handle, 1, indptr=own_start, col=own_col, value=own_value, error=e)
    else
      own_row = row
      code = c_copy(handle, 1, row=own_row, col=own_col, value=own_value, error=e)
    end if
  end function

  subroutine view_f32(self, starts, rows, columns, values, stat, errmsg, error)
    class(knng_sparse), intent(in) :: self
    integer(int64), pointer, intent(inout) :: starts(:), rows(:), columns(:)
    real(real32), pointer, intent(inout) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(knng_matrix) :: v
    type(c_error) :: e

    call view_entries(self, knng_f32, starts, rows, columns, v, e)
    if (e%code == knng_ok) call c_f_pointer(v%data, values, [v%rows])
    call settle(e, stat, errmsg, error)
  end subroutine

  subroutine view_f64(self, starts, rows, columns, values, stat, errmsg, error)
    class(knng_sparse), intent(in) :: self
    integer(int64), pointer, intent(inout) :: starts(:), rows(:), columns(:)
    real(real64), pointer, intent(inout) :: values(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(knng_error), intent(out), optional :: error
    type(knng_matrix) :: v
    type(c_error) :: e

    call view_entries(self, knng_f64, starts, rows, columns, v, e)
    if (e%code == knng_ok) call c_f_pointer(v%data, values, [v%rows])
    call settle(e, stat, errmsg, error)
  end subroutine

  subroutine view_entries(self, dtype, starts, rows, columns, values, e)
    class(knng_sparse), intent(in) :: self
    integer(int32), intent(in) :: dtype
    integer(int64), pointer, intent(inout) :: starts(:), rows(:), columns(:)
    type(knng_matrix), intent(inout) :: values
    type(c_error), intent(inout) :: e
    type(knng_matrix) :: s, r, c
    integer(int64), target, save :: none(1) = 0

    call there(self, e)
    if (e%code == knng_ok) e%code = c_view(self%handle, s, r, c, values, e)
    if (e%code /= knng_ok) return
    if (values%dtype /= dtype) then
      call refuse(e, knng_err_argument, "values", "values: the matrix has its values as real of "// &
        merge("32", "64", values%dtype == knng_f32)//" bits; the pointer must have that kind")
      return
    end if
    ! Without entries there is no memory to point to.
    if (r%rows == 0) then
      r%data = c_loc(none)
      c%data = c_loc(none)
      values%data = c_loc(none)
    end if
    call c_f_pointer(s%data, starts, [s%rows])
    call c_f_pointer(r%data, rows, [r%rows])
    call c_f_pointer(c%data, columns, [c%rows])
  end subroutine

  pure function rows(self)
    class(knng_sparse), intent(in) :: self
    integer(int64) :: rows

    rows = self%n_rows
  end function

  pure function columns(self)
    class(knng_sparse), intent(in) :: self
    integer(int64) :: columns

    columns = self%n_columns
  end function

  pure function entries(self)
    class(knng_sparse), intent(in) :: self
    integer(int64) :: entries

    entries = self%n_entries
  end function

  subroutine close_sparse(self)
    class(knng_sparse), intent(inout) :: self

    call c_destroy(self%handle)
    self%handle = c_null_ptr
    self%n_rows = 0
    self%n_columns = 0
    self%n_entries = 0
  end subroutine

  impure elemental subroutine finish(self)
    type(knng_sparse), intent(inout) :: self

    call self%close()
  end subroutine

  pure function c_handle(self)
    class(knng_sparse), intent(in) :: self
    type(c_ptr) :: c_handle

    c_handle = self%handle
  end function

  ! Two variables would own one matrix.
  subroutine no_assignment(left, right)
    class(knng_sparse), intent(inout) :: left
    class(knng_sparse), intent(in) :: right

    if (c_associated(left%handle) .or. c_associated(right%handle)) &
      error stop "knng: a knng_sparse cannot be assigned; pass it as an argument, or point to it"
  end subroutine

  subroutine there(self, e)
    class(knng_sparse), intent(in) :: self
    type(c_error), intent(inout) :: e

    if (.not. c_associated(self%handle)) &
      call refuse(e, knng_err_state, "matrix", "matrix: there is none; make makes one from a graph")
  end subroutine
end module
