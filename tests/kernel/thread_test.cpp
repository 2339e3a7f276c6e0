#include "models/cpu/thread.hpp"
#include "sim/base/random.hpp"
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <functional>
#include <vector>

using namespace storlab;

namespace {

Instant at_us(int64_t us) { return Instant::at(Duration::us(us)); }
Instant at_ns(int64_t ns) { return Instant::at(Duration::ns(ns)); }
const PriceList free_of_charge{};

struct Call : Job {
    std::function<void(Call&)> done;
    explicit Call(std::function<void(Call&)> f) : done(std::move(f)) {
        fire = [](Event& e) { static_cast<Call&>(e).done(static_cast<Call&>(e)); };
    }
};

// Threads that never stop: work, then the lock, then again.
struct Loop {
    Calendar calendar;
    Processor processor;
    SpinLock lock;
    Random random{1, "threads"};
    std::deque<Call> jobs;
    std::vector<Thread*> threads;
    uint64_t completed = 0;
    Duration busy, hold; // mean work before the lock, and the critical section
    uint32_t sections = 1;
    bool random_work = false;

    Loop(const ProcessorOptions& options, HandOver hand_over)
        : processor(calendar, options, free_of_charge), lock(hand_over) {}
    void start(uint32_t count) {
        for (uint32_t i = 0; i < count; i++) threads.push_back(&processor.start_thread());
        processor.seal();
        for (Thread* const t : threads)
            again(*t, jobs.emplace_back([this, t](Call& c) {
                completed++;
                again(*t, c);
            }));
    }
    void again(Thread& t, Call& c) {
        c.work.busy = random_work ? busy.scaled(-std::log1p(-random.uniform())) : busy;
        if (sections) {
            c.work.lock = &lock;
            c.work.hold = hold * sections;
            c.work.sections = sections;
        }
        t.run(c);
    }
    double per_second(Duration span) {
        const uint64_t before = completed;
        calendar.run_until(calendar.now() + span);
        return static_cast<double>(completed - before) / span.in_seconds();
    }
};

double millions(const ProcessorOptions& options, uint32_t threads, uint32_t sections,
                Duration work = Duration::us(3)) {
    // Fitted to two rows of the field case: pinned to one node and spread over four.
    Loop loop(options, {Duration::ns(176), Duration::ns(575)});
    loop.hold = Duration::ns(100);
    loop.sections = sections; // waiting for a barrier and allowing one: twice an I/O
    loop.busy = work;
    loop.random_work = true;
    loop.start(threads);
    loop.per_second(Duration::ms(1));
    return loop.per_second(Duration::ms(50)) * 1e-6;
}

} // namespace

TEST_CASE("threads that wait for a spin lock burn their cores, and the lock alone sets the rate") {
    constexpr uint32_t n = 8;
    const Duration busy = Duration::ns(900), hold = Duration::ns(400), transfer = Duration::ns(50);
    Loop loop({.sockets = 1, .cores_per_socket = n}, {transfer, Duration::ns(5000)});
    loop.busy = busy;
    loop.hold = hold;
    loop.start(n);
    loop.per_second(Duration::us(100)); // until the queue has formed
    const Duration busy_before = loop.processor.busy(), span = Duration::us(450'000);
    const Duration spun_before = loop.threads[3]->spun();
    CHECK(loop.per_second(span) == Approx(1 / (hold + transfer).in_seconds()).epsilon(1e-5));
    // No core was idle; time is that of the last event, which may be a little before the end.
    CHECK((loop.processor.busy() - busy_before) / span == Approx(n).epsilon(1e-5));
    // A round of a thread lasts n times the lock's; what is neither work nor hold is spinning.
    const Duration round = (hold + transfer) * n;
    const double spinning = (round - busy - hold) / round;
    CHECK((loop.threads[3]->spun() - spun_before) / span == Approx(spinning).epsilon(1e-4));
    CHECK(loop.processor.ledger()[static_cast<size_t>(Operation::lock_spin)].in_seconds() ==
          Approx(spinning * n * loop.calendar.now().since_start().in_seconds()).epsilon(1e-3));
}

TEST_CASE("an uncontended lock costs its hold time, on the core of the one who holds it") {
    Loop loop({.sockets = 2, .cores_per_socket = 4}, {Duration::ns(50), Duration::ns(200)});
    loop.busy = Duration::ns(600);
    loop.hold = Duration::ns(400);
    loop.start(1);
    // Work before a lock is uneven around its mean: 10,000 times 600 ns, by up to 10 % each.
    CHECK(loop.per_second(Duration::ms(10)) == Approx(1e6).epsilon(1e-3));
    CHECK(loop.processor.busy() / Duration::ms(10) == Approx(1).epsilon(2e-4));
    CHECK(loop.threads[0]->spun() == Duration());
}

TEST_CASE("field case 4: a contended lock over four NUMA nodes has half the IOPS of one node") {
    // md RAID10 on four NVMe drives, 4 KiB random reads, 16 jobs of depth 256 on an Arm host of
    // four nodes: 1.81 M IOPS pinned to one node, 0.84 M over all (linux-raid, 2022-09, "md/raid10:
    // reduce lock contention for io"). With a fast path that takes no lock: 2.10 M and 2.07 M.
    const ProcessorOptions pinned{.sockets = 1, .cores_per_socket = 32},
        spread{.sockets = 4, .cores_per_socket = 32};
    const double one_node = millions(pinned, 16, 2), four_nodes = millions(spread, 16, 2);
    CHECK(one_node == Approx(1.81).epsilon(0.02));
    CHECK(four_nodes == Approx(0.84).epsilon(0.02));
    // Closed form: the next holder is any of the other threads, of which n / 4 - 1 are on the node.
    const auto closed_form = [](int n) {
        const double same = (n / 4.0 - 1) / (n - 1);
        return 1e3 / (2 * (100 + same * 176 + (1 - same) * 575));
    };
    CHECK(one_node == Approx(1e3 / (2 * (100 + 176))).epsilon(0.002));
    CHECK(four_nodes == Approx(closed_form(16)).epsilon(0.01));
    // It is the lock: quicker work and more threads change nothing, and without it the nodes
    // do not matter (the work is what 16 threads at 2.1 M IOPS can have done between two I/Os).
    CHECK(millions(spread, 16, 2, Duration::us(2)) == Approx(closed_form(16)).epsilon(0.01));
    CHECK(millions(spread, 32, 2) == Approx(closed_form(32)).epsilon(0.01));
    const Duration unlocked = Duration::ns(7620);
    CHECK(millions(pinned, 16, 0, unlocked) == Approx(2.1).epsilon(0.01));
    CHECK(millions(spread, 16, 0, unlocked) == Approx(2.1).epsilon(0.01));
}

TEST_CASE("threads share cores at the speed of SMT, then of time slices") {
    // Two cores of two threads, together worth 1.3 of one; eight software threads.
    const ProcessorOptions options{
        .sockets = 1, .cores_per_socket = 2, .threads_per_core = 2, .smt_yield = 1.3};
    const std::vector<double> speeds{1, 1, 2.3 / 3, 2.6 / 4, 2.6 / 5, 2.6 / 6, 2.6 / 7, 2.6 / 8};
    for (uint32_t running = 1; running <= 8; running++) {
        Calendar calendar;
        Processor processor(calendar, options, free_of_charge);
        std::vector<Thread*> threads;
        for (int i = 0; i < 8; i++) threads.push_back(&processor.start_thread());
        processor.seal();
        std::deque<Call> jobs;
        std::vector<double> ended_us;
        for (uint32_t i = 0; i < running; i++) {
            jobs.emplace_back(
                [&](Call&) { ended_us.push_back(calendar.now().since_start().in_us()); });
            jobs.back().work.busy = Duration::us(10 * (i + 1));
            threads[i]->run(jobs.back());
        }
        calendar.run_until(Instant::never() - Duration::s(1));
        REQUIRE(ended_us.size() == running);
        double expected_us = 0, on_cpu_us = 0;
        for (uint32_t i = 0; i < running; i++) { // each leaves 10 us of work after the one before
            const uint32_t left = running - i;
            const double step_us = 10 / speeds[left - 1];
            expected_us += step_us;
            on_cpu_us += step_us * std::min(left, 4u);
            CHECK(ended_us[i] == Approx(expected_us).margin(1e-5).epsilon(0));
        }
        CHECK(processor.busy().in_us() == Approx(on_cpu_us).margin(4e-5).epsilon(0));
    }
}

TEST_CASE("a thread that spins takes its share of a core from those that work") {
    Calendar calendar;
    Processor processor(calendar, {.sockets = 1, .cores_per_socket = 1}, free_of_charge);
    SpinLock lock({Duration(), Duration()});
    std::vector<Thread*> threads;
    for (int i = 0; i < 3; i++) threads.push_back(&processor.start_thread());
    processor.seal();
    std::vector<Instant> ended(3);
    std::deque<Call> jobs;
    for (size_t i = 0; i < 3; i++) jobs.emplace_back([&, i](Call&) { ended[i] = calendar.now(); });
    for (size_t i = 0; i < 2; i++) {
        jobs[i].work.lock = &lock;
        jobs[i].work.hold = Duration::us(30);
        jobs[i].work.sections = 1;
        threads[i]->run(jobs[i]);
    }
    jobs[2].work.busy = Duration::us(25);
    threads[2]->run(jobs[2]);
    calendar.run_until(at_us(1000));
    CHECK(ended[0] == at_us(30));
    CHECK(ended[1] == at_us(60));
    // A third of the core until 30 us, half of it until 60 us: 25 us of work are done then.
    CHECK(std::abs((ended[2] - at_us(60)).count_ps()) <= 2);
    CHECK(std::abs((processor.busy() - Duration::us(60)).count_ps()) <= 2);
}

TEST_CASE("a pool of workers takes deferred jobs last and pays a wake-up only when idle") {
    for (const bool shared : {false, true}) {
        Calendar calendar;
        Processor processor(calendar, {.sockets = 1, .cores_per_socket = 2}, free_of_charge);
        WorkerPool pool(processor, 2, Duration::ns(500));
        if (shared) processor.start_thread(); // one thread more than cores
        processor.seal();
        std::deque<Call> jobs;
        std::vector<std::pair<int, int64_t>> log;
        const auto add = [&](int number, bool deferred) {
            Call& c = jobs.emplace_back([&, number](Call&) {
                log.push_back({number, calendar.now().since_start().count_ns()});
            });
            c.work.busy = Duration::us(1);
            if (deferred) c.urgency = Urgency::deferred;
            pool.run(c);
        };
        add(1, false);
        add(2, true); // an idle worker takes it at once all the same
        for (const int n : {3, 4, 5}) add(n, true);
        for (const int n : {6, 7, 8}) add(n, false);
        calendar.run_until(at_us(100));
        CHECK(log == std::vector<std::pair<int, int64_t>>{{1, 1500},
                                                          {2, 1500},
                                                          {6, 2500},
                                                          {7, 2500},
                                                          {8, 3500},
                                                          {3, 3500},
                                                          {4, 4500},
                                                          {5, 4500}});
        CHECK(pool.working() == Duration::us(8));
        log.clear();
        calendar.advance_to(at_us(100));
        add(9, false);
        calendar.run_until(at_us(200));
        CHECK(log == std::vector<std::pair<int, int64_t>>{{9, 101'500}});
    }
}

TEST_CASE("a thread takes what has come back before what is to go out") {
    Calendar calendar;
    Processor processor(calendar, {.sockets = 1, .cores_per_socket = 1}, free_of_charge);
    Thread& thread = processor.start_thread();
    processor.seal();
    std::deque<Call> jobs;
    std::vector<int> order;
    const auto add = [&](int number, Urgency urgency) {
        Call& c = jobs.emplace_back([&, number](Call&) { order.push_back(number); });
        c.work.busy = Duration::us(1);
        c.urgency = urgency;
        thread.run(c);
    };
    for (const int n : {1, 2, 3}) add(n, Urgency::usual);
    for (const int n : {4, 5}) add(n, Urgency::completion); // not before what has begun
    calendar.run_until(at_us(100));
    CHECK(order == std::vector<int>{1, 4, 5, 2, 3});
    CHECK(thread.busy() == Duration::us(5));
}

TEST_CASE("a thread executes its jobs one after another, in order") {
    Calendar calendar;
    Processor processor(calendar, {.sockets = 2, .cores_per_socket = 1}, free_of_charge);
    Thread &a = processor.start_thread(), &b = processor.start_thread();
    processor.seal();
    CHECK(a.socket() == 0);
    CHECK(b.socket() == 1);
    std::vector<std::pair<int, int64_t>> log;
    std::deque<Call> jobs;
    const auto add = [&](Thread& t, int number, int64_t ns) {
        jobs.emplace_back([&, number](Call&) {
            log.push_back({number, calendar.now().since_start().count_ns()});
        });
        jobs.back().work.busy = Duration::ns(ns);
        t.run(jobs.back());
    };
    add(a, 1, 100), add(a, 2, 200), add(b, 3, 150), add(a, 4, 0);
    calendar.run_until(at_ns(250));
    calendar.advance_to(at_ns(250));
    CHECK(a.busy() == Duration::ns(250));
    CHECK(processor.busy() == Duration::ns(400));
    calendar.run_until(at_ns(1000));
    CHECK(log == std::vector<std::pair<int, int64_t>>{{1, 100}, {3, 150}, {2, 300}, {4, 300}});
    CHECK(a.busy() == Duration::ns(300));
}
