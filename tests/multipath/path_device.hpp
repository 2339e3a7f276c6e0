// A path for tests: what it is given stays until the test answers it, or is answered after a fixed
// time; a dead one answers no_path at once.
#pragma once
#include "models/multipath/multipath.hpp"
#include "sim/kernel/calendar.hpp"
#include <memory>
#include <vector>

namespace storlab::test {

class PathDevice final : public BlockDevice {
public:
    enum class Mode : uint8_t { collects, answers, dead };
    Mode mode = Mode::collects;
    Duration takes = Duration::us(100); // to answer
    uint64_t commands = 0;
    std::vector<Request*> pending;

    explicit PathDevice(Calendar& calendar) : calendar_(calendar) {}
    Geometry geometry() const override { return {1 << 20, Bytes(4096), 16}; }
    Handle submit(Request& r) override {
        commands++;
        if (mode == Mode::dead) return r.finish(IoStatus::no_path);
        if (mode != Mode::answers) {
            pending.push_back(&r);
            return nothing();
        }
        r.phase = Phase::completion;
        r.fire = [](Event& e) { static_cast<Request&>(e).finish(IoStatus::ok).resume(); };
        calendar_.wake(r, calendar_.now() + takes);
        return nothing();
    }
    void answer(size_t which, IoStatus status) {
        Request& r = *pending.at(which);
        pending.erase(pending.begin() + static_cast<ptrdiff_t>(which));
        r.finish(status).resume();
    }
    // As a transport that has lost its session: everything comes back.
    void answer_all(IoStatus status) {
        std::vector<Request*> all;
        all.swap(pending);
        for (Request* r : all) r->finish(status).resume();
    }

private:
    Calendar& calendar_;
};

// Prices in which choosing a path is the only work.
class SelectCore final : public Cpu {
public:
    static constexpr Duration price = Duration::ns(70);
    SelectCore() : Cpu(prices(), ledger_) {}
    void run(Job&) override {}
    Duration spent() const { return ledger_[static_cast<size_t>(Operation::path_select)]; }

private:
    static const PriceList& prices() {
        static const PriceList list = [] {
            PriceList p{};
            p[static_cast<size_t>(Operation::path_select)].each = price;
            return p;
        }();
        return list;
    }
    Ledger ledger_{};
};

// A host with so many paths, and commands whose ends it records.
struct Host {
    Calendar calendar;
    std::vector<std::unique_ptr<PathDevice>> paths;
    std::unique_ptr<Multipath> multipath;

    struct Command : Request {
        Command(BlockDevice* d, Op o, Lba l, uint32_t n) : Request(d, o, l, n, nullptr) {}
        Host* host = nullptr;
        uint32_t ends = 0;
        Instant ended;
    };
    std::vector<std::unique_ptr<Command>> commands;

    Host(size_t n, const MultipathOptions& options, std::vector<PathOptions> each = {}) {
        each.resize(n);
        for (PathOptions& p : each) {
            paths.push_back(std::make_unique<PathDevice>(calendar));
            p.device = paths.back().get();
        }
        multipath = std::make_unique<Multipath>(calendar, each, options);
    }
    Command& send(uint32_t blocks = 1, Op op = Op::read, Cpu* cpu = nullptr) {
        const Lba at{commands.size() * 8};
        Command& c =
            *commands.emplace_back(std::make_unique<Command>(multipath.get(), op, at, blocks));
        c.host = this;
        c.cpu = cpu;
        c.done = [](Request& r) {
            auto& self = static_cast<Command&>(r);
            self.ends++;
            self.ended = self.host->calendar.now();
            return nothing();
        };
        multipath->submit(c).resume();
        return c;
    }
    // Which path a command goes to, if it goes to one.
    int chosen(uint32_t blocks = 1, Op op = Op::read) {
        std::vector<uint64_t> before;
        for (size_t i = 0; i < paths.size(); i++) before.push_back(multipath->sent(i));
        send(blocks, op);
        for (size_t i = 0; i < paths.size(); i++)
            if (multipath->sent(i) != before[i]) return static_cast<int>(i);
        return -1;
    }
    std::vector<int> chosen_of(size_t n) {
        std::vector<int> all;
        while (n-- > 0) all.push_back(chosen());
        return all;
    }
    void run_until(Duration since_start) {
        calendar.run_until(Instant::at(since_start));
        calendar.advance_to(Instant::at(since_start));
    }
    void down(size_t path, Loss why = Loss::link_down) {
        multipath->path_state(path, PathState::is_down(why));
    }
    void up(size_t path, PathAccess access = PathAccess::optimized) {
        multipath->path_state(path, PathState::is_up(access));
    }
    // The link is lost: the transport says so, and gives back what it had.
    void lose(size_t path, Loss why = Loss::link_down) {
        paths[path]->mode = PathDevice::Mode::dead;
        down(path, why);
        paths[path]->answer_all(IoStatus::no_path);
    }
    void restore(size_t path, PathDevice::Mode mode = PathDevice::Mode::collects) {
        paths[path]->mode = mode;
        up(path);
    }
};

} // namespace storlab::test
