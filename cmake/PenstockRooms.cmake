# One target per room. A room sees only the rooms named in USES (and what those use), so that the
# linker and the include path enforce the order of the modules (docs/architecture.md).

# penstock_room(NAME SOURCES a.cpp ... USES room ... [LINK target ...])
function(penstock_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;LINK" ${ARGN})
  add_library(penstock_${name} OBJECT ${ROOM_SOURCES})
  # A room includes its own files as "room/file.hpp"; include_room/ holds a link to each allowed room.
  set(view ${CMAKE_BINARY_DIR}/rooms/${name})
  file(MAKE_DIRECTORY ${view})
  foreach(visible IN ITEMS ${name} ${ROOM_USES})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${visible} ${view}/${visible} SYMBOLIC)
  endforeach()
  target_include_directories(penstock_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${view})
  target_link_libraries(penstock_${name} PRIVATE penstock_warnings PUBLIC ${ROOM_LINK})
  set_property(GLOBAL APPEND PROPERTY PENSTOCK_ROOMS penstock_${name})
endfunction()
