// Everything: #include <penstock/penstock.hpp>
#pragma once
#include <penstock/array_file.hpp>
#include <penstock/costs.hpp>
#include <penstock/distribution.hpp>
#include <penstock/element_type.hpp>
#include <penstock/error.hpp>
#include <penstock/explain.hpp>
#include <penstock/fields_file.hpp>
#include <penstock/file_system.hpp>
#include <penstock/first_rank.hpp>
#include <penstock/handle.hpp>
#include <penstock/hints.hpp>
#include <penstock/out_of_core.hpp>
#include <penstock/section.hpp>
#include <penstock/statistics.hpp>
#include <penstock/tile_budget.hpp>
#include <penstock/tiling.hpp>
