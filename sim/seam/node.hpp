// The control seam: one machine as the daemons on it see it, written as one writes a daemon,
// blocking. In the simulated world an actor stands behind it, in the real world a process.
//
// A dead node does nothing. After a loss of power every call of that incarnation throws PowerLost,
// again and again; only calls made while the stack unwinds return quietly, having done nothing, so
// that destructors may make them. Coroutines are not resumed any more; their frames are freed when
// no command of theirs is under way.
//
// Left out: send and receive; they come with the fabrics that carry the messages.
#pragma once
#include "sim/seam/block_device.hpp"
#include "sim/seam/clock.hpp"
#include <functional>
#include <memory>
#include <string>

namespace storlab {

// No std::exception: a handler for errors of operation must not hold it. `catch (...)` can, and
// then meets the next one at its next call.
struct PowerLost {};

class Node {
public:
    virtual ~Node() = default;

    virtual Instant now() const = 0;
    virtual void sleep_until(Instant date) = 0;
    void sleep(Duration d) { sleep_until(now() + d); }
    // A thread of control beside this one, on the same incarnation.
    virtual void spawn(std::string name, std::function<void(Node&)> program) = 0;
    // Which start of this machine it is, from 1. The one call that is never refused.
    virtual uint32_t incarnation() const = 0;

    // The bridge to the data seam: blocks until the coroutine has finished.
    template <class T> T run(Task<T> task) {
        T value{};
        run_to_end(store(std::move(task), value));
        return value;
    }
    void run(Task<void> task) { run_to_end(std::move(task)); }

    // What coroutines of this node use, as this incarnation sees it: refused once it is dead, and
    // late answers of the world meet a tombstone. The same object for the same device or core.
    virtual BlockDevice& attach(BlockDevice& device) = 0;
    virtual Cpu& attach(Cpu& cpu) = 0;
    virtual Clock& clock() = 0;
    // Something coroutines refer to: outlives their frames, dies with the incarnation.
    virtual void keep(std::shared_ptr<void> object) = 0;

protected:
    virtual void run_to_end(Task<void> task) = 0;

private:
    template <class T> static Task<void> store(Task<T> task, T& value) { value = co_await task; }
};

} // namespace storlab
