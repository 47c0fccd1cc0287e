# Warnings and sanitizers for the project's own code.

option(PENSTOCK_WERROR "Warnings are errors (the gate's builds)" OFF)
set(PENSTOCK_SANITIZE "" CACHE STRING "Sanitizers of all code: address,undefined or thread")

# Linked by our own targets only. In a unity build the compiler takes source files for headers, and would warn of
# members whose types are in unnamed namespaces (-Wsubobject-linkage).
add_library(penstock_warnings INTERFACE)
target_compile_options(penstock_warnings INTERFACE
  -Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage> $<$<BOOL:${PENSTOCK_WERROR}>:-Werror>)

if(PENSTOCK_SANITIZE)
  # Overrides the build type's options; with line numbers for reports.
  add_compile_options(-fsanitize=${PENSTOCK_SANITIZE} -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=${PENSTOCK_SANITIZE})
  if(PENSTOCK_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
