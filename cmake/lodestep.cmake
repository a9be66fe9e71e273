# Shared settings of all targets, and the two functions that rooms and tests use.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(lodestep_settings INTERFACE)
target_include_directories(lodestep_settings INTERFACE ${PROJECT_SOURCE_DIR})
# Float bits are compared with other implementations, so no fused multiply-add anywhere.
target_compile_options(lodestep_settings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                       -Werror -ffp-contract=off -fno-fast-math)
if(LODESTEP_SANITIZE)
  # GCC 12 is wrong about uninitialized variables where sanitizers instrument.
  target_compile_options(lodestep_settings INTERFACE -fsanitize=${LODESTEP_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all -g1 -O1 -Wno-maybe-uninitialized)
  if(LODESTEP_SANITIZE MATCHES thread)  # GCC says of Boost.Asio's fences that it cannot follow them
    target_compile_options(lodestep_settings INTERFACE -Wno-tsan)
  endif()
  target_link_options(lodestep_settings INTERFACE -fsanitize=${LODESTEP_SANITIZE})
endif()
find_program(MOLD mold)
if(MOLD)
  target_link_options(lodestep_settings INTERFACE -fuse-ld=mold)
endif()

# lodestep_room(NAME DEPS other rooms LIBS system libraries): one static library from the folder's *.cc.
function(lodestep_room name)
  cmake_parse_arguments(ROOM "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(lodestep_${name} STATIC ${sources})
  list(TRANSFORM ROOM_DEPS PREPEND lodestep_)
  target_link_libraries(lodestep_${name} PUBLIC lodestep_settings ${ROOM_DEPS} PRIVATE ${ROOM_LIBS})
endfunction()

# lodestep_test(NAME [HASH_ZERO] DEPS rooms LIBS system libraries): one Catch2 program from the folder's *.cc.
# With HASH_ZERO the same objects are linked once more, with a container hash that always collides.
function(lodestep_test name)
  cmake_parse_arguments(TEST "HASH_ZERO" "" "DEPS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(TRANSFORM TEST_DEPS PREPEND lodestep_)
  add_library(test_${name}_objects OBJECT ${sources})
  target_link_libraries(test_${name}_objects PRIVATE lodestep_settings ${TEST_DEPS} ${TEST_LIBS})
  set(programs test_${name})
  if(TEST_HASH_ZERO)
    list(APPEND programs test_${name}_hash_zero)
  endif()
  foreach(program ${programs})
    add_executable(${program} $<TARGET_OBJECTS:test_${name}_objects> $<TARGET_OBJECTS:lodestep_catch_main>)
    target_link_libraries(${program} PRIVATE lodestep_settings ${TEST_DEPS} ${TEST_LIBS})
    string(REPLACE test_ "" test ${program})
    add_test(NAME ${test} COMMAND ${program} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${test} PROPERTIES TIMEOUT 900)
  endforeach()
  if(TEST_HASH_ZERO)
    target_sources(test_${name}_hash_zero PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/container_hash_zero.cc)
  endif()
endfunction()
