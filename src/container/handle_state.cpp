#include "container/handle_state.hpp"

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
  TransferState(std::shared_ptr<void> owner, ByteFile& file, std::shared_ptr<ByteFile::Begun> begun)
      : owner_(std::move(owner)), file_(file), begun_(std::move(begun)) {}
  bool copied(bool wait) override { return file_.is_copied(*begun_, wait); }
  bool test() override { return file_.is_ready(*begun_); }
  void wait() override { file_.end(*begun_); }

 private:
  std::shared_ptr<void> owner_;
  ByteFile& file_;
  std::shared_ptr<ByteFile::Begun> begun_;
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
                 std::shared_ptr<ByteFile::Begun> begun) {
  return Handle(std::make_shared<TransferState>(std::move(owner), file, std::move(begun)));
}
Handle handle_of_close(std::shared_ptr<void> owner, ByteFile& file) {
  return Handle(std::make_shared<CloseState>(std::move(owner), file));
}

}  // namespace penstock
