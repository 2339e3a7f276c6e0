#include "sim/analysis/queueing.hpp"
#include "sim/base/random.hpp"
#include "sim/kernel/shared_station.hpp"
#include "sim/kernel/station.hpp"
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <functional>
#include <string>
#include <vector>

using namespace storlab;

namespace {

constexpr int replications = 20;
constexpr double t_99 = 2.861; // Student's t, 19 degrees of freedom, two-sided 99%
const Duration mean_service = Duration::us(10);

Duration exponential(Random& r, Duration mean) { return mean.scaled(-std::log1p(-r.uniform())); }

// The mean of independent replications. One run gives several measures at once.
class Estimate {
public:
    void add(double x) { all_.push_back(x); }
    double mean() const {
        double sum = 0;
        for (const double x : all_) sum += x;
        return sum / static_cast<double>(all_.size());
    }
    double half_width() const {
        double squares = 0;
        for (const double x : all_) squares += (x - mean()) * (x - mean());
        const auto n = static_cast<double>(all_.size());
        return t_99 * std::sqrt(squares / (n - 1) / n);
    }

private:
    std::vector<double> all_;
};
void check(const Estimate& e, double expected, double tight = 0.02) {
    INFO("mean " << e.mean() << " +- " << e.half_width() << ", expected " << expected);
    CHECK(std::abs(e.mean() - expected) <= e.half_width());
    CHECK(e.half_width() < tight * expected);
}

using Service = std::function<Duration(Random&)>;
Duration constant(Random&) { return mean_service; }
Duration memoryless(Random& r) { return exponential(r, mean_service); }
// Two branches with balanced means; scv 4.
Duration hyperexponential(Random& r) {
    const double p = 0.5 * (1 + std::sqrt(0.6));
    const bool short_one = r.uniform() < p;
    return exponential(r, mean_service.scaled(0.5 / (short_one ? p : 1 - p)));
}

struct Measures {
    Estimate response_us, utilisation;
};
// Poisson arrivals at a station whose completion dates are known at arrival.
template <class MakeStation>
Measures open_fifo(const std::string& name, MakeStation make, OpenQueue q, Service service,
                   int customers) {
    Measures m;
    for (int i = 0; i < replications; i++) {
        Random random(static_cast<uint64_t>(i), name);
        auto station = make();
        Instant now, since;
        StationCount warm;
        const Duration gap = Duration::seconds(1 / q.arrivals.per_second());
        for (int n = 0; n < customers; n++) {
            if (n == customers / 10) warm = station.count(), since = now;
            now += exponential(random, gap);
            station.serve(now, service(random));
        }
        const StationCount count = station.count() - warm;
        m.response_us.add(count.sojourn.in_us() / static_cast<double>(count.served));
        m.utilisation.add(count.busy / (now - since) / q.servers);
    }
    return m;
}

OpenQueue load(double utilisation, int servers = 1) {
    return {Iops(utilisation * servers / mean_service.in_seconds()), mean_service, servers};
}

// Poisson arrivals at a processor-sharing server.
Measures open_shared(const std::string& name, OpenQueue q, Service service, uint64_t customers) {
    struct Source : Event {
        Calendar calendar;
        SharedStation station{calendar, [](uint32_t n) { return 1.0 / n; }};
        Random random;
        Service service;
        Duration gap;
        std::deque<Event> all;
        uint64_t arrived = 0;
        Source(uint64_t seed, const std::string& stream) : random(seed, stream) {}
    };
    Measures m;
    for (int i = 0; i < replications; i++) {
        Source s(static_cast<uint64_t>(i), name);
        s.service = service;
        s.gap = Duration::seconds(1 / q.arrivals.per_second());
        s.phase = Phase::arrival;
        s.fire = [](Event& e) {
            auto& source = static_cast<Source&>(e);
            Event& customer = source.all.emplace_back();
            customer.fire = [](Event&) {};
            source.station.arrive(customer, source.service(source.random));
            source.arrived++;
            source.calendar.schedule(source, source.calendar.now() +
                                                 exponential(source.random, source.gap));
        };
        s.calendar.schedule(s, Instant());
        StationCount warm;
        Instant since;
        while (s.station.count().served < customers) {
            Event* const e = s.calendar.pop(Instant::never());
            e->fire(*e);
            if (s.station.count().served <= customers / 10)
                warm = s.station.count(), since = s.calendar.now();
        }
        const StationCount count = s.station.count() - warm;
        m.response_us.add(count.sojourn.in_us() / static_cast<double>(count.served));
        m.utilisation.add(count.busy / (s.calendar.now() - since));
    }
    return m;
}

} // namespace

TEST_CASE("M/M/1: response and utilisation of a FIFO station are the closed form's") {
    for (const double rho : {0.3, 0.6, 0.8}) {
        const auto expected = mm1(load(rho));
        const Measures m = open_fifo(
            "mm1", [] { return FifoStation(); }, load(rho), memoryless,
            rho > 0.7 ? 800'000 : 200'000);
        check(m.response_us, expected->response.in_us());
        check(m.utilisation, rho);
    }
}

TEST_CASE("M/D/1 and M/G/1: a FIFO station follows Pollaczek and Khinchine") {
    const auto make = [] { return FifoStation(); };
    check(open_fifo("md1", make, load(0.7), constant, 200'000).response_us,
          md1(load(0.7))->response.in_us());
    check(open_fifo("mg1", make, load(0.6), hyperexponential, 800'000).response_us,
          mg1(load(0.6), 4)->response.in_us());
}

TEST_CASE("M/M/c: several servers with one queue follow Erlang's C formula") {
    for (const int c : {2, 8, 30}) {
        const auto expected = mmc(load(0.8, c));
        const Measures m = open_fifo(
            "mmc", [c] { return MultiServerStation(static_cast<uint32_t>(c)); }, load(0.8, c),
            memoryless, 600'000);
        check(m.response_us, expected->response.in_us());
        check(m.utilisation, 0.8);
    }
}

TEST_CASE("M/G/1 processor sharing: only the mean of the service matters") {
    const OpenQueue q = load(0.6);
    const auto expected = mg1_ps(q);
    CHECK(expected->response.in_us() == Approx(25));
    for (const auto& [name, service] : std::vector<std::pair<std::string, Service>>{
             {"constant", constant}, {"exponential", memoryless}, {"scv 4", hyperexponential}}) {
        const Measures m = open_shared("ps " + name, q, service, 150'000);
        check(m.response_us, expected->response.in_us());
        check(m.utilisation, 0.6);
    }
}

namespace {

// N customers go round stations with exponential service, each visited once, and a delay.
struct ClosedNetwork {
    struct Customer : Event {
        ClosedNetwork* net;
        size_t at = 0; // the station whose service ends
    };
    struct Stage {
        ClosedStation what;
        FifoStation one;
        MultiServerStation several;
        Instant serve(Instant now, Duration service) {
            return what.servers == 1 ? one.serve(now, service) : several.serve(now, service);
        }
        const StationCount& count() const {
            return what.servers == 1 ? one.count() : several.count();
        }
    };
    Calendar calendar;
    Random random;
    std::vector<Stage> stages;
    std::deque<Customer> customers;

    ClosedNetwork(uint64_t seed, const std::vector<ClosedStation>& stations, int n)
        : random(seed, "closed") {
        for (const ClosedStation& s : stations)
            stages.push_back(
                {s, {}, MultiServerStation(static_cast<uint32_t>(std::max(1, s.servers)))});
        for (int i = 0; i < n; i++) {
            Customer& c = customers.emplace_back();
            c.net = this;
            c.fire = [](Event& e) {
                auto& customer = static_cast<Customer&>(e);
                customer.at = (customer.at + 1) % customer.net->stages.size();
                customer.net->enter(customer);
            };
            enter(c);
        }
    }
    void enter(Customer& c) {
        Stage& s = stages[c.at];
        const Instant now = calendar.now();
        const Duration service = exponential(random, s.what.service);
        calendar.schedule(c, s.what.servers == 0 ? now + service : s.serve(now, service));
    }
    std::vector<StationCount> counts() const {
        std::vector<StationCount> all;
        for (const Stage& s : stages) all.push_back(s.count());
        return all;
    }
};

void check_closed(const std::vector<ClosedStation>& stations, int customers,
                  const ClosedAnswer& expected) {
    INFO("customers " << customers);
    const size_t n = stations.size();
    std::vector<Estimate> residence_us(n), utilisation(n);
    Estimate throughput;
    const Duration span = Duration::ms(2000);
    for (int i = 0; i < replications; i++) {
        ClosedNetwork net(static_cast<uint64_t>(i), stations, customers);
        const Instant warm = Instant::at(Duration::ms(50));
        net.calendar.run_until(warm);
        const auto before = net.counts();
        net.calendar.run_until(warm + span);
        for (size_t k = 0; k < n; k++) {
            if (stations[k].servers == 0) continue;
            const StationCount count = net.stages[k].count() - before[k];
            residence_us[k].add(count.sojourn.in_us() / static_cast<double>(count.served));
            utilisation[k].add(count.busy / span / stations[k].servers);
            if (k == 0) throughput.add(static_cast<double>(count.served) / span.in_seconds());
        }
    }
    check(throughput, expected.throughput);
    for (size_t k = 0; k < n; k++) {
        if (stations[k].servers == 0) continue;
        INFO("station " << k);
        check(residence_us[k], expected.stations[k].residence.in_us());
        check(utilisation[k], expected.stations[k].utilisation);
    }
}

} // namespace

TEST_CASE("a closed tandem of FIFO stations follows exact mean value analysis") {
    const std::vector<ClosedStation> tandem{
        {.service = Duration::us(4)}, {.service = Duration::us(10)}, {.service = Duration::us(7)}};
    for (const int customers : {1, 4, 16})
        check_closed(tandem, customers, exact_mva(tandem, customers));
}

TEST_CASE("with think time and several servers it follows the convolution algorithm") {
    const std::vector<ClosedStation> network{{.service = Duration::us(8)},
                                             {.service = Duration::us(60), .servers = 6},
                                             {.service = Duration::us(50), .servers = 0}};
    for (const int customers : {3, 12})
        check_closed(network, customers, convolution(network, customers));
}

TEST_CASE("processor sharing lets customers go at the closed form's dates") {
    // Together from the start, alone at the end: the k-th to leave has shared with all after it.
    Calendar calendar;
    SharedStation station(calendar, [](uint32_t n) { return 1.0 / n; });
    struct Leaver : Event {
        Calendar* calendar;
        std::vector<int64_t>* dates;
    };
    std::vector<int64_t> dates, expected;
    std::deque<Leaver> customers;
    const std::vector<int64_t> works_us{3, 5, 5, 11, 20};
    int64_t date = 0, served = 0;
    for (size_t i = 0; i < works_us.size(); i++) {
        date += (works_us[i] - served) * static_cast<int64_t>(works_us.size() - i);
        served = works_us[i];
        expected.push_back(date * 1'000'000);
        Leaver& c = customers.emplace_back();
        c.calendar = &calendar;
        c.dates = &dates;
        c.fire = [](Event& e) {
            auto& leaver = static_cast<Leaver&>(e);
            leaver.dates->push_back(leaver.calendar->now().since_start().count_ps());
        };
        station.arrive(c, Duration::us(works_us[i]));
    }
    calendar.run_until(Instant::never());
    REQUIRE(dates.size() == expected.size());
    for (size_t i = 0; i < dates.size(); i++) CHECK(std::abs(dates[i] - expected[i]) <= 5);
    CHECK(station.customers() == 0);
    CHECK(station.count().served == 5);
    CHECK(station.count().busy == Duration::us(44));
}

TEST_CASE("processor sharing is still exact after days without an idle moment") {
    Calendar calendar;
    SharedStation station(calendar, [](uint32_t n) { return 1.0 / n; });
    station.join(); // someone who never leaves
    struct Leaver : Event {
        Calendar* calendar;
        Instant left;
    } customer;
    customer.calendar = &calendar;
    customer.fire = [](Event& e) {
        auto& leaver = static_cast<Leaver&>(e);
        leaver.left = leaver.calendar->now();
    };
    for (int day = 1; day <= 100; day += 9) {
        const Instant start = Instant::at(Duration::s(86'400) * day);
        calendar.advance_to(start);
        station.arrive(customer, Duration::ps(1'000'001));
        calendar.run_until(start + Duration::us(10));
        CHECK(customer.left == start + Duration::ps(2'000'002));
    }
    CHECK(calendar.events_fired() < 100);
}
