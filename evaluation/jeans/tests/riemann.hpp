// The exact solution of Riemann's problem for an ideal gas, where both sides are gas (Toro, Riemann
// Solvers and Numerical Methods for Fluid Dynamics, chapter 4).
#pragma once

#include <cmath>

namespace jeans::tests {

class Riemann {
 public:
  struct State {
    double rho, u, p;
  };
  Riemann(const State& left, const State& right, double gamma)
      : left_(left), right_(right), gamma_(gamma) {
    double low = 1e-9, high = 1e3;  // the pressure between the waves, by bisection
    for (int i = 0; i < 200; ++i) {
      p_ = 0.5 * (low + high);
      (jump(left, p_) + jump(right, p_) + right.u - left.u > 0 ? high : low) = p_;
    }
    u_ = 0.5 * (left.u + right.u) + 0.5 * (jump(right, p_) - jump(left, p_));
  }

  /// At x / t.
  State at(double speed) const {
    if (speed <= u_) return beside(left_, speed, -1);
    return beside(right_, speed, 1);
  }

 private:
  double sound(const State& s) const { return std::sqrt(gamma_ * s.p / s.rho); }

  /// Change of velocity through the wave beside `s` to pressure p.
  double jump(const State& s, double p) const {
    if (p > s.p)
      return (p - s.p) *
             std::sqrt(2 / ((gamma_ + 1) * s.rho) / (p + (gamma_ - 1) / (gamma_ + 1) * s.p));
    return 2 * sound(s) / (gamma_ - 1) * (std::pow(p / s.p, (gamma_ - 1) / (2 * gamma_)) - 1);
  }

  State beside(const State& s, double speed, int side) const {
    const double c = sound(s), ratio = p_ / s.p, g = (gamma_ - 1) / (gamma_ + 1);
    if (p_ > s.p) {
      const double shock =
          s.u +
          side * c * std::sqrt((gamma_ + 1) / (2 * gamma_) * ratio + (gamma_ - 1) / (2 * gamma_));
      return side * (speed - shock) > 0 ? s : State{s.rho * (ratio + g) / (g * ratio + 1), u_, p_};
    }
    const double behind = c * std::pow(ratio, (gamma_ - 1) / (2 * gamma_));
    if (side * (speed - (s.u + side * c)) > 0) return s;
    if (side * (speed - (u_ + side * behind)) < 0)
      return {s.rho * std::pow(ratio, 1 / gamma_), u_, p_};
    const double fan = 2 / (gamma_ + 1) - side * g / c * (s.u - speed);
    return {s.rho * std::pow(fan, 2 / (gamma_ - 1)),
            2 / (gamma_ + 1) * (-side * c + (gamma_ - 1) / 2 * s.u + speed),
            s.p * std::pow(fan, 2 * gamma_ / (gamma_ - 1))};
  }

  State left_, right_;
  double gamma_, p_ = 0, u_ = 0;
};

}  // namespace jeans::tests
