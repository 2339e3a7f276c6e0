#include "sim/scenario/part_values.hpp"
#include "sim/scenario/part.hpp"

namespace storlab {

namespace {
struct Family {
    std::string_view kind;
    std::string_view told_by; // a value that only these of the kind have; empty: all the others
    std::vector<std::string> values;
};

const std::vector<Family>& families() {
    static const std::vector<Family> all{
        {"server",
         "",
         {"sockets", "memory", "pcie_generation", "lanes_per_socket", "max_payload",
          "read_completion", "dllp_share", "hop"}},
        {"cpu",
         "",
         {"cores", "threads_per_core", "clock", "smt_yield", "socket_links", "socket_link_rate",
          "socket_link_payload", "socket_latency"}},
        {"host-stack",
         "",
         {"load_submit", "load_reap", "block_submit", "drive_submit", "drive_complete",
          "path_select", "fabric_submit", "fabric_complete", "pdu_send", "pdu_send_rate",
          "pdu_receive", "pdu_receive_rate", "packet_receive", "packet_receive_rate"}},
        {"ssd", "", {"capacity",      "raw_capacity", "channels",     "dies",
                     "planes",        "page",         "map_page",     "program_pages",
                     "block_pages",   "t_read",       "t_program",    "t_erase",
                     "t_suspend",     "channel_rate", "backend_rate", "command_read",
                     "command_write", "write_ack",    "buffer",       "host_link"}},
        {"pcie-switch", "", {"lanes", "generation", "link", "hop"}},
        {"raid-card",
         "",
         {"link", "round", "piece", "card_submit", "card_driver", "driver_threads"}},
        {"raid-engine",
         "",
         {"raid_read_chunk", "raid_write", "raid_write_page", "raid_lock_chunk", "raid_lock_stripe",
          "raid_pass", "raid_member_io", "raid_parity", "hand_over_same_socket",
          "hand_over_other_socket", "workers", "wake_up", "stripe_cache"}},
        {"hba",
         "",
         {"link", "ports", "port_speeds", "per_command", "per_message", "latency", "coalesce",
          "buffer_credits", "usable_share"}},
        {"nic",
         "",
         {"link", "ports", "port_speeds", "mtu", "rdma", "per_command", "per_message", "latency",
          "coalesce", "usable_share"}},
        {"dpu",
         "",
         {"link", "ports", "port_speeds", "mtu", "processors", "adapter_command", "adapter_write",
          "per_command", "per_message", "latency", "coalesce", "usable_share"}},
        {"network-switch", "", {"ports", "port_speeds", "latency", "buffer", "lossless"}},
        {"target-stack",
         "",
         {"protocols", "runs_on", "contexts_per_volume", "target_read", "target_write",
          "target_send", "target_send_rate", "target_receive", "target_receive_rate", "association",
          "per_answer", "link_share"}},
        {"multipath",
         tells_nvme,
         {"iopolicy", "ctrl_loss_tmo", "reconnect_delay", "fast_io_fail_tmo"}},
        {"multipath",
         tells_windows,
         {"load_balance_policy", "path_verify_enabled", "path_verification_period",
          "pdo_remove_period", "retry_count", "retry_interval", "path_recovery_interval",
          "fc_link_down_time", "iscsi_link_down_time"}},
        {"multipath",
         tells_esxi,
         {"psp", "iops", "apd_handling", "apd_timeout", "path_evaluation", "fc_device_loss",
          "iscsi_recovery_timeout"}},
        {"multipath",
         "",
         {"path_selector", "rr_min_io_rq", "path_grouping_policy", "failback", "no_path_retry",
          "polling_interval", "max_polling_interval", "checker_timeout", "fc_fast_io_fail_tmo",
          "fc_dev_loss_tmo", "iscsi_replacement_timeout"}}};
    return all;
}
} // namespace

std::vector<std::string> values_known_of(const Part& part) {
    for (const Family& f : families())
        if (f.kind == part.kind() && (f.told_by.empty() || part.has(f.told_by))) return f.values;
    return {};
}

} // namespace storlab
