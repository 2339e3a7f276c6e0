// The defaults of hosts, read from their parts, against what their documents say, and what they
// come to together.
#include "sim/scenario/build.hpp"
#include "tests/multipath/path_device.hpp"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

namespace storlab::test {
namespace {

constexpr auto all_transports = {PathTransport::fc, PathTransport::iscsi, PathTransport::nvme};

// Reads the part once for each transport and lets nothing pass that was not asked for.
MultipathOptions read_part(const std::string& name, PathTransport transport,
                           const std::string& folder = "scenarios/parts") {
    const ComplaintsPtr complaints = new_complaints();
    const Part part = Catalogue(folder, complaints).find(name, {"test", 1, 1});
    REQUIRE(part);
    CHECK(part.kind() == "multipath");
    const MultipathOptions o = multipath_options(part, transport);
    complaints->throw_if_any();
    for (const auto& [value, v] : part.values()) CHECK(part.was_read(value));
    return o;
}
// A part like another one, with something else in it.
struct Changed {
    std::string folder = std::filesystem::temp_directory_path() /
                         ("storlab-multipath-" + std::to_string(std::random_device{}()));
    Changed(const std::string& like, const std::string& values) {
        std::filesystem::create_directory(folder);
        std::filesystem::copy_file("scenarios/parts/" + like + ".yaml",
                                   folder + "/" + like + ".yaml");
        std::ofstream(folder + "/changed.yaml") << "title: Changed\nlike: " << like << "\n"
                                                << values << "\n";
    }
    ~Changed() { std::filesystem::remove_all(folder); }
    MultipathOptions read(PathTransport t = PathTransport::fc) const {
        return read_part("changed", t, folder);
    }
    std::string complaint() const {
        try {
            read();
        } catch (const InputError& error) { return error.what(); }
        return {};
    }
};
std::string value(const std::string& name, const std::string& text) {
    return name + ": {value: " + text + ", from: assumed}\n";
}

} // namespace

TEST_CASE("dm-multipath: polls of 5 to 20 s, fail-fast of 5 and 120 s, no queueing") {
    for (const PathTransport t : all_transports) {
        const MultipathOptions o = read_part("linux-dm-multipath", t);
        CHECK(o.selector == PathSelector::service_time);
        CHECK(o.round_robin_ios == 1);
        CHECK(o.grouping == PathGrouping::by_access);
        CHECK(o.failback == Failback::immediate);
        CHECK(o.no_path == NoPath::fail);
        CHECK(o.checker.interval == Duration::s(5));
        CHECK(o.checker.longest == Duration::s(20));
        CHECK(o.checker.failed == Duration::s(5));
        CHECK(o.checker.timeout == Duration::s(30));
        CHECK(o.checker.believes_checks_only);
        CHECK(o.retries == 0);
        CHECK_FALSE(o.timers.loss_is_final);
        CHECK(o.timers.hold == (t == PathTransport::fc      ? Duration::s(5)
                                : t == PathTransport::iscsi ? Duration::s(120)
                                                            : Duration()));
        CHECK(o.timers.hold_after_timeout == (t == PathTransport::iscsi));
        CHECK(o.timers.loss == (t == PathTransport::fc ? Duration::s(600) : Duration()));
    }
}

TEST_CASE("native NVMe: one path by distance, 60 attempts in 600 s, no fast-fail") {
    for (const PathTransport t : all_transports) {
        const MultipathOptions o = read_part("linux-nvme-multipath", t);
        CHECK(o.selector == PathSelector::nearest);
        CHECK(o.no_path == NoPath::queue);
        CHECK(o.timers.attempts() == 60);
        CHECK(o.timers.loss == Duration::s(600));
        CHECK(o.timers.reconnect == Duration::s(10));
        CHECK(o.timers.give_up == Duration());
        CHECK(o.timers.hold == Duration());
        CHECK(o.timers.loss_is_final);
        CHECK(o.checker.interval == Duration());
        CHECK_FALSE(o.checker.believes_checks_only);
    }
    const Changed off("linux-nvme-multipath", value("ctrl_loss_tmo", "\"off\"") +
                                                  value("fast_io_fail_tmo", "7s") +
                                                  value("iopolicy", "queue-depth"));
    CHECK(off.read().timers.loss == Duration());
    CHECK(off.read().timers.give_up == Duration::s(7));
    CHECK(off.read().selector == PathSelector::queue_depth);
    const Changed uneven("linux-nvme-multipath",
                         value("ctrl_loss_tmo", "61s") + value("reconnect_delay", "7s"));
    CHECK(uneven.read().timers.attempts() == 9); // rounded up
}

TEST_CASE("Windows MPIO: verification off, 3 retries a second apart, the disk goes after 20 s") {
    const MultipathOptions o = read_part("windows-mpio", PathTransport::fc);
    CHECK(o.selector == PathSelector::round_robin);
    CHECK(o.grouping == PathGrouping::by_access);
    CHECK(o.round_robin_ios == 1);
    CHECK(o.checker.interval == Duration());
    CHECK(o.checker.failed == Duration::s(40));
    CHECK(o.no_path == NoPath::remove);
    CHECK(o.no_path_wait == Duration::s(20));
    CHECK(o.retries == 3);
    CHECK(o.retry_interval == Duration::s(1));
    CHECK(o.timers.hold == Duration::s(30));
    CHECK(read_part("windows-mpio", PathTransport::iscsi).timers.hold == Duration::s(15));
    CHECK(read_part("windows-mpio", PathTransport::nvme).timers.hold == Duration());
    const Changed verified("windows-mpio", value("path_verify_enabled", "true"));
    CHECK(verified.read().checker.interval == Duration::s(30));
}

TEST_CASE("ESXi: round robin of 1000, all paths down for 140 s, a look at paths every 300 s") {
    const MultipathOptions o = read_part("esxi-nmp", PathTransport::fc);
    CHECK(o.selector == PathSelector::round_robin);
    CHECK(o.round_robin_ios == 1000);
    CHECK(o.failback == Failback::immediate);
    CHECK(o.no_path == NoPath::wait);
    CHECK(o.no_path_wait == Duration::s(140));
    CHECK(o.checker.interval == Duration::s(300));
    CHECK(o.checker.failed == Duration::s(300));
    CHECK(o.timers.hold == Duration::s(10));
    CHECK(read_part("esxi-nmp", PathTransport::iscsi).timers.hold == Duration::s(10));
    const Changed mru("esxi-nmp", value("psp", "VMW_PSP_MRU") + value("apd_handling", "false"));
    CHECK(mru.read().selector == PathSelector::most_recent);
    CHECK(mru.read().failback == Failback::manual);
    CHECK(mru.read().no_path == NoPath::queue);
}

TEST_CASE("field case 28: no_path_retry N is N times polling_interval of queueing") {
    for (const int64_t polls : {1, 12, 60})
        for (const int64_t interval : {5, 7}) {
            CAPTURE(polls, interval);
            const Changed part("linux-dm-multipath",
                               value("no_path_retry", std::to_string(polls)) +
                                   value("polling_interval", std::to_string(interval) + "s"));
            const Duration queueing = Duration::s(polls * interval), fast_fail = Duration::s(5);
            Host h(2, part.read());
            h.lose(0);
            h.lose(1);
            Host::Command& c = h.send();
            h.run_until(Duration::s(1000));
            CHECK(c.ended == Instant::at(fast_fail + queueing));
            CHECK(c.status == IoStatus::no_path);
            CHECK(c.ends == 1);
        }
    CHECK(Changed("linux-dm-multipath", value("no_path_retry", "queue")).read().no_path ==
          NoPath::queue);
    CHECK(Changed("linux-dm-multipath", value("no_path_retry", "0")).read().no_path ==
          NoPath::fail);
}

TEST_CASE("field case 28: with the defaults of each host, what all paths down comes to") {
    const auto ends = [](const std::string& part, PathTransport t) {
        Host h(2, read_part(part, t));
        h.lose(0);
        h.lose(1);
        Host::Command& c = h.send();
        h.run_until(Duration::s(4000));
        REQUIRE(c.ends == 1);
        return std::pair(c.ended.since_start().count_ns() / 1'000'000'000, c.status);
    };
    using P = PathTransport;
    CHECK(ends("linux-dm-multipath", P::fc) == std::pair<int64_t, IoStatus>(5, IoStatus::no_path));
    CHECK(ends("linux-dm-multipath", P::iscsi) ==
          std::pair<int64_t, IoStatus>(120, IoStatus::no_path));
    CHECK(ends("linux-nvme-multipath", P::nvme) ==
          std::pair<int64_t, IoStatus>(600, IoStatus::no_device));
    // 30 s of the driver's, one retry's second within 20 s of the disk's
    CHECK(ends("windows-mpio", P::fc) == std::pair<int64_t, IoStatus>(50, IoStatus::no_device));
    CHECK(ends("esxi-nmp", P::fc) == std::pair<int64_t, IoStatus>(150, IoStatus::no_path));
}

TEST_CASE("ESXi on FC: every command stops within one turn of the dead path, for 10 s") {
    Host h(2, read_part("esxi-nmp", PathTransport::fc));
    for (auto& p : h.paths) p->mode = PathDevice::Mode::answers;
    h.lose(0);
    h.paths[1]->mode = PathDevice::Mode::answers;
    // 8 outstanding, each command followed by another: all of them are on path 0 before long.
    uint64_t ended = 0;
    for (int round = 0; round < 2000 && h.multipath->outstanding(0) < 8; round++) {
        while (h.multipath->outstanding(0) + h.multipath->outstanding(1) < 8) h.send();
        h.run_until(Duration::us(100) * (round + 1));
    }
    for (const auto& c : h.commands) ended += c->ends;
    CHECK(h.multipath->outstanding(0) == 8);
    CHECK(ended <= 1000);
    h.run_until(Duration::ms(9'999));
    CHECK(h.multipath->outstanding(0) == 8);
    h.run_until(Duration::ms(10'001));
    for (const auto& c : h.commands) CHECK((c->ends == 1 && c->status == IoStatus::ok));
}

TEST_CASE("values that no multipath has are refused with their place") {
    CHECK(Changed("linux-dm-multipath", value("path_selector", "fastest"))
              .complaint()
              .find("service-time") != std::string::npos);
    CHECK(Changed("linux-dm-multipath", value("no_path_retry", "soon"))
              .complaint()
              .find("changed.yaml:3:") != std::string::npos);
    CHECK(Changed("linux-dm-multipath", value("polling_interval", "0s"))
              .complaint()
              .find("must not be zero") != std::string::npos);
    CHECK(Changed("esxi-nmp", value("apd_timeut", "1s")).complaint().find("apd_timeout") !=
          std::string::npos);
    CHECK(Changed("windows-mpio", value("retry_count", "0")).complaint() != "");
}

} // namespace storlab::test
