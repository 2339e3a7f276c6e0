// SimGrid in a few verbs, and the only place that includes it. There is one engine a process, and
// it serves one Cluster after the other: creating engines anew makes SimGrid's static signals call
// the dead models too, and its date goes on anyway. Hosts are a stock that Clusters draw on; they
// stand for power and hold actors, and have no links: whatever carries I/O belongs to the I/O
// kernel. Left out: parallel contexts, platform files, platform profiles.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace storlab {

// The I/O kernel as SimGrid sees it: the model that is asked last.
struct Coupled {
    virtual ~Coupled() = default;
    // SimGrid's earliest date is `delay` from now (negative: it has none). The kernel may run up to
    // it. Returns the delay at which SimGrid is to stop for the kernel, or a negative number.
    virtual double run_kernel(double delay) = 0;
    // SimGrid's date has moved. Runs in the engine's own context: must not wait.
    virtual void date_reached() = 0;
};

// Wakes one actor, now or when it comes to wait. Copies are the same wake-up.
class WakeUp {
public:
    WakeUp();
    void give() const;

private:
    friend class ActorSeat;
    struct Body;
    std::shared_ptr<Body> body_;
};

// How an actor waits. Exceptions of SimGrid's never pass: a killed actor's calls return false, at
// once and for ever, and it is for the caller to unwind.
class Seat {
public:
    virtual ~Seat() = default;
    virtual bool sleep(double seconds) = 0;
    virtual bool wait(const WakeUp& wake_up) = 0;
    // For code that refuses to die: it never returns, and its stack stays as it is.
    [[noreturn]] virtual void park() = 0;
};

using Failed = std::function<void(const std::string& what)>;

class Engine {
public:
    // With at least so many hosts. Only when no actor lives.
    static Engine& with_hosts(size_t hosts);

    double clock() const;
    // Dates closer than this are one date to SimGrid, for a run that ends at `clock`.
    static double precision(double clock);
    // Runs main as an actor on host 0. When it has ended, all other actors are killed.
    void run(Coupled& kernel, double ends, std::function<void(Seat&)> main);
    // From the context of the engine:
    void kill_main();
    void start_actor(size_t host, const std::string& name, std::function<void(Seat&)> body,
                     Failed failed);
    void power(size_t host, bool on);

    // Runs body; an exception is told to failed, a loss of power is none.
    static void report_exceptions(const std::function<void()>& body, const Failed& failed);

    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine();

private:
    struct Body;
    explicit Engine(size_t hosts);
    std::unique_ptr<Body> body_;
};

} // namespace storlab
