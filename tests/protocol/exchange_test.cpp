// Messages of a command, protocol by protocol: how many, how large, and that the data arrives.
#include "models/nvme/profiles.hpp"
#include "models/scsi/profiles.hpp"
#include "tests/protocol/rig.hpp"

using namespace storlab;

namespace {
std::vector<Profile> all_profiles() {
    return {nvme_tcp(),
            nvme_tcp({Bytes::kib(16), Bytes::kib(128), false}),
            nvme_rdma(),
            fc_nvme(),
            fcp(),
            iscsi(),
            iscsi(open_iscsi()),
            iser()};
}
// One read and one write of so many blocks; a letter a message, as in wire.hpp.
std::string messages(Rig& rig, Op op, uint32_t blocks) {
    rig.wire.log.clear();
    Command c(rig, op, 5, blocks);
    if (op == Op::write) c.fill(blocks + 1);
    c.submit();
    rig.run(Duration::ms(5));
    REQUIRE(c.times == 1);
    REQUIRE(c.request.status == IoStatus::ok);
    return rig.wire.letters();
}
uint64_t bytes_sent(const Rig& rig) {
    uint64_t n = 0;
    for (const Wire::Sent& s : rig.wire.log) n += s.bytes;
    return n;
}
} // namespace

TEST_CASE("FCP: a write is CMND, XFER_RDY, DATA, RSP; a read is CMND, DATA, RSP") {
    Rig rig({.profile = fcp()});
    rig.go_live();
    CHECK(messages(rig, Op::write, 1) == "CR>=");
    CHECK(bytes_sent(rig) == 32 + 12 + 4096 + 24);
    CHECK(messages(rig, Op::read, 1) == "C<=");
    CHECK(bytes_sent(rig) == 32 + 4096 + 24);
    CHECK(messages(rig, Op::flush, 0) == "C=");
}

TEST_CASE("NVMe/TCP: four pages are written inside the command, one block more by R2T") {
    Rig rig({.profile = nvme_tcp()});
    rig.go_live();
    CHECK(messages(rig, Op::write, 1) == "C=");
    CHECK(bytes_sent(rig) == 72 + 4096 + 24);
    CHECK(messages(rig, Op::write, 4) == "C=");
    const std::string by_ready = "CR>=";
    CHECK(messages(rig, Op::write, 5) == by_ready);
    CHECK(messages(rig, Op::write, 8) == by_ready); // 32 KiB
    CHECK(bytes_sent(rig) == 72 + 24 + 24 + 32768 + 24);
}

TEST_CASE("NVMe/TCP: a read is two messages with the SUCCESS flag and three without") {
    Rig with({.profile = nvme_tcp()});
    with.go_live();
    CHECK(messages(with, Op::read, 1) == "C<");
    CHECK(bytes_sent(with) == 72 + 24 + 4096);
    Rig without({.profile = nvme_tcp({Bytes::kib(16), Bytes::mib(4), false})});
    without.go_live();
    CHECK(messages(without, Op::read, 1) == "C<=");
}

TEST_CASE("NVMe/RDMA: one page inside the capsule, more by RDMA READ") {
    Rig rig({.profile = nvme_rdma()});
    rig.go_live();
    CHECK(messages(rig, Op::write, 1) == "C=");
    CHECK(messages(rig, Op::write, 2) == "CR>=");
    CHECK(messages(rig, Op::read, 2) == "C<=");
}

TEST_CASE("iSCSI: the first 8 KiB are immediate, the rest is asked for by MaxBurstLength") {
    Rig rig({.profile = iscsi()});
    rig.go_live();
    CHECK(messages(rig, Op::write, 2) == "C=");
    CHECK(messages(rig, Op::write, 3) == "CR>=");
    // 8 KiB immediate; 64 blocks of a burst in 32 messages; then 2 blocks in one.
    CHECK(messages(rig, Op::write, 2 + 64 + 2) == "CR" + std::string(32, '>') + "R>=");
    CHECK(messages(rig, Op::read, 2) == "C<");
    CHECK(messages(rig, Op::read, 5) == "C<<<");
}

TEST_CASE("open-iscsi at its best: 256 KiB are sent before anybody asks") {
    Rig rig({.profile = iscsi(open_iscsi())});
    rig.go_live();
    CHECK(messages(rig, Op::write, 64) == "C=");
    CHECK(messages(rig, Op::write, 65) == "CR>=");
    IscsiOptions none = open_iscsi();
    none.immediate_data = false;
    Rig separate({.profile = iscsi(none)});
    separate.go_live();
    CHECK(messages(separate, Op::write, 64) == "C>=");
}

TEST_CASE("data arrives whole in every protocol, at every size around every limit") {
    for (const Profile& p : all_profiles()) {
        CAPTURE(p.name);
        Rig rig({.profile = p});
        rig.go_live();
        uint32_t version = 1;
        for (const uint32_t blocks : {1u, 2u, 3u, 4u, 5u, 7u, 16u, 17u, 33u, 63u, 64u, 65u, 66u,
                                      67u, 128u, 255u, 256u, 257u, 1024u}) { // up to 4 MiB
            CAPTURE(blocks);
            version++;
            Command w(rig, Op::write, 11, blocks);
            w.fill(version).submit();
            rig.run(Duration::ms(20));
            REQUIRE(w.times == 1);
            REQUIRE(w.request.status == IoStatus::ok);
            REQUIRE(w.on_disk(version));
            Command r(rig, Op::read, 11, blocks);
            r.submit();
            rig.run(Duration::ms(20));
            REQUIRE(r.times == 1);
            REQUIRE(r.read(version));
        }
        CHECK(rig.wire.out() == 0);
        CHECK(rig.initiator->counters().violations + rig.target->counters().violations == 0);
    }
}

TEST_CASE("data goes to and from segments that are no neighbours in memory") {
    for (const Profile& p : all_profiles()) {
        Rig rig({.profile = p});
        rig.go_live();
        Command w(rig, Op::write, 100, 23);
        w.fill(9);
        // The same blocks in three pieces laid out backwards.
        const uint32_t payload = rig.o.disk.payload;
        std::vector<std::byte> memory(23 * payload);
        const uint32_t sizes[] = {1, 14, 8};
        Segment pieces[3];
        size_t end = memory.size(), taken = 0;
        for (int i = 0; i < 3; i++) {
            end -= sizes[i] * payload;
            pieces[i] = {memory.data() + end, sizes[i]};
            std::memcpy(pieces[i].at, w.data.data() + taken, sizes[i] * payload);
            taken += sizes[i] * payload;
        }
        w.request.list = pieces;
        w.request.segment_count = 3;
        w.submit();
        rig.run(Duration::ms(5));
        REQUIRE(w.request.status == IoStatus::ok);
        CHECK(w.on_disk(9));
        const std::vector<std::byte> written = memory;
        std::fill(memory.begin(), memory.end(), std::byte{0});
        Command r(rig, Op::read, 100, 23);
        r.request.list = pieces;
        r.request.segment_count = 3;
        r.submit();
        rig.run(Duration::ms(5));
        CHECK(memory == written);
    }
}

TEST_CASE("what a target cannot do it says, and what the disk says gets through") {
    for (const Profile& p : all_profiles()) {
        CAPTURE(p.name);
        Rig rig({.profile = p});
        RemoteUnit nobody(*rig.initiator, 9, rig.disk.geometry());
        rig.go_live();
        const auto status = [&](RemoteUnit& u, Op op, uint64_t lba, uint32_t blocks) {
            Command c(rig, op, lba, blocks);
            u.submit(c.request).resume();
            rig.run(Duration::ms(5));
            REQUIRE(c.times == 1);
            return c.request.status;
        };
        CHECK(status(nobody, Op::read, 0, 1) == IoStatus::no_device);
        CHECK(status(*rig.unit, Op::write, 2047, 1) == IoStatus::ok);
        CHECK(status(*rig.unit, Op::write, 2047, 2) == IoStatus::failed);
        CHECK(status(*rig.unit, Op::write, 2040, 64) ==
              IoStatus::failed); // data already on its way
        CHECK(status(*rig.unit, Op::read, 2048, 1) == IoStatus::failed);
        CHECK(status(*rig.unit, Op::read, ~uint64_t{0}, 2) == IoStatus::failed);
        CHECK(status(*rig.unit, Op::read, 0, 0) == IoStatus::failed);
        for (const IoStatus s : {IoStatus::failed, IoStatus::no_device, IoStatus::no_path}) {
            rig.disk.answer = s;
            CHECK(status(*rig.unit, Op::read, 0, 3) == s);
            CHECK(status(*rig.unit, Op::write, 0, 30) == s);
            CHECK(status(*rig.unit, Op::flush, 0, 0) == s);
        }
        CHECK(rig.initiator->state() == SessionState::live);
        CHECK(rig.wire.out() == 0);
        CHECK(rig.disk.at_work == 0);
    }
}

TEST_CASE("more commands than tags wait their turn, first come first served") {
    Rig rig({.profile = nvme_tcp(), .depth = 3});
    rig.initiator->start(); // and commands given before the login is done wait, too
    std::deque<Command> commands;
    for (uint64_t i = 0; i < 20; i++) commands.emplace_back(rig, Op::read, i, 1).submit();
    CHECK(rig.disk.commands == 0);
    rig.wire.watch = [&](const Message&, bool) { REQUIRE(rig.initiator->outstanding() <= 3); };
    rig.run(Duration::ms(5));
    for (size_t i = 0; i < commands.size(); i++) {
        REQUIRE(commands[i].times == 1);
        CHECK(commands[i].read(0));
        if (i) CHECK(commands[i - 1].ended <= commands[i].ended);
    }
}

TEST_CASE("a login takes the round trips of its standard, and a query of the access states") {
    for (const Profile& p : all_profiles()) {
        Rig rig({.profile = p});
        rig.initiator->start();
        rig.run(Duration::ms(1));
        CHECK(rig.states ==
              std::vector<SessionState>{SessionState::connecting, SessionState::live});
        REQUIRE(rig.wire.log.size() == 2 * p.login.size() + 2);
        for (size_t i = 0; i < p.login.size(); i++) {
            CHECK(rig.wire.log[2 * i].bytes == p.login[i].request);
            CHECK(rig.wire.log[2 * i + 1].bytes == p.login[i].answer);
        }
        CHECK(rig.wire.log.back().kind == Kind::access_report);
        CHECK(rig.wire.log.back().bytes == p.report + p.report_each);
    }
}
