// What the pointers of the C interface point at.
#pragma once

#include <penstock/penstock.h>

#include <map>
#include <string>

#include <penstock/array_file.hpp>

namespace penstock::c {

/// "name=value;name=value" on top of `hints`. Throws Error(argument) for what is no hint.
Hints with_settings(Hints hints, const char* settings);

}  // namespace penstock::c

struct penstock_file {
  explicit penstock_file(penstock::ArrayFile opened);

  penstock::ArrayFile array;
  std::string order, container;              // what penstock_describe points at
  std::map<std::string, std::string> hints;  // what penstock_hint points at
};

struct penstock_handle {
  penstock::Handle begun;
};
