// Queries and settings of an open file (MPI 4.1, sections 14.2, 14.3 and 14.6).
#include <utility>

#include "mpi_io/mpi_error.hpp"
#include "mpi_io/mpi_file.hpp"
#include "plan/plan.hpp"

namespace penstock {
namespace {

MPI_Datatype copy_of(MPI_Datatype type) {
  if (is_predefined(type)) return type;
  MPI_Datatype copy = MPI_DATATYPE_NULL;
  MPI_Type_dup(type, &copy);
  return copy;
}

void free_type(MPI_Datatype& type) {
  if (type != MPI_DATATYPE_NULL && Communicator::mpi_is_running() && !is_predefined(type))
    MPI_Type_free(&type);
}

/// Hints without a value are left out: Open MPI 4.1 refuses an empty one, through the
/// communicator's error handler.
MPI_Info info_of(const InfoText& text) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (const auto& [name, value] : text)
    if (!value.empty() && name.size() < MPI_MAX_INFO_KEY && value.size() < MPI_MAX_INFO_VAL)
      MPI_Info_set(info, name.c_str(), value.c_str());
  return info;
}

}  // namespace

void MpiFile::free_types() {
  free_type(etype_);
  free_type(filetype_);
}

int MpiFile::raise(MPI_File handle, const Error& error) {
  return error_handler_.call(handle, ranks_to_end(), mpi_code_of(error), error.what());
}

MPI_Comm MpiFile::ranks_to_end() const noexcept {
  const MPI_Comm ranks = is_open() ? bytes_->comm().handle() : MPI_COMM_NULL;
  return ranks != MPI_COMM_NULL ? ranks : MPI_COMM_SELF;
}

MPI_Group MpiFile::group() const {
  MPI_Group copy = MPI_GROUP_NULL;
  MPI_Group_union(group_, MPI_GROUP_EMPTY, &copy);
  return copy;
}

void MpiFile::require_not_sequential(const char* what) const {
  if ((amode_ & MPI_MODE_SEQUENTIAL) != 0)
    throw_mpi(MPI_ERR_UNSUPPORTED_OPERATION, std::string(what) + " of '" + path() +
                                                 "', which was opened with MPI_MODE_SEQUENTIAL");
}

/// The error in changing the size, if any.
std::optional<Error> MpiFile::check_resize(const char* what, MPI_Offset bytes) const {
  return attempt([&] {
    require_no_split(what);
    require_not_sequential(what);
    if (bytes < 0)
      throw_mpi(MPI_ERR_ARG, std::string(what) + " to " + std::to_string(bytes) + " bytes");
    if (!may_write(amode_))
      throw_mpi(MPI_ERR_READ_ONLY, "'" + path() + "' was opened with " + amode_text(amode_));
  });
}

void MpiFile::set_size(MPI_Offset bytes) {
  bytes_->truncate(bytes, check_resize("setting the size", bytes));
}

void MpiFile::preallocate(MPI_Offset bytes) {
  bytes_->allocate(bytes, check_resize("preallocation", bytes));
}

/// Requests in flight keep the view that they began with: their operations have its patterns.
void MpiFile::set_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                       const std::string& representation, MPI_Info info) {
  View view;
  std::shared_ptr<const DataRepresentation> made;
  MpiHints hints = hints_;
  std::string extent;
  const std::optional<Error> error = attempt([&] {
    if (etype == MPI_DATATYPE_NULL || filetype == MPI_DATATYPE_NULL)
      throw_mpi(MPI_ERR_TYPE, "etype or filetype is MPI_DATATYPE_NULL");
    for (const MPI_Datatype type : {etype, filetype}) require_committed(type);
    made = DataRepresentation::of(representation);
    if (displacement == MPI_DISPLACEMENT_CURRENT) {
      if ((amode_ & MPI_MODE_SEQUENTIAL) == 0)
        throw_mpi(MPI_ERR_ARG,
                  "MPI_DISPLACEMENT_CURRENT is for files that were opened with "
                  "MPI_MODE_SEQUENTIAL");
      displacement = byte_offset(shared_->get());
    }
    const std::shared_ptr<const TypeLayout> etype_layout = made->layout_in_file(etype);
    view = View(displacement, etype_layout, made->layout_in_file(filetype),
                may_write(amode_) ? ViewUse::write : ViewUse::read);
    extent = std::to_string(etype_layout->extent());
    hints.set(text_of_info(info), bytes_->comm().size());
  });
  bytes_->agree(CallKind::set_view,
                {{"the data representation", representation}, {"the extent of etype", extent}},
                error);
  view_ = std::move(view);
  representation_ = std::move(made);
  const MPI_Datatype types[] = {copy_of(etype), copy_of(filetype)};
  free_types();
  etype_ = types[0];
  filetype_ = types[1];
  position_ = 0;
  take_hints(std::move(hints));
  // All ranks are here: nobody uses it with the previous view.
  if (bytes_->comm().rank() == 0) shared_->set(0);
  bytes_->agree(CallKind::set_view, {}, std::nullopt);
}

void MpiFile::take_hints(MpiHints hints) {
  hints_ = std::move(hints);
  if (bytes_->machine().nodes > 1) hints_.without_buffer();
  update_call_hints();
  report_ignored_hints();
}

void MpiFile::get_view(MPI_Offset& displacement, MPI_Datatype& etype, MPI_Datatype& filetype,
                       std::string& representation) const {
  displacement = view_.displacement();
  etype = copy_of(etype_);
  filetype = copy_of(filetype_);
  representation = representation_->name();
}

void MpiFile::set_info(MPI_Info info) {
  MpiHints hints = hints_;
  const std::optional<Error> error =
      attempt([&] { hints.set(text_of_info(info), bytes_->comm().size()); });
  bytes_->agree(CallKind::set_info, {}, error);
  take_hints(std::move(hints));
}

MPI_Info MpiFile::info() const {
  const Hints hints =
      resolve_hints(call_hints_[may_write(amode_)][0], bytes_->machine(), /*grain=*/1);
  Demand much;  // a request large enough that all aggregators would take part
  much.begin = 0;
  much.end = much.bytes = std::int64_t{1} << 40;
  much.runs = 1 << 20;
  Hints collective = hints;
  if (collective.method < Method::gather) collective.method = Method::extended;
  const Plan plan = make_plan({}, much, collective, bytes_->machine());
  std::vector<int> ranks;
  for (std::int64_t a = 0; a < plan.domains.aggregators(); ++a) ranks.push_back(plan.rank_of(a));
  return info_of(hints_.in_effect(hints, ranks));
}

void MpiFile::set_atomicity(bool atomic) {
  bytes_->drain();
  bytes_->agree(CallKind::set_atomicity, {{"the flag", atomic ? "true" : "false"}}, std::nullopt);
  atomic_ = atomic;
  update_call_hints();
}

void MpiFile::sync() {
  if (split_) {
    bytes_->agree(CallKind::sync, {}, attempt([&] { require_no_split("sync"); }));
    return;
  }
  bytes_->sync();
}

std::int64_t MpiFile::offset_from(MPI_Offset offset, int whence, std::int64_t current) {
  std::int64_t from = 0;
  if (whence == MPI_SEEK_CUR) from = current;
  else if (whence == MPI_SEEK_END) from = view_.end_position(bytes_->size_now());
  else if (whence != MPI_SEEK_SET)
    throw_mpi(MPI_ERR_ARG, "whence is " + std::to_string(whence) +
                               "; expected is MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END");
  if (from + offset < 0)
    throw_mpi(MPI_ERR_ARG, "seeking to etype " + std::to_string(from + offset) +
                               ": there is none before the view");
  return from + offset;
}

void MpiFile::seek(MPI_Offset offset, int whence) {
  require_not_sequential("seek");
  position_ = offset_from(offset, whence, position_);
}

void MpiFile::seek_shared(MPI_Offset offset, int whence) {
  std::int64_t position = 0;
  const std::optional<Error> error = attempt([&] {
    require_not_sequential("seek_shared");
    position = offset_from(offset, whence, shared_->get());
  });
  bytes_->agree(CallKind::seek_shared,
                {{"offset", std::to_string(offset)}, {"whence", std::to_string(whence)}}, error);
  if (bytes_->comm().rank() == 0) shared_->set(position);
  bytes_->agree(CallKind::seek_shared, {}, std::nullopt);
}

MPI_Offset MpiFile::position() {
  require_not_sequential("get_position");
  return position_;
}

MPI_Offset MpiFile::shared_position() {
  require_not_sequential("get_position_shared");
  return shared_->get();
}

MPI_Offset MpiFile::byte_offset(MPI_Offset offset) const {
  if (offset < 0) throw_mpi(MPI_ERR_ARG, "offset is " + std::to_string(offset));
  return view_.byte_offset(offset);
}

MPI_Aint MpiFile::type_extent(MPI_Datatype type) const {
  if (type == MPI_DATATYPE_NULL) throw_mpi(MPI_ERR_TYPE, "datatype is MPI_DATATYPE_NULL");
  return representation_->layout_in_file(type)->extent();
}

}  // namespace penstock
