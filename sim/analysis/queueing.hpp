// Closed forms that simulated stations are held against: single queues, closed networks, order
// statistics. Sources are named at each formula; H = Harchol-Balter, "Performance Modeling and
// Design of Computer Systems" (2013). Answers are empty where the queue is not stable. Left out:
// priorities, finite buffers, several classes (sim/analysis has approximate MVA for those).
#pragma once
#include "sim/base/quantity.hpp"
#include "sim/base/time.hpp"
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace storlab {

struct OpenQueue {
    Iops arrivals;    // Poisson
    Duration service; // mean
    int servers = 1;
};
struct QueueAnswer {
    double utilisation = 0; // of each server
    Duration wait;          // mean, before service
    Duration response;      // mean, wait and service
    double in_system = 0;   // mean number, by Little's law
    double must_wait = 0;   // probability that an arrival finds no server free
};

// M/M/c, Erlang's C formula (H ch. 14); c = 1 gives M/M/1 (H ch. 13).
std::optional<QueueAnswer> mmc(const OpenQueue& queue);
std::optional<QueueAnswer> mm1(const OpenQueue& queue);
// M/G/1 FIFO by Pollaczek and Khinchine (H ch. 23): wait = rho / (1 - rho) x (1 + scv) / 2 x
// service. scv is the squared coefficient of variation of service: 0 constant (M/D/1), 1
// exponential.
std::optional<QueueAnswer> mg1(const OpenQueue& queue, double scv);
std::optional<QueueAnswer> md1(const OpenQueue& queue);
// M/G/1 processor sharing: response = service / (1 - rho), whatever the distribution (H ch. 30).
std::optional<QueueAnswer> mg1_ps(const OpenQueue& queue);
// Response percentile of M/M/1 FIFO, exponential with rate mu - lambda (H ch. 27).
std::optional<Duration> mm1_percentile(const OpenQueue& queue, double p);

struct ClosedStation {
    Duration service;  // mean per visit, exponential; for a delay station, of any distribution
    double visits = 1; // per request of the network
    int servers = 1;   // 0: a delay station (think time, wire), no queue
    std::string name = {};
};
struct ClosedAnswer {
    double throughput = 0; // requests of the network per second
    Duration response;     // mean of the whole round trip, delay stations included
    struct Station {
        double utilisation = 0; // busy servers / servers; mean number inside for a delay station
        double queue = 0;       // mean number inside
        Duration residence;     // mean per request of the network
    };
    std::vector<Station> stations;
};
// Exact mean value analysis (Reiser and Lavenberg, JACM 27, 1980): single servers and delays.
ClosedAnswer exact_mva(std::span<const ClosedStation> stations, int customers);
// The same and several servers at a station, by convolution (Buzen, CACM 16, 1973; for servers > 1
// with the capacity function of Reiser and Kobayashi 1975). All terms are positive, so nothing
// cancels.
ClosedAnswer convolution(std::span<const ClosedStation> stations, int customers);

// k-th smallest of n independent exponentials: mean x (H_n - H_(n-k)) (Renyi 1953); k = n is the
// maximum.
Duration exponential_order_mean(Duration mean, int n, int k);
Duration exponential_max_mean(Duration mean, int n);
// P(max of n <= x) = F(x)^n: the p-percentile of a request that waits for the slowest of n is the
// p^(1/n)-percentile of one.
double single_percentile_of_max(double p, int n);
Duration exponential_max_percentile(Duration mean, int n, double p);

} // namespace storlab
