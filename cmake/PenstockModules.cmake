# One target per module. A module sees only the headers of the modules named in USES, so that the
# include path enforces the order of the modules (docs/architecture.md).

# penstock_module(NAME [FOLDER bindings/c] SOURCES a.cpp ... USES module ... [LINK target ...] [BINDING | NAMES])
# Its files are in FOLDER, default src/NAME. BINDING: uses the library without being part of it. NAMES: the same, and
# defines MPI functions.
function(penstock_module name)
  cmake_parse_arguments(MODULE "BINDING;NAMES" "FOLDER" "SOURCES;USES;LINK" ${ARGN})
  if(NOT MODULE_FOLDER)
    set(MODULE_FOLDER src/${name})
  endif()
  set_property(GLOBAL PROPERTY PENSTOCK_FOLDER_${name} ${PROJECT_SOURCE_DIR}/${MODULE_FOLDER})
  list(TRANSFORM MODULE_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/${MODULE_FOLDER}/)
  add_library(penstock_${name} OBJECT ${MODULE_SOURCES})
  # Headers are included as "module/file.hpp"; the include folder has a link to each allowed module.
  set(view ${CMAKE_BINARY_DIR}/modules/${name})
  file(MAKE_DIRECTORY ${view})
  foreach(visible IN ITEMS ${name} ${MODULE_USES})
    get_property(folder GLOBAL PROPERTY PENSTOCK_FOLDER_${visible})
    file(CREATE_LINK ${folder} ${view}/${visible} SYMBOLIC)
  endforeach()
  target_include_directories(penstock_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${view})
  target_link_libraries(penstock_${name} PRIVATE penstock_warnings PUBLIC ${MODULE_LINK})
  if(MODULE_BINDING)
    set_property(GLOBAL APPEND PROPERTY PENSTOCK_BINDING_TARGETS penstock_${name})
  elseif(NOT MODULE_NAMES)
    set_property(GLOBAL APPEND PROPERTY PENSTOCK_MODULE_TARGETS penstock_${name})
  endif()
endfunction()
