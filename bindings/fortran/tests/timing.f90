!> From an array to arrays, as tests/bindings/speed.py measures it beside a program in C.
!>     timing [WAY FILE N]      WAY: knng; FILE: N points of 784 reals of 32 bits
!> Prints seconds of the clock and of all processors, and the largest memory in kB; without points that of a program that
!> makes no call.
program timing
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use knng
  implicit none
  real(real32), allocatable :: x(:, :), distances(:, :)
  integer, allocatable :: ids(:, :)
  type(knng_graph) :: graph
  real(real64) :: wall = 0, used = 0, worked
  integer(int64) :: began, ended, rate
  character(1000) :: path, count
  integer :: n = 0, unit

  call get_command_argument(2, path)
  call get_command_argument(3, count)
  if (count /= "") read (count, *) n
  if (n > 0) then
    allocate (x(784, n))
    open (newunit=unit, file=path, access="stream", form="unformatted", action="read")
    read (unit) x
    close (unit)
    call system_clock(began, rate)
    call cpu_time(worked)
    call graph%build(x, 10)
    call graph%copy(ids, distances)
    call cpu_time(used)
    call system_clock(ended)
    used = used - worked
    wall = real(ended - began, real64)/rate
    if (size(ids) /= 10*n .or. size(distances) /= 10*n) error stop "lists of another size"
  end if
  print '(f0.6, 1x, f0.6, 1x, i0)', wall, used, peak()

contains

  !> Largest memory of this process in kB, as Linux says; 0 elsewhere.
  integer function peak()
    character(100) :: line
    integer :: unit, stat

    peak = 0
    open (newunit=unit, file="/proc/self/status", action="read", iostat=stat)
    do while (stat == 0)
      read (unit, '(a)', iostat=stat) line
      if (line(:6) == "VmHWM:") read (line(7:index(line, "kB") - 1), *) peak
    end do
  end function
end program
