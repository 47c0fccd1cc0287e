#pragma once

namespace penstock {

enum class Direction { read, write };

}  // namespace penstock
