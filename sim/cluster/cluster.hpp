// A testbed in time: machines with power and programs, a timeline of what is done to them, and the
// I/O kernel, all at one date. SimGrid owns the date and runs the programs as actors; between two
// of its dates the calendar fires the events of the data plane, exactly (kernel-measurements, 6).
// At equal dates the control plane comes first: an action at T finds every event before T done and
// none at T. All calls may be made from a program, an action, an event of the data plane, or before
// the run; what they do to machines and programs happens at the present date. Left out: SimGrid's
// own networks and disks, which nothing that carries I/O may use.
#pragma once
#include "sim/kernel/calendar.hpp"
#include "sim/seam/node.hpp"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace storlab {

struct NodeHandle {
    uint32_t index = 0;
    constexpr auto operator<=>(const NodeHandle&) const = default;
};

class Cluster {
public:
    struct Outcome {
        Instant ended;
        bool stopped = false;              // by stop(), before the horizon
        std::vector<std::string> failures; // "node/program: what", of exceptions nobody caught
    };

    // The calendar and the devices that nodes attach outlive the cluster; the calendar is not run
    // any further once it is gone.
    explicit Cluster(Calendar& calendar);
    ~Cluster();

    NodeHandle add_node(std::string name); // powered on; before the run
    // Runs a program on the present incarnation; on a machine without power, nothing.
    void spawn(NodeHandle node, std::string name, std::function<void(Node&)> program);
    void power_off(NodeHandle node);
    void power_on(NodeHandle node); // a new incarnation, with no program
    bool powered(NodeHandle node) const;
    uint32_t incarnation(NodeHandle node) const; // the last one, from 1

    // The action may touch the data plane but not wait. Those of one date run in the order given.
    void at(Instant when, std::string what, std::function<void()> action);
    // For events of the data plane: the kernel stops at this date and f runs as the control plane.
    void post(std::function<void()> f);
    void stop(); // the run ends at the present date

    // Once. Fires every event before the horizon and none at it. An exception of a program is in
    // the outcome; one of an event of the data plane comes out of here.
    Outcome run(Instant horizon);

private:
    struct Body;
    std::unique_ptr<Body> body_;
};

} // namespace storlab
