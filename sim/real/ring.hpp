// The kernel's submission and completion rings (io_uring), with a bound on the commands in flight:
// what does not fit waits in order of issue. Commands are collected and handed to the kernel in one
// system call. What waits for somebody else (a connection, bytes of a peer) is not counted in that
// bound. Left out: registered buffers and files, polling; they change speed, not meaning.
#pragma once
#include "sim/base/time.hpp"
#include <cstdint>
#include <memory>
#include <sys/uio.h>

struct io_uring;
struct io_uring_sqe;

namespace storlab {

// One command to the kernel. It belongs to the device that issues it, which may use it again once
// done was called. `result` is as the system call's: bytes moved, or -errno.
struct RingCommand {
    // A connection that is accepted is its result; bytes received or sent are of the first vector.
    enum class Kind : uint8_t { read, write, sync_data, accept, receive, send };
    Kind kind = Kind::read;
    int file = -1;
    uint64_t offset = 0;
    const iovec* vectors = nullptr;
    uint32_t vector_count = 0;
    void (*done)(RingCommand&, int result) = nullptr;
    RingCommand* next = nullptr; // of those that wait for room
};

class Ring {
public:
    explicit Ring(uint32_t depth); // commands in flight at most; InputError if there is no io_uring
    ~Ring();                       // waits for what the kernel still works on, and tells nobody
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    void issue(RingCommand& command);
    bool idle() const { return in_flight_ == 0 && patient_ == 0 && !waiting_; }
    // Hands over what was issued and calls done for what has ended, without waiting.
    void poll();
    // As poll, but sleeps until a command ends or the time is over; Duration::max() is no limit.
    void wait(Duration at_most);
    uint64_t system_calls() const { return system_calls_; }

private:
    std::unique_ptr<io_uring> ring_;
    const uint32_t depth_;
    uint32_t in_flight_ = 0, patient_ = 0; // with a bound, and those that wait for a peer
    uint32_t not_submitted_ = 0;
    uint64_t system_calls_ = 0;
    RingCommand *waiting_ = nullptr, *last_waiting_ = nullptr;

    io_uring_sqe& room();
    void prepare(RingCommand& command);
    void admit();
    uint32_t reap();
};

} // namespace storlab
