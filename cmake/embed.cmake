# Makes a C++ source that holds a file's bytes: cmake -DIN=file -DOUT=file.cc -DNAME=symbol -P embed.cmake
file(READ ${IN} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "#include <cstddef>\nnamespace lodestep::harness {\nextern const unsigned char ${NAME}[];\n"
     "extern const std::size_t ${NAME}_size;\nconst unsigned char ${NAME}[] = {\n${bytes}};\n"
     "const std::size_t ${NAME}_size = ${size};\n}\n")
