// penstock.Error and its classes: each error class of the engine is a Python class that also
// derives from the closest built-in exception.
#include <nanobind/stl/string.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>

#include "module.hpp"

namespace penstock::python {
namespace {

PyObject* classes[8] = {};
std::map<int, PyObject*> classes_by_errno;  // for storage errors that Python has a class for

PyObject* new_class(nb::module_& m, const char* name, PyObject* base, PyObject* builtin,
                    const char* doc) {
  PyObject* bases = PyTuple_Pack(2, base, builtin);
  PyObject* created =
      PyErr_NewExceptionWithDoc(("penstock." + std::string(name)).c_str(), doc, bases, nullptr);
  Py_DECREF(bases);
  if (created == nullptr) throw nb::python_error();
  m.attr(name) = nb::handle(created);
  return created;
}

void add_class(nb::module_& m, ErrorClass cls, const char* name, PyObject* base, PyObject* builtin,
               const char* doc) {
  classes[static_cast<int>(cls)] = new_class(m, name, base, builtin, doc);
}

PyObject* class_of(const Error& error) {
  const auto found = classes_by_errno.find(error.error_number());
  if (error.error_class() == ErrorClass::storage && found != classes_by_errno.end())
    return found->second;
  return classes[static_cast<int>(error.error_class())];
}

void raise(const Error& error) {
  PyObject* cls = class_of(error);
  // File names are arbitrary bytes.
  const auto text = [](std::string_view bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                                          "surrogateescape"));
  };
  nb::object exception =
      nb::steal(PyObject_CallFunctionObjArgs(cls, text(error.what()).ptr(), nullptr));
  if (!exception.is_valid()) return;  // a Python error is set already
  const auto set = [&](const char* name, nb::object value) { exception.attr(name) = value; };
  set("rank", error.rank() < 0 ? nb::none() : nb::object(nb::int_(error.rank())));
  set("path", error.path().empty() ? nb::none() : text(error.path()));
  set("offset", error.offset() < 0 ? nb::none() : nb::object(nb::int_(error.offset())));
  if (error.error_class() == ErrorClass::storage) {
    set("errno", nb::int_(error.error_number()));
    set("strerror", nb::str(std::strerror(error.error_number())));
    set("filename", text(error.path()));
  }
  PyErr_SetObject(cls, exception.ptr());
}

/// The errno of a Python exception from a system call; 0: none.
int errno_of(nb::handle exception) {
  nb::object number = nb::getattr(exception, "errno", nb::none());
  int value = 0;
  return nb::try_cast(number, value) ? value : 0;
}

}  // namespace

Error error_of(nb::handle exception) {
  const auto is_a = [&](nb::handle cls) {
    return PyErr_GivenExceptionMatches(exception.ptr(), cls.ptr()) != 0;
  };
  const auto words = nb::cast<std::string>(
      nb::str(exception).attr("encode")("utf-8", "backslashreplace").attr("decode")());
  for (int i = 1; i < 8; ++i)
    if (i != static_cast<int>(ErrorClass::storage) && is_a(classes[i]))
      return Error(static_cast<ErrorClass>(i), words);
  if (!is_a(PyExc_OSError))
    return Error(ErrorClass::internal,
                 nb::cast<std::string>(exception.type().attr("__name__")) + ": " + words);
  const nb::object name = nb::getattr(exception, "filename", nb::none());
  const auto path = name.is_none() ? nb::bytes("", 0)
                                   : nb::bytes(nb::module_::import_("os").attr("fsencode")(name));
  const int number = errno_of(exception);
  return Error(words, {path.c_str(), path.size()}, -1, number != 0 ? number : EIO);
}

void bind_errors(nb::module_& m) {
  PyObject* base = PyErr_NewExceptionWithDoc("penstock.Error",
                                             "Base of all errors. Attributes: rank (that failed "
                                             "first), path, offset; None where not known.",
                                             PyExc_Exception, nullptr);
  m.attr("Error") = nb::handle(base);
  classes[0] = base;
  add_class(m, ErrorClass::argument, "ArgumentError", base, PyExc_ValueError,
            "A value that no call accepts.");
  add_class(m, ErrorClass::section, "SectionError", base, PyExc_IndexError,
            "A section that does not fit the array.");
  add_class(m, ErrorClass::disagreement, "DisagreementError", base, PyExc_ValueError,
            "Ranks passed different values where all must pass the same.");
  add_class(m, ErrorClass::format, "FormatError", base, PyExc_ValueError,
            "The file is foreign, truncated, or holds something else.");
  add_class(m, ErrorClass::state, "StateError", base, PyExc_ValueError,
            "The file is closed, or was opened in another mode.");
  add_class(m, ErrorClass::storage, "StorageError", base, PyExc_OSError,
            "The operating system refused; errno says why, offset how far it got.");
  add_class(m, ErrorClass::internal, "InternalError", base, PyExc_RuntimeError,
            "A defect of Penstock or of the MPI library.");
  PyObject* storage = classes[static_cast<int>(ErrorClass::storage)];
  classes_by_errno[ENOENT] = new_class(m, "FileNotFoundError", storage, PyExc_FileNotFoundError,
                                       "There is no such file, or no such folder.");
  classes_by_errno[EEXIST] = new_class(m, "FileExistsError", storage, PyExc_FileExistsError,
                                       "The file, or folder, is there already.");
  classes_by_errno[EISDIR] = new_class(m, "IsADirectoryError", storage, PyExc_IsADirectoryError,
                                       "The path leads to a folder.");
  classes_by_errno[EACCES] = classes_by_errno[EPERM] =
      new_class(m, "PermissionError", storage, PyExc_PermissionError,
                "The file, or its folder, may not be read or written.");
  // OSError would print "[Errno 28] None: path" instead of the message.
  nb::handle(classes[static_cast<int>(ErrorClass::storage)]).attr("__str__") =
      nb::handle(PyExc_Exception).attr("__str__");
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      raise(error);
    }
  });
}

}  // namespace penstock::python
