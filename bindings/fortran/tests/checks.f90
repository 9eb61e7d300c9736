!> What the tests share: checks that count and name failures, and neighbours found the plain way.
module checks
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64, error_unit
  implicit none
  private
  public :: check, check_text, finish_checks, numbers, brute_force

  integer :: failures = 0, made = 0

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what

    made = made + 1
    if (right) return
    failures = failures + 1
    write (error_unit, '(2a)') "wrong: ", what
  end subroutine

  !> text has a part in it.
  subroutine check_text(text, part)
    character(*), intent(in) :: text, part

    call check(index(text, part) > 0, """"//part//""" is not in """//trim(text)//"""")
  end subroutine

  subroutine finish_checks(least)
    integer, intent(in) :: least !< as many checks must have been made, so that none is passed over silently

    print '(i0, a, i0, a)', made, " checks, ", failures, " wrong"
    if (failures > 0 .or. made < least) error stop 1
  end subroutine

  !> Small whole numbers with many ties, the same on every machine: every distance from them is exact.
  function numbers(d, n, range, seed) result(x)
    integer, intent(in) :: d, n, range, seed
    integer :: x(d, n)
    integer(int64) :: state
    integer :: i, j

    state = seed
    do j = 1, n
      do i = 1, d
        state = mod(state*1103515245_int64 + 12345_int64, 2147483648_int64)
        x(i, j) = int(mod(state/65536, int(range, int64)))
      end do
    end do
  end function

  !> The k columns of x nearest to each column of q by the order (distance, id); leave_out(i) is not one of query i's.
  subroutine brute_force(metric, x, q, k, leave_out, ids, distances)
    character(*), intent(in) :: metric
    real(real64), intent(in) :: x(:, :), q(:, :)
    integer, intent(in) :: k, leave_out(:)
    integer, allocatable, intent(out) :: ids(:, :)
    real(real64), allocatable, intent(out) :: distances(:, :)
    real(real64) :: all(size(x, 2))
    logical :: taken(size(x, 2))
    integer :: i, j, nearest

    allocate (ids(k, size(q, 2)), distances(k, size(q, 2)))
    do i = 1, size(q, 2)
      do j = 1, size(x, 2)
        select case (metric)
        case ("euclidean")
          all(j) = sqrt(sum((x(:, j) - q(:, i))**2))
        case ("manhattan")
          all(j) = sum(abs(x(:, j) - q(:, i)))
        case ("chebyshev")
          all(j) = maxval(abs(x(:, j) - q(:, i)))
        case default
          error stop "no such metric here"
        end select
      end do
      taken = .false.
      if (leave_out(i) > 0) taken(leave_out(i)) = .true.
      do j = 1, k
        nearest = minloc(all, 1, .not. taken)  ! the first of equal ones
        taken(nearest) = .true.
        ids(j, i) = nearest
        distances(j, i) = all(nearest)
      end do
    end do
  end subroutine
end module
