// NVMe over Fabrics: TCP, RDMA (RoCE, InfiniBand, iWARP) and Fibre Channel, as profiles of the
// exchange engine. A session stands for one controller with its queues. Left out: a separate admin
// queue, digests, the header of RDMA transports below the capsule.
// Sources: NVMe TCP Transport Specification 1.0 (PDU sizes: section 3.6), NVMe RDMA Transport
// Specification 1.0, INCITS FC-NVMe-2, NVM Express Base 2.0 (commands, ANA log); defaults of
// Linux's nvmet and nvme-fabrics where a standard leaves the choice.
#pragma once
#include "models/exchange/profile.hpp"
#include "sim/base/quantity.hpp"

namespace storlab {

struct NvmeOptions {
    // Write data inside a command, zero: none. IOCCSZ tells the host. nvmet: four pages over TCP,
    // one over RDMA; none over Fibre Channel.
    Bytes in_capsule;
    Bytes largest_data; // of one message: MAXH2CDATA over TCP, a transfer over RDMA
    // The last data of a read is its response: TCP's SUCCESS flag, which needs SQ flow control off.
    // SPDK's target does so; Linux's only for hosts connected with --disable-sqflow.
    bool success_flag = false;
};
Profile nvme_tcp(NvmeOptions options = {Bytes::kib(16), Bytes::mib(4), true});
Profile nvme_rdma(NvmeOptions options = {Bytes::kib(4), Bytes::mib(1), false});
Profile fc_nvme();

namespace nvme {
constexpr uint32_t sqe = 64, cqe = 16;
constexpr uint32_t connect_data = 1024;  // Base 2.0, figure "Connect Command - Data"
constexpr uint32_t identify_data = 4096; // Identify controller
constexpr uint32_t ana_header = 16, ana_group = 32, ana_nsid = 4; // ANA log page, one NSID a group
} // namespace nvme

} // namespace storlab
