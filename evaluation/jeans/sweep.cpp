#include "sweep.hpp"

#include <algorithm>
#include <cmath>

#include "gas.hpp"

namespace jeans {
namespace {

// A shock is where the pressure of the neighbours differs by a third of the lesser; it is flattened
// where it is steep over four cells (Colella and Woodward, appendix A.1).
constexpr double shock_jump = 1.0 / 3, steep_from = 0.75, steep_rate = 10;
constexpr double least_pressure = 1e-12;

/// Parabola of a variable in a cell, to be averaged over what a wave carries to a face in a time
/// step.
struct Parabola {
  double left, right, mean;

  double to_right_face(double cells) const noexcept {
    const double rise = right - left, a6 = 6 * (mean - 0.5 * (left + right));
    return right - 0.5 * cells * (rise - (1 - 2.0 / 3 * cells) * a6);
  }
  double to_left_face(double cells) const noexcept {
    const double rise = right - left, a6 = 6 * (mean - 0.5 * (left + right));
    return left + 0.5 * cells * (rise + (1 - 2.0 / 3 * cells) * a6);
  }
};

struct State {
  double rho, u, v, w, p;
};

struct Flux {
  double mass, along, across_1, across_2, energy;
};

Flux flux_of(const State& s, double energy) noexcept {
  const double mass = s.rho * s.u;
  return {mass, mass * s.u + s.p, mass * s.v, mass * s.w, (energy + s.p) * s.u};
}

/// Beside the contact, which moves at `contact`, behind the wave that moves at `speed`.
Flux star_flux(const State& s, double energy, double speed, double contact) noexcept {
  const Flux f = flux_of(s, energy);
  const double rho = s.rho * (speed - s.u) / (speed - contact);
  const double e =
      rho * (energy / s.rho + (contact - s.u) * (contact + s.p / (s.rho * (speed - s.u))));
  return {f.mass + speed * (rho - s.rho), f.along + speed * (rho * contact - s.rho * s.u),
          f.across_1 + speed * (rho - s.rho) * s.v, f.across_2 + speed * (rho - s.rho) * s.w,
          f.energy + speed * (e - energy)};
}

Flux hllc(const State& l, const State& r, double gamma) noexcept {
  const double c_l = std::sqrt(gamma * l.p / l.rho), c_r = std::sqrt(gamma * r.p / r.rho);
  const double to_left = std::min(l.u - c_l, r.u - c_r), to_right = std::max(l.u + c_l, r.u + c_r);
  const auto total = [&](const State& s) {
    return s.p / (gamma - 1) + 0.5 * s.rho * (s.u * s.u + s.v * s.v + s.w * s.w);
  };
  if (to_left >= 0) return flux_of(l, total(l));
  if (to_right <= 0) return flux_of(r, total(r));
  const double mass_l = l.rho * (to_left - l.u), mass_r = r.rho * (to_right - r.u);
  const double contact = (r.p - l.p + mass_l * l.u - mass_r * r.u) / (mass_l - mass_r);
  return contact >= 0 ? star_flux(l, total(l), to_left, contact)
                      : star_flux(r, total(r), to_right, contact);
}

}  // namespace

Sweep::Sweep(std::int64_t cells, double gamma)
    : cells_(cells), length_(cells + 2 * hydro_ghosts), gamma_(gamma) {
  const auto n = static_cast<std::size_t>(length_);
  for (auto& row : conserved) row.resize(n);
  for (Rows* rows : {&w_, &left_, &right_, &before_, &behind_, &flux_})
    for (auto& row : *rows) row.resize(n);
  for (auto* row : {&steepness_, &flat_, &slope_, &face_, &sound_}) row->resize(n);
}

void Sweep::advance(double step_by_spacing) {
  primitives();
  flattening();
  for (int v = 0; v < variables; ++v) parabola(w_[v], left_[v], right_[v]);
  trace(step_by_spacing);
  fluxes();
  for (int v = 0; v < variables; ++v)
    for (std::int64_t i = hydro_ghosts; i < hydro_ghosts + cells_; ++i)
      conserved[v][i] -= step_by_spacing * (flux_[v][i] - flux_[v][i - 1]);
}

void Sweep::primitives() {
  for (std::int64_t i = 0; i < length_; ++i) {
    const double mass = conserved[rho][i], by_mass = 1 / mass;
    const double u = conserved[along][i] * by_mass, v = conserved[across_1][i] * by_mass,
                 w = conserved[across_2][i] * by_mass;
    const double p = (gamma_ - 1) * (conserved[pressure][i] - 0.5 * mass * (u * u + v * v + w * w));
    w_[rho][i] = mass;
    w_[along][i] = u;
    w_[across_1][i] = v;
    w_[across_2][i] = w;
    w_[pressure][i] = std::max(p, least_pressure);
    sound_[i] = std::sqrt(gamma_ * w_[pressure][i] * by_mass);
  }
}

/// How much of the parabola is left: 1 in smooth flow, 0 in a steep shock.
void Sweep::flattening() {
  const std::vector<double>&p = w_[pressure], &u = w_[along];
  for (std::int64_t i = 2; i < length_ - 2; ++i) {
    const double near = p[i + 1] - p[i - 1], far = p[i + 2] - p[i - 2];
    const bool shock =
        std::abs(near) > shock_jump * std::min(p[i + 1], p[i - 1]) && u[i - 1] > u[i + 1];
    const double ratio = far == 0 ? 1.0 : near / far;
    steepness_[i] = shock ? std::clamp((ratio - steep_from) * steep_rate, 0.0, 1.0) : 0.0;
  }
  for (std::int64_t i = 3; i < length_ - 3; ++i) {
    const std::int64_t ahead = p[i + 1] < p[i - 1] ? i + 1 : i - 1;
    flat_[i] = 1 - std::max(steepness_[i], steepness_[ahead]);
  }
}

void Sweep::parabola(const std::vector<double>& a, std::vector<double>& left,
                     std::vector<double>& right) {
  for (std::int64_t i = 1; i < length_ - 1; ++i) {
    const double below = a[i] - a[i - 1], above = a[i + 1] - a[i], mean = 0.5 * (below + above);
    const double limit = std::min(std::abs(mean), 2 * std::min(std::abs(below), std::abs(above)));
    slope_[i] = below * above > 0 ? std::copysign(limit, mean) : 0.0;
  }
  for (std::int64_t i = 1; i < length_ - 2; ++i)
    face_[i] = 0.5 * (a[i] + a[i + 1]) - (slope_[i + 1] - slope_[i]) / 6;
  for (std::int64_t i = 3; i < length_ - 3; ++i) {
    double l = face_[i - 1], r = face_[i];
    const double rise = r - l, bend = rise * (a[i] - 0.5 * (l + r)), most = rise * rise / 6;
    const bool extreme = (r - a[i]) * (a[i] - l) <= 0;
    const double steep_l = 3 * a[i] - 2 * r, steep_r = 3 * a[i] - 2 * l;
    l = extreme ? a[i] : (bend > most ? steep_l : l);
    r = extreme ? a[i] : (bend < -most ? steep_r : r);
    left[i] = a[i] + flat_[i] * (l - a[i]);
    right[i] = a[i] + flat_[i] * (r - a[i]);
  }
}

/// Time-averaged states at the faces: of each wave that reaches a face, what it carries there.
void Sweep::trace(double step_by_spacing) {
  for (std::int64_t i = 3; i < length_ - 3; ++i) {
    const auto of = [&](Variable v) { return Parabola{left_[v][i], right_[v][i], w_[v][i]}; };
    const double u = w_[along][i], c = sound_[i], mass = w_[rho][i], impedance = mass * c,
                 by_c2 = 1 / (c * c);
    const Parabola r = of(rho), n = of(along), p = of(pressure);
    const auto cells = [&](double speed) { return std::max(speed, 0.0) * step_by_spacing; };
    {  // The face after the cell: u + c is the reference, and the others' differences are taken
       // off.
      const double fast = cells(u + c), flow = cells(u), slow = cells(u - c);
      const double r0 = r.to_right_face(fast), n0 = n.to_right_face(fast),
                   p0 = p.to_right_face(fast);
      const double dp_slow = p0 - p.to_right_face(slow), dn_slow = n0 - n.to_right_face(slow);
      const double minus = u > c ? 0.5 * by_c2 * (dp_slow - impedance * dn_slow) : 0.0;
      const double entropy =
          u > 0 ? (r0 - r.to_right_face(flow)) - by_c2 * (p0 - p.to_right_face(flow)) : 0.0;
      before_[rho][i] = r0 - minus - entropy;
      before_[along][i] = n0 + minus * c / mass;
      before_[pressure][i] = p0 - minus * c * c;
      before_[across_1][i] = of(across_1).to_right_face(flow);
      before_[across_2][i] = of(across_2).to_right_face(flow);
    }
    {  // The face before it: u - c is the reference.
      const double fast = cells(c - u), flow = cells(-u), slow = cells(-u - c);
      const double r0 = r.to_left_face(fast), n0 = n.to_left_face(fast), p0 = p.to_left_face(fast);
      const double dp_slow = p0 - p.to_left_face(slow), dn_slow = n0 - n.to_left_face(slow);
      const double plus = -u > c ? 0.5 * by_c2 * (dp_slow + impedance * dn_slow) : 0.0;
      const double entropy =
          u < 0 ? (r0 - r.to_left_face(flow)) - by_c2 * (p0 - p.to_left_face(flow)) : 0.0;
      behind_[rho][i - 1] = r0 - plus - entropy;
      behind_[along][i - 1] = n0 - plus * c / mass;
      behind_[pressure][i - 1] = p0 - plus * c * c;
      behind_[across_1][i - 1] = of(across_1).to_left_face(flow);
      behind_[across_2][i - 1] = of(across_2).to_left_face(flow);
    }
  }
}

void Sweep::fluxes() {
  const auto state = [&](const Rows& face, std::int64_t i, std::int64_t cell) {
    // Where waves cancel to less than nothing, the cell's mean has to do.
    const bool good = face[rho][i] > 0 && face[pressure][i] > 0;
    return good ? State{face[rho][i], face[along][i], face[across_1][i], face[across_2][i],
                        face[pressure][i]}
                : State{w_[rho][cell], w_[along][cell], w_[across_1][cell], w_[across_2][cell],
                        w_[pressure][cell]};
  };
  for (std::int64_t i = hydro_ghosts - 1; i < hydro_ghosts + cells_; ++i) {
    const Flux f = hllc(state(before_, i, i), state(behind_, i, i + 1), gamma_);
    flux_[rho][i] = f.mass;
    flux_[along][i] = f.along;
    flux_[across_1][i] = f.across_1;
    flux_[across_2][i] = f.across_2;
    flux_[pressure][i] = f.energy;
  }
}

}  // namespace jeans
