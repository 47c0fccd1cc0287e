#include "formats/array_contents.hpp"

#include <algorithm>
#include <filesystem>

#include "file/byte_file.hpp"
#include "formats/anew.hpp"
#include "formats/attributes.hpp"
#include "formats/placed/contents.hpp"
#include "formats/zarr/contents.hpp"
#include "mpi/launch.hpp"
#include "plan/plan.hpp"

namespace penstock {

std::vector<Common> ArrayContents::common() const {
  return {{"mode", std::string(to_string(mode_))},
          {"shape", given_.is_scalar ? "()" : shape_text(given_.shape)},
          {"dtype", given_.dtype + " (" + std::to_string(given_.element_size) + " bytes)"},
          {"order", given_.order ? std::string(to_string(*given_.order)) : "auto"},
          {"offset", std::to_string(given_.offset)},
          {"records (bytes from one to the next, number)",
           std::to_string(given_.records.step) + ", " + std::to_string(given_.records.count)},
          {"container", std::string(to_string(given_.container))}};
}

void ArrayContents::check(const Communicator& comm) {
  if (given_.offset < 0)
    throw Error(ErrorClass::argument,
                "offset must not be negative, but is " + std::to_string(given_.offset));
  if (!(given_.chunks == ChunkSpec{}))
    throw Error(ErrorClass::argument, "'" + path_ +
                                          "' is no Zarr array, which alone has chunks; give it a "
                                          "name that ends in .zarr, or container zarr");
  if (given_.records.step != 0 && given_.container != Container::raw)
    throw Error(ErrorClass::argument, "'" + path_ +
                                          "': records are of a raw file, and the container is " +
                                          std::string(to_string(given_.container)));
  if (mode_ != Mode::read) refuse_lone_writer(comm, path_);
  if (makes_anew(mode_)) {
    describe_new(path_, given_);
    check_hints(hints_, given_.element_size, comm.size());
  }
}

void ArrayContents::find(Storage& storage) {
  described_ = makes_anew(mode_)
                   ? describe_new(path_, given_)
                   : describe_existing(storage, path_, given_, mode_ == Mode::read_write);
}

/// Writes the header and sets the size.
void ArrayContents::change(Storage& storage) {
  const std::int64_t end = layout().extent().end;
  if (mode_ == Mode::replace || mode_ == Mode::create_new) {
    fill_new(storage, path_, described_, end);
  } else if (mode_ == Mode::create) {
    make_anew(storage, path_, described_, end);
    remove_attributes(path_);  // of the previous file
  } else {
    extend(storage, path_, described_, end);
  }
}

std::vector<std::int64_t> ArrayContents::longer() const {
  if (!described_.growing)
    throw Error(ErrorClass::state,
                "'" + path_ +
                    "' was not opened to grow; pass an unlimited slowest dimension, as in "
                    "shape=(None, 512)");
  const ArraySpec& spec = described_.spec;
  std::vector<std::int64_t> shape = spec.shape;
  ++(spec.order == Order::fortran ? shape.back() : shape.front());
  return shape;
}

Reshaped ArrayContents::reshaped(std::vector<std::int64_t> shape) const {
  ArrayLayout layout = this->layout();
  layout.shape = shape;
  layout.check();
  if (described_.spec.container == Container::npy) {
    Described grown = described_;
    grown.spec.shape = shape;
    header_of(grown, path_);
  }
  return {std::move(shape), layout.units(), std::make_unique<ContiguousDataset>(layout)};
}

/// A raw file has no metadata but its size.
bool ArrayContents::metadata_is_current() const {
  return described_.spec.container != Container::npy || written_shape_ == described_.spec.shape;
}

void ArrayContents::update_metadata(Storage& storage) {
  const Transfer done = write_fully(storage, header_of(described_, path_), described_.spec.offset);
  if (done.error != 0) throw_errno("writing the header of", path_, -done.error);
}

std::string ArrayContents::attributes() const {
  if (described_.spec.offset != 0) return {};
  return mode_ == Mode::replace ? next_attributes_ : read_attributes(path_);
}

void ArrayContents::set_attributes(const std::string& json) {
  if (mode_ == Mode::replace) next_attributes_ = json;
  else replace_attributes(path_, json);
}

void ArrayContents::before_replacing(const std::string& new_path) {
  prepare_attributes(path_, new_path, next_attributes_);
}

void ArrayContents::after_replacing() {
  settle_attributes(path_);
}

void ArrayContents::forget_replacing(std::uint64_t inode) noexcept {
  forget_attributes(path_, inode);
}

ArrayLayout ArrayContents::layout() const {
  const ArraySpec& s = described_.spec;
  return {s.shape, s.element_size, *s.order, described_.data_offset, s.records.step};
}

std::unique_ptr<Dataset> ArrayContents::dataset() const {
  return std::make_unique<ContiguousDataset>(layout());
}

std::unique_ptr<ArrayContents> contents_of(const std::string& path, Mode mode,
                                           const ArraySpec& spec, const Hints& hints) {
  if (spec.chunks.placed) return std::make_unique<PlacedContents>(path, mode, spec, hints);
  const std::filesystem::path parts(path);
  const bool named_zarr = std::ranges::any_of(
      parts, [](const std::filesystem::path& part) { return part.extension() == ".zarr"; });
  if (spec.container == Container::zarr || (spec.container == Container::automatic && named_zarr))
    return std::make_unique<ZarrContents>(path, mode, spec, hints);
  return std::make_unique<ArrayContents>(path, mode, spec, hints);
}

}  // namespace penstock
