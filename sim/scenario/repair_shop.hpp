// What the timeline does to a testbed and what follows: drives fail or are pulled, a spare takes
// the place of a lost member, an array is scrubbed, cables and power go and come back. Notes when
// each began and ended.
#pragma once
#include "sim/report/result.hpp"
#include "sim/scenario/stage.hpp"
#include "sim/scenario/testbed.hpp"
#include <deque>
#include <functional>
#include <set>

namespace storlab {

class RepairShop {
public:
    RepairShop(const Scenario& scenario, Testbed& bed, Stage& stage);
    void schedule(Instant from = {}); // the timeline's events from then on
    // While closed, nothing new begins and what is under way ends soon.
    void close(bool closed);
    bool idle() const;
    // Told of every event, and of everything done, as it comes.
    void on_turn(std::function<void(const std::string& what)> f) { on_turn_ = std::move(f); }
    void report(RunResult& result, Instant ended) const;

private:
    struct Rebuild { // of one member by one spare
        RepairShop* shop;
        const ArraySchema* array;
        uint32_t member;
        std::string spare;
        Instant began;
        RebuildReport done;
        bool over = false, complete = false;
        uint64_t lines() const { return shop->bed_.array(array->name)->lines(); }
    };
    struct Scrub {
        RepairShop* shop;
        std::string array;
        ScrubReport done;
        bool over = false;
    };
    const Scenario& s_;
    Testbed& bed_;
    Stage& stage_;
    std::vector<TimelineMark> marks_;
    std::deque<Rebuild> rebuilds_;
    std::deque<Scrub> scrubs_;
    std::map<std::string, std::vector<std::string>> spares_; // left, by array
    std::set<std::string> failed_;                           // drives, by the timeline

    bool closed_ = false; // nothing new begins
    std::function<void(const std::string&)> on_turn_;

    void act(const TimelineEvent& e, const std::string& target);
    void lost(const ArraySchema& a, uint32_t member);
    void mark(const std::string& what, const std::string& where, const std::string& phase);
    FullSize full_size(const Rebuild& r) const;
};

} // namespace storlab
