// Tasks that rank 0 runs for all: the ranks first compare their arguments, and all get the result
// before any of them continues.
#include "file/byte_file.hpp"
#include "file/process.hpp"
#include "mpi/drive.hpp"
#include "mpi/launch.hpp"
#include "mpi/thread_use.hpp"

namespace penstock {
namespace {

std::vector<Common> common_of(const FirstRankTask& task) {
  std::vector<Common> common;
  for (const auto& [name, value] : task.common) common.push_back({name, value});
  return common;
}

/// In a channel in which the ranks have met.
std::string run_and_share(const Channel& channel, const FirstRankTask& task, Listener* listener) {
  const Watched metadata(listener, Phase::metadata);
  std::string result;
  std::optional<Error> error;
  if (channel.comm.rank() == 0) error = attempt([&] { result = task.work(); });
  drive(channel.comm, agree_and_share(channel, error, result));
  return result;
}

}  // namespace

class OpeningSteps::Impl {
 public:
  explicit Impl(const std::string& path) : watched_(listener_of(path), Phase::open_call) {}

 private:
  WatchedCall watched_;
};

OpeningSteps::OpeningSteps(const std::filesystem::path& path)
    : impl_(std::make_unique<Impl>(path.string())) {}
OpeningSteps::~OpeningSteps() = default;

std::string ask_first_rank(Communicator comm, const std::string& path, const FirstRankTask& task,
                           const Error* found) {
  std::optional<MpiUse> use;
  if (!comm.is_null()) use.emplace(path);
  const Channel channel{comm, path, {CallKind::open}};
  const InCall in(comm, path, channel.call);
  Listener* const listener = listener_of(path);
  const WatchedCall watched(listener, Phase::other_call);
  comm.connect();
  const std::vector<Common> common = common_of(task);
  const std::optional<Error> error = attempt([&] {
    if (found != nullptr) throw Error(*found);
    if (task.writes) refuse_lone_writer(comm, path);
  });
  const Entry entry{common, {}, error};
  drive(comm, agree_on_opening(channel, entry));
  return run_and_share(channel, task, listener);
}

std::string ByteFile::on_first_rank(const FirstRankTask& task, const Error* found) {
  const CallGate::Pass pass = admit_open();
  const WatchedCall watched(listener_, Phase::other_call);
  in_flight_->end_everything();  // another rank may wait for one to end before it comes here
  const Channel channel = file_->next_channel(CallKind::on_first_rank);
  const InCall in(comm_, path_, channel.call);
  meet(channel, common_of(task), attempt([&] {
         if (found != nullptr) throw Error(*found);
         if (task.writes && !writable())
           throw Error(ErrorClass::state, "'" + path_ + "' is open for reading only");
       }));
  return run_and_share(channel, task, listener_);
}

}  // namespace penstock
