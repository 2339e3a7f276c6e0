// Parts of kind multipath: each has the names its own product gives to its settings, and is told by
// one of them.
#include "sim/scenario/build.hpp"
#include "sim/scenario/part_values.hpp"

namespace storlab {

namespace {

Duration or_off(const Part& p, std::string_view value) {
    const Node node = p.node(value);
    return node && node.is_scalar() && node.as_text() == "off" ? Duration() : p.duration(value);
}

// The index of what the part says among the words.
template <class T>
T choice(const Part& p, std::string_view value,
         std::initializer_list<std::pair<std::string_view, T>> choices) {
    const Node node = p.node(value);
    if (!node) return choices.begin()->second;
    std::vector<std::string> words;
    for (const auto& [word, meaning] : choices) words.emplace_back(word);
    const std::string said = node.as_one_of(words, words.front());
    for (const auto& [word, meaning] : choices)
        if (word == said) return meaning;
    return choices.begin()->second;
}

void read_no_path_retry(const Part& p, MultipathOptions& o) {
    const Node node = p.node("no_path_retry");
    const std::string text = node && node.is_scalar() ? node.as_text() : "fail";
    if (text == "fail") return;
    if (text == "queue") {
        o.no_path = NoPath::queue;
        return;
    }
    const int64_t polls = p.count("no_path_retry", {0, 1'000'000});
    if (polls == 0) return; // fails
    o.no_path = NoPath::wait;
    o.no_path_wait = o.checker.failed * polls;
}
void read_failback(const Part& p, MultipathOptions& o) {
    const Node node = p.node("failback");
    const std::string text = node && node.is_scalar() ? node.as_text() : "immediate";
    if (text == "immediate" || text == "manual" || text == "followover")
        o.failback = text == "manual"      ? Failback::manual
                     : text == "immediate" ? Failback::immediate
                                           : Failback::followover;
    else {
        o.failback = Failback::delayed;
        o.failback_delay = p.duration("failback");
    }
}

MultipathOptions device_mapper(const Part& p, PathTransport transport) {
    MultipathOptions o;
    o.selector = choice<PathSelector>(p, "path_selector",
                                      {{"service-time", PathSelector::service_time},
                                       {"round-robin", PathSelector::round_robin},
                                       {"queue-length", PathSelector::queue_length}});
    o.round_robin_ios = static_cast<uint32_t>(p.count("rr_min_io_rq", {1, 1'000'000}));
    o.grouping = choice<PathGrouping>(p, "path_grouping_policy",
                                      {{"group_by_prio", PathGrouping::by_access},
                                       {"group_by_tpg", PathGrouping::by_group},
                                       {"multibus", PathGrouping::one_group},
                                       {"failover", PathGrouping::single_paths}});
    o.checker.interval = o.checker.failed = p.duration("polling_interval");
    o.checker.longest = p.duration("max_polling_interval");
    o.checker.timeout = p.duration("checker_timeout");
    o.checker.believes_checks_only = true;
    if (o.checker.failed == Duration()) p.node("polling_interval").complain("must not be zero");
    read_failback(p, o);
    read_no_path_retry(p, o);
    const Duration fast_fail = p.duration("fc_fast_io_fail_tmo"),
                   loss = p.duration("fc_dev_loss_tmo"),
                   replacement = p.duration("iscsi_replacement_timeout");
    if (transport == PathTransport::fc) o.timers = {.hold = fast_fail, .loss = loss};
    if (transport == PathTransport::iscsi)
        o.timers = {.hold = replacement, .hold_after_timeout = true};
    return o;
}

MultipathOptions native_nvme(const Part& p) {
    MultipathOptions o;
    o.selector = choice<PathSelector>(p, "iopolicy",
                                      {{"numa", PathSelector::nearest},
                                       {"round-robin", PathSelector::round_robin},
                                       {"queue-depth", PathSelector::queue_depth}});
    o.no_path = NoPath::queue;
    o.timers = {.give_up = or_off(p, "fast_io_fail_tmo"),
                .loss = or_off(p, "ctrl_loss_tmo"),
                .reconnect = p.duration("reconnect_delay"),
                .loss_is_final = true};
    return o;
}

MultipathOptions windows(const Part& p, PathTransport transport) {
    MultipathOptions o;
    o.selector = choice<PathSelector>(p, "load_balance_policy",
                                      {{"round-robin-with-subset", PathSelector::round_robin},
                                       {"round-robin", PathSelector::round_robin},
                                       {"fail-over-only", PathSelector::nearest},
                                       {"least-queue-depth", PathSelector::queue_length},
                                       {"least-blocks", PathSelector::service_time}});
    o.no_path = NoPath::remove;
    o.no_path_wait = p.duration("pdo_remove_period");
    o.retries = static_cast<uint32_t>(p.count("retry_count", {1, 1000}));
    o.retry_interval = p.duration("retry_interval");
    const Duration verified = p.duration("path_verification_period");
    if (p.flag("path_verify_enabled")) o.checker.interval = o.checker.longest = verified;
    o.checker.failed = p.duration("path_recovery_interval");
    const Duration fc = p.duration("fc_link_down_time"), iscsi = p.duration("iscsi_link_down_time");
    if (transport != PathTransport::nvme)
        o.timers.hold = transport == PathTransport::fc ? fc : iscsi;
    return o;
}

MultipathOptions esxi(const Part& p, PathTransport transport) {
    MultipathOptions o;
    o.selector = choice<PathSelector>(p, "psp",
                                      {{"VMW_PSP_RR", PathSelector::round_robin},
                                       {"VMW_PSP_MRU", PathSelector::most_recent},
                                       {"VMW_PSP_FIXED", PathSelector::nearest}});
    if (o.selector == PathSelector::most_recent) o.failback = Failback::manual;
    o.round_robin_ios = static_cast<uint32_t>(p.count("iops", {1, 1'000'000}));
    o.no_path_wait = p.duration("apd_timeout");
    o.no_path = p.flag("apd_handling") ? NoPath::wait : NoPath::queue;
    o.checker.interval = o.checker.longest = o.checker.failed = p.duration("path_evaluation");
    const Duration fc = p.duration("fc_device_loss"), iscsi = p.duration("iscsi_recovery_timeout");
    if (transport != PathTransport::nvme)
        o.timers.hold = transport == PathTransport::fc ? fc : iscsi;
    return o;
}

} // namespace

MultipathOptions multipath_options(const Part& p, PathTransport transport) {
    if (p.has(tells_nvme)) return native_nvme(p);
    if (p.has(tells_windows)) return windows(p, transport);
    if (p.has(tells_esxi)) return esxi(p, transport);
    return device_mapper(p, transport);
}

} // namespace storlab
