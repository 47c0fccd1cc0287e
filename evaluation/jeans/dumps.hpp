// Files of a run, as in the paper: a header of six reals, then arrays in Fortran order.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gas.hpp"
#include "trace.hpp"

namespace jeans {

constexpr int header_reals = 6;
constexpr int pictures = 4;  ///< visualisation files of a dump

struct DumpSettings {
  std::filesystem::path folder;
  penstock::Hints hints;
  penstock::Background background = penstock::Background::none;
  bool checkpoint = false;  ///< also a file in double precision with each dump
};

/// Bytes of all files of a run with this many dumps.
std::int64_t bytes_of_dumps(const Index3& cells, std::int64_t dumps, bool checkpoint) noexcept;

/// Writes dumps: analysis-N.dat and restart.dat, six arrays each in single precision;
/// density-N.dat, pressure-N.dat, speed-N.dat and potential-N.dat, one byte a cell; N is the
/// iteration. The others are new each time; restart.dat, and checkpoint.dat, which has the six
/// arrays in double precision, take the place of the last ones when they are whole.
///
/// With background I/O, or an active buffer, a dump returns before its bytes are in the files; the
/// next one, or finish(), waits for it. All functions are collective, and throw penstock::Error,
/// the same on every rank.
class Dumper {
 public:
  Dumper(const Gas& gas, DumpSettings settings, Trace& trace);
  void dump(const Gas& gas);
  void finish();

 private:
  /// An open file, and operations in flight on it.
  struct Pending {
    penstock::FieldsFile file;
    std::vector<penstock::Handle> handles;
  };
  struct NewFile {
    std::string name;  ///< in the folder of the dumps
    penstock::Mode mode;
    penstock::FieldsSpec spec;  ///< a header, then arrays
  };
  using Views = std::vector<penstock::WriteView>;
  using Header = std::array<double, header_reals>;

  void convert(const Gas& gas);
  Header draw(const Gas& gas, int picture);
  template <class Arrays>
  Views views_of(const Arrays& arrays) const;
  void write_file(const NewFile& made, const Header& header, const Views& views);
  void close(Pending& pending);
  void checkpoint(const Gas& gas);
  bool is_split() const noexcept { return settings_.background != penstock::Background::none; }

  Grid grid_;
  DumpSettings settings_;
  Trace& trace_;
  std::vector<Pending> pending_;
  std::array<std::vector<float>, arrays> numbers_;
  std::array<std::vector<std::uint8_t>, pictures> characters_;
};

/// Collective: continues from a restart file, or a checkpoint; the laws of physics are the file's.
/// Its size shows which of both it is. Throws penstock::Error, the same on every rank.
void read_restart(const std::filesystem::path& path, const penstock::Hints& hints, Gas& gas,
                  Trace& trace);

}  // namespace jeans
