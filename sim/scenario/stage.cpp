#include "sim/scenario/stage.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/real/real_world.hpp"
#include <deque>

namespace storlab {

namespace {
class SimulatedStage final : public Stage {
public:
    explicit SimulatedStage(Calendar& calendar) : calendar_(calendar), cluster_(calendar) {}
    void at(Instant when, const std::string& what, std::function<void()> action) override {
        cluster_.at(when, what, std::move(action));
    }
    std::vector<std::string> run(Instant horizon) override {
        return cluster_.run(horizon).failures;
    }
    void stop() override { cluster_.stop(); }
    void drain(const std::function<bool()>& done, Duration at_most) override {
        const Instant end = calendar_.now() + at_most;
        while (!done() && !calendar_.empty() && calendar_.now() < end) {
            Event* const e = calendar_.pop(end);
            if (!e) return calendar_.advance_to(end); // the wheel has turned so far
            e->fire(*e);
        }
    }

private:
    Calendar& calendar_;
    Cluster cluster_;
};

struct Action : Event {
    std::function<void()> what;
    Action() {
        phase = Phase::timer;
        fire = [](Event& e) { static_cast<Action&>(e).what(); };
    }
};

class RealStage final : public Stage {
public:
    explicit RealStage(RealWorld& world) : world_(world) {}
    void at(Instant when, const std::string&, std::function<void()> action) override {
        Action& a = actions_.emplace_back();
        a.what = std::move(action);
        world_.wake(a, when);
    }
    std::vector<std::string> run(Instant horizon) override {
        if (horizon < Instant::never()) at(horizon, "horizon", [this] { world_.stop(); });
        world_.run();
        return {};
    }
    void stop() override { world_.stop(); }
    void drain(const std::function<bool()>& done, Duration at_most) override {
        const Instant end = world_.now() + at_most;
        while (!done() && world_.now() < end) {
            at(world_.now() + Duration::ms(1), "drain", [this] { world_.stop(); });
            world_.run();
        }
    }

private:
    RealWorld& world_;
    std::deque<Action> actions_;
};
} // namespace

std::unique_ptr<Stage> simulated_stage(Calendar& c) { return std::make_unique<SimulatedStage>(c); }
std::unique_ptr<Stage> real_stage(RealWorld& w) { return std::make_unique<RealStage>(w); }

} // namespace storlab
