// Initiator and target as two processes, with the bytes of NVMe/TCP and iSCSI between them.
#include "models/exchange/remote_unit.hpp"
#include "models/workload/model_disk.hpp"
#include "tests/real/processes.hpp"
#include <arpa/inet.h>
#include <deque>
#include <netinet/in.h>
#include <sys/socket.h>

using namespace storlab;

namespace {
constexpr uint32_t unit_block = sector;

// The host's side, in the test's process.
struct Host {
    const TestProtocol& protocol;
    RealWorld world;
    Sockets sockets{world};
    uint16_t port;
    std::unique_ptr<Initiator> initiator;
    std::unique_ptr<RemoteUnit> unit;
    Connection* last = nullptr;
    std::vector<SessionState> states;

    Host(const TestProtocol& p, uint16_t at, uint64_t identity = 7) : protocol(p), port(at) {
        InitiatorOptions o;
        o.depth = 16;
        o.identity = identity;
        o.abort_first = p.name == "iSCSI";
        o.connect = [this] { return last = sockets.connect(port, protocol.codec); };
        initiator = std::make_unique<Initiator>(world, p.profile, o);
        unit = std::make_unique<RemoteUnit>(*initiator, unit_number,
                                            Geometry{disk_sectors, Bytes(unit_block), unit_block});
        initiator->on_state([this](SessionState s) { states.push_back(s); });
        initiator->start();
    }
    ~Host() { initiator->stop(); }

    // Runs the loop until something is true; a test that waits for more than 20 s has failed.
    void run_until(const std::function<bool()>& over) {
        struct Look : Event {
            Host* host;
            const std::function<bool()>* over;
        } look;
        look.host = this;
        look.over = &over;
        look.fire = [](Event& e) {
            auto& l = static_cast<Look&>(e);
            if ((*l.over)()) return l.host->world.stop();
            l.host->world.wake(l, l.host->world.now() + Duration::us(200));
        };
        const Instant limit = world.now() + Duration::s(20);
        const std::function<bool()> or_late = [&] { return over() || world.now() > limit; };
        look.over = &or_late;
        world.wake(look, world.now());
        world.run();
        REQUIRE(over());
    }
};

// Commands one after another, each checked against what the disk may hold.
struct Worker {
    Host& host;
    ModelDisk& model;
    Random random;
    int left;
    int under_way = 0, good = 0, failed = 0;
    Op op = Op::read;
    uint64_t lba = 0;
    uint32_t count = 0;
    std::vector<std::byte> data, written;
    ModelDisk::ReadMark mark;
    Request request{nullptr, Op::read, {}, 0, nullptr};

    Worker(Host& h, ModelDisk& m, uint64_t seed, int commands)
        : host(h), model(m), random(seed, "worker"), left(commands) {
        begin();
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    bool over() const { return left == 0 && under_way == 0; }

    void begin() {
        left--;
        count = static_cast<uint32_t>(1 + random.below(random.below(4) ? 8 : 100));
        lba = random.below(disk_sectors - count + 1);
        op = random.below(20) == 0 ? Op::flush : random.below(2) ? Op::read : Op::write;
        data.assign(size_t{count} * unit_block, std::byte{0x55});
        if (op == Op::write) model.begin_write(lba, count, data.data());
        if (op == Op::read) model.begin_read(lba, count, mark);
        written = data;
        request = Request(host.unit.get(), op, Lba{lba}, op == Op::flush ? 0 : count, data.data());
        request.owner = this;
        request.done = [](Request& r) {
            static_cast<Worker*>(r.owner)->end();
            return nothing();
        };
        REQUIRE(++under_way == 1);
        host.unit->submit(request).resume();
    }
    void end() {
        REQUIRE(--under_way == 0); // a second time it would be below
        const bool ok = request.status == IoStatus::ok;
        REQUIRE((ok || request.status == IoStatus::no_path));
        (ok ? good : failed)++;
        if (op == Op::write) model.end_write(lba, count, written.data(), ok);
        if (op == Op::read && ok) model.end_read(lba, count, data.data(), mark);
        if (left == 0) return;
        if (ok) return begin();
        request.fire = [](Event& e) {
            static_cast<Worker*>(static_cast<Request&>(e).owner)->begin();
        };
        host.world.wake(request, host.world.now() + Duration::ms(2)); // not without a pause
    }
};

struct Load {
    ModelDisk model{disk_sectors, unit_block, ModelDisk::Start::zeros};
    std::deque<Worker> workers;
    Load(Host& h, int n, int commands, uint64_t seed = 1) {
        for (int i = 0; i < n; i++)
            workers.emplace_back(h, model, seed * 100 + static_cast<uint64_t>(i), commands);
    }
    bool over() const {
        return std::all_of(workers.begin(), workers.end(), [](auto& w) { return w.over(); });
    }
    int good() const {
        int n = 0;
        for (const Worker& w : workers) n += w.good;
        return n;
    }
    int failed() const {
        int n = 0;
        for (const Worker& w : workers) n += w.failed;
        return n;
    }
};

bool both_clean(const Host& h) {
    return h.initiator->counters().violations == 0 && h.sockets.counters().malformed == 0;
}

// A socket that speaks no protocol at all.
struct RawSocket {
    int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    explicit RawSocket(uint16_t port) {
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_port = htons(port);
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::connect(socket, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
    }
    ~RawSocket() { ::close(socket); }
    bool say(const std::vector<std::byte>& bytes) const {
        return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
    }
    // The other end has hung up, within 5 s.
    bool hung_up() const {
        for (;;) {
            pollfd p{socket, POLLIN, 0};
            char byte[4096];
            if (::poll(&p, 1, 5000) != 1) return false;
            if (::recv(socket, byte, sizeof byte, 0) <= 0) return true;
        }
    }
};
} // namespace

TEST_CASE("two processes exchange the bytes of NVMe/TCP and of iSCSI, and every read is right") {
    for (const bool nvme : {true, false}) {
        const TestProtocol p = test_protocol(nvme, Duration::s(10));
        INFO(p.name);
        const TestFolder folder;
        TargetProcess target(p, folder.path / "disk");
        Host host(p, target.port());
        Load load(host, 12, 100);
        host.run_until([&] { return load.over(); });
        CHECK(load.good() == 1200);
        CHECK(load.model.verified() > 400); // 47.5 % of 1200 commands are reads
        CHECK(load.model.mismatches() == 0);
        CHECK(host.initiator->counters().logins == 1);
        CHECK(both_clean(host));
        CHECK(host.sockets.counters().bytes_received > load.model.verified() * sector);
    }
}

TEST_CASE("a target killed in mid-load and started again is met again, and nothing is lost") {
    for (const bool nvme : {true, false}) {
        const TestProtocol p = test_protocol(nvme, Duration::s(10));
        INFO(p.name);
        const TestFolder folder;
        auto target = std::make_unique<TargetProcess>(p, folder.path / "disk");
        Host host(p, target->port());
        Load load(host, 12, 150);
        host.run_until([&] { return load.good() > 400; });
        target->process().kill();
        host.run_until([&] { return host.initiator->state() == SessionState::lost; });
        CHECK(host.initiator->last_loss() == Loss::peer_gone);
        CHECK_FALSE(load.over());
        target = std::make_unique<TargetProcess>(p, folder.path / "disk");
        host.port = target->port();
        host.run_until([&] { return load.over(); });
        CHECK(load.good() == 1800); // those under way were held and sent again
        CHECK(load.model.mismatches() == 0);
        CHECK(host.initiator->counters().logins == 2);
        CHECK(both_clean(host));
    }
}

TEST_CASE("below multipathing the commands of a killed target end at once, for another path") {
    const TestProtocol p = test_protocol(true, Duration());
    const TestFolder folder;
    auto target = std::make_unique<TargetProcess>(p, folder.path / "disk");
    Host host(p, target->port());
    Load load(host, 12, 150);
    host.run_until([&] { return load.good() > 400; });
    target->process().kill();
    host.run_until([&] { return load.failed() >= 12; });
    target = std::make_unique<TargetProcess>(p, folder.path / "disk");
    host.port = target->port();
    host.run_until([&] { return load.over(); });
    CHECK(load.good() > 400);
    CHECK(load.good() + load.failed() == 1800);
    CHECK(load.model.mismatches() == 0);
    CHECK(both_clean(host));
}

TEST_CASE("what a killed initiator was told is written is there for the next one") {
    for (const bool nvme : {true, false}) {
        const TestProtocol p = test_protocol(nvme, Duration::s(10));
        INFO(p.name);
        const TestFolder folder;
        TargetProcess target(p, folder.path / "disk");
        constexpr uint32_t per_write = 5;
        struct Writer : Request { // one of several, each with addresses of its own
            Host* host = nullptr;
            int tell = -1;
            uint64_t n = 0;
            std::vector<std::byte> data = std::vector<std::byte>(size_t{per_write} * sector);
            Writer() : Request(nullptr, Op::write, {}, per_write, nullptr) {}
            void go() {
                for (uint32_t b = 0; b < per_write; b++)
                    fill_sector(data.data() + size_t{b} * sector, sector, n * per_write + b, 9);
                static_cast<Request&>(*this) = Request(host->unit.get(), Op::write,
                                                       Lba{n * per_write}, per_write, data.data());
                done = [](Request& r) {
                    auto& w = static_cast<Writer&>(r);
                    if (r.status != IoStatus::ok) ::_exit(1);
                    Process::tell(w.tell, w.n);
                    w.n += 8;
                    w.go();
                    return nothing();
                };
                host->unit->submit(*this).resume();
            }
        };
        Process first([&](int tell) {
            Host host(p, target.port());
            std::deque<Writer> writers(8);
            for (uint64_t i = 0; i < writers.size(); i++) {
                writers[i].host = &host;
                writers[i].tell = tell;
                writers[i].n = i;
                writers[i].go();
            }
            host.world.run();
        });
        std::vector<uint64_t> told;
        for (uint64_t n = 0; told.size() < 300; told.push_back(n)) REQUIRE(first.hear(n));
        first.kill();
        // The same host again: its session takes over once nothing of the old one is under way.
        Host host(p, target.port());
        size_t right = 0, ended = 0;
        std::vector<std::byte> expected(size_t{per_write} * sector);
        for (const uint64_t n : told) {
            std::vector<std::byte> data(expected.size());
            Request r(host.unit.get(), Op::read, Lba{n * per_write}, per_write, data.data());
            r.owner = &ended;
            r.done = [](Request& q) {
                ++*static_cast<size_t*>(q.owner);
                return nothing();
            };
            const size_t before = ended;
            host.unit->submit(r).resume();
            host.run_until([&] { return ended > before; });
            for (uint32_t b = 0; b < per_write; b++)
                fill_sector(expected.data() + size_t{b} * sector, sector, n * per_write + b, 9);
            right += r.status == IoStatus::ok && data == expected;
        }
        CHECK(right == told.size());
        CHECK(both_clean(host));
    }
}

TEST_CASE(
    "a target that stands still is found by time alone, and its late answers meet a tombstone") {
    const TestProtocol p = test_protocol(true, Duration::s(10), Duration::ms(300));
    const TestFolder folder;
    TargetProcess target(p, folder.path / "disk");
    Host host(p, target.port());
    Load load(host, 12, 100);
    host.run_until([&] { return load.good() > 300; });
    target.process().signal(SIGSTOP);
    const Instant stopped = host.world.now();
    host.run_until([&] { return host.initiator->counters().losses > 0; });
    // A keep-alive may have been on its way.
    CHECK(host.world.now() - stopped > p.profile.timers.keep_alive_answer / 2);
    CHECK(host.initiator->last_loss() == Loss::timed_out);
    CHECK_FALSE(load.over());
    target.process().signal(SIGCONT);
    host.run_until([&] { return load.over(); });
    CHECK(load.good() == 1200);
    CHECK(load.model.mismatches() == 0);
    CHECK(both_clean(host));
}

TEST_CASE("a cut link is known at once, a silent one only to the timers, and both heal") {
    for (const bool cut : {true, false}) {
        const TestProtocol p = test_protocol(true, Duration::s(10), Duration::ms(300));
        const TestFolder folder;
        TargetProcess target(p, folder.path / "disk");
        Host host(p, target.port());
        Load load(host, 12, 100);
        host.run_until([&] { return load.good() > 300; });
        if (cut) host.sockets.cut(*host.last, Loss::link_down);
        else host.sockets.set_silent(*host.last, true);
        const Instant from = host.world.now();
        host.run_until([&] { return host.initiator->counters().losses > 0; });
        const Duration took = host.world.now() - from;
        CHECK((took < p.profile.timers.keep_alive_answer / 2) == cut);
        CHECK(host.initiator->last_loss() == (cut ? Loss::link_down : Loss::timed_out));
        host.run_until([&] { return load.over(); });
        CHECK(load.good() == 1200);
        CHECK(load.model.mismatches() == 0);
    }
    // A pause shorter than the timers is only a pause.
    const TestProtocol p = test_protocol(true, Duration::s(10));
    const TestFolder folder;
    TargetProcess target(p, folder.path / "disk");
    Host host(p, target.port());
    Load load(host, 12, 100);
    host.run_until([&] { return load.good() > 300; });
    host.sockets.set_silent(*host.last, true);
    const Instant back = host.world.now() + Duration::ms(30);
    host.run_until([&] { return host.world.now() > back; });
    host.sockets.set_silent(*host.last, false);
    host.run_until([&] { return load.over(); });
    CHECK(load.good() == 1200);
    CHECK(host.initiator->counters().losses == 0);
    CHECK(load.model.mismatches() == 0);
}

TEST_CASE("bytes that make no sense end their own connection and nobody else's") {
    for (const bool nvme : {true, false}) {
        const TestProtocol p = test_protocol(nvme, Duration::s(10));
        INFO(p.name);
        const TestFolder folder;
        TargetProcess target(p, folder.path / "disk");
        Host host(p, target.port());
        Load load(host, 4, 300);
        host.run_until([&] { return load.good() > 20; });
        Random random(1, "garbage");
        for (int i = 0; i < 20; i++) {
            const RawSocket raw(target.port());
            std::vector<std::byte> bytes(1 + random.below(5000));
            for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
            bytes[0] = std::byte{0xff};
            raw.say(bytes);
            ::shutdown(raw.socket, SHUT_WR);
            CHECK(raw.hung_up());
        }
        host.run_until([&] { return load.over(); });
        CHECK(load.good() == 1200);
        CHECK(load.model.mismatches() == 0);
        CHECK(host.initiator->counters().losses == 0);
    }
}

TEST_CASE(
    "connections that come and go leave no descriptor behind, and nobody listening is no crash") {
    const TestProtocol p = test_protocol(true, Duration::s(10));
    const TestFolder folder;
    TargetProcess target(p, folder.path / "disk");
    Host host(p, target.port());
    host.run_until([&] { return host.initiator->state() == SessionState::live; });
    const size_t before = target.process().open_files();
    for (int i = 0; i < 200; i++) RawSocket raw(target.port());
    host.run_until([&] { return target.process().open_files() <= before; });
    target.process().kill();
    // The kernel may still be taking the dead process's sockets apart.
    host.run_until([&] { return host.sockets.connect(target.port(), p.codec) == nullptr; });
}
