#include <penstock/fields_file.hpp>

#include "base/process_id.hpp"
#include "file/process.hpp"
#include "formats/array_impl.hpp"
#include "formats/fields/field_state.hpp"
#include "formats/handle_state.hpp"

namespace penstock {

FieldsFile::Impl::Impl(BackgroundIo& background, Communicator comm,
                       const std::filesystem::path& path, Mode mode, const FieldsSpec& spec,
                       const Hints& hints)
    : contents_(path.string(), mode, spec, hints),
      file_(background, std::move(comm), path, open_flag_of(mode), contents_, hints) {}

const FieldSpec* FieldsFile::Impl::find(const std::string& name) const {
  for (const FieldSpec& field : spec().fields)
    if (field.name == name) return &field;
  return nullptr;
}

std::string FieldsFile::Impl::names() const {
  std::string text;
  for (const FieldSpec& field : spec().fields)
    text += (text.empty() ? "'" : ", '") + field.name + "'";
  return text;
}

FieldsFile FieldsFile::open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                            const FieldsSpec& spec, const Hints& hints, const Error* found) {
  if (found != nullptr) ArrayFile::on_first_rank(comm, path.c_str(), {}, found);
  return FieldsFile(owned_by_process<Impl>(background_of_process(), Communicator(comm), path,
                                           settled_mode(comm, path, mode), spec, hints));
}
FieldsFile FieldsFile::open(const std::filesystem::path& path, Mode mode, const FieldsSpec& spec,
                            const Hints& hints, const Error* found) {
  if (found != nullptr) ArrayFile::on_first_rank(path.c_str(), {}, found);
  return FieldsFile(owned_by_process<Impl>(background_of_process(), Communicator(), path,
                                           settled_mode(path, mode), spec, hints));
}

Field FieldsFile::operator[](const std::string& name) const {
  if (const FieldSpec* field = impl_->find(name))
    return Field(std::make_shared<Field::State>(impl_, *field));
  return Field(std::make_shared<Field::State>(
      impl_, Error(ErrorClass::argument, "'" + impl_->bytes().path() + "' has no field '" + name +
                                             "'; it has " + impl_->names())));
}

std::vector<std::string> FieldsFile::names() const {
  std::vector<std::string> names;
  for (const FieldSpec& field : impl_->spec().fields) names.push_back(field.name);
  return names;
}

void FieldsFile::sync() {
  impl_->bytes().sync();
}
void FieldsFile::close() {
  impl_->bytes().close();
}
Handle FieldsFile::close_begin() {
  impl_->bytes().begin_close();
  return handle_of_close(impl_, impl_->bytes());
}
std::int64_t FieldsFile::file_size() {
  return impl_->bytes().size();
}
void FieldsFile::abandon() noexcept {
  impl_->bytes().abandon(/*on_purpose=*/true);
}
bool FieldsFile::closed() const noexcept {
  return !impl_->bytes().is_open();
}
std::int64_t FieldsFile::end_offset() const {
  return impl_->units().all.end;
}
const FieldsSpec& FieldsFile::spec() const {
  return impl_->spec();
}
std::string FieldsFile::device() const {
  return impl_->bytes().device();
}
const Hints& FieldsFile::hints() const {
  return impl_->bytes().hints();
}
Statistics FieldsFile::statistics() const {
  return impl_->bytes().statistics();
}
Statistics FieldsFile::last_call() const {
  return impl_->bytes().last_call();
}
std::vector<int> FieldsFile::aggregator_ranks() const {
  const CallGate::Pass pass = impl_->bytes().look();
  return penstock::aggregator_ranks(impl_->bytes(), impl_->units());
}
const FileSystemFacts& FieldsFile::file_system() const {
  return impl_->bytes().file_system();
}

}  // namespace penstock
