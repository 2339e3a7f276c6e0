#include "sim/real/ring.hpp"
#include "sim/base/error.hpp"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <liburing.h>
#include <sys/socket.h>

namespace storlab {

namespace {
constexpr int64_t ps_per_ns = 1000, ns_per_s = 1'000'000'000;

bool is_patient(const RingCommand& c) { return c.kind >= RingCommand::Kind::accept; }
} // namespace

Ring::Ring(uint32_t depth) : ring_(std::make_unique<io_uring>()), depth_(depth) {
    STORLAB_ENSURE(depth > 0);
    const int error = io_uring_queue_init(depth, ring_.get(), 0);
    if (error < 0)
        throw InputError({"io_uring", 0, 0}, std::string("the kernel offers no ring: ") +
                                                 std::strerror(-error) +
                                                 "; --world real needs io_uring");
}

Ring::~Ring() {
    for (uint32_t left = in_flight_ + patient_; left > 0;) {
        io_uring_cqe* cqe = nullptr;
        if (io_uring_submit_and_wait(ring_.get(), 1) < 0) break;
        for (; left > 0 && io_uring_peek_cqe(ring_.get(), &cqe) == 0; left--)
            io_uring_cqe_seen(ring_.get(), cqe);
    }
    io_uring_queue_exit(ring_.get());
}

void Ring::issue(RingCommand& command) {
    if (is_patient(command) || (in_flight_ < depth_ && !waiting_)) return prepare(command);
    command.next = nullptr;
    (waiting_ ? last_waiting_->next : waiting_) = &command;
    last_waiting_ = &command;
}

io_uring_sqe& Ring::room() {
    io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());
    if (!sqe) { // full of what was not handed over yet
        system_calls_++;
        io_uring_submit(ring_.get());
        not_submitted_ = io_uring_sq_ready(ring_.get());
        sqe = io_uring_get_sqe(ring_.get());
    }
    STORLAB_ENSURE(sqe);
    return *sqe;
}

void Ring::prepare(RingCommand& c) {
    io_uring_sqe* const sqe = &room();
    switch (c.kind) {
    case RingCommand::Kind::read:
        io_uring_prep_readv(sqe, c.file, c.vectors, c.vector_count, c.offset);
        break;
    case RingCommand::Kind::write:
        io_uring_prep_writev(sqe, c.file, c.vectors, c.vector_count, c.offset);
        break;
    case RingCommand::Kind::sync_data:
        io_uring_prep_fsync(sqe, c.file, IORING_FSYNC_DATASYNC);
        break;
    case RingCommand::Kind::accept:
        io_uring_prep_accept(sqe, c.file, nullptr, nullptr, SOCK_CLOEXEC);
        break;
    case RingCommand::Kind::receive:
        io_uring_prep_recv(sqe, c.file, c.vectors->iov_base, c.vectors->iov_len, 0);
        break;
    case RingCommand::Kind::send:
        io_uring_prep_send(sqe, c.file, c.vectors->iov_base, c.vectors->iov_len, MSG_NOSIGNAL);
        break;
    }
    io_uring_sqe_set_data(sqe, &c);
    (is_patient(c) ? patient_ : in_flight_)++;
    not_submitted_++;
}

void Ring::admit() {
    while (waiting_ && in_flight_ < depth_) {
        RingCommand& c = *waiting_;
        waiting_ = c.next;
        prepare(c);
    }
}

// Each completion may issue further commands.
uint32_t Ring::reap() {
    uint32_t ended = 0;
    io_uring_cqe* cqe = nullptr;
    while (in_flight_ + patient_ > 0 && io_uring_peek_cqe(ring_.get(), &cqe) == 0) {
        auto& c = *static_cast<RingCommand*>(io_uring_cqe_get_data(cqe));
        const int result = cqe->res;
        io_uring_cqe_seen(ring_.get(), cqe);
        (is_patient(c) ? patient_ : in_flight_)--;
        ended++;
        c.done(c, result);
    }
    admit();
    return ended;
}

void Ring::poll() {
    if (not_submitted_) {
        system_calls_++;
        io_uring_submit(ring_.get());
        not_submitted_ = io_uring_sq_ready(ring_.get());
    }
    reap();
}

void Ring::wait(Duration at_most) {
    io_uring_cqe* cqe = nullptr;
    __kernel_timespec limit{};
    __kernel_timespec* bound = nullptr;
    if (at_most != Duration::max()) {
        // Rounded up, so that whoever waits for a date does not wake just before it.
        const int64_t ns = std::max<int64_t>(0, (at_most.count_ps() + ps_per_ns - 1) / ps_per_ns);
        limit = {ns / ns_per_s, ns % ns_per_s};
        bound = &limit;
    }
    system_calls_++;
    const int error = io_uring_submit_and_wait_timeout(ring_.get(), &cqe, 1, bound, nullptr);
    STORLAB_ENSURE(error >= 0 || error == -ETIME || error == -EINTR || error == -EAGAIN);
    not_submitted_ = io_uring_sq_ready(ring_.get());
    reap();
}

} // namespace storlab
