#include "models/nvme/profiles.hpp"

namespace storlab {

namespace {
using namespace nvme;
constexpr uint32_t ic = 128, pdu_header = 8, data_header = 24; // TCP 1.0, section 3.6.2

uint32_t bytes(Bytes b) { return static_cast<uint32_t>(b.count()); }

SessionTimers nvme_timers() {
    SessionTimers t;
    t.command = Duration::s(30);          // Linux nvme_core.io_timeout
    t.abort = Duration::s(60);            // nvme_core.admin_timeout
    t.connect = Duration::s(60);          // the same
    t.reconnect = Duration::s(10);        // fabrics.h: NVMF_DEF_RECONNECT_DELAY
    t.removal = Duration::s(600);         // NVMF_DEF_CTRL_LOSS_TMO
    t.keep_alive = Duration::ms(2500);    // half of NVME_DEFAULT_KATO, 5 s
    t.keep_alive_answer = Duration::s(5); // KATO
    t.silence = Duration::s(5);           // Base 2.0, section 3.9: the controller's side of KATO
    return t;
}
Profile common(std::string_view name) {
    Profile p;
    p.name = name;
    p.in_command_whole = true; // Linux: all of the data or none of it
    p.generation_bits = 4;     // as Linux packs them into the command identifier
    p.notice_at_once = true;   // asynchronous event: ANA change
    p.report_each = ana_group + ana_nsid;
    p.timers = nvme_timers();
    return p;
}
} // namespace

Profile nvme_tcp(NvmeOptions o) {
    Profile p = common("NVMe/TCP");
    const uint32_t capsule = pdu_header + sqe, answer = pdu_header + cqe;
    p.command = capsule;
    p.ready = p.data_out = p.data_in = data_header;
    p.response = p.refusal = answer;
    p.in_command = bytes(o.in_capsule);
    p.burst = bytes(Bytes::mib(64)); // nvmet: one R2T asks for all there is
    p.ready_limit = 1;               // MAXR2T of Linux's host
    p.data_out_unit = bytes(o.largest_data);
    p.data_in_unit = bytes(o.largest_data);
    p.status_in_data = o.success_flag;
    p.software = true;
    p.login = {{ic, ic},
               {capsule + connect_data, answer}, // Connect
               {capsule, answer},                // Property Get: CAP
               {capsule, answer},                // Property Set: CC, enable
               {capsule, answer},                // Property Get: CSTS, ready
               {capsule, data_header + identify_data}};
    p.abort = p.keep_alive = {capsule, answer};
    p.notice = answer;
    p.query = capsule; // Get Log Page: ANA
    p.report = data_header + ana_header;
    return p;
}

// Capsules are SENDs; data moves by RDMA WRITE and READ, whose requests carry an RETH of 16 bytes
// (InfiniBand Architecture 1.4, section 9.3.3) and whose read responses an AETH of 4.
Profile nvme_rdma(NvmeOptions o) {
    Profile p = common("NVMe/RDMA");
    constexpr uint32_t reth = 16, aeth = 4;
    p.command = sqe;
    p.ready = reth;    // the target's RDMA READ
    p.data_out = aeth; // ... and what comes back
    p.data_in = reth;
    p.response = p.refusal = cqe;
    p.in_command = bytes(o.in_capsule);
    p.burst = p.data_out_unit = p.data_in_unit = bytes(o.largest_data);
    p.ready_limit =
        16; // RDMA READs under way on a queue pair: max_qp_rd_atom of the usual adapters
    p.software = false;
    // Connection request and its private data (32 bytes) and reply, then as over TCP.
    p.login = {{32, 32},   {sqe + connect_data, cqe},        {sqe, cqe}, {sqe, cqe},
               {sqe, cqe}, {sqe, reth + identify_data + cqe}};
    p.abort = p.keep_alive = {sqe, cqe};
    p.notice = cqe;
    p.query = sqe;
    p.report = reth + ana_header + cqe;
    return p;
}

// FC-NVMe-2: NVMe_CMND IU 96 bytes, NVMe_XFER_RDY IU 12, NVMe_RSP IU 12 when all went well and
// NVMe_ERSP IU 32 when there is a completion entry to carry. Data IUs have no header of their own.
Profile fc_nvme() {
    Profile p = common("FC-NVMe");
    constexpr uint32_t command = 96, ready = 12, good = 12, extended = 32;
    p.command = command;
    p.ready = ready;
    p.response = good;
    p.refusal = extended;
    p.burst = bytes(Bytes::kib(256));                         // nvmet-fc: a sequence
    p.data_out_unit = p.data_in_unit = bytes(Bytes::kib(64)); // as FCP's
    p.software = false;
    // PLOGI and PRLI (FC-LS-4), Create Association and Create I/O Connection, then Connect and the
    // properties.
    p.login = {{116, 116},
               {20, 20},
               {1024, 48},
               {80, 32},
               {command + connect_data, extended},
               {command, extended},
               {command, extended},
               {command, extended},
               {command, identify_data + good}};
    p.abort = {0, 12}; // ABTS is a bare frame header; BA_ACC
    p.keep_alive = {command, good};
    p.notice = extended;
    p.query = command;
    p.report = ana_header + good;
    p.timers.reconnect = Duration::s(2); // the port is looked for, as after a state change notice
    p.timers.removal = Duration::s(60);  // FC transport: dev_loss_tmo, 60 s for NVMe remote ports
    return p;
}

} // namespace storlab
