!> What the module costs beside the C calls that it makes: seconds from an array to arrays, of all processors and of the
!> clock, each way in turn, the least of several.
!>     timing [POINTS [NUMBER [K]]]      POINTS as add_file reads it, e.g. Fashion-MNIST's train-images
program timing
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use, intrinsic :: iso_c_binding
  use knng
  use knng_c, only: knng_create, knng_borrow, knng_build, knng_graph_copy, knng_graph_destroy, knng_destroy, &
    c_matrix => knng_matrix, knng_f32, knng_i32, knng_host
  implicit none
  integer, parameter :: runs = 7
  real(real32), allocatable, target :: x(:, :)
  integer(int32), allocatable, target :: by_module(:, :), by_c(:, :)
  real(real32), allocatable, target :: distances(:, :), same(:, :)
  type(knng_dataset) :: data
  real(real64) :: wall(2) = huge(1.0_real64), used(2) = huge(1.0_real64), began, worked
  character(1000) :: path
  integer :: n = 2000, k = 10, run

  call get_command_argument(1, path)
  if (path == "") then
    allocate (x(32, n))
    call random_number(x)
  else
    call data%add_file(trim(path))
    n = number(2, int(data%points()))
    allocate (x(data%dimension(), n))
    call data%read(x, 1)
    call data%close()
  end if
  k = number(3, k)
  do run = 1, runs
    call start()
    call module_way()
    call finish(1)
    call start()
    call c_way()
    call finish(2)
    if (any(by_module /= by_c) .or. any(distances /= same)) error stop "other lists"
  end do
  print '(4(i0, a))', n, " points of ", size(x, 1), ", k = ", k, ", ", peak(), " kB at most"
  print '(2(a, f8.4))', "the module:  s of processors ", used(1), ", of the clock ", wall(1)
  print '(2(a, f8.4))', "the C calls: s of processors ", used(2), ", of the clock ", wall(2)

contains

  subroutine module_way()
    type(knng_graph) :: graph

    call graph%build(x, k)
    call graph%copy(by_module, distances)
  end subroutine

  subroutine c_way()
    type(c_ptr) :: h, g
    type(c_matrix) :: rows, ids, values

    if (allocated(by_c)) deallocate (by_c, same)
    allocate (by_c(k, n), same(k, n))
    rows = packed(knng_f32, size(x, 1), c_loc(x))
    ids = packed(knng_i32, k, c_loc(by_c))
    values = packed(knng_f32, k, c_loc(same))
    if (knng_create(h, 0_c_int64_t, 0) /= 0) error stop "knng_create"
    if (knng_borrow(h, rows) /= 0) error stop "knng_borrow"
    if (knng_build(h, int(k, c_int64_t), out=g) /= 0) error stop "knng_build"
    if (knng_graph_copy(g, 1, ids, values) /= 0) error stop "knng_graph_copy"
    call knng_graph_destroy(g)
    call knng_destroy(h)
  end subroutine

  type(c_matrix) function packed(dtype, columns, address)
    integer(c_int32_t), intent(in) :: dtype
    integer, intent(in) :: columns
    type(c_ptr), intent(in) :: address

    packed%dtype = dtype
    packed%space = knng_host
    packed%rows = n
    packed%cols = columns
    packed%row_stride = columns
    packed%col_stride = 1
    packed%data = address
  end function

  subroutine start()
    call cpu_time(worked)
    began = clock()
  end subroutine

  subroutine finish(way)
    integer, intent(in) :: way
    real(real64) :: now

    wall(way) = min(wall(way), clock() - began)
    call cpu_time(now)
    used(way) = min(used(way), now - worked)
  end subroutine

  real(real64) function clock()
    integer(int64) :: ticks, rate

    call system_clock(ticks, rate)
    clock = real(ticks, real64)/rate
  end function

  integer function number(place, otherwise)
    integer, intent(in) :: place, otherwise
    character(20) :: text

    number = otherwise
    call get_command_argument(place, text)
    if (text /= "") read (text, *) number
  end function

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
