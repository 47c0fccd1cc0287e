// The objects behind the pointers of the C interface.
#pragma once

#include <penstock/penstock.h>

#include <map>
#include <string>
#include <vector>

#include <penstock/array_file.hpp>

struct penstock_file {
  explicit penstock_file(penstock::ArrayFile opened);

  penstock::ArrayFile array;
  std::string order, container;                      // referenced by penstock_describe
  mutable std::map<std::string, std::string> hints;  // referenced by penstock_hint
  penstock_chunks chunks{};                          // of a Zarr array; references:
  penstock::ChunkSpec chunk_spec;
  std::vector<const char*> dimension_names;
  std::string attributes;  // referenced by penstock_attributes
};

struct penstock_handle {
  penstock::Handle begun;
};
