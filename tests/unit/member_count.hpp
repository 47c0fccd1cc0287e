// Number of members of an aggregate: so that tables that lack a member do not compile.
#pragma once

#include <cstddef>
#include <utility>

namespace penstock {

struct AnyMember {
  template <class T>
  operator T() const;
};

template <class Aggregate, class Indices>
constexpr bool takes_members = false;
template <class Aggregate, std::size_t... I>
constexpr bool takes_members<Aggregate, std::index_sequence<I...>> =
    requires { Aggregate{(static_cast<void>(I), AnyMember())...}; };

template <class Aggregate, std::size_t count>
constexpr bool has_members = takes_members<Aggregate, std::make_index_sequence<count>> &&
                             !takes_members<Aggregate, std::make_index_sequence<count + 1>>;

}  // namespace penstock
