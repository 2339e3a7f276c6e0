#include "models/multipath/multipath.hpp"
#include <algorithm>
#include <bit>

namespace storlab {

namespace {
template <class F> void for_each_bit(uint64_t bits, F&& f) {
    for (; bits; bits &= bits - 1) f(static_cast<size_t>(std::countr_zero(bits)));
}
} // namespace

uint32_t Multipath::key_of(const Path& p) const {
    switch (o_.grouping) {
    case PathGrouping::by_access: return static_cast<uint32_t>(p.access);
    case PathGrouping::by_group: return p.o.group;
    case PathGrouping::single_paths: return p.number;
    default: return 0;
    }
}
uint64_t Multipath::usable_paths() const {
    uint64_t usable = 0;
    for (const Path& p : paths_)
        if (p.usable()) usable |= uint64_t{1} << p.number;
    return usable;
}
uint64_t Multipath::members(uint32_t key) const {
    uint64_t in = 0;
    for (const Path& p : paths_)
        if (key_of(p) == key) in |= uint64_t{1} << p.number;
    return in;
}
Multipath::Rank Multipath::best_rank(uint64_t among) const {
    Rank best{PathAccess::inaccessible, no_key};
    for_each_bit(among, [&](size_t i) {
        best = std::min(best, Rank{paths_[i].access, key_of(paths_[i])});
    });
    return best;
}

void Multipath::use_group(uint32_t key) {
    group_ = members(key);
    failback_at_ = Instant::never();
}

// The group in use has a usable path; `best` is as good or better.
void Multipath::fail_back(const Rank& best, uint64_t usable, uint32_t first_back) {
    if (best_rank(usable & group_).key == best.key) return use_group(best.key);
    switch (o_.failback) {
    case Failback::manual: return;
    case Failback::followover:
        if (first_back != best.key) return;
        break;
    case Failback::delayed:
        if (failback_at_ == Instant::never()) failback_at_ = clock_.now() + o_.failback_delay;
        if (clock_.now() < failback_at_) return;
        break;
    case Failback::immediate: break;
    }
    counters_.failbacks++;
    use_group(best.key);
}

// Of the group in use those paths whose access is the best among them.
uint64_t Multipath::best_of_group(uint64_t usable) const {
    const uint64_t in = usable & group_;
    if (o_.grouping == PathGrouping::one_group) return in;
    const PathAccess best = best_rank(in).access;
    uint64_t use = 0;
    for_each_bit(in, [&](size_t i) {
        if (paths_[i].access == best) use |= uint64_t{1} << i;
    });
    return use;
}

void Multipath::use(uint64_t paths) {
    const uint64_t before = std::exchange(active_, paths);
    if (before != paths && on_change_) on_change_(before);
}

// After any change of a path's state: which are in use, and what that means for those who wait.
void Multipath::settle(uint32_t first_back) {
    if (removed_) return;
    const uint64_t usable = usable_paths();
    if (usable) {
        const Rank best = best_rank(usable);
        if (usable & group_) fail_back(best, usable, first_back);
        else use_group(best.key);
    }
    use(best_of_group(usable));
    if (!active_) {
        const bool waits = o_.no_path == NoPath::wait || o_.no_path == NoPath::remove;
        if (waits && !waited_enough_ && no_path_at_ == Instant::never())
            no_path_at_ = clock_.now() + o_.no_path_wait;
        if (hopeless()) flush(waiting_, IoStatus::no_path);
        return;
    }
    nearest_ = static_cast<uint32_t>(std::countr_zero(active_));
    for_each_bit(active_, [&](size_t i) {
        if (paths_[i].o.distance < paths_[nearest_].o.distance) nearest_ = static_cast<uint32_t>(i);
    });
    no_path_at_ = Instant::never();
    waited_enough_ = false;
    for (Records all = waiting_.take(); !all.empty();) again(all.pop()).resume();
}

// No path will be back in time for a command that waits.
bool Multipath::hopeless() const {
    return std::all_of(paths_.begin(), paths_.end(), [&](const Path& p) {
        const bool lost = p.life == Life::lost && (o_.timers.loss_is_final || p.said.gone);
        return p.given_up || lost;
    });
}

} // namespace storlab
