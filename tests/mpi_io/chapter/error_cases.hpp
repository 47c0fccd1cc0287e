// Calls with one wrong argument each, or at a wrong time. The classes of their errors are in
// error_classes.txt.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace chapter {

/// What one function returned.
struct Returned {
  std::string function;
  int code;
};

struct ErrorCase {
  const char* what;
  std::vector<Returned> (*call)();
};

const std::vector<ErrorCase>& error_cases();

}  // namespace chapter
