! How dense are points in space? A heap of points within many scattered ones, told apart by the distance to the tenth
! neighbour: the ball up to there has ten points. Shows a graph of points in columns, queries at places where there is
! no point, and distances to work with.
program density
  use, intrinsic :: iso_fortran_env, only: real64
  use knng
  implicit none
  integer, parameter :: scattered = 4000, heap = 1000, n = scattered + heap, k = 10
  real(real64), parameter :: pi = acos(-1.0_real64)
  real(real64), target :: x(3, n)
  real(real64) :: places(3, 2) = reshape([0.5_real64, 0.5_real64, 0.5_real64, 0.1_real64, 0.9_real64, 0.1_real64], [3, 2])
  real(real64), allocatable :: distances(:, :)
  integer, allocatable :: ids(:, :)
  type(knng_graph) :: graph
  integer :: i, seed_size, dense(2)

  ! The same points each time: scattered over a cube of side 1, and in a ball of radius 0.1 in its middle.
  call random_seed(size=seed_size)
  call random_seed(put=[(i, i=1, seed_size)])
  call random_number(x)
  do i = scattered + 1, n
    do while (norm2(x(:, i) - 0.5_real64) > 0.5_real64)
      call random_number(x(:, i))
    end do
    x(:, i) = 0.5_real64 + 0.2_real64*(x(:, i) - 0.5_real64)
  end do

  call graph%build(x, k)
  call graph%copy(ids, distances)
  associate (points_per_volume => k/(4*pi/3*distances(k, :)**3))
    dense = [count(points_per_volume(:scattered) > 20000), count(points_per_volume(scattered + 1:) > 20000)]
  end associate
  print '(a, i0, a, i0)', "dense among the scattered points: ", dense(1), " of ", scattered
  print '(a, i0, a, i0)', "dense among those of the heap: ", dense(2), " of ", heap

  call graph%query(x, places, k)
  call graph%copy(ids, distances)
  print '(a, f8.0, a)', "in the middle:", k/(4*pi/3*distances(k, 1)**3), " points in a unit of volume"
  print '(a, f8.0, a)', "in a corner:  ", k/(4*pi/3*distances(k, 2)**3), " points in a unit of volume"
end program
