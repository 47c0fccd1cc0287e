#include <gtest/gtest.h>

#include <penstock/error.hpp>
#include <penstock/hints.hpp>

using namespace penstock;

namespace {

TEST(Hints, ReadWhatTheyPrint) {
  Hints hints;
  hints.set({{"method", "two-phase"},
             {"buffer_size", "16M"},
             {"aggregators", "3"},
             {"domains", "block-cyclic"},
             {"stripe_size", "1M"},
             {"sieve_writes", "never"},
             {"locks", "never"}});
  EXPECT_EQ(hints.buffer_size, 16 << 20);
  Hints again;
  again.set(hints.text());
  EXPECT_EQ(again, hints);
  Hints defaults;
  defaults.set(Hints().text());
  EXPECT_EQ(defaults, Hints());
}

TEST(Hints, SayWhichValueAndWhatIsKnown) {
  const auto message = [](const std::string& name, const std::string& value) -> std::string {
    try {
      Hints().set({{name, value}});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("method", "fast").find("direct, sieved, gather, two-phase, extended"),
            std::string::npos);
  EXPECT_NE(message("buffer_size", "many").find("buffer_size: 'many'"), std::string::npos);
  for (const char* value : {"0", "-1", "x", ""})
    EXPECT_NE(message("aggregators", value), "") << value;
}

TEST(Hints, UnknownNamesAreReportedNotRefused) {
  std::vector<std::string> unknown;
  Hints().set({{"cb_nodes", "4"}, {"method", "auto"}}, &unknown);
  EXPECT_EQ(unknown, (std::vector<std::string>{"cb_nodes"}));
}

}  // namespace
