// The hosts' side of a fabric, the same in both worlds: sessions of a machine's ports with the
// export ports of arrays, the paths of each load to a volume, and notes of what the hosts found out
// about them.
//
//   load -> multipath -> remote unit -> initiator -> (connection)
//
// A session is one of a machine's port with one export port of one array; all volumes and loads of
// the machine share it. What carries a connection is the world's.
#pragma once
#include "models/exchange/remote_unit.hpp"
#include "models/multipath/multipath.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/build_fabric.hpp"
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace storlab {

// An array as hosts see it through its export ports.
struct RemoteArray {
    const ArraySchema* array = nullptr;
    Profile profile;               // of what travels
    std::vector<Geometry> volumes; // by number of the unit
};

class HostPaths {
public:
    // Of the session of a machine's port with an export port: connect, and who pays.
    using SessionOf =
        std::function<InitiatorOptions(const std::string& machine, const PortSchema& port,
                                       const std::string& target_port, const RemoteArray& array)>;
    HostPaths(const Scenario& scenario, Clock& clock, SessionOf session_of)
        : scenario_(scenario), clock_(clock), session_of_(std::move(session_of)) {}
    HostPaths(const HostPaths&) = delete;
    HostPaths& operator=(const HostPaths&) = delete;

    RemoteArray& add(RemoteArray array); // before anybody reaches for it
    // A volume as a load on a machine sees it. The first call for an array logs in.
    BlockDevice& reach(const LoadSchema& load, const std::string& machine, const ArraySchema& array,
                       size_t volume);
    std::vector<TimelineMark> marks() const; // what happened at one time is told together
    // Every session is over: what waits for a path ends with an error.
    void give_up();
    uint64_t violations() const; // sessions that met what a correct target does not send

private:
    struct Path { // of a volume, as a machine sees it
        Multipath* device;
        size_t number, volume;
    };
    struct Session {
        std::string machine, port, target_port;
        std::unique_ptr<Initiator> initiator;
        std::vector<std::unique_ptr<RemoteUnit>> units; // by volume
        std::vector<Path> paths;                        // that go by it
        size_t unused = 0;                              // of those
        bool live = false;
    };
    struct Ways { // of a machine to an array
        std::vector<std::unique_ptr<Session>> sessions;
        std::map<std::pair<std::string, size_t>, std::unique_ptr<Multipath>> devices;
    };
    enum class PathPhase : uint8_t { detect, switched, none_left, back };
    struct PathNote {
        Instant at;
        PathPhase phase;
        Loss why; // of detect
        const Session* session;
    };

    const Scenario& scenario_;
    Clock& clock_;
    SessionOf session_of_;
    std::map<std::string, RemoteArray> arrays_;
    std::map<std::pair<std::string, std::string>, Ways> ways_; // by machine and array
    std::vector<PathNote> notes_;
    bool given_up_ = false;

    Ways& ways(const std::string& machine, const RemoteArray& array);
    std::unique_ptr<Session> session(const std::string& machine, const PortSchema& port,
                                     const std::string& target_port, const RemoteArray& array);
    void tell(const Session& s);
    // host_notes.cpp
    void note(PathPhase phase, const Session& s, Loss why = Loss::link_down);
    void watch(Session& s, SessionState state);
    void paths_changed(const Ways& w, const Multipath& device, uint64_t before);
    static std::string where_of(std::span<const PathNote> notes);
    static TimelineMark mark_of(std::span<const PathNote> notes);
};

// Commands a session may have under way on a host with so many logical CPUs.
uint32_t session_tags(Protocol protocol, uint32_t logical_cpus);

} // namespace storlab
