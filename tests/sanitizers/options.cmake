# Command prefix for each program under a sanitizer: its options, with our suppressions.
set(folder ${CMAKE_CURRENT_LIST_DIR})
# Leaks: MPI libraries keep memory until the process ends, allocated in frames without symbols.
set(penstock_wrapper env
  ASAN_OPTIONS=detect_leaks=0:strict_string_checks=1:check_initialization_order=1
  UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${folder}/thread.txt)
# UBSan's vptr check uses a pipe to probe memory, but this test uses up all descriptors.
if(PENSTOCK_SANITIZE MATCHES "undefined")
  list(APPEND penstock_wrapper GTEST_FILTER=-UringOpen.WithoutARingItSaysSoAndWorks)
endif()
# UCX, inside MPICH, wraps madvise, which glibc calls in threads that the sanitizer has already released;
# and it tries to read other processes' memory, at addresses that the sanitizer takes for ours.
if(PENSTOCK_SANITIZE MATCHES "thread")
  list(APPEND penstock_wrapper UCX_MEM_MMAP_HOOK_MODE=none UCX_TLS=^cma)
endif()
# Older thread sanitizers do not support the address randomisation of recent kernels.
find_program(PENSTOCK_SETARCH setarch)
if(PENSTOCK_SANITIZE MATCHES "thread" AND PENSTOCK_SETARCH)
  list(APPEND penstock_wrapper ${PENSTOCK_SETARCH} ${CMAKE_HOST_SYSTEM_PROCESSOR} -R)
endif()
