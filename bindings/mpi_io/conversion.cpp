#include "mpi_io/conversion.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "base/checked.hpp"
#include "mpi_io/decode.hpp"
#include "mpi_io/external32.hpp"
#include "mpi_io/mpi_error.hpp"

namespace penstock {
namespace {

/// "native", and "internal", which is the same here.
class AsInMemory : public DataRepresentation {
 public:
  explicit AsInMemory(std::string name) : DataRepresentation(std::move(name)) {}
};

class InExternal32 : public Conversion {
 public:
  InExternal32(bool writes, void* buffer, std::int64_t count, MPI_Datatype type)
      : memory_(memory_map(buffer, count, *layout_of(type))),
        stream_(Elements::repeat(layout_of(type)->elements, count)) {
    bytes_.resize(static_cast<std::size_t>(stream_.totals().external));
    if (writes) pack_external32(memory_, stream_, bytes_.data());
  }
  std::int64_t take(std::int64_t bytes) override {
    return unpack_external32({bytes_.data(), static_cast<std::size_t>(bytes)}, memory_, stream_)
        .native;
  }

 private:
  MemoryMap memory_;
  Elements stream_;
};

class External32 : public DataRepresentation {
 public:
  External32() : DataRepresentation("external32") {}
  bool converts() const noexcept override { return true; }
  std::shared_ptr<const TypeLayout> layout_in_file(MPI_Datatype type) const override {
    static_cast<void>(layout_of(type));  // throws for invalid types
    return std::make_shared<const TypeLayout>(decode(type, Representation::external32));
  }
  std::int64_t bytes_in_file(MPI_Datatype type, std::int64_t count) const override {
    return checked_multiply(layout_of(type)->elements.totals().external, count,
                            "bytes of the access");
  }
  std::unique_ptr<Conversion> convert(bool writes, void* buffer, std::int64_t count,
                                      MPI_Datatype type) const override {
    return std::make_unique<InExternal32>(writes, buffer, count, type);
  }
};

/// The functions registered by a program.
struct Functions {
  ConversionFunction read, write;
  MPI_Datarep_extent_function* extent;
  void* extra;
};

void require_success(int code, const char* what, const std::string& name) {
  if (code != MPI_SUCCESS)
    throw_mpi(MPI_ERR_CONVERSION, std::string("the ") + what +
                                      " function of the data "
                                      "representation '" +
                                      name + "' returned error " + std::to_string(code));
}

class ByFunctions : public Conversion {
 public:
  ByFunctions(const Functions& functions, std::string name, std::int64_t bytes, bool writes,
              void* buffer, std::int64_t count, MPI_Datatype type)
      : functions_(functions),
        name_(std::move(name)),
        buffer_(buffer),
        count_(count),
        type_(type),
        size_in_memory_(layout_of(type)->size()) {
    bytes_.resize(static_cast<std::size_t>(bytes));
    if (writes)
      require_success(functions_.write(buffer_, type_, count_, bytes_.data()), "write conversion",
                      name_);
  }
  std::int64_t take(std::int64_t bytes) override {
    const std::int64_t whole = size() > 0 ? bytes / (size() / count_) : 0;
    if (whole > 0)
      require_success(functions_.read(buffer_, type_, whole, bytes_.data()), "read conversion",
                      name_);
    return whole * size_in_memory_;
  }

 private:
  Functions functions_;
  std::string name_;
  void* buffer_;
  std::int64_t count_;
  MPI_Datatype type_;
  std::int64_t size_in_memory_;
};

/// Supported for file types that are dense, or as large in the file as in memory.
class Registered : public DataRepresentation {
 public:
  Registered(std::string name, const Functions& functions)
      : DataRepresentation(std::move(name)), functions_(functions) {}
  bool converts() const noexcept override { return true; }
  std::shared_ptr<const TypeLayout> layout_in_file(MPI_Datatype type) const override {
    std::shared_ptr<const TypeLayout> layout = layout_of(type);
    const std::int64_t extent = extent_of(type);
    if (extent == layout->extent()) return layout;
    if (!layout->dense())
      throw_mpi(MPI_ERR_UNSUPPORTED_DATAREP,
                "a filetype with gaps, in the data representation '" + name() +
                    "', whose elements are not as large in the file as in memory");
    return std::make_shared<const TypeLayout>(basic_layout(BasicType{}, extent));
  }
  std::int64_t bytes_in_file(MPI_Datatype type, std::int64_t count) const override {
    const std::shared_ptr<const TypeLayout> layout = layout_of(type);
    const std::int64_t extent = extent_of(type);
    const std::int64_t one = extent == layout->extent() ? layout->size() : extent;
    return checked_multiply(one, count, "bytes of the access");
  }
  std::unique_ptr<Conversion> convert(bool writes, void* buffer, std::int64_t count,
                                      MPI_Datatype type) const override {
    // The program's own function, or none: then the bytes are the same as in memory.
    if (!(writes ? functions_.write : functions_.read)) return nullptr;
    return std::make_unique<ByFunctions>(functions_, name(), bytes_in_file(type, count), writes,
                                         buffer, count, type);
  }

 private:
  /// The extent function handles predefined types; that of others is computed from their elements.
  std::int64_t extent_of(MPI_Datatype type) const {
    const std::shared_ptr<const TypeLayout> layout = layout_of(type);
    const std::int64_t elements = layout->elements.totals().count;
    if (elements == 0) return 0;
    MPI_Aint extent = 0;
    const MPI_Datatype element = is_predefined(type) ? type : element_of(type);
    require_success(functions_.extent(element, &extent, functions_.extra), "extent", name());
    return is_predefined(type) ? extent : extent * elements;
  }
  /// For a type made of one predefined type.
  static MPI_Datatype element_of(MPI_Datatype type) {
    const TypeContents contents(type);
    if (contents.types().size() != 1)
      throw_mpi(
          MPI_ERR_UNSUPPORTED_DATAREP,
          "a type of several types, in a data representation that the program has registered");
    const MPI_Datatype inner = contents.types().front();
    return is_predefined(inner) ? inner : element_of(inner);
  }

  Functions functions_;
};

class Registry {
 public:
  Registry() {
    for (const char* name : {"native", "internal"}) all_[name] = std::make_shared<AsInMemory>(name);
    all_["external32"] = std::make_shared<External32>();
  }
  std::shared_ptr<const DataRepresentation> find(const std::string& name) {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(name);
    return found == all_.end() ? nullptr : found->second;
  }
  bool add(const std::string& name, std::shared_ptr<const DataRepresentation> representation) {
    const std::lock_guard guard(mutex_);
    return all_.emplace(name, std::move(representation)).second;
  }
  static Registry& of_process() {
    static Registry registry;
    return registry;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const DataRepresentation>> all_;
};

}  // namespace

std::shared_ptr<const DataRepresentation> DataRepresentation::of(const std::string& name) {
  std::shared_ptr<const DataRepresentation> found = Registry::of_process().find(name);
  if (!found)
    throw_mpi(MPI_ERR_UNSUPPORTED_DATAREP,
              "the data representation '" + name +
                  "' is not known; native, internal and external32 are, and what "
                  "MPI_Register_datarep has made known");
  return found;
}

void DataRepresentation::add(const std::string& name, ConversionFunction read,
                             ConversionFunction write, MPI_Datarep_extent_function* extent,
                             void* extra) {
  if (name.empty() || name.size() >= MPI_MAX_DATAREP_STRING || extent == nullptr)
    throw_mpi(MPI_ERR_ARG, "a data representation needs a name of at most " +
                               std::to_string(MPI_MAX_DATAREP_STRING - 1) +
                               " characters and a function for extents");
  const Functions functions{std::move(read), std::move(write), extent, extra};
  if (!Registry::of_process().add(name, std::make_shared<Registered>(name, functions)))
    throw_mpi(MPI_ERR_DUP_DATAREP, "there is a data representation '" + name + "' already");
}

std::int64_t DataRepresentation::bytes_in_file(MPI_Datatype type, std::int64_t count) const {
  return checked_multiply(layout_of(type)->size(), count, "bytes of the access");
}

}  // namespace penstock
