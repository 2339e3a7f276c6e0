// In which states units are reached through a port, and how hosts learn of it: ANA and ALUA.
#include "models/nvme/profiles.hpp"
#include "models/scsi/profiles.hpp"
#include "tests/protocol/rig.hpp"

using namespace storlab;

namespace {
using Changes = std::vector<std::pair<uint16_t, Access>>;
IoStatus read_one(Rig& rig) {
    Command c(rig, Op::read, 0, 1);
    c.submit();
    rig.run(Duration::ms(1));
    REQUIRE(c.times == 1);
    return c.request.status;
}
} // namespace

TEST_CASE("ANA: a change is told at once and read from the log; commands then get no path") {
    for (const Profile& p : {nvme_tcp(), nvme_rdma(), fc_nvme()}) {
        Rig rig({.profile = p});
        rig.go_live();
        for (const Access a : {Access::non_optimized, Access::inaccessible, Access::unavailable,
                               Access::transition, Access::optimized}) {
            rig.wire.log.clear();
            rig.target->set_access(3, a);
            rig.run(Duration::ms(1));
            CHECK(rig.wire.letters() == "xqr"); // event, log page, its data
            CHECK(rig.unit->access() == a);
            CHECK(rig.accesses.back() == std::pair(uint16_t{3}, a));
            CHECK(read_one(rig) == (reachable(a) ? IoStatus::ok : IoStatus::no_path));
        }
        CHECK(rig.accesses.size() == 5);
        CHECK(rig.initiator->state() == SessionState::live);
    }
}

TEST_CASE("ANA: a command that crosses the change gets no path, and that tells the state") {
    Rig rig({.profile = nvme_tcp()});
    rig.go_live();
    Command c(rig, Op::write, 0, 1);
    c.submit();
    rig.run(Duration::us(5)); // on its way
    rig.target->set_access(3, Access::inaccessible);
    rig.run(Duration::us(13)); // the event has arrived, the command has not been answered
    CHECK(c.times == 0);
    rig.run(Duration::us(7));
    CHECK(c.request.status == IoStatus::no_path);
    CHECK(rig.unit->access() == Access::inaccessible); // before the log has been read
    CHECK(rig.disk.commands == 0);
    rig.run(Duration::ms(1));
    CHECK(rig.accesses == Changes{{uint16_t{3}, Access::inaccessible}});
}

TEST_CASE("ALUA: the next command meets a unit attention, is sent again, and the groups are read") {
    for (Profile p : {fcp(), iscsi(), iser()}) {
        Rig rig({.profile = p});
        rig.go_live();
        rig.target->set_access(3, Access::non_optimized);
        rig.run(Duration::ms(1));
        CHECK(rig.wire.letters().empty()); // nobody is told
        CHECK(rig.unit->access() == Access::optimized);
        CHECK(read_one(rig) == IoStatus::ok);
        CHECK(rig.wire.letters().substr(0, 4) == "C=Cq");
        CHECK(rig.wire.log[1].bytes == p.refusal);
        CHECK(rig.unit->access() == Access::non_optimized);
        CHECK(rig.initiator->counters().attentions == 1);
        CHECK(read_one(rig) == IoStatus::ok); // only once
        CHECK(rig.initiator->counters().attentions == 1);

        rig.target->set_access(3, Access::inaccessible);
        CHECK(read_one(rig) == IoStatus::no_path); // sent again, and not taken
        CHECK(rig.unit->access() == Access::inaccessible);
        rig.target->set_access(3, Access::optimized);
        Command w(rig, Op::write, 0, 30);
        w.fill(4).submit();
        rig.run(Duration::ms(5));
        CHECK(w.request.status == IoStatus::ok);
        CHECK(w.on_disk(4));
        CHECK(rig.unit->access() == Access::optimized);
        CHECK(rig.accesses == Changes{{uint16_t{3}, Access::non_optimized},
                                      {uint16_t{3}, Access::inaccessible},
                                      {uint16_t{3}, Access::optimized}});
        CHECK(rig.wire.out() == 0);
        CHECK(rig.initiator->counters().violations + rig.target->counters().violations == 0);
    }
}

TEST_CASE("several commands in flight, one attention: every command is carried out once") {
    Rig rig({.profile = fcp()});
    rig.go_live();
    rig.target->set_access(3, Access::non_optimized);
    std::deque<Command> all;
    for (uint64_t i = 0; i < 20; i++) all.emplace_back(rig, Op::write, i, 1).fill(2).submit();
    rig.run(Duration::ms(5));
    for (const Command& c : all) {
        CHECK(c.times == 1);
        CHECK(c.on_disk(2));
    }
    CHECK(rig.disk.commands == 20);
    CHECK(rig.initiator->counters().attentions == 1);
}

TEST_CASE("states are known when the login is done, also those that changed meanwhile") {
    for (const Profile& p : {nvme_tcp(), fcp()}) {
        Rig rig({.profile = p});
        rig.target->set_access(3, Access::non_optimized);
        rig.initiator->start();
        rig.run(Duration::ms(1));
        CHECK(rig.unit->access() == Access::non_optimized);
        rig.wire.cut(Cut::told);
        rig.target->set_access(3, Access::inaccessible);
        rig.run(Duration::s(15));
        CHECK(rig.initiator->state() == SessionState::live);
        CHECK(rig.unit->access() == Access::inaccessible);
    }
}

TEST_CASE("a unit that is taken away is no device any more, and may come back") {
    Rig rig({.profile = nvme_tcp()});
    rig.go_live();
    Command c(rig, Op::read, 0, 1);
    c.submit();
    rig.run(Duration::us(20)); // at the disk
    rig.target->remove_unit(3);
    rig.run(Duration::ms(1));
    CHECK(c.request.status == IoStatus::ok);
    CHECK(read_one(rig) == IoStatus::no_device);
    rig.target->add_unit(3, rig.disk, rig.controller);
    CHECK(read_one(rig) == IoStatus::ok);
}
