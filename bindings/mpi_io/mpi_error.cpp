#include "mpi_io/mpi_error.hpp"

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace penstock {
namespace {

struct NamedClass {
  int value;
  std::string_view name;
};

/// Not constants: in some libraries they are known only at load time.
const std::vector<NamedClass>& named_classes() {
  static const std::vector<NamedClass> classes{
      {MPI_ERR_ACCESS, "MPI_ERR_ACCESS"},
      {MPI_ERR_AMODE, "MPI_ERR_AMODE"},
      {MPI_ERR_ARG, "MPI_ERR_ARG"},
      {MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE"},
      {MPI_ERR_BUFFER, "MPI_ERR_BUFFER"},
      {MPI_ERR_COMM, "MPI_ERR_COMM"},
      {MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION"},
      {MPI_ERR_COUNT, "MPI_ERR_COUNT"},
      {MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP"},
      {MPI_ERR_FILE, "MPI_ERR_FILE"},
      {MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS"},
      {MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE"},
      {MPI_ERR_INFO, "MPI_ERR_INFO"},
      {MPI_ERR_IO, "MPI_ERR_IO"},
      {MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE"},
      {MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE"},
      {MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME"},
      {MPI_ERR_OTHER, "MPI_ERR_OTHER"},
      {MPI_ERR_QUOTA, "MPI_ERR_QUOTA"},
      {MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY"},
      {MPI_ERR_REQUEST, "MPI_ERR_REQUEST"},
      {MPI_ERR_TYPE, "MPI_ERR_TYPE"},
      {MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP"},
      {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION"},
  };
  return classes;
}

int class_of_errno(int number) {
  switch (number) {
    case ENOENT: return MPI_ERR_NO_SUCH_FILE;
    case EEXIST: return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM: return MPI_ERR_ACCESS;
    case EROFS: return MPI_ERR_READ_ONLY;
    case ENOSPC: return MPI_ERR_NO_SPACE;
    case EDQUOT: return MPI_ERR_QUOTA;
    case ETXTBSY:
    case EBUSY: return MPI_ERR_FILE_IN_USE;
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
    case ESPIPE:
    case ENAMETOOLONG: return MPI_ERR_BAD_FILE;
    case ENOLCK: return MPI_ERR_UNSUPPORTED_OPERATION;
    default: return MPI_ERR_IO;
  }
}

/// Codes are never freed before MPI ends, so each class has a limited number that are reused in
/// turn. Their texts are kept here: MPICH 4.0 returns other texts for codes of its own classes.
class Codes {
 public:
  int take(int mpi_class, const std::string& text) {
    const std::lock_guard guard(mutex_);
    Turn& turn = turns_[mpi_class];
    if (turn.codes.size() < most) {
      int code = mpi_class;
      if (MPI_Add_error_code(mpi_class, &code) != MPI_SUCCESS) return mpi_class;
      turn.codes.push_back(code);
      turn.next = turn.codes.size() - 1;
    }
    const int code = turn.codes[turn.next];
    turn.next = (turn.next + 1) % most;
    texts_[code] = text.substr(0, MPI_MAX_ERROR_STRING - 1);
    MPI_Add_error_string(code, texts_[code].c_str());
    return code;
  }
  std::optional<std::string> find(int code) {
    const std::lock_guard guard(mutex_);
    const auto found = texts_.find(code);
    return found == texts_.end() ? std::nullopt : std::optional(found->second);
  }
  static Codes& of_process() {
    static Codes codes;
    return codes;
  }

 private:
  static constexpr std::size_t most = 32;
  struct Turn {
    std::vector<int> codes;
    std::size_t next = 0;
  };
  std::mutex mutex_;
  std::map<int, Turn> turns_;
  std::map<int, std::string> texts_;
};

}  // namespace

void throw_mpi(int mpi_class, const std::string& text) {
  for (const NamedClass& named : named_classes())
    if (named.value == mpi_class)
      throw Error(ErrorClass::argument, std::string(named.name) + ": " + text);
  throw Error(ErrorClass::argument, text);
}

int mpi_class_of(const Error& error) {
  const std::string_view text = error.what();
  // The name of the class may be preceded by the rank, the file and the call.
  const std::size_t last = 96 + error.path().size();
  for (const NamedClass& named : named_classes()) {
    const std::size_t at = text.find(named.name);
    if (at < last && at + named.name.size() < text.size() && text[at + named.name.size()] == ':')
      return named.value;
  }
  switch (error.error_class()) {
    case ErrorClass::argument: return MPI_ERR_ARG;
    case ErrorClass::disagreement: return MPI_ERR_NOT_SAME;
    case ErrorClass::storage: return class_of_errno(error.error_number());
    case ErrorClass::state: return MPI_ERR_OTHER;
    case ErrorClass::format: return MPI_ERR_IO;
    default: return MPI_ERR_OTHER;
  }
}

int mpi_code_of(const Error& error) {
  return Codes::of_process().take(mpi_class_of(error), error.what());
}

std::optional<std::string> text_of_code(int code) {
  return Codes::of_process().find(code);
}

}  // namespace penstock
