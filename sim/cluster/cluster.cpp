#include "sim/cluster/cluster.hpp"
#include "sim/base/error.hpp"
#include "sim/cluster/engine.hpp"
#include "sim/cluster/incarnation.hpp"
#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <map>
#include <set>

namespace storlab {

namespace {
constexpr Duration tick = Duration::ps(1);
} // namespace

struct Cluster::Body final : Coupled {
    struct Machine {
        std::string name;
        std::shared_ptr<Incarnation> life; // null without power
        uint32_t incarnations = 0;
    };
    struct Action {
        std::string what;
        std::function<void()> act;
    };
    class Program;

    explicit Body(Calendar& c) : calendar(c) {}
    ~Body() override {
        for (Machine& m : machines)
            if (m.life) end_life(m);
        for (const auto& life : dead)
            life->free_frames(); // frames and their programs refer to each other
    }

    Calendar& calendar;
    Tombstones stones;
    std::deque<Machine> machines;
    std::vector<std::shared_ptr<Incarnation>> dead;
    std::vector<Task<void>> refused_tasks; // freed by the engine's thread, not by an actor's
    std::map<Instant, std::vector<Action>> timeline;
    Instant next_action = Instant::never(); // that the walker of the timeline waits for
    uint32_t walker = 0;
    std::deque<std::function<void()>> orders; // what is to be done in SimGrid at the present date
    Outcome outcome;
    std::exception_ptr broken; // out of the data plane
    bool started = false, ending = false, in_kernel = false;

    Engine* engine = nullptr;
    double base = 0;                 // SimGrid's date of the calendar's zero
    Duration tolerance;              // how far SimGrid's date may be from an exact one
    std::multiset<Instant> wake_ups; // exact dates of all actors asleep

    void start_life(Machine& m, uint32_t index);
    void end_life(Machine& m);
    void start_program(uint32_t index, std::string name, std::function<void(Node&)> program);
    void start_timeline();
    bool sleep(Seat& seat, Instant until);
    void order(std::function<void()> f) {
        orders.push_back(std::move(f));
        if (in_kernel) calendar.interrupt();
    }
    void fail(std::string what) { outcome.failures.push_back(std::move(what)); }
    void end();
    void bury();
    Instant exact_date(double simgrid_date) const;
    double run_kernel(double delay) override;
    void date_reached() override;
    void run(Instant horizon);
};

// A node as one program sees it. The coroutines it runs may keep it alive beyond its actor.
class Cluster::Body::Program final : public Node, public std::enable_shared_from_this<Program> {
public:
    Program(Body& body, std::shared_ptr<Incarnation> life, std::string name)
        : body_(body), life_(std::move(life)), name_(std::move(name)) {}
    void sit(Seat& seat) { seat_ = &seat; }

    Instant now() const override {
        refused();
        return life_->now();
    }
    void sleep_until(Instant date) override {
        if (refused()) return;
        body_.sleep(*seat_, date);
        refused();
    }
    void spawn(std::string name, std::function<void(Node&)> program) override {
        if (refused()) return;
        body_.start_program(life_->node, std::move(name), std::move(program));
    }
    uint32_t incarnation() const override { return life_->number; }
    BlockDevice& attach(BlockDevice& device) override {
        refused();
        return life_->attach(device);
    }
    Cpu& attach(Cpu& cpu) override {
        refused();
        return life_->attach(cpu);
    }
    Clock& clock() override {
        refused();
        return life_->clock();
    }
    void keep(std::shared_ptr<void> object) override {
        if (!refused()) life_->keep(std::move(object));
    }

protected:
    void run_to_end(Task<void> task) override {
        if (!life_->alive()) body_.refused_tasks.push_back(std::move(task));
        if (refused()) return;
        Incarnation::Root& root = life_->start(std::move(task), shared_from_this(), {});
        root.on_finish = [this, wake = root.finished] { body_.order([wake] { wake.give(); }); };
        seat_->wait(root.finished);
        if (!refused()) life_->forget(root);
    }

private:
    static constexpr uint32_t patience = 10'000;
    Body& body_;
    std::shared_ptr<Incarnation> life_;
    std::string name_;
    Seat* seat_ = nullptr;
    mutable uint32_t refusals_ = 0;

    // True on a dead node while destructors run; otherwise a dead node throws.
    bool refused() const {
        if (life_->alive()) return false;
        if (life_->burying()) return true;
        if (++refusals_ > patience) {
            body_.fail(body_.machines[life_->node].name + "/" + name_ +
                       ": goes on without power, whatever it is told");
            seat_->park();
        }
        if (std::uncaught_exceptions() > 0) return true;
        throw PowerLost();
    }
};

void Cluster::Body::start_life(Machine& m, uint32_t index) {
    m.life = std::make_shared<Incarnation>(calendar, stones, index, ++m.incarnations);
}
void Cluster::Body::end_life(Machine& m) {
    m.life->die();
    dead.push_back(std::move(m.life));
    m.life = nullptr;
}

void Cluster::Body::start_program(uint32_t index, std::string name,
                                  std::function<void(Node&)> code) {
    Machine& m = machines[index];
    if (!m.life) return;
    const auto program = std::make_shared<Program>(*this, m.life, name);
    order([this, index, name = std::move(name), code = std::move(code), life = m.life, program] {
        if (!life->alive()) return;
        engine->start_actor(
            index + 1, name,
            [code, program, presence = life->presence()](Seat& seat) {
                program->sit(seat);
                code(*program);
            },
            [this, label = machines[index].name + "/" + name](const std::string& what) {
                fail(label + ": " + what);
            });
    });
}

// An actor that walks the timeline from its first date on. A date added ahead of the one it sleeps
// for starts another in its place.
void Cluster::Body::start_timeline() {
    next_action = timeline.begin()->first;
    const auto walk = [this, me = ++walker](Seat& seat) {
        while (!timeline.empty()) {
            const Instant when = timeline.begin()->first;
            next_action = when;
            if (!sleep(seat, when) || ending || me != walker) return;
            auto& actions = timeline[when];
            for (size_t i = 0; i < actions.size(); i++) { // an action may add one at its own date
                const Action action = std::move(actions[i]);
                Engine::report_exceptions(action.act, [&](const std::string& what) {
                    fail("timeline: " + action.what + ": " + what);
                });
            }
            timeline.erase(when);
        }
        next_action = Instant::never();
    };
    order([this, walk] {
        engine->start_actor(0, "timeline", walk,
                            [this](const std::string& what) { fail("timeline: " + what); });
    });
}

// SimGrid merges dates that are close and rounds short sleeps up: only the calendar's date counts.
bool Cluster::Body::sleep(Seat& seat, Instant until) {
    if (until <= calendar.now()) return true;
    const auto entry = wake_ups.insert(until);
    const double target = base + until.since_start().in_seconds();
    bool alive = true;
    while (alive && calendar.now() < until)
        alive = seat.sleep(std::max(target - engine->clock(), Engine::precision(target)));
    wake_ups.erase(entry);
    return alive;
}

// The run is over: every machine is dead, and SimGrid ends all actors with the main one.
void Cluster::Body::end() {
    ending = true;
    outcome.ended = calendar.now();
    for (Machine& m : machines)
        if (m.life) end_life(m);
}

void Cluster::Body::bury() {
    // use_count: programs that have not unwound yet.
    std::erase_if(dead, [](const auto& life) { return life->bury() && life.use_count() == 1; });
    refused_tasks.clear();
}

// SimGrid's dates are doubles that add up rounding errors, and its shortest sleep is its precision.
// So the kernel never passes a date that an actor waits for; one close ahead is the one that is
// meant. Other dates, of SimGrid's own activities, are on its grid of 1 ns.
Instant Cluster::Body::exact_date(double simgrid_date) const {
    const double s = simgrid_date - base;
    const Instant rough = Instant::at(Duration::ns(std::llround(s * 1e9)));
    if (wake_ups.empty()) return rough;
    const Instant first = *wake_ups.begin();
    return Duration::seconds(s) + tolerance >= first.since_start() ? first : rough;
}

double Cluster::Body::run_kernel(double delay) {
    bury();
    if (!orders.empty() || (broken && !ending)) return 0;
    if (ending || delay < 0) return -1;
    const double clock = engine->clock();
    const Instant bound = later(exact_date(clock + delay), calendar.now());
    bool reached = false;
    in_kernel = true;
    try {
        reached = calendar.run_until(bound - tick);
    } catch (...) { broken = std::current_exception(); }
    in_kernel = false;
    bury();
    if (reached) {
        calendar.advance_to(bound);
        return -1;
    }
    return std::max(0.0, base + calendar.now().since_start().in_seconds() - clock);
}

void Cluster::Body::date_reached() {
    if (broken && !ending) {
        end();
        engine->kill_main();
    }
    while (!orders.empty()) {
        const auto f = std::move(orders.front());
        orders.pop_front();
        Engine::report_exceptions(f, [&](const std::string& what) { fail("posted: " + what); });
    }
}

void Cluster::Body::run(Instant horizon) {
    STORLAB_ENSURE(!started && horizon >= calendar.now());
    started = true;
    horizon = std::min(horizon, Instant::never() - Duration::s(1)); // room for SimGrid's rounding
    engine = &Engine::with_hosts(machines.size() + 1);              // host 0 is the laboratory's
    base = engine->clock() - calendar.now().since_start().in_seconds();
    const double ends = base + horizon.since_start().in_seconds();
    tolerance = Duration::seconds(std::max(1e-9, 4 * Engine::precision(ends)));
    if (!timeline.empty()) start_timeline();
    engine->run(*this, ends, [&](Seat& seat) {
        if (sleep(seat, horizon) && !ending) end();
    });
    orders.clear();
    bury();
    if (broken) std::rethrow_exception(broken);
}

Cluster::Cluster(Calendar& calendar) : body_(std::make_unique<Body>(calendar)) {}
Cluster::~Cluster() = default;

NodeHandle Cluster::add_node(std::string name) {
    Body& b = *body_;
    STORLAB_ENSURE(!b.started);
    const auto index = static_cast<uint32_t>(b.machines.size());
    b.start_life(b.machines.emplace_back(Body::Machine{std::move(name), nullptr, 0}), index);
    return {index};
}
void Cluster::spawn(NodeHandle node, std::string name, std::function<void(Node&)> program) {
    body_->start_program(node.index, std::move(name), std::move(program));
}
void Cluster::power_off(NodeHandle node) {
    Body& b = *body_;
    if (b.ending || !powered(node)) return;
    b.end_life(b.machines.at(node.index)); // from now on every call is refused
    b.order([&b, node] { b.engine->power(node.index + 1, false); });
}
void Cluster::power_on(NodeHandle node) {
    Body& b = *body_;
    if (b.ending || powered(node)) return;
    b.start_life(b.machines.at(node.index), node.index);
    b.order([&b, node] { b.engine->power(node.index + 1, true); });
}
bool Cluster::powered(NodeHandle node) const {
    return body_->machines.at(node.index).life != nullptr;
}
uint32_t Cluster::incarnation(NodeHandle node) const {
    return body_->machines.at(node.index).incarnations;
}

void Cluster::at(Instant when, std::string what, std::function<void()> action) {
    Body& b = *body_;
    STORLAB_ENSURE(when >= b.calendar.now());
    b.timeline[when].push_back({std::move(what), std::move(action)});
    if (b.started && when < b.next_action) b.start_timeline();
}
void Cluster::post(std::function<void()> f) { body_->order(std::move(f)); }
void Cluster::stop() {
    Body& b = *body_;
    b.order([&b] {
        if (b.ending) return;
        b.outcome.stopped = true;
        b.end();
        b.engine->kill_main();
    });
}
Cluster::Outcome Cluster::run(Instant horizon) {
    body_->run(horizon);
    return body_->outcome;
}

} // namespace storlab
