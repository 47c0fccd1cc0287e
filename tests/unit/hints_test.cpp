#include <gtest/gtest.h>

#include <penstock/error.hpp>
#include <penstock/hints.hpp>

#include "plan/hint_table.hpp"
#include "unit/member_count.hpp"

using namespace penstock;

namespace {

std::string message(const std::string& name, const std::string& value) {
  try {
    Hints().set({{name, value}});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// A value that is not the default, for each kind of hint.
std::string another_value(const HintDescription& hint) {
  if (!hint.choices.empty()) return std::string(hint.choices.back());
  if (hint.name == "io_thread") return "nice=17";
  return hint.minimum ? "17" : "fault:sync@0=EIO";
}

TEST(Hints, TableHasARowForEachMember) {
  static_assert(has_members<Hints, 17>);
  EXPECT_EQ(hint_table().size(), 17u);
  // Each row has a member of its own: setting one name changes nothing else.
  const auto defaults = Hints().text();
  for (const HintDescription& hint : describe_hints()) {
    Hints hints;
    hints.set({{hint.name, another_value(hint)}});
    for (const auto& [name, value] : hints.text())
      EXPECT_EQ(value != defaults.at(name), name == hint.name) << hint.name << ", " << name;
  }
}

TEST(Hints, ReadWhatTheyPrint) {
  Hints hints;
  hints.set({{"method", "two-phase"},
             {"buffer_size", "16M"},
             {"aggregators", "3"},
             {"domains", "block-cyclic"},
             {"stripe_size", "1M"},
             {"sieve_writes", "never"},
             {"locks", "never"},
             {"io_thread", "nice=7,core=0"},
             {"io_depth", "1024"},
             {"device", "paced:seed=1"}});
  EXPECT_EQ(hints.buffer_size, 16 << 20);
  EXPECT_EQ(hints.io_depth, 1024);
  Hints again;
  again.set(hints.text());
  EXPECT_EQ(again, hints);
  Hints defaults;
  defaults.set(Hints().text());
  EXPECT_EQ(defaults, Hints());
}

TEST(Hints, IoThreadIsReadInAnyOrderAndPrintedInOne) {
  for (const auto& [given, printed] : {std::pair{"auto", "auto"},
                                       {"batch", "batch"},
                                       {"core=3,other", "other,core=3"},
                                       {"core=0,nice=19,batch", "batch,nice=19,core=0"},
                                       {"nice=0", "auto"}}) {
    Hints hints;
    hints.set({{"io_thread", given}});
    EXPECT_EQ(hints.text().at("io_thread"), printed) << given;
  }
}

TEST(Hints, AutomaticValuesArePrintedWhereTheyAreNumbersThatMayBeGiven) {
  Hints hints;
  hints.set({{"aggregators", "auto"},
             {"buffer_size", "auto"},
             {"io_thread", "auto"},
             {"io_depth", "auto"}});
  EXPECT_EQ(hints, Hints());
  const auto text = hints.text();
  for (const char* name : {"aggregators", "buffer_size", "io_thread"})
    EXPECT_EQ(text.at(name), "auto") << name;
  EXPECT_EQ(text.at("io_depth"), "8");
}

TEST(Hints, SayWhichValueAndWhatIsKnown) {
  EXPECT_EQ(message("method", "fast"),
            "method 'fast' is not known; known are auto, direct, sieved, gather, two-phase, "
            "extended");
  EXPECT_NE(message("buffer_size", "many").find("buffer_size: 'many'"), std::string::npos);
  EXPECT_NE(message("buffer_size", "0").find("at least one element"), std::string::npos);
  EXPECT_EQ(message("aggregators", "0"),
            "aggregators must be a number of at least 1 (ranks), or auto; not '0'");
  EXPECT_EQ(message("io_depth", "1025"),
            "io_depth must be a number from 1 to 1024 (pieces), or auto; not '1025'");
  EXPECT_EQ(
      message("io_thread", "nice=20"),
      "io_thread must be auto, or some of other or batch, nice=0 to 19 and core=0 to 1023, with "
      "commas between, each once; not 'nice=20'");
  for (const char* value : {"", ",", "batch,", "batch,other", "nice=1,nice=1", "core=", "core=-1",
                            "core=1024", "idle", "auto,nice=1", " batch"})
    EXPECT_NE(message("io_thread", value), "") << value;
  EXPECT_EQ(message("stagger", "1s"),
            "stagger must be a number from 0 to 60000000 (microseconds); not '1s'");
  for (const char* value : {"0", "-1", "x", "", "3x", "99999999999999999999"})
    EXPECT_NE(message("aggregators", value), "") << value;
}

TEST(Hints, SayWhichNameAndWhatMayBeMeant) {
  std::string known;
  for (const HintDescription& hint : describe_hints())
    known += (known.empty() ? "" : ", ") + hint.name;
  EXPECT_EQ(
      message("bufer_size", "4M"),
      "there is no hint 'bufer_size'; did you mean buffer_size? docs/hints.md describes all: " +
          known);
  EXPECT_EQ(message("cb_nodes", "4"),
            "there is no hint 'cb_nodes'; docs/hints.md describes all: " + known);
  for (const auto& [name, meant] : {std::pair{"Method", "method"},
                                    {"metohd", "method"},
                                    {"lock", "locks"},
                                    {"aggregator", "aggregators"},
                                    {"exchnages", "exchange"}})
    EXPECT_NE(message(name, "auto").find("mean " + std::string(meant) + "?"), std::string::npos)
        << name;
  for (const char* const name : {"", "x", "romio_cb_write"})
    EXPECT_EQ(message(name, "auto").find("did you mean"), std::string::npos) << name;
  EXPECT_THROW(static_cast<void>(Hints().text("metod")), Error);
  EXPECT_EQ(Hints().text("io_depth"), "8");
}

TEST(Hints, AreSplitAsPeopleWriteThem) {
  using Split = std::map<std::string, std::string>;
  EXPECT_EQ(split_hints(" method = direct;;device=fault:write@0=EIO ; locks="),
            (Split{{"method", "direct"}, {"device", "fault:write@0=EIO"}, {"locks", ""}}));
  EXPECT_EQ(split_hints(""), Split());
  for (const char* const text : {"method", "=direct", "method=direct; ;x"})
    EXPECT_THROW(static_cast<void>(split_hints(text)), Error) << text;
}

TEST(Hints, RanksMayDifferInTheirThreadsAndFaultsOnly) {
  for (const HintDescription& hint : describe_hints()) {
    const bool own = hint.name == "device" || hint.name == "io_thread";
    EXPECT_EQ(must_be_common(hint.name), !own) << hint.name;
    EXPECT_EQ(hint.common, !own) << hint.name;
  }
}

TEST(Hints, ACallChangesNoSettingOfTheFile) {
  for (const HintDescription& hint : describe_hints()) {
    Hints call;
    call.set({{hint.name, another_value(hint)}});
    const bool of_file = hint.scope == HintScope::file;
    if (of_file) EXPECT_THROW(static_cast<void>(hints_of_call(call, Hints())), Error) << hint.name;
    else EXPECT_EQ(hints_of_call(call, Hints()), call) << hint.name;
    EXPECT_EQ(hints_of_call(call, call), call) << "it is what the file has: " << hint.name;
    EXPECT_EQ(hints_of_call(Hints(), call), call) << "nothing is asked: " << hint.name;
  }
}

TEST(Hints, ACallHasThoseOfItsFileButForWhatItGives) {
  Hints file, call;
  file.set({{"aggregators", "2"}, {"buffer_size", "1M"}, {"method", "gather"}});
  call.set({{"aggregators", "auto"}, {"method", "extended"}});
  const Hints both = hints_of_call(call, file);
  EXPECT_EQ(both.aggregators, 0) << "auto can be given, too";
  EXPECT_EQ(both.buffer_size, 1 << 20);
  EXPECT_EQ(both.method, Method::extended);
  Hints assigned;  // as C++ programs do
  assigned.aggregators = 0;
  assigned.method = Method::extended;
  EXPECT_EQ(hints_of_call(assigned, file), both);
  Hints whole = both;
  EXPECT_EQ(hints_of_call(whole, file), both);
}

TEST(Hints, DescriptionsHaveDefaultsAsPeopleWriteThem) {
  std::map<std::string, std::string> defaults;
  for (const HintDescription& hint : describe_hints()) defaults[hint.name] = hint.default_value;
  EXPECT_EQ(defaults["active_buffer_size"], "64M");
  EXPECT_EQ(defaults["stripe_size"], "0");
  EXPECT_EQ(defaults["buffer_size"], "auto");
  EXPECT_EQ(defaults["io_depth"], "8");
}

TEST(Hints, DescriptionsAreWhole) {
  for (const HintDescription& hint : describe_hints()) {
    EXPECT_FALSE(hint.values.empty()) << hint.name;
    EXPECT_TRUE(hint.help.ends_with('.')) << hint.name;
    Hints hints;
    hints.set({{hint.name, hint.default_value}});
    EXPECT_EQ(hints, Hints()) << hint.name;
    for (const std::string_view choice : hint.choices)
      EXPECT_EQ(message(hint.name, std::string(choice)), "") << hint.name;
    if (hint.maximum) {
      EXPECT_EQ(message(hint.name, std::to_string(*hint.maximum)), "");
      EXPECT_NE(message(hint.name, std::to_string(*hint.maximum + 1)), "");
    }
    if (hint.minimum) {
      EXPECT_EQ(message(hint.name, std::to_string(*hint.minimum)), "");
      EXPECT_NE(message(hint.name, std::to_string(*hint.minimum - 1)), "");
    }
  }
}

}  // namespace
