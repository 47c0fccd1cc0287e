// Calls with one wrong argument each, or at a wrong time. error_classes.txt has the classes of
// their errors.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace chapter {

/// The result of one function.
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
