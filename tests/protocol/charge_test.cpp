// Who pays for a command, what for, and in how many visits; and where its time went.
#include "models/nvme/profiles.hpp"
#include "models/scsi/profiles.hpp"
#include "tests/protocol/rig.hpp"

using namespace storlab;

namespace {
// Every operation has a price of its own, and a byte costs a picosecond.
PriceList prices() {
    PriceList p{};
    for (size_t i = 0; i < p.size(); i++) p[i] = {Duration::ns(static_cast<int64_t>(i) + 1), 1.0};
    return p;
}
Duration price(Operation op, int64_t messages, int64_t bytes = 0) {
    return prices()[static_cast<size_t>(op)].each * messages + Duration::ps(bytes);
}
struct Rigged : Rig {
    explicit Rigged(RigOptions options)
        : Rig([&] {
              options.host_prices = options.target_prices = prices();
              return options;
          }()) {
        go_live();
    }
    void io(Op op, uint32_t blocks, bool host_pays = true) {
        host.ledger = adapter.ledger = interrupt.ledger = controller.ledger = {};
        host.visits = adapter.visits = interrupt.visits = controller.visits = 0;
        Command c(*this, op, 0, blocks, host_pays ? &host : nullptr);
        c.submit();
        run(Duration::ms(5));
        REQUIRE(c.request.status == IoStatus::ok);
    }
};
constexpr int64_t page = 4096;
} // namespace

TEST_CASE("NVMe/TCP by software: both ends pay for messages and bytes") {
    Rigged rig({.profile = nvme_tcp()});
    rig.io(Op::read, 2);
    CHECK(rig.host.owed(Operation::fabric_submit) == price(Operation::fabric_submit, 1));
    CHECK(rig.host.owed(Operation::pdu_send) == price(Operation::pdu_send, 1));
    CHECK(rig.host.owed(Operation::pdu_receive) == price(Operation::pdu_receive, 1, 2 * page));
    CHECK(rig.host.owed(Operation::fabric_complete) == price(Operation::fabric_complete, 1));
    CHECK(rig.host.visits == 2);
    CHECK(rig.controller.owed(Operation::target_read) == price(Operation::target_read, 1));
    CHECK(rig.controller.owed(Operation::target_receive) == price(Operation::target_receive, 1));
    CHECK(rig.controller.owed(Operation::target_send) ==
          price(Operation::target_send, 1, 2 * page));
    CHECK(rig.controller.visits == 2);

    rig.io(Op::write, 1); // inside the command
    CHECK(rig.host.owed(Operation::pdu_send) == price(Operation::pdu_send, 1, page));
    CHECK(rig.host.owed(Operation::pdu_receive) == price(Operation::pdu_receive, 1));
    CHECK(rig.host.visits == 2);
    CHECK(rig.controller.owed(Operation::target_write) == price(Operation::target_write, 1));
    CHECK(rig.controller.owed(Operation::target_receive) ==
          price(Operation::target_receive, 1, page));
    CHECK(rig.controller.owed(Operation::target_send) == price(Operation::target_send, 1));

    rig.io(Op::write, 8); // by R2T
    CHECK(rig.host.owed(Operation::pdu_send) == price(Operation::pdu_send, 2, 8 * page));
    CHECK(rig.host.owed(Operation::pdu_receive) == price(Operation::pdu_receive, 2));
    CHECK(rig.host.visits == 3);
    CHECK(rig.controller.owed(Operation::target_receive) ==
          price(Operation::target_receive, 2, 8 * page));
    CHECK(rig.controller.owed(Operation::target_send) == price(Operation::target_send, 2));
    CHECK(rig.controller.visits == 3);
}

TEST_CASE("iSCSI by software: every PDU of the data is paid for, in one visit a burst") {
    Rigged rig({.profile = iscsi()});
    rig.io(Op::write, 10); // 2 immediate, 8 in 4 messages
    CHECK(rig.host.owed(Operation::pdu_send) == price(Operation::pdu_send, 5, 10 * page));
    CHECK(rig.host.owed(Operation::pdu_receive) == price(Operation::pdu_receive, 2));
    CHECK(rig.host.visits == 3);
    CHECK(rig.controller.owed(Operation::target_receive) ==
          price(Operation::target_receive, 5, 10 * page));
    rig.io(Op::read, 10);
    CHECK(rig.host.owed(Operation::pdu_receive) == price(Operation::pdu_receive, 5, 10 * page));
    CHECK(rig.controller.owed(Operation::target_send) ==
          price(Operation::target_send, 5, 10 * page));
}

TEST_CASE("an adapter that runs the protocol pays for commands, the host only enters and leaves") {
    for (const Profile& p : {nvme_rdma(), fcp(), nvme_tcp(), iscsi()}) {
        CAPTURE(p.name);
        Rigged rig({.profile = p, .offloaded_target = true, .adapter = true});
        for (const Op op : {Op::read, Op::write}) {
            rig.io(op, 20);
            CHECK(rig.host.owed(Operation::fabric_submit) == price(Operation::fabric_submit, 1));
            CHECK(rig.host.owed(Operation::fabric_complete) ==
                  price(Operation::fabric_complete, 1));
            CHECK(rig.host.owed(Operation::pdu_send) == Duration());
            CHECK(rig.host.owed(Operation::pdu_receive) == Duration());
            CHECK(rig.host.visits == 2);
            CHECK(rig.adapter.owed(Operation::adapter_command) ==
                  price(Operation::adapter_command, 1));
            CHECK(rig.adapter.owed(Operation::adapter_write) ==
                  (op == Op::write ? price(Operation::adapter_write, 1) : Duration()));
            CHECK(rig.adapter.visits == 1);
            CHECK(rig.controller.visits == 1); // together with what the device's layers owe
            CHECK(rig.controller.owed(Operation::target_send) == Duration());
        }
    }
}

TEST_CASE("the interrupt context pays for every message and its bytes") {
    Rigged rig({.profile = nvme_tcp(), .interrupt = true});
    rig.io(Op::read, 2);
    CHECK(rig.interrupt.owed(Operation::packet_receive) ==
          price(Operation::packet_receive, 1, 24 + 2 * page));
    CHECK(rig.interrupt.visits == 1);
    CHECK(rig.host.visits == 2);
}

TEST_CASE("a command that is paid for already costs the host nothing") {
    Rigged rig({.profile = nvme_tcp()});
    rig.io(Op::write, 8, false);
    rig.io(Op::read, 8, false);
    CHECK(rig.host.visits == 0);
    for (const Duration d : rig.host.ledger) CHECK(d == Duration());
}

TEST_CASE("a debt of nothing needs no visit") {
    for (const Profile& p : {nvme_tcp(), nvme_rdma(), fcp(), iscsi()}) {
        Rig rig({.profile = p, .adapter = true, .interrupt = true});
        rig.go_live();
        for (const Op op : {Op::read, Op::write}) {
            Command c(rig, op, 0, 33, &rig.host);
            c.submit();
            rig.run(Duration::ms(5));
            REQUIRE(c.request.status == IoStatus::ok);
        }
        CHECK(rig.host.visits + rig.adapter.visits + rig.interrupt.visits + rig.controller.visits ==
              0);
    }
}

TEST_CASE("several workers of the host may copy at once: the answer waits for all the data") {
    for (const uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
        Rig rig({.profile = iscsi(),
                 .seed = seed,
                 .host_prices = prices(),
                 .host_servers = 4,
                 .host_spread = Duration::us(100)});
        rig.go_live();
        for (int i = 0; i < 20; i++) {
            Command c(rig, Op::read, 0, 15, &rig.host);
            c.submit();
            rig.run(Duration::ms(5));
            REQUIRE(c.times == 1);
            REQUIRE(c.request.status == IoStatus::ok);
            CHECK(c.read(0));
        }
        CHECK(rig.initiator->counters().violations == 0);
    }
}

TEST_CASE("the time of an I/O is in the layer it was in") {
    Rig rig({.profile = nvme_rdma(),
             .adapter = true,
             .host_prices = prices(),
             .target_prices = prices()});
    rig.go_live();
    Span span;
    Command c(rig, Op::read, 0, 1, &rig.host);
    c.request.span = &span;
    span.open(rig.calendar.now());
    const Instant start = rig.calendar.now();
    c.submit();
    rig.run(Duration::ms(1));
    span.close(c.ended);
    const auto spent = [&](Layer l) {
        return Duration::ps(span.spent_ps()[static_cast<size_t>(l)]);
    };
    CHECK(spent(Layer::host) ==
          price(Operation::fabric_submit, 1) + price(Operation::fabric_complete, 1));
    CHECK(spent(Layer::fabric) == Duration::us(20) + price(Operation::adapter_command, 1));
    CHECK(spent(Layer::target) == price(Operation::target_read, 1));
    CHECK(spent(Layer::flash) == Duration::us(50));
    CHECK(c.ended - start ==
          spent(Layer::host) + spent(Layer::fabric) + spent(Layer::target) + spent(Layer::flash));
}

TEST_CASE("a target that goes on with a lost command does not touch the span of its I/O") {
    Rig rig({.profile = nvme_tcp()});
    rig.go_live();
    auto span = std::make_unique<Span>();
    span->open(rig.calendar.now());
    Command c(rig, Op::read, 0, 1);
    c.request.span = span.get();
    c.submit();
    rig.run(Duration::us(20)); // at the disk
    rig.wire.cut(Cut::told);
    REQUIRE(c.times == 1);
    span.reset(); // under ASan a touch would be seen
    rig.run(Duration::ms(1));
    CHECK(rig.target->counters().done == 1);
}
