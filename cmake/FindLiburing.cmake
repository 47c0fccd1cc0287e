# Liburing::Liburing, the library for the kernel's io_uring. Also installed: programs that link a static penstock
# need it.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_LIBURING QUIET liburing)
endif()
find_path(Liburing_INCLUDE_DIR liburing.h HINTS ${PC_LIBURING_INCLUDE_DIRS})
find_library(Liburing_LIBRARY uring HINTS ${PC_LIBURING_LIBRARY_DIRS})
mark_as_advanced(Liburing_INCLUDE_DIR Liburing_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Liburing REQUIRED_VARS Liburing_LIBRARY Liburing_INCLUDE_DIR
                                  VERSION_VAR PC_LIBURING_VERSION)
if(Liburing_FOUND AND NOT TARGET Liburing::Liburing)
  add_library(Liburing::Liburing UNKNOWN IMPORTED)
  set_target_properties(Liburing::Liburing PROPERTIES IMPORTED_LOCATION "${Liburing_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${Liburing_INCLUDE_DIR}")
endif()
