// Hints as MPI_Info has them: the standard's (MPI 4.1, section 14.2.8), ROMIO's, and Penstock's own
// with "penstock_" in front.
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

/// All pairs; none of MPI_INFO_NULL.
InfoText text_of_info(MPI_Info info);

/// The hints of a file. Reads and writes, collective and independent, have some of their own.
class MpiHints {
 public:
  /// What `info` has in place of the same names. Throws an Error of class MPI_ERR_INFO for a value
  /// of a penstock_ hint that cannot be read; of others what cannot be done is left out, as the
  /// standard has it. `ranks`: of the file.
  void set(const InfoText& info, int ranks);
  /// Before `info` of open, which overrides them: those of the file that ROMIO_HINTS names, lines
  /// of a name and a value, and above them those of PENSTOCK_HINTS="name=value;name=value". There a
  /// name that nobody knows is an error of class MPI_ERR_INFO, too.
  void set_from_environment(int ranks);
  /// What is set in `info`, and what it means for a call.
  Hints of_call(Direction direction, Company company) const;
  /// Of the file as a whole.
  const Hints& of_file() const noexcept { return hints_; }
  /// Ranks on several nodes: they cannot see what others have buffered.
  void without_buffer() noexcept {
    if (!hints_.active_buffer_size.is_given()) hints_.active_buffer_size = 0;
  }
  /// What is in force, as MPI_File_get_info tells it; of hints in `effective`, that of the file.
  InfoText told(const Hints& effective, const std::vector<int>& aggregators) const;
  /// What is to be said of what was ignored, of each once in a process: names that nobody knows,
  /// and what cannot be read of the file of ROMIO_HINTS.
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
  InfoText others_;                                         // of the standard, kept as they are
  std::vector<std::string> ignored_;
};

}  // namespace penstock
