// MPI errors: classes, codes with texts.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

#include <penstock/error.hpp>

namespace penstock {

/// Throws an Error whose text begins with the name of the class. So all ranks of a collective call
/// get the class, whichever way the error reaches them.
[[noreturn]] void throw_mpi(int mpi_class, const std::string& text);

/// The MPI class that fits best (MPI 4.1, section 14.7).
int mpi_class_of(const Error& error);
/// An error code of that class with the error's text (MPI_Error_string).
int mpi_code_of(const Error& error);
/// The text of such a code; nothing for others.
std::optional<std::string> text_of_code(int code);

}  // namespace penstock
