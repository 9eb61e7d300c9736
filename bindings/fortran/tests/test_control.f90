!> Progress, log, stop and limits; and several threads at once.
module control_tests
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use knng
  use checks
  implicit none

  integer :: calls = 0, lines = 0
  real(real64) :: last = -1
  logical :: odd = .false.
  integer, target :: flag = 0

  interface
    function c_fork() bind(c, name="fork") result(child)
      import
      integer(c_int) :: child
    end function
    function c_waitpid(child, status, options) bind(c, name="waitpid") result(ended)
      import
      integer(c_int), value :: child, options
      integer(c_int), intent(out) :: status
      integer(c_int) :: ended
    end function
    subroutine c_exit(status) bind(c, name="_exit")
      import
      integer(c_int), value :: status
    end subroutine
  end interface

contains

  subroutine watch(stage, done, total, stop)
    character(*), intent(in) :: stage
    real(real64), intent(in) :: done, total
    logical, intent(inout) :: stop

    calls = calls + 1
    last = done
    if (len(stage) == 0 .or. len(stage) > 100 .or. done < 0 .or. done > total .or. stop) odd = .true.
  end subroutine

  subroutine stop_soon(stage, done, total, stop)
    character(*), intent(in) :: stage
    real(real64), intent(in) :: done, total
    logical, intent(inout) :: stop

    calls = calls + 1
    stop = calls == 3 .and. len(stage) > 0 .and. done <= total
  end subroutine

  subroutine raise_flag(stage, done, total, stop)
    character(*), intent(in) :: stage
    real(real64), intent(in) :: done, total
    logical, intent(inout) :: stop

    if (len(stage) > 0 .and. done <= total .and. .not. stop) flag = 1
  end subroutine

  !> Builds a graph of its own while another is being built.
  subroutine nested(stage, done, total, stop)
    character(*), intent(in) :: stage
    real(real64), intent(in) :: done, total
    logical, intent(inout) :: stop
    type(knng_graph) :: inner

    call inner%build(reshape([0.0, 1.0, 3.0, 7.0], [1, 4]), 2)
    if (inner%lists() == 4 .and. len(stage) > 0 .and. done <= total .and. .not. stop) calls = calls + 1
  end subroutine

  !> 0 if a child of this process can build a graph and free what it has from its parent.
  integer function of_child(graph, x)
    type(knng_graph), intent(inout) :: graph
    real, intent(in) :: x(:, :)
    integer(c_int) :: child, status
    integer :: stat

    child = c_fork()
    if (child == 0) then
      call graph%build(x, 3, settings="device=cpu", stat=stat)
      call graph%close()
      call c_exit(int(merge(0, 1, stat == knng_ok), c_int))
    end if
    of_child = -1
    if (c_waitpid(child, status, 0) == child) of_child = status
  end function

  subroutine hear(level, text)
    integer, intent(in) :: level
    character(*), intent(in) :: text

    lines = lines + 1
    if (len(text) == 0 .or. level < 0 .or. level > 1) odd = .true.
  end subroutine
end module

program test_control
  use control_tests
  implicit none
  real, allocatable :: x(:, :)
  type(knng_control) :: control
  type(knng_graph) :: graph
  type(knng_sparse) :: matrix
  type(knng_error) :: error
  integer :: stat, i
  type(knng_dataset) :: data
  integer(int64) :: first_wrong, began, ended, rate
  logical :: same(8)

  allocate (x(60, 20000))
  call random_number(x)
  control%progress => watch
  control%log => hear
  control%interval_ms = 1
  call graph%build(x(:, :4000), 5, "manhattan", "device=cpu threads=1", control)
  call check(calls > 2 .and. last >= 0 .and. .not. odd, "progress is called")
  call data%add(x(:, :4000))
  call graph%check(data, first_wrong, sample=10, control=control) ! under another metric
  call check(lines > 0 .and. first_wrong == 1 .and. .not. odd, "log is called")

  calls = 0
  control%progress => nested
  call graph%build(x(:, :4000), 5, "manhattan", "device=cpu threads=1", control)
  call check(calls > 2 .and. graph%lists() == 4000, "a callback builds a graph")
  call check(of_child(graph, x(:, :300)) == 0, "after fork")

  calls = 0
  control%progress => stop_soon
  call graph%build(x, 5, "manhattan", "device=cpu threads=1", control, error=error)
  call check(error%code == knng_err_cancelled .and. calls == 3, "progress stops the call")
  call check(graph%lists() == 4000, "the graph of before is there")

  control%progress => raise_flag
  control%stop => flag
  call system_clock(began, rate)
  call graph%build(x, 5, "manhattan", "device=cpu threads=1", control, stat=stat)
  call system_clock(ended)
  call check(stat == knng_err_cancelled, "the flag stops the call")
  call check(ended - began < 10*rate, "soon")

  ! A flag that is up already.
  control%progress => null()
  call graph%build(x, 5, control=control, stat=stat)
  call check(stat == knng_err_cancelled, "a flag that is up")
  call graph%save("test_control.knng", control=control, stat=stat)
  call check(stat == knng_err_cancelled, "a flag that is up, on saving")
  call matrix%make(graph, "snn", control, stat=stat)
  call check(stat == knng_err_cancelled, "a flag that is up, on making a matrix")

  control = knng_control(max_bytes=10000)
  call matrix%make(graph, "snn", control, error=error)
  call check(error%code == knng_err_budget .and. error%limit > 10000, "a limit of memory")
  call check(error%argument == "control", "a limit of memory: the argument")
  call graph%build(x, 5, settings="max_host_bytes=100000", error=error)
  call check(error%code == knng_err_budget .and. error%limit > 100000, "a limit of memory of a build")

  ! Graphs of their own on many threads, and one that all read.
  call graph%build(x(:, :500), 5)
  same = .false.
  !$omp parallel do num_threads(4)
  do i = 1, size(same)
    block
      type(knng_graph) :: own
      integer, allocatable :: ids(:, :), others(:, :)
      real, allocatable :: distances(:, :)
      integer :: code
      call own%build(x(:, :500), 5)
      call own%copy(ids, distances)
      call graph%copy(others, distances)
      same(i) = all(ids == others)
      call own%build(x(:, :i), 20, stat=code)
      same(i) = same(i) .and. code == knng_err_range
      call own%close()
    end block
  end do
  call check(all(same), "threads")
  call finish_checks(15)
end program
