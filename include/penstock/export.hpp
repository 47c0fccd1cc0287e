#pragma once
#define PENSTOCK_EXPORT __attribute__((visibility("default")))
