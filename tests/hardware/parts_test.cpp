// Dies, links and the RAID card, one rule a test.
#include "models/gpu/raid_card.hpp"
#include "models/nand/die.hpp"
#include "models/pcie/link.hpp"
#include <catch2/catch.hpp>

using namespace storlab;

namespace {
const NandTiming nand{Duration::us(70), Duration::ms(2), Duration::ms(10), Duration::us(20)};
Instant us(int64_t n) { return Instant::at(Duration::us(n)); }
} // namespace

TEST_CASE("reads of one die go one after the other") {
    Die die;
    CHECK(die.read(us(0), nand, 1) == us(70));
    CHECK(die.read(us(10), nand, 2) == us(140));
    CHECK(die.read(us(500), nand, 3) == us(570));
}

TEST_CASE("a read suspends a program, which ends that much later") {
    Die die;
    CHECK(die.program(us(0), nand) == us(2000));
    CHECK(die.read(us(100), nand, 4) == us(190)); // 20 to suspend, 70 to sense
    CHECK(die.postponed() == Duration::us(90));
    CHECK(die.program(us(200), nand) == us(2090 + 2000)); // behind the postponed one
}

TEST_CASE("reads in a row share one suspension") {
    Die die;
    die.program(us(0), nand);
    CHECK(die.read(us(100), nand, 5) == us(190));
    CHECK(die.read(us(120), nand, 6) == us(260));
    CHECK(die.postponed() == Duration::us(160));
}

TEST_CASE("an erase waits for reads and programs before it") {
    Die die;
    die.read(us(0), nand, 7);
    CHECK(die.erase(us(10), nand) == us(70 + 10'000));
}

TEST_CASE(
    "what is in a die's registers is read without a sense, until the die does something else") {
    Die die;
    CHECK(die.read(us(0), nand, 7) == us(70));
    CHECK(die.read(us(10), nand, 7) == us(70)); // on its way
    CHECK(die.read(us(500), nand, 7) == us(500));
    CHECK(die.read(us(600), nand, 8) == us(670));
    CHECK(die.read(us(700), nand, 7) == us(770));
    die.program(us(800), nand);
    CHECK(die.read(us(3000), nand, 7) == us(3070));
}

TEST_CASE("PCIe rates are lanes, coding and packets") {
    CHECK(PcieLink::raw(4, 4).in_bytes_per_second() == Approx(7.877e9).epsilon(0.001));
    CHECK(PcieLink::raw(4, 8).in_bytes_per_second() == Approx(15.754e9).epsilon(0.001));
    CHECK(PcieLink::raw(3, 16).in_bytes_per_second() == Approx(15.754e9).epsilon(0.001));
    const PcieLink link({.generation = 4, .lanes = 4, .max_payload = Bytes(128)});
    CHECK(link.write_rate().in_bytes_per_second() == Approx(7.877e9 * 128 / 152).epsilon(0.001));
    CHECK(link.read_rate().in_bytes_per_second() == Approx(7.877e9 * 64 / 84).epsilon(0.001));
    const PcieLink larger({.generation = 4, .lanes = 4, .max_payload = Bytes(256)});
    CHECK(larger.write_rate() > link.write_rate());
}

TEST_CASE("a device in a x8 slot is a x8 device: its link carries half of x16") {
    const auto time_for = [](int lanes) {
        Calendar calendar;
        PriceList prices{};
        RaidCard card(calendar, {.generation = 4, .lanes = lanes, .hop = Duration{}}, prices);
        struct Done : Job {
            Instant at;
            Calendar* calendar;
        } jobs[100];
        for (Done& j : jobs) {
            j.calendar = &calendar;
            j.work.bytes_in = 12288;
            j.fire = [](Event& e) {
                auto& done = static_cast<Done&>(e);
                done.at = done.calendar->now();
            };
            card.run(j);
        }
        calendar.run_until(Instant::at(Duration::s(1)));
        return (jobs[99].at - Instant{}).in_seconds();
    };
    CHECK(time_for(8) == Approx(100 * 12288 / (15.754e9 * 64 / 84)).epsilon(0.001));
    CHECK(time_for(8) / time_for(16) == Approx(2).epsilon(0.001));
}

TEST_CASE("rounds of a card overlap, bytes do not") {
    Calendar calendar;
    PriceList prices{};
    prices[static_cast<size_t>(Operation::raid_pass)].each = Duration::us(100);
    RaidCard card(calendar, {.generation = 4, .lanes = 8}, prices);
    int done = 0;
    struct Round : Job {
        int* done;
    } rounds[50];
    for (Round& r : rounds) {
        r.done = &done;
        r.fire = [](Event& e) { ++*static_cast<Round&>(e).done; };
        card.owe(r.work, Operation::raid_pass);
        card.run(r);
    }
    calendar.run_until(us(99));
    CHECK(done == 0);
    calendar.run_until(us(100));
    CHECK(done == 50);
}
