// Sections as text: to_string, and the papers' printed form.
//   section = [ "(" ] range { "," range } [ ")" ]      range = sum ":" sum [ ":" sum ]
//   sum = term { ("+" | "-") term }                    term = [ integer [ "*" ] ] [ "p" | "nprocs"
//   ]
#include <cctype>
#include <charconv>

#include <penstock/section.hpp>

#include "base/checked.hpp"

namespace penstock {
namespace {

class PaperReader {
 public:
  PaperReader(std::string_view text, std::int64_t p, std::int64_t nprocs)
      : text_(text), p_(p), nprocs_(nprocs) {}

  std::vector<Range> read() {
    const bool parenthesised = accept('(');
    std::vector<Range> ranges{range()};
    while (accept(',')) ranges.push_back(range());
    if (parenthesised && !accept(')')) fail("expected ')' or ','");
    skip_space();
    if (at_ < text_.size()) fail("expected the end");
    return ranges;
  }

 private:
  Range range() {
    Range r;
    r.lower = sum();
    if (!accept(':')) fail("expected ':' between lower and upper bound");
    r.upper = sum();
    r.stride = accept(':') ? sum() : 1;
    return r;
  }

  std::int64_t sum() {
    std::int64_t total = accept('-') ? -term() : term();
    for (;;) {
      if (accept('+')) total = checked_add(total, term(), "section bound");
      else if (accept('-')) total = checked_add(total, -term(), "section bound");
      else return total;
    }
  }

  std::int64_t term() {
    skip_space();
    std::int64_t factor = 1;
    const bool number = at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]));
    if (number) {
      const auto [end, status] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), factor);
      if (status != std::errc()) fail("a number that fits 64 bits was expected");
      at_ = static_cast<std::size_t>(end - text_.data());
      accept('*');
    }
    skip_space();
    if (accept_word("nprocs") || accept_word("n procs"))
      return checked_multiply(factor, nprocs_, "section bound");
    if (accept_word("p")) return checked_multiply(factor, p_, "section bound");
    if (!number) fail("expected a number, 'p' or 'nprocs'");
    return factor;
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool accept(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool accept_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    const std::size_t after = at_ + word.size();
    if (after < text_.size() && std::isalnum(static_cast<unsigned char>(text_[after])))
      return false;
    at_ = after;
    return true;
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(ErrorClass::section, "section '" + std::string(text_) + "', at character " +
                                         std::to_string(at_ + 1) + ": " + expected +
                                         "; the form is (lower:upper:stride, ...), 1-based and "
                                         "inclusive, with p for the rank and nprocs");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t p_, nprocs_;
};

std::string text_of(const Range& r) {
  std::string text = std::to_string(r.lower) + ":" + std::to_string(r.upper);
  if (r.stride != 1) text += ":" + std::to_string(r.stride);
  if (r.block != 1) text += " by " + std::to_string(r.block);
  return text;
}

std::string text_of(const IndexList& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i == 4 && list.size() > 6)
      return text + ", ... " + std::to_string(list.size()) + " indices]";
    text += (i == 0 ? "" : ", ") + std::to_string(list[i]);
  }
  return text + "]";
}

}  // namespace

Section Section::paper(std::string_view text, std::int64_t p, std::int64_t nprocs) {
  return inclusive(PaperReader(text, p, nprocs).read());
}

std::string Section::to_string() const {
  if (is_extents()) {
    std::string text = "{";
    for (std::size_t i = 0; i < extents_->size(); ++i) {
      if (i == 4 && extents_->size() > 6)
        return text + ", ... " + std::to_string(extents_->size()) + " extents}";
      text += (i == 0 ? "" : ", ") + std::to_string((*extents_)[i].begin) + ":" +
              std::to_string((*extents_)[i].end);
    }
    return text + "}";
  }
  std::string text = "(";
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    if (d > 0) text += ", ";
    text += std::visit([](const auto& indices) { return text_of(indices); }, dimensions_[d]);
  }
  return text + ")";
}

}  // namespace penstock
