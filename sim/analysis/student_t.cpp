// Student's t by the regularised incomplete beta function (Abramowitz and Stegun 26.7.1 and 26.5.8,
// the continued fraction evaluated by Lentz's method); the inverse by bisection.
#include "sim/analysis/steady.hpp"
#include "sim/base/error.hpp"
#include <cmath>

namespace storlab {

namespace {

// The continued fraction of I_x(a, b) converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
    constexpr double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (std::abs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 10000; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step = 1;
        for (const double term : {even, odd}) {
            d = 1 + term * d;
            d = 1 / (std::abs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            if (std::abs(c) < tiny) c = tiny;
            step = c * d;
            value *= step;
        }
        if (std::abs(step - 1) < 1e-15) break;
    }
    return value;
}

double incomplete_beta(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                  a * std::log(x) + b * std::log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

} // namespace

double student_t_cdf(double t, double degrees) {
    STORLAB_ENSURE(degrees > 0);
    const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
    return t > 0 ? 1 - tail : tail;
}

double student_t_quantile(double p, double degrees) {
    STORLAB_ENSURE(p > 0 && p < 1);
    if (p < 0.5) return -student_t_quantile(1 - p, degrees);
    double low = 0, high = 1;
    while (student_t_cdf(high, degrees) < p) high *= 2;
    for (int i = 0; i < 80 && high - low > 1e-13 * high; ++i) {
        const double middle = (low + high) / 2;
        (student_t_cdf(middle, degrees) < p ? low : high) = middle;
    }
    return (low + high) / 2;
}

} // namespace storlab
