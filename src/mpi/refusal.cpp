#include "mpi/refusal.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

#include <penstock/error.hpp>

#include "mpi/communicator.hpp"
#include "mpi/group.hpp"

namespace penstock {
namespace {

/// Of the rank that was refused, as it is sent.
struct Note {
  int rank = -1;  // of MPI_COMM_WORLD
  char path[252] = "";
};

/// Two for each process: of itself, and the first of another one. Never changed once they are sent.
struct Notes {
  std::mutex mutex;
  std::optional<Note> own, heard;
};

Notes& notes() {
  static auto* const all = new Notes;  // messages may be under way for as long as MPI runs
  return *all;
}

/// The highest tag that there is: no message of Penstock has a communicator of its own here, and a
/// program hardly uses it.
int note_tag() {
  int* highest = nullptr;
  int there = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&highest), &there);
  return there ? *highest : 32767;  // which MPI promises
}

/// Nobody may be waiting for it: it is not waited for either.
void send(const Note& note) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int distance = 1; distance < ranks; distance *= 2) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Isend(&note, sizeof note, MPI_BYTE, (rank + distance) % ranks, note_tag(),
                               MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS) MPI_Request_free(&request);
  }
}

int tell_at_end(MPI_Comm, int, void*, void*) {
  const std::lock_guard guard(notes().mutex);
  send(*notes().own);
  return MPI_SUCCESS;
}

/// The first note that has come.
const std::optional<Note>& listen() {
  Notes& all = notes();
  if (all.heard) return all.heard;
  int there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  Communicator::check(
      MPI_Improbe(MPI_ANY_SOURCE, note_tag(), MPI_COMM_WORLD, &there, &message, MPI_STATUS_IGNORE),
      "MPI_Improbe");
  if (!there) return all.heard;
  Note note;
  Communicator::check(MPI_Mrecv(&note, sizeof note, MPI_BYTE, &message, MPI_STATUS_IGNORE),
                      "MPI_Mrecv");
  send(all.heard.emplace(note));
  return all.heard;
}

/// The rank in `comm` of one of MPI_COMM_WORLD; MPI_UNDEFINED: it is not in it.
int rank_in(MPI_Comm comm, int world_rank) {
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  int rank = MPI_UNDEFINED;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_group(comm, &group);
  MPI_Group_translate_ranks(world, 1, &world_rank, group, &rank);
  MPI_Group_free(&world);
  MPI_Group_free(&group);
  return rank;
}

}  // namespace

/// MPI-4.1, section 11.2.4: attributes of MPI_COMM_SELF are deleted before anything else in
/// MPI_Finalize, when messages can still be sent.
void remember_refusal(const std::string& path) {
  Group::show_refusal();
  Notes& all = notes();
  const std::lock_guard guard(all.mutex);
  if (all.own) return;
  Note& note = all.own.emplace();
  MPI_Comm_rank(MPI_COMM_WORLD, &note.rank);
  std::copy_n(path.begin(), std::min(path.size(), sizeof note.path - 1), note.path);
  int key = MPI_KEYVAL_INVALID;
  if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &tell_at_end, &key, nullptr) == MPI_SUCCESS)
    MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
}

void throw_if_refused(MPI_Comm comm) {
  const std::lock_guard guard(notes().mutex);
  const std::optional<Note>& note = listen();
  const int rank = note ? rank_in(comm, note->rank) : MPI_UNDEFINED;
  if (rank == MPI_UNDEFINED) return;
  throw Error::from_rank(
      rank, ErrorClass::state,
      "rank " + std::to_string(rank) +
          " has ended MPI and will not come to this open: it was refused to open '" + note->path +
          "' for writing without a communicator. All ranks must pass the communicator "
          "(comm=MPI.COMM_WORLD)",
      note->path, -1, 0);
}

}  // namespace penstock
