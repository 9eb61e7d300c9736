!> Points of every type, in arrays of every shape, give the graph that a search by hand gives: the same ids and the same
!> distances, without a tolerance, as all distances are exact.
module row_tests
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use knng
  use checks
  implicit none

  integer, parameter :: d = 7, n = 150, k = 9
  integer, allocatable :: values(:, :), right_ids(:, :)
  real(real64), allocatable :: right_distances(:, :)

contains

#define ROWS real(real32)
#define ROWS_DTYPE knng_f32
#define NAME "real32"
#define OF_TYPE(name) name/**/_f32
#include "rows_of_type.fi"
#undef ROWS
#undef ROWS_DTYPE
#undef NAME
#undef OF_TYPE
#define ROWS real(real64)
#define ROWS_DTYPE knng_f64
#define NAME "real64"
#define OF_TYPE(name) name/**/_f64
#include "rows_of_type.fi"
#undef ROWS
#undef ROWS_DTYPE
#undef NAME
#undef OF_TYPE
#define ROWS integer(int8)
#define ROWS_DTYPE knng_i8
#define NAME "int8"
#define OF_TYPE(name) name/**/_i8
#include "rows_of_type.fi"
#undef ROWS
#undef ROWS_DTYPE
#undef NAME
#undef OF_TYPE
#define ROWS integer(int16)
#define ROWS_DTYPE knng_i16
#define NAME "int16"
#define OF_TYPE(name) name/**/_i16
#include "rows_of_type.fi"
#undef ROWS
#undef ROWS_DTYPE
#undef NAME
#undef OF_TYPE
#define ROWS integer(int32)
#define ROWS_DTYPE knng_i32
#define NAME "int32"
#define OF_TYPE(name) name/**/_i32
#include "rows_of_type.fi"
#undef ROWS
#undef ROWS_DTYPE
#undef NAME
#undef OF_TYPE
#define ROWS integer(int64)
#define ROWS_DTYPE knng_i64
#define NAME "int64"
#define OF_TYPE(name) name/**/_i64
#include "rows_of_type.fi"

  !> ids of both kinds and distances of both kinds are the plain ones.
  subroutine compare(graph, name)
    type(knng_graph), intent(in) :: graph
    character(*), intent(in) :: name
    integer(int32), allocatable :: ids(:, :)
    integer(int64), allocatable :: long_ids(:, :)
    real(real32), allocatable :: distances(:, :)
    real(real64), allocatable :: long_distances(:, :)

    call graph%copy(ids, distances)
    call graph%copy(long_ids, long_distances)
    call check(all(shape(ids) == [k, n]) .and. all(shape(long_distances) == [k, n]), name//": shape of the lists")
    call check(all(ids == right_ids) .and. all(long_ids == right_ids), name//": ids")
    call check(all(distances == real(right_distances, real32)), name//": distances")
    call check(all(real(long_distances, real32) == distances), name//": distances in real64")
    call check(graph%same_points() .and. graph%points() == n .and. graph%width() == k, name//": shape")
  end subroutine

  subroutine logicals()
    integer :: i
    logical(c_bool), allocatable, target :: x(:, :)
    logical(c_bool) :: back(40, 60)
    type(knng_graph) :: graph
    type(knng_dataset) :: data
    integer, allocatable :: ids(:, :), plain(:, :)
    real, allocatable :: distances(:, :)
    real(real64), allocatable :: exact(:, :)

    allocate (x(40, 60))
    x = mod(numbers(40, 60, 1000, 3), 2) == 1
    call brute_force("manhattan", merge(1d0, 0d0, x), merge(1d0, 0d0, x), 5, [(i, i=1, 60)], plain, exact)
    call graph%build(x, 5, "cityblock")
    call graph%copy(ids, distances)
    call check(all(ids == plain) .and. all(distances == exact), "logical(c_bool)")
    call data%borrow(x)
    call data%read(back, 1)
    call check(count(back .neqv. x) == 0, "logical(c_bool): read")
  end subroutine

  !> Components of derived types and parts of complex numbers, whose elements are not one behind the other.
  subroutine components()
    type :: triple
      real(real32) :: a
      real(real64) :: b
      real(real32) :: c
    end type
    type(triple), target :: points(d, n)
    complex(real32), target :: z(d, n)
    real(real32), pointer :: part(:, :)
    type(knng_graph) :: graph
    type(knng_dataset) :: data
    integer :: stat
    character(300) :: message

    points%a = -1
    points%b = values
    points%c = real(values)
    z = cmplx(-1.0, real(values))
    call graph%build(points%b, k)
    call compare(graph, "a component")
    call graph%build(points%c, k)
    call compare(graph, "the last component")
    call graph%build(z%im, k)
    call compare(graph, "the imaginary part")
    part => points%c
    call graph%build(part, k)
    call compare(graph, "a pointer to a component")
    call data%add(points%c)
    call graph%build(data, k)
    call compare(graph, "a component that is added")
    call data%close()
    call data%borrow(points%c, stat=stat, errmsg=message)
    call check(stat == knng_err_argument, "a component cannot be borrowed")
    call check_text(message, "add copies it")
    call data%borrow(z%im, stat=stat)
    call check(stat == knng_err_argument, "an imaginary part cannot be borrowed")
    call data%borrow(points(:1, :)%c, stat=stat)
    call check(stat == knng_err_argument, "a component of one element cannot be borrowed")
    call check(data%points() == 0, "what is refused is not there")
  end subroutine

  !> Metrics by hand, with the row itself left out and first.
  subroutine metrics()
    integer :: i, j
    character(*), parameter :: names(3) = [character(9) :: "euclidean", "manhattan", "chebyshev"]
    type(knng_graph) :: graph
    integer, allocatable :: ids(:, :), plain(:, :)
    real(real64), allocatable :: distances(:, :), exact(:, :)

    do i = 1, size(names)
      call brute_force(trim(names(i)), dble(values), dble(values), k, [(j, j=1, n)], plain, exact)
      call graph%build(dble(values), k, names(i))
      call graph%copy(ids, distances)
      call check(all(ids == plain) .and. all(distances == exact), names(i))
      call graph%build(dble(values), k, names(i), "self=first")
      call graph%copy(ids, distances)
      call check(all(ids(1, :) == [(j, j=1, n)]) .and. all(ids(2:, :) == plain), names(i)//", self first")
    end do
  end subroutine

  !> What is borrowed is not copied.
  subroutine memory()
    real(real64), allocatable, target :: x(:, :)
    type(knng_dataset) :: copied, borrowed
    type(knng_plan) :: one, other

    allocate (x(100, 20000))
    call random_number(x)
    call copied%add(x)
    call borrowed%borrow(x)
    call copied%estimate(10, one)
    call borrowed%estimate(10, other)
    call check(one%host_bytes - other%host_bytes >= 8*size(x), "what is borrowed is not copied")
  end subroutine
end module

program test_rows
  use row_tests
  implicit none
  integer :: i

  values = numbers(d, n, 12, 1)
  call brute_force("euclidean", dble(values), dble(values), k, [(i, i=1, n)], right_ids, right_distances)
  call rows_f32()
  call rows_f64()
  call rows_i8()
  call rows_i16()
  call rows_i32()
  call rows_i64()
  call logicals()
  call components()
  call metrics()
  call memory()
  call finish_checks(270)
end program
