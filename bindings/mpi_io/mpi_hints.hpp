// Hints in MPI_Info: the standard's (MPI 4.1, section 14.2.8), ROMIO's, and Penstock's own prefixed
// by "penstock_".
#pragma once

#include <mpi.h>

#include <map>
#include <string>
#include <vector>

#include <penstock/hints.hpp>

#include "base/direction.hpp"
#include "engine/context.hpp"

namespace penstock {

using InfoText = std::map<std::string, std::string>;

/// All pairs; none for MPI_INFO_NULL.
InfoText text_of_info(MPI_Info info);

/// The hints of a file. Reads and writes, collective and independent, have some of their own.
class MpiHints {
 public:
  /// Overrides hints by those in `info`. Throws an Error of class MPI_ERR_INFO for a malformed
  /// value of a penstock_ hint; other invalid hints are ignored, as the standard says. `ranks`: of
  /// the file.
  void set(const InfoText& info, int ranks);
  /// To be called before `info` of open, which takes precedence. Reads the file that ROMIO_HINTS
  /// names, with lines of a name and a value, and then PENSTOCK_HINTS="name=value;name=value".
  /// There an unknown name is an error of class MPI_ERR_INFO, too.
  void set_from_environment(int ranks);
  /// What the settings mean for a call.
  Hints of_call(Direction direction, Company company) const;
  /// For the whole file.
  const Hints& of_file() const noexcept { return hints_; }
  /// For ranks on several nodes: they cannot see what others have buffered.
  void without_buffer() noexcept {
    if (!hints_.active_buffer_size.is_given()) hints_.active_buffer_size = 0;
  }
  /// The hints in effect, as returned by MPI_File_get_info; `effective` has those of the file.
  InfoText in_effect(const Hints& effective, const std::vector<int>& aggregators) const;
  /// Messages about ignored hints, each once per process: unknown names, and malformed lines of the
  /// file of ROMIO_HINTS.
  std::vector<std::string> take_ignored() noexcept { return std::exchange(ignored_, {}); }

 private:
  void set_own(const std::string& name, std::string_view own, const std::string& value);
  void set_one(const std::string& name, const std::string& value);
  InfoText from_romio_file();
  const std::string& collective(Direction direction) const noexcept;

  Hints hints_;
  std::string collective_[2] = {"automatic", "automatic"};  // romio_cb_read, romio_cb_write
  bool no_independent_ = false;                             // romio_no_indep_rw
  std::string sieving_[2] = {"automatic", "automatic"};     // romio_ds_read, romio_ds_write
  std::int64_t independent_buffer_[2] = {0, 0};             // ind_rd_buffer_size, ind_wr_...
  InfoText others_;                                         // of the standard, kept unchanged
  std::vector<std::string> ignored_;
};

}  // namespace penstock
