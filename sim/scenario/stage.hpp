// What a run needs of a world beside its devices: things to do at a date, and time to pass.
#pragma once
#include "sim/seam/clock.hpp"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace storlab {

class Calendar;
class RealWorld;

class Stage {
public:
    virtual ~Stage() = default;
    virtual void at(Instant when, const std::string& what, std::function<void()> action) = 0;
    // Until stop(), or the horizon. Returns what actors failed with.
    virtual std::vector<std::string> run(Instant horizon) = 0;
    virtual void stop() = 0;
    // After run: lets what is in flight come back, until done() or for at most so long.
    virtual void drain(const std::function<bool()>& done, Duration at_most) = 0;
};
std::unique_ptr<Stage> simulated_stage(Calendar& calendar); // timeline as SimGrid actors
std::unique_ptr<Stage> real_stage(RealWorld& world);

} // namespace storlab
