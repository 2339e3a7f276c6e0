#include "sim/scenario/storage_node.hpp"
#include "models/exchange/target.hpp"
#include "sim/real/sockets.hpp"
#include "sim/scenario/node_process.hpp"
#include "sim/scenario/real_hosts.hpp"
#include "sim/scenario/repair_shop.hpp"
#include <cerrno>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

namespace storlab {

namespace {
using Json = nlohmann::json;
constexpr int channel = STDIN_FILENO;

void say(const std::string& line) {
    size_t said = 0;
    while (said < line.size()) {
        const ssize_t n = ::send(channel, line.data() + said, line.size() - said, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return; // nobody is there any more: we shall hear of it
        said += static_cast<size_t>(n);
    }
}

class StorageNode {
public:
    StorageNode(const Scenario& s, const StorageNodeOptions& o)
        : s_(s), o_(o), bed_(real_testbed(s, world_, o.folder, {o.machine, o.again, nullptr})),
          stage_(real_stage(world_)), shop_(s, *bed_, *stage_), cpu_(world_), sockets_(world_) {
        command_.node = this;
        command_.kind = RingCommand::Kind::receive;
        command_.file = channel;
        command_.bytes = {heard_bytes_, sizeof heard_bytes_};
        command_.vectors = &command_.bytes;
        command_.vector_count = 1;
        command_.done = heard;
    }
    int go();

private:
    struct Command : RingCommand {
        StorageNode* node = nullptr;
        iovec bytes{};
    };
    const Scenario& s_;
    const StorageNodeOptions& o_;
    RealWorld world_;
    std::unique_ptr<Testbed> bed_;
    std::unique_ptr<Stage> stage_;
    RepairShop shop_;
    FreeCpu cpu_;
    Sockets sockets_;
    std::vector<std::unique_ptr<Target>> targets_;
    NodeOffer offer_;
    Command command_;
    char heard_bytes_[4096];
    std::string heard_;
    bool finish_ = false;

    void recover();
    void offer(const ArraySchema& a);
    static void heard(RingCommand& c, int result);
    void listen_on();
    void take(const std::string& line);
    NodeReport report();
};

// After a loss of power parity and data of what was being written may not agree.
void StorageNode::recover() {
    for (const auto& [name, raid] : bed_->arrays()) {
        struct Done {
            RealWorld* world;
            bool over = false;
        } done{&world_};
        raid->recover()
            .detach(&done,
                    [](void* c, RecoveryReport) {
                        auto& d = *static_cast<Done*>(c);
                        d.over = true;
                        d.world->stop();
                        return nothing();
                    })
            .resume();
        while (!done.over) world_.run();
    }
}

void StorageNode::offer(const ArraySchema& a) {
    const Protocol protocol = a.exported->protocol;
    TargetOptions o;
    o.depth = 4096; // the initiator's limit is the lower one
    Target& target =
        *targets_.emplace_back(std::make_unique<Target>(world_, travelling_profile(protocol), o));
    std::vector<std::string> names;
    for (const VolumeSchema& v : a.volumes) names.push_back(v.path);
    if (names.empty()) names.push_back(a.name);
    for (size_t i = 0; i < names.size(); i++) {
        BlockDevice& device = bed_->target(names[i]);
        offer_.volumes[names[i]] = device.geometry();
        target.add_unit(static_cast<uint16_t>(i), device, cpu_);
    }
    const auto block = static_cast<uint32_t>(offer_.volumes[names[0]].block.count());
    for (const std::string& port : a.exported->ports)
        offer_.ports[port] = sockets_.listen(0, travelling_codec(protocol, block),
                                             [&target](Connection& c) { target.accept(c); });
}

void StorageNode::listen_on() { world_.ring().issue(command_); }
void StorageNode::heard(RingCommand& c, int result) {
    StorageNode& self = *static_cast<Command&>(c).node;
    if (result == -EINTR || result == -EAGAIN) return self.listen_on();
    if (result <= 0) ::_exit(1); // the hosts' process is gone, and with it who wants our answers
    self.heard_.append(self.heard_bytes_, static_cast<size_t>(result));
    for (size_t end; (end = self.heard_.find('\n')) != std::string::npos;) {
        self.take(self.heard_.substr(0, end));
        self.heard_.erase(0, end + 1);
    }
    if (!self.finish_) self.listen_on();
}
void StorageNode::take(const std::string& line) {
    const Json j = Json::parse(line);
    if (j.contains("begin")) {
        const Instant at = Instant::at(Duration::ns(j.at("begin").get<int64_t>()));
        world_.set_now(at);
        shop_.schedule(o_.again ? at : Instant());
    }
    if (j.contains("finish")) {
        finish_ = true;
        world_.stop();
    }
}

NodeReport StorageNode::report() {
    shop_.close(true);
    stage_->drain([&] { return shop_.idle(); }, Duration::s(30));
    shop_.close(false);
    for (const auto& t : targets_) t->drop_sessions();
    NodeReport r;
    RunResult all;
    shop_.report(all, Instant::never());
    r.marks = std::move(all.timeline);
    r.full_size = std::move(all.full_size);
    if (s_.run.check)
        for (const auto& [name, raid] : bed_->arrays()) r.scrubs[name] = bed_->scrub_now(name);
    for (const auto& t : targets_) r.violations += t->counters().violations;
    if (const std::string fault = sockets_.last_fault(); !fault.empty())
        r.troubles.push_back(o_.machine + " met bytes that make no sense: " + fault);
    return r;
}

int StorageNode::go() {
    if (o_.again) recover();
    for (const ArraySchema& a : s_.arrays)
        if (a.machine == o_.machine && a.exported) offer(a);
    say(to_json(offer_));
    listen_on();
    world_.run();
    say(to_json(report()));
    return 0;
}
} // namespace

int storage_node(const Scenario& s, const StorageNodeOptions& o) {
    if (!s.machine(o.machine))
        throw InputError({"MACHINE", 0, 0}, "no machine " + in_quotes(o.machine));
    return StorageNode(s, o).go();
}
void say_to_hosts(const std::string& error) {
    say(Json{{"error", error}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

} // namespace storlab
