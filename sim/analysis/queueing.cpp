#include "sim/analysis/queueing.hpp"
#include "sim/base/error.hpp"
#include <algorithm>
#include <cmath>

namespace storlab {

namespace {

struct Load {
    double offered = 0;     // mean number of busy servers, arrivals x service
    double utilisation = 0; // of each server
};
std::optional<Load> stable_load(const OpenQueue& queue) {
    STORLAB_ENSURE(queue.servers >= 1 && queue.service > Duration());
    const double offered = queue.arrivals.per_second() * queue.service.in_seconds();
    const double utilisation = offered / queue.servers;
    // Full load is no less full for having been rounded down in the last bit.
    if (!(utilisation < 1 - 1e-12) || offered < 0) return std::nullopt;
    return Load{offered, utilisation};
}

QueueAnswer answer_of(const OpenQueue& queue, const Load& load, Duration wait) {
    QueueAnswer answer;
    answer.utilisation = load.utilisation;
    answer.wait = wait;
    answer.response = wait + queue.service;
    answer.in_system = queue.arrivals.per_second() * answer.response.in_seconds();
    return answer;
}

double harmonic(int n) {
    double sum = 0;
    for (int i = n; i >= 1; --i) sum += 1.0 / i; // smallest first
    return sum;
}

} // namespace

std::optional<QueueAnswer> mmc(const OpenQueue& queue) {
    const auto load = stable_load(queue);
    if (!load) return std::nullopt;
    // Erlang B by its recursion in the number of servers, which never leaves [0, 1]; then C from B.
    double blocked = 1;
    for (int c = 1; c <= queue.servers; ++c)
        blocked = load->offered * blocked / (c + load->offered * blocked);
    const double must_wait = blocked / (1 - load->utilisation * (1 - blocked));
    const double factor = must_wait / (queue.servers * (1 - load->utilisation));
    QueueAnswer answer = answer_of(queue, *load, queue.service.scaled(factor));
    answer.must_wait = must_wait;
    return answer;
}

std::optional<QueueAnswer> mm1(const OpenQueue& queue) {
    STORLAB_ENSURE(queue.servers == 1);
    return mg1(queue, 1);
}

std::optional<QueueAnswer> mg1(const OpenQueue& queue, double scv) {
    STORLAB_ENSURE(queue.servers == 1 && scv >= 0);
    const auto load = stable_load(queue);
    if (!load) return std::nullopt;
    const double rho = load->utilisation;
    QueueAnswer answer =
        answer_of(queue, *load, queue.service.scaled(rho / (1 - rho) * (1 + scv) / 2));
    answer.must_wait = rho;
    return answer;
}

std::optional<QueueAnswer> md1(const OpenQueue& queue) { return mg1(queue, 0); }

std::optional<QueueAnswer> mg1_ps(const OpenQueue& queue) {
    STORLAB_ENSURE(queue.servers == 1);
    const auto load = stable_load(queue);
    if (!load) return std::nullopt;
    // Nobody waits for a server; "wait" is the time lost to sharing it.
    const double rho = load->utilisation;
    return answer_of(queue, *load, queue.service.scaled(rho / (1 - rho)));
}

std::optional<Duration> mm1_percentile(const OpenQueue& queue, double p) {
    STORLAB_ENSURE(p >= 0 && p < 1);
    const auto answer = mm1(queue);
    if (!answer) return std::nullopt;
    return answer->response.scaled(-std::log1p(-p));
}

ClosedAnswer exact_mva(std::span<const ClosedStation> stations, int customers) {
    STORLAB_ENSURE(customers >= 1 && !stations.empty());
    std::vector<double> queue(stations.size()), residence(stations.size());
    double throughput = 0, response = 0;
    for (int n = 1; n <= customers; ++n) {
        response = 0;
        for (size_t i = 0; i < stations.size(); ++i) {
            STORLAB_ENSURE(stations[i].servers <= 1);
            // Arrival theorem: who arrives sees the network with one customer less.
            const double seen = stations[i].servers == 0 ? 0 : queue[i];
            residence[i] = stations[i].visits * stations[i].service.in_seconds() * (1 + seen);
            response += residence[i];
        }
        STORLAB_ENSURE(response > 0);
        throughput = n / response;
        for (size_t i = 0; i < stations.size(); ++i) queue[i] = throughput * residence[i];
    }
    ClosedAnswer answer{throughput, Duration::seconds(response), {}};
    for (size_t i = 0; i < stations.size(); ++i) {
        const double demand = stations[i].visits * stations[i].service.in_seconds();
        answer.stations.push_back({throughput * demand, queue[i], Duration::seconds(residence[i])});
    }
    return answer;
}

namespace {

// Probabilities below are products of many factors: long double reaches 10^4932, and scaling
// demands by an upper bound of the throughput keeps the factors of queueing stations at or below
// one.
using Weights = std::vector<long double>;

// Weight of 0 .. n customers at one station: demand^j over the product of its speeds.
Weights station_weights(const ClosedStation& station, long double scaled_demand, int customers) {
    Weights weights(static_cast<size_t>(customers) + 1);
    weights[0] = 1;
    for (int j = 1; j <= customers; ++j) {
        const int busy = station.servers == 0 ? j : std::min(j, station.servers);
        weights[static_cast<size_t>(j)] =
            weights[static_cast<size_t>(j) - 1] * scaled_demand / static_cast<long double>(busy);
    }
    return weights;
}

Weights convolve(const Weights& a, const Weights& b) {
    Weights sum(a.size());
    for (size_t n = 0; n < a.size(); ++n)
        for (size_t j = 0; j <= n; ++j) sum[n] += a[j] * b[n - j];
    return sum;
}

} // namespace

ClosedAnswer convolution(std::span<const ClosedStation> stations, int customers) {
    STORLAB_ENSURE(customers >= 1 && !stations.empty());
    double whole = 0, slowest = 0;
    for (const ClosedStation& s : stations) {
        const double demand = s.visits * s.service.in_seconds();
        whole += demand;
        if (s.servers > 0) slowest = std::max(slowest, demand / s.servers);
    }
    STORLAB_ENSURE(whole > 0);
    const double bound = slowest > 0 ? std::min(customers / whole, 1 / slowest) : customers / whole;
    std::vector<Weights> own;
    for (const ClosedStation& s : stations)
        own.push_back(station_weights(s, s.visits * s.service.in_seconds() * bound, customers));
    // before[i]: all stations ahead of i; after: all behind it. Their product is the network
    // without i.
    const auto last = static_cast<size_t>(customers);
    Weights alone(last + 1);
    alone[0] = 1;
    std::vector<Weights> before{alone};
    for (const Weights& w : own) before.push_back(convolve(before.back(), w));
    const Weights all = before.back();
    STORLAB_ENSURE(std::isfinite(all[last]) && all[last] > 0);
    const auto throughput = static_cast<double>(all[last - 1] / all[last]) * bound;
    ClosedAnswer answer{throughput, Duration::seconds(customers / throughput), {}};
    answer.stations.resize(stations.size());
    Weights after = alone;
    for (size_t i = stations.size(); i-- > 0;) {
        const Weights others = convolve(before[i], after);
        long double queue = 0;
        for (size_t j = 1; j <= last; ++j)
            queue += static_cast<long double>(j) * own[i][j] * others[last - j] / all[last];
        ClosedAnswer::Station& out = answer.stations[i];
        out.queue = static_cast<double>(queue);
        out.residence = Duration::seconds(out.queue / throughput);
        const double demand = stations[i].visits * stations[i].service.in_seconds();
        out.utilisation = throughput * demand / std::max(1, stations[i].servers);
        after = convolve(after, own[i]);
    }
    return answer;
}

Duration exponential_order_mean(Duration mean, int n, int k) {
    STORLAB_ENSURE(n >= 1 && k >= 1 && k <= n);
    return mean.scaled(harmonic(n) - harmonic(n - k));
}

Duration exponential_max_mean(Duration mean, int n) { return exponential_order_mean(mean, n, n); }

double single_percentile_of_max(double p, int n) {
    STORLAB_ENSURE(p > 0 && p < 1 && n >= 1);
    return std::pow(p, 1.0 / n);
}

Duration exponential_max_percentile(Duration mean, int n, double p) {
    // 1 - p^(1/n) = -expm1(log(p) / n), without the cancellation.
    STORLAB_ENSURE(p > 0 && p < 1 && n >= 1);
    return mean.scaled(-std::log(-std::expm1(std::log(p) / n)));
}

} // namespace storlab
