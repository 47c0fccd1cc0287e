// What the pointers of the C interface point at.
#pragma once

#include <penstock/penstock.h>

#include <map>
#include <string>
#include <vector>

#include <penstock/array_file.hpp>

struct penstock_file {
  explicit penstock_file(penstock::ArrayFile opened);

  penstock::ArrayFile array;
  std::string order, container;                      // what penstock_describe points at
  mutable std::map<std::string, std::string> hints;  // what penstock_hint points at
  penstock_chunks chunks{};                          // of a Zarr array; and what it points at:
  penstock::ChunkSpec chunk_spec;
  std::vector<const char*> dimension_names;
  std::string attributes;  // what penstock_attributes points at
};

struct penstock_handle {
  penstock::Handle begun;
};
