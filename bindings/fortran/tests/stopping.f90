!> Fails in the way that its argument says, and never comes to its end: a failure that nobody takes stops the program.
program stopping
  use knng
  implicit none
  type :: holder
    type(knng_graph) :: graph
  end type
  character(20) :: what
  real :: x(3, 10)
  type(knng_graph) :: graph, other
  type(knng_dataset) :: data, second
  type(knng_sparse) :: matrix, copy
  type(holder) :: one, two
  character(100) :: message

  call get_command_argument(1, what)
  call random_number(x)
  call graph%build(x, 3)
  call data%add(x)
  call matrix%make(graph, "union")
  call one%graph%build(x, 3)
  select case (what)
  case ("failure")
    call graph%build(x, 10)
  case ("errmsg")
    call graph%build(x, 10, errmsg=message)
  case ("graph")
    other = graph
  case ("dataset")
    second = data
  case ("matrix")
    copy = matrix
  case ("component")
    two = one
  case ("function")
    other = made()
  end select
  print '(a)', "came to its end"

contains

  function made() result(graph)
    type(knng_graph) :: graph

    call graph%build(x, 3)
  end function
end program
