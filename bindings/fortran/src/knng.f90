!> Exact k-nearest-neighbour graphs, for Fortran. This is the module that programs use:
!>
!>   use knng
!>   type(knng_graph) :: graph
!>   integer, allocatable :: ids(:, :)
!>   real, allocatable :: distances(:, :)
!>   call graph%build(x, 10)             ! x(d, n): n points, the columns; not copied
!>   call graph%copy(ids, distances)     ! ids(10, n): ids(:, i) are the neighbours of point i, nearest first
!>
!> The guide's page for Fortran says the rest; module knng_c has the C interface as it is.
module knng
  use knng_c, only: knng_matrix, knng_plan, c_version => knng_version, &
    knng_ok, knng_err_argument, knng_err_range, knng_err_option, knng_err_data, knng_err_state, knng_err_memory, &
    knng_err_budget, knng_err_cancelled, knng_err_io, knng_err_format, knng_err_unsupported, knng_err_device, &
    knng_err_internal, knng_err_check, &
    knng_i8, knng_i16, knng_i32, knng_i64, knng_u8, knng_u16, knng_u32, knng_u64, knng_f16, knng_f32, knng_f64, &
    knng_bf16, knng_bool, knng_any, knng_host, knng_cuda, knng_pinned, knng_managed
  use knng_support, only: knng_control, knng_error, knng_progress, knng_log, &
    knng_use_matrix_tiles => use_matrix_tiles
  use knng_datasets, only: knng_dataset
  use knng_graphs, only: knng_graph
  use knng_sparses, only: knng_sparse
  implicit none
  private :: c_version

contains

  !> Version of the library that is running, such as "0.9.0".
  function knng_library_version() result(text)
    character(:), allocatable :: text
    character(32) :: buffer
    integer :: number

    number = c_version()
    write (buffer, '(i0, ".", i0, ".", i0)') number/65536, mod(number/256, 256), mod(number, 256)
    text = trim(buffer)
  end function
end module
