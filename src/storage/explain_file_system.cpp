// Facts about a file system as text: for the report of a file, and `penstock explain`.
#include <sys/stat.h>

#include <filesystem>
#include <limits>

#include <penstock/error.hpp>

#include "base/failure.hpp"
#include "base/human.hpp"
#include "storage/facts.hpp"
#include "storage/replacement.hpp"
#include "storage/storage.hpp"

namespace penstock {
namespace {

/// For an existing file. Locks a byte beyond any array.
FileSystemReport look_at(const std::string& path) {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() - 3;
  FileSystemReport report;
  report.facts = find_facts(path);
  const std::unique_ptr<Storage> storage = open_posix(path, OpenFlag::read);
  int error = 0;
  report.locks = storage->lock({far, far + 1}, LockKind::shared, error) != nullptr;
  report.facts.locks_exclude = report.locks;
  report.facts.whole_pages = !report.facts.caches_agree && !storage->bypass_cache(true);
  return report;
}

/// Uses a temporary file.
FileSystemReport look_into(const std::string& folder) {
  try {
    const Replacement file(folder + "/explain");
    return look_at(file.path());
  } catch (const Error& error) {
    FileSystemReport report;
    report.facts = find_facts(folder);
    report.untried = "no file can be made there: " + text_of_errno(error.error_number());
    return report;
  }
}

std::string line(const char* name, const std::string& text) {
  std::string title(name);
  title.resize(18, ' ');
  return title + text + "\n";
}

std::string direct_text(const FileSystemReport& report) {
  const FileSystemFacts& facts = report.facts;
  if (!report.untried.empty()) return "not tried: " + report.untried;
  std::string text =
      facts.direct_alignment > 0
          ? "works, at multiples of " + std::to_string(facts.direct_alignment) + " bytes (tried)"
          : "does not work (tried): storage=direct uses the page cache";
  if (facts.whole_pages)
    text +=
        "; where ranks have several page caches, accesses go through them, each is forgotten "
        "before and synced after, and in a collective write each page has one writer";
  return text;
}

std::string locks_text(const FileSystemReport& report) {
  if (!report.untried.empty()) return "not tried: see O_DIRECT";
  if (!report.locks)
    return "there are none (tried): holes are not written back, and atomic mode is an error";
  if (report.facts.caches_agree) return "byte-range locks can be had (tried)";
  return "byte-range locks can be had (tried). Where ranks have several page caches, opening tries "
         "whether those of one host keep others out; if not, as if there were none: holes are not "
         "written back, and atomic mode is an error";
}

}  // namespace

std::string describe_caches(const FileSystemFacts& facts) {
  if (facts.caches_agree) return facts.type + ": the page caches of its hosts agree, by its type";
  std::string text = facts.type + ": the page caches of its hosts do not agree, by its type; ";
  if (!facts.several_caches)
    return text +
           "all ranks have the same one (one mount of one kernel), and accesses go through it";
  text += "ranks have several (mounts or kernels differ), so that accesses go ";
  text += facts.whole_pages
              ? "through them as O_DIRECT is refused, each is forgotten before and synced after, "
                "and in a collective write each page has one writer"
              : "past them (O_DIRECT)";
  text +=
      ": collective calls need no sync; independent ones see what other hosts wrote after sync "
      "on both sides, or close and open";
  if (!facts.locks_exclude)
    text +=
        "; byte-range locks of one host do not keep others out: holes are not written back, "
        "and atomic mode is an error";
  return text;
}

std::string FileSystemReport::to_text() const {
  const std::string collective = "see what earlier calls wrote, without a sync";
  std::string text = line("file system", facts.type + " (from statfs)");
  if (facts.caches_agree)
    text +=
        line("page caches", "those of its hosts agree (by the type): accesses go through them") +
        line("collective calls", collective) +
        line("independent calls",
             "see what ranks of their node wrote; what other nodes have buffered after sync, "
             "or close and open");
  else
    text += line("page caches",
                 "those of its hosts do not agree (by the type). Ranks with one mount of one "
                 "kernel use its cache; where opening finds several, accesses go past them") +
            line("collective calls", collective) +
            line("independent calls",
                 "see what other hosts wrote after sync on both sides, or close and open");
  text += line("locks", locks_text(*this)) + line("O_DIRECT", direct_text(*this));
  return text + line("stripes",
                     facts.stripe_size > 0 ? "of " + text_of_bytes(facts.stripe_size) : "unknown");
}

FileSystemReport explain_file_system(const std::string& path) {
  struct stat status {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (is_there && !S_ISDIR(status.st_mode)) return look_at(path);
  if (is_there) return look_into(path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return look_into(folder.empty() ? "." : folder.string());
}

}  // namespace penstock
