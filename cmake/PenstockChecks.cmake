# How strictly the project's own code is compiled, and under which sanitizers it runs.

option(PENSTOCK_WERROR "Warnings are errors (the gate's builds)" OFF)
set(PENSTOCK_SANITIZE "" CACHE STRING "Sanitizers of all code: address,undefined or thread")

# Linked by what is ours, and by nothing that we only use. A file that others are compiled with as one looks like a header:
# what is in its unnamed namespace is warned of, wherever it is a member (-Wsubobject-linkage).
add_library(penstock_warnings INTERFACE)
target_compile_options(penstock_warnings INTERFACE
  -Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage> $<$<BOOL:${PENSTOCK_WERROR}>:-Werror>)

if(PENSTOCK_SANITIZE)
  # After those of the build type; with the lines that reports name.
  add_compile_options(-fsanitize=${PENSTOCK_SANITIZE} -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=${PENSTOCK_SANITIZE})
  if(PENSTOCK_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
