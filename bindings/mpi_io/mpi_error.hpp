// Errors as MPI has them: classes, codes with a text, and what a file does about an error.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

#include <penstock/error.hpp>

namespace penstock {

/// Throws an Error whose text begins with the name of the class. So all ranks of a collective call
/// have the class, however the error reaches them.
[[noreturn]] void throw_mpi(int mpi_class, const std::string& text);

/// The class of MPI that says it best (MPI 4.1, section 14.7).
int mpi_class_of(const Error& error);
/// An error code of that class whose text (MPI_Error_string) is the error's.
int mpi_code_of(const Error& error);
/// The text of such a code; none: it is not one of these.
std::optional<std::string> text_of_code(int code);

}  // namespace penstock
