# Debian packages by cpack: what each is called, what it depends on, and what it holds besides its component of the
# install rules. Only of builds for /usr, as src/cmake/release.cmake sets; `cpack --config FOLDER/CPackConfig.cmake`
# makes them. Packages of one version go together: each needs exactly this one of those that it uses.
if(NOT PROJECT_IS_TOP_LEVEL OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON)  # so that the prefix is /usr in what is made while it is installed
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE libknng)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "libknng contributors <libknng@example.org>")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_COMPONENTS_ALL "")

set(package_folder ${PROJECT_BINARY_DIR}/packages)
set(package_debian_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where that is set
file(CONFIGURE OUTPUT ${package_folder}/changelog.Debian @ONLY CONTENT "\
libknng (@package_debian_version@) unstable; urgency=medium

  * Version @PROJECT_VERSION@; its changes are in changelog.gz.

 -- @CPACK_DEBIAN_PACKAGE_MAINTAINER@  @package_date@
")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS docs/changelog.md)
foreach(text IN ITEMS ${package_folder}/changelog.Debian ${PROJECT_SOURCE_DIR}/docs/changelog.md)
  cmake_path(GET text STEM LAST_ONLY name)
  set(made ${package_folder}/${name}.gz)
  if(text MATCHES "Debian$")
    set(made ${text}.gz)
  endif()
  execute_process(COMMAND gzip -9nc ${text} OUTPUT_FILE ${made} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# knng_package(COMPONENT NAME SECTION SUMMARY TEXT [ALL] [COMPONENTS COMPONENT...]
#   [DEPENDS TEXT...] [RECOMMENDS TEXT...] [SUGGESTS TEXT...])
# ALL: for any processor; COMPONENTS: those it cannot do without.
macro(knng_package component name section summary text)
  cmake_parse_arguments(package ALL "" "COMPONENTS;DEPENDS;RECOMMENDS;SUGGESTS" ${ARGN})
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "exact k-nearest-neighbour graphs - ${summary}\n${text}")
  set(CPACK_COMPONENT_${upper}_DEPENDS ${package_COMPONENTS})
  foreach(relation IN ITEMS DEPENDS RECOMMENDS SUGGESTS)
    list(JOIN package_${relation} ", " CPACK_DEBIAN_${upper}_PACKAGE_${relation})
  endforeach()
  if(package_ALL)
    set(CPACK_DEBIAN_${upper}_PACKAGE_ARCHITECTURE all)
  endif()
  set(folder ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES ${PROJECT_SOURCE_DIR}/docs/copyright ${package_folder}/changelog.gz ${package_folder}/changelog.Debian.gz
    DESTINATION ${folder} COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()

set(about "libknng finds for every row of a matrix the k other rows nearest to it,
exactly, and with the same bits on any processor.\n\n")

knng_package(runtime libknng${KNNG_SOVERSION} libs "shared library"
  "${about}This package has the shared library."
  RECOMMENDS libknng-formats SUGGESTS libknng-hdf5)
file(WRITE ${package_folder}/runtime/triggers "activate-noawait ldconfig\n")
file(WRITE ${package_folder}/runtime/shlibs
  "libknng ${KNNG_SOVERSION} libknng${KNNG_SOVERSION} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${package_folder}/runtime/triggers ${package_folder}/runtime/shlibs)

if(KNNG_FORMATS)
  knng_package(formats libknng-formats libs "packed files"
    "${about}This package has what libknng loads for packed files: it reads .gz, and
reads and writes .npz."
    COMPONENTS runtime)
endif()

if(KNNG_HAVE_HDF5)
  knng_package(hdf5 libknng-hdf5 libs "HDF5 files"
    "${about}This package has what libknng loads to read rows from HDF5 and AnnData
files: .h5, .hdf5, .h5ad, .h5mu and .loom."
    COMPONENTS runtime)
endif()

knng_package(development libknng-dev libdevel "development files"
  "${about}This package has the headers, and what pkg-config and CMake need."
  COMPONENTS runtime SUGGESTS libknng-fortran-dev)

if(KNNG_HAVE_CUDA)
  # NVIDIA's packages of cuBLAS, that of the toolkit which it is compiled with or a later one of its major version, or
  # Debian's; dpkg-shlibdeps knows of none where the toolkit is no package.
  set(major ${CUDAToolkit_VERSION_MAJOR})
  set(cublas libcublas${major})
  foreach(minor RANGE ${CUDAToolkit_VERSION_MINOR} 9)
    string(APPEND cublas " | libcublas-${major}-${minor}")
  endforeach()
  knng_package(cuda libknng-cuda${KNNG_SOVERSION} contrib/libs "NVIDIA GPUs"
    "${about}This package has what libknng loads to work on NVIDIA GPUs. cuBLAS is not in
Debian's main section: it comes from NVIDIA's packages or from non-free."
    COMPONENTS runtime DEPENDS ${cublas} RECOMMENDS libcuda1)
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CUDAToolkit_LIBRARY_DIR})
endif()

if(KNNG_BUILD_CLI)
  knng_package(command knng science "command"
    "${about}This package has the command knng, which makes, converts, checks and
describes graphs in files."
    COMPONENTS runtime RECOMMENDS libknng-formats SUGGESTS libknng-hdf5)
endif()

if(KNNG_HAVE_FORTRAN AND CMAKE_Fortran_COMPILER_ID STREQUAL "GNU")
  cmake_path(GET KNNG_FORTRAN_MODULE_DIR FILENAME modules)
  knng_package(fortran libknng-fortran-dev libdevel "Fortran module"
    "${about}This package has the module knng for gfortran, and its source for other
compilers."
    COMPONENTS development DEPENDS "gfortran | ${modules}")
endif()

find_program(KNNG_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(KNNG_SYSTEM_PYTHON)
  knng_package(python python3-knng python "Python package"
    "${about}This package has the Python package knng: arrays of NumPy and others in,
without copies, graphs for SciPy, scikit-learn, igraph, NetworkX and UMAP out."
    ALL COMPONENTS runtime DEPENDS "python3 (>= 3.9)" "python3-numpy (>= 1:1.21)" RECOMMENDS python3-scipy
    SUGGESTS python3-sklearn python3-pandas python3-igraph python3-networkx umap-learn)
  # A wheel of Python alone is what an installer would unpack.
  install(CODE "
    execute_process(COMMAND ${KNNG_SYSTEM_PYTHON} ${PROJECT_SOURCE_DIR}/bindings/python/make_wheel.py ${package_folder}/python
      COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
    file(ARCHIVE_EXTRACT INPUT ${package_folder}/python/knng-${PROJECT_VERSION}-py3-none-any.whl
      DESTINATION \$ENV{DESTDIR}/usr/lib/python3/dist-packages)" COMPONENT python EXCLUDE_FROM_ALL)
  foreach(script IN ITEMS "postinst py3compile" "prerm py3clean")
    separate_arguments(script)
    list(GET script 0 file)
    list(GET script 1 program)
    file(WRITE ${package_folder}/python/${file} "#!/bin/sh\nset -e\nif command -v ${program} >/dev/null; then\n  \
${program} -p python3-knng\nfi\n")
    list(APPEND CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${package_folder}/python/${file})
  endforeach()
endif()

find_program(KNNG_R R)
if(KNNG_R)
  # R's packages are made for one version of R's interface, which Debian's package of R has the name of.
  execute_process(COMMAND dpkg-query -W -f "\${Provides}" r-base-core OUTPUT_VARIABLE provides ERROR_QUIET)
  string(REGEX MATCH "r-api-[0-9.]+" r_api "${provides}")
endif()
if(r_api)
  knng_package(r r-cran-knng gnu-r "R package"
    "${about}This package has the R package knng: matrices, data frames and sparse
matrices in, graphs for Matrix, igraph, uwot, dbscan and BiocNeighbors out."
    COMPONENTS runtime DEPENDS "r-base-core (>= 4.2)" ${r_api} r-cran-matrix SUGGESTS r-cran-igraph r-cran-uwot r-cran-dbscan r-bioc-biocneighbors)
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS /usr/lib/R/lib)
  # The vignette is made where R has what that takes (Debian: r-cran-knitr, r-cran-markdown).
  execute_process(COMMAND ${KNNG_R} --vanilla --no-echo -e "quit(status = !all(vapply(c('knitr', 'markdown'), requireNamespace, NA, quietly = TRUE)))"
    RESULT_VARIABLE no_vignette OUTPUT_QUIET ERROR_QUIET)
  set(left_out PATTERN tests EXCLUDE)
  if(no_vignette)
    message(STATUS "r-cran-knng will have no vignette: R has no knitr or no markdown")
    list(APPEND left_out PATTERN vignettes EXCLUDE)
  endif()
  list(JOIN left_out " " left_out)
  # Also where those of the source take none.
  set(folders_that_take_files "OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE")
  # configure takes the library where compilers look, which leaves no path in what is linked. R CMD build runs the
  # vignette, with a copy that it installs by itself.
  set(site_library "\$ENV{DESTDIR}/usr/lib/R/site-library")
  set(archive ${package_folder}/r/knng_${PROJECT_VERSION}.tar.gz)
  install(CODE "
    file(REMOVE_RECURSE ${package_folder}/r)
    file(COPY ${PROJECT_SOURCE_DIR}/bindings/r/ DESTINATION ${package_folder}/r/knng
      DIRECTORY_PERMISSIONS ${folders_that_take_files} ${left_out})
    file(MAKE_DIRECTORY \"${site_library}\")
    set(build --no-manual ${package_folder}/r/knng)
    set(INSTALL --strip --no-multiarch \"--library=${site_library}\" ${archive})
    foreach(step IN ITEMS build INSTALL)
      execute_process(COMMAND \${CMAKE_COMMAND} -E env PKG_CONFIG=false INCLUDE_DIR= LIB_DIR= KNNG_DEVICE=cpu
        CPATH=${PROJECT_SOURCE_DIR}/include LIBRARY_PATH=${PROJECT_BINARY_DIR}/lib LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/lib
        ${KNNG_R} CMD \${step} \${\${step}} WORKING_DIRECTORY ${package_folder}/r
        RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
      if(failed)
        message(FATAL_ERROR \"\${said}\")
      endif()
    endforeach()" COMPONENT r EXCLUDE_FROM_ALL)
endif()

# Run once all is installed: Debian's manual pages are compressed.
file(WRITE ${package_folder}/compress.cmake [[
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_DIRECTORY}/*.1)
list(FILTER pages INCLUDE REGEX "/share/man/")
foreach(page IN LISTS pages)
  execute_process(COMMAND gzip -9n ${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
]])
set(CPACK_PRE_BUILD_SCRIPTS ${package_folder}/compress.cmake)

include(CPack)
