// Which cables and switches of a scenario are whole as its timeline goes on, and what that makes of
// the way between two ports. For the real world, whose connections are sockets: the simulated
// fabric has wires of its own.
#pragma once
#include "sim/scenario/schema.hpp"
#include <set>
#include <string>
#include <vector>

namespace storlab {

enum class Way : uint8_t {
    open,
    silent, // only over something that lets nothing through and says nothing
    dark,   // the first port itself has no light
    gone,   // farther away something is missing, and the fabric says so
};

class Cabling {
public:
    explicit Cabling(const Scenario& scenario)
        : s_(scenario), unplugged_(scenario.cables.size()), silent_(scenario.cables.size()) {}
    // A verb of cables and the port or switch they end in, or a verb of power and a switch.
    void act(Verb verb, const std::string& name);
    Way way(const std::string& from, const std::string& to) const;

private:
    const Scenario& s_;
    std::vector<bool> unplugged_, silent_;
    std::set<std::string> off_; // switches

    bool lit(size_t cable) const;
    bool reaches(const std::string& from, const std::string& to, bool over_silent) const;
};

} // namespace storlab
