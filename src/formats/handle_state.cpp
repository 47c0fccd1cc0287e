#include "formats/handle_state.hpp"

#include <atomic>
#include <utility>

namespace penstock {

class Handle::State {
 public:
  virtual ~State() = default;
  virtual bool copied(bool wait) = 0;
  virtual bool test() = 0;
  virtual void wait() = 0;
};

bool Handle::copied(bool wait) {
  return state_->copied(wait);
}
bool Handle::test() {
  return state_->test();
}
void Handle::wait() {
  state_->wait();
}

namespace {

class TransferState : public Handle::State {
 public:
  TransferState(std::shared_ptr<void> owner, ByteFile& file, std::shared_ptr<ByteFile::Begun> begun,
                std::function<void()> at_end)
      : owner_(std::move(owner)),
        file_(file),
        begun_(std::move(begun)),
        at_end_(std::move(at_end)),
        converts_(at_end_ != nullptr) {}
  bool copied(bool wait) override { return file_.is_copied(*begun_, wait) && !converts_; }
  bool test() override { return file_.is_ready(*begun_); }
  void wait() override {
    const CallGate::Pass pass = file_.admit();
    file_.end(*begun_);
    if (const auto work = std::exchange(at_end_, nullptr)) work();
    converts_ = false;
  }

 private:
  std::shared_ptr<void> owner_;
  ByteFile& file_;
  std::shared_ptr<ByteFile::Begun> begun_;
  std::function<void()> at_end_;
  std::atomic<bool> converts_;  // memory is filled at the end
};

class CloseState : public Handle::State {
 public:
  CloseState(std::shared_ptr<void> owner, ByteFile& file) : owner_(std::move(owner)), file_(file) {}
  bool copied(bool) override { return true; }
  bool test() override { return file_.is_closing_done(); }
  void wait() override { file_.finish_close(); }

 private:
  std::shared_ptr<void> owner_;
  ByteFile& file_;
};

}  // namespace

Handle handle_of(std::shared_ptr<void> owner, ByteFile& file,
                 std::shared_ptr<ByteFile::Begun> begun, std::function<void()> at_end) {
  return Handle(
      std::make_shared<TransferState>(std::move(owner), file, std::move(begun), std::move(at_end)));
}
Handle handle_of_close(std::shared_ptr<void> owner, ByteFile& file) {
  return Handle(std::make_shared<CloseState>(std::move(owner), file));
}

}  // namespace penstock
