#include "models/scsi/profiles.hpp"
#include <algorithm>

namespace storlab {

namespace {
uint32_t bytes(Bytes b) { return static_cast<uint32_t>(b.count()); }
constexpr uint32_t sense_bytes = 18; // fixed format, SPC-4 section 4.5.3

Profile common(std::string_view name) {
    Profile p;
    p.name = name;
    p.notice_at_once = false; // UNIT ATTENTION 06/2A06, instead of the next command's answer
    p.report_each = iscsi_wire::group;
    p.timers.command = Duration::s(30); // Linux: timeout of a SCSI disk
    return p;
}
} // namespace

namespace iscsi_wire {
using namespace std::string_view_literals;
LoginText login_text(uint32_t step) {
    if (step == 0)
        return {"InitiatorName=iqn.2026-11.org.storlab:initiator\0SessionType=Normal\0"
                "TargetName=iqn.2026-11.org.storlab:target\0AuthMethod=None\0"sv,
                "TargetPortalGroupTag=1\0AuthMethod=None\0"sv};
    // The number is written over with four digits.
    return {"HeaderDigest=None\0DataDigest=None\0MaxConnections=1\0ErrorRecoveryLevel=0\0"
            "X-org.storlab.Depth=0000\0"sv,
            "HeaderDigest=None\0DataDigest=None\0MaxConnections=1\0ErrorRecoveryLevel=0\0"sv};
}
} // namespace iscsi_wire

IscsiOptions open_iscsi() {
    return {.immediate_data = true,
            .initial_r2t = false,
            .first_burst = Bytes::kib(256),
            .max_burst = Bytes(16'776'192),
            .initiator_segment = Bytes::kib(256),
            .target_segment = Bytes::kib(256)};
}

// FCP_CMND IU with a 16-byte CDB, FCP_XFER_RDY IU, FCP_RSP IU without and with sense; FCP_DATA IUs
// have no header of their own.
Profile fcp() {
    Profile p = common("FCP");
    p.command = 32;
    p.ready = 12;
    p.response = 24;
    p.refusal = 24 + sense_bytes;
    // MAXIMUM BURST SIZE of the disconnect-reconnect page is 0 in most arrays: no limit of its own.
    p.burst = bytes(Bytes::mib(16));
    // Frames of exchanges go out in turn; our grain of that is 32 frames.
    p.data_out_unit = p.data_in_unit = bytes(Bytes::kib(64));
    p.login = {{116, 116}, // PLOGI, LS_ACC (FC-LS-4)
               {20, 20},   // PRLI
               {32, 24 + iscsi_wire::inquiry_data},
               {32, 24 + iscsi_wire::capacity_data}};
    p.abort = {0, 12}; // ABTS is a bare frame header; BA_ACC
    p.query = 32;
    p.report = 24 + iscsi_wire::groups_header;
    p.timers.abort = Duration::s(10);    // Linux eh_timeout
    p.timers.connect = Duration::s(20);  // 2 R_A_TOV
    p.timers.reconnect = Duration::s(2); // the port is looked for, as after a state change notice
    p.timers.hold = Duration::s(5);      // FC transport: fast_io_fail_tmo, as multipathd sets it
    p.timers.removal = Duration::s(600); // ... and dev_loss_tmo
    return p;
}

Profile iscsi(IscsiOptions o) {
    using namespace iscsi_wire;
    Profile p = common("iSCSI");
    p.command = p.ready = p.data_out = p.data_in = p.response = header;
    p.refusal = header + sense;
    const Bytes first = std::min(o.first_burst, o.max_burst);
    p.in_command = o.immediate_data ? bytes(std::min(first, o.target_segment)) : 0;
    p.unsolicited = o.initial_r2t ? 0 : bytes(first);
    p.burst = bytes(o.max_burst);
    p.ready_limit = o.outstanding_r2t;
    p.data_out_unit = bytes(o.target_segment);
    p.data_in_unit = bytes(o.initiator_segment);
    p.status_in_data = true; // the S bit
    p.software = true;
    for (uint32_t step = 0; step < 2; step++) {
        const LoginText t = login_text(step);
        p.login.push_back({header + padded(static_cast<uint32_t>(t.request.size())),
                           header + padded(static_cast<uint32_t>(t.answer.size()))});
    }
    p.login.push_back({header, header + inquiry_data});
    p.login.push_back({header, header + capacity_data});
    p.abort = p.keep_alive = {header, header};
    p.keep_alive_when_idle = true;
    p.notice = header + sense;
    p.query = header;
    p.report = header + groups_header;
    // open-iscsi: err_timeo.abort_timeout, conn.timeo.login_timeout, DefaultTime2Wait, noop_out
    // interval and timeout, replacement_timeout. It never ceases to try.
    p.timers.abort = Duration::s(15);
    p.timers.connect = Duration::s(15);
    p.timers.reconnect = Duration::s(2);
    p.timers.keep_alive = p.timers.keep_alive_answer = Duration::s(5);
    p.timers.hold = Duration::s(120);
    p.timers.silence = Duration::s(45); // LIO: nopin_timeout 15 s and nopin_response_timeout 30 s
    return p;
}

// RFC 7145: an iSCSI PDU is a SEND behind a header of 28 bytes; data moves by RDMA READ and WRITE
// (RETH 16 bytes, AETH 4), and status is never part of the data (section 7.3.5).
Profile iser(IscsiOptions o) {
    constexpr uint32_t iser_header = 28, reth = 16, aeth = 4;
    Profile p = iscsi(o);
    p.name = "iSER";
    p.command = p.response = iscsi_wire::header + iser_header;
    p.refusal = p.notice = p.response + iscsi_wire::sense;
    p.ready = reth;
    p.data_out = aeth;
    p.data_in = reth;
    p.unsolicited = 0;
    p.data_out_unit = p.data_in_unit = p.burst;
    p.status_in_data = false;
    p.software = false;
    for (RoundTrip& r : p.login) r.request += iser_header, r.answer += iser_header;
    p.abort = p.keep_alive = {p.command, p.response};
    p.query = p.command;
    p.report = reth + iscsi_wire::groups_header + p.response;
    return p;
}

} // namespace storlab
