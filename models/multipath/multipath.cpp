#include "models/multipath/multipath.hpp"
#include <bit>

namespace storlab {

Multipath::Path::Path(Multipath& m, uint32_t n, const PathOptions& options)
    : owner(&m), number(n), o(options), device(options.device), access(options.access),
      interval(m.o_.checker.interval), check(options.device, Op::read, {}, 1, nullptr),
      block(options.device->geometry().payload) {
    said.access = options.access;
}

Multipath::Multipath(Clock& clock, const std::vector<PathOptions>& paths, const MultipathOptions& o)
    : clock_(clock), o_(o) {
    STORLAB_ENSURE(!paths.empty() && paths.size() <= 64 && o.round_robin_ios > 0);
    STORLAB_ENSURE(!o.checker.believes_checks_only || o.checker.failed > Duration());
    geometry_ = paths[0].device->geometry();
    paths_.reserve(paths.size());
    for (const PathOptions& p : paths) {
        const Geometry g = p.device->geometry();
        STORLAB_ENSURE(g.blocks == geometry_.blocks && g.block == geometry_.block &&
                       g.payload == geometry_.payload);
        paths_.emplace_back(*this, static_cast<uint32_t>(paths_.size()), p);
    }
    settle();
    arm();
}

Handle Multipath::submit(Request& r) {
    counters_.commands++;
    if (r.cpu) r.cpu->owe(r.work, Operation::path_select);
    return route(record(r));
}

Multipath::Record& Multipath::record(Request& r) {
    Record* c = free_;
    if (c) free_ = c->next;
    else c = &records_.emplace_back();
    // Field by field: built as a whole and copied, it would be read back before it is written.
    c->request = &r;
    c->owner = this;
    c->done = r.done;
    c->context = r.owner;
    c->device = r.device;
    c->cpu = r.cpu;
    c->lba = r.lba;
    c->bytes = static_cast<uint64_t>(geometry_.block.count()) * (r.op == Op::flush ? 0 : r.blocks);
    c->tries = 0;
    r.done = answered;
    r.owner = c;
    return *c;
}

Handle Multipath::route(Record& c) {
    if (!active_) [[unlikely]]
        return without_path(c);
    return send(c, paths_[choose(c.bytes)]);
}

Handle Multipath::send(Record& c, Path& p) {
    if (p.life == Life::held) [[unlikely]] {
        keep(c, p);
        return nothing();
    }
    c.path = p.number;
    c.generation = p.generation;
    p.outstanding++;
    p.outstanding_bytes += c.bytes;
    p.sent++;
    return p.device->submit(*c.request);
}

// A path that is down but not given up has it, as if it were in the transport's queue.
void Multipath::keep(Record& c, Path& p) {
    c.path = p.number;
    p.outstanding++;
    p.outstanding_bytes += c.bytes;
    p.held.push(c);
    counters_.held++;
    c.request->enter(Layer::host, clock_.now());
}
void Multipath::let_go(Record& c, Path& p) {
    p.outstanding--;
    p.outstanding_bytes -= c.bytes;
}

Handle Multipath::answered(Request& r) {
    Record& c = *static_cast<Record*>(r.owner);
    Multipath& m = *c.owner;
    Path& p = m.paths_[c.path];
    m.let_go(c, p);
    if (r.status != IoStatus::no_path) [[likely]]
        return m.conclude(c, r.status);
    return m.refused(c, p);
}

Handle Multipath::refused(Record& c, Path& p) {
    Request& r = *c.request;
    r.device = c.device;
    r.lba = c.lba;
    r.cpu = c.cpu; // whoever has it next finds it as we did
    if (removed_) return conclude(c, IoStatus::no_device);
    if (p.life == Life::held) {
        keep(c, p);
        return nothing();
    }
    // One command is enough to doubt a path; others it had under way say nothing about the time
    // after it is back.
    if (p.life == Life::up && c.generation == p.generation) {
        go_down(p, Loss::timed_out);
        arm();
        if (p.life == Life::held) {
            keep(c, p);
            return nothing();
        }
    }
    return try_again(c);
}

Handle Multipath::try_again(Record& c) {
    if (removed_) return conclude(c, IoStatus::no_device);
    if (o_.retries > 0 && c.tries == o_.retries) return conclude(c, IoStatus::no_path);
    c.tries++;
    counters_.requeued++;
    if (o_.retry_interval == Duration()) return again(c);
    c.due = clock_.now() + o_.retry_interval;
    c.request->enter(Layer::host, clock_.now());
    later_.push(c);
    arm();
    return nothing();
}
Handle Multipath::again(Record& c) {
    if (c.cpu) c.cpu->owe(c.request->work, Operation::path_select);
    return route(c);
}

Handle Multipath::without_path(Record& c) {
    if (removed_) return conclude(c, IoStatus::no_device);
    if (o_.no_path == NoPath::fail || waited_enough_ || hopeless())
        return conclude(c, IoStatus::no_path);
    counters_.waited++;
    c.request->enter(Layer::host, clock_.now());
    waiting_.push(c);
    return nothing();
}

Handle Multipath::conclude(Record& c, IoStatus status) {
    Request& r = *c.request;
    r.status = status;
    r.done = c.done;
    r.owner = c.context;
    r.device = c.device;
    r.lba = c.lba;
    r.cpu = c.cpu;
    c.next = free_;
    free_ = &c;
    counters_.completed++;
    if (status >= IoStatus::no_device) counters_.failed++;
    return r.done(r);
}
// All there are now; what comes meanwhile stays.
void Multipath::flush(Records& records, IoStatus status) {
    for (Records all = records.take(); !all.empty();) conclude(all.pop(), status).resume();
}

uint32_t Multipath::choose(uint64_t bytes) {
    const auto first = static_cast<uint32_t>(std::countr_zero(active_));
    switch (o_.selector) {
    case PathSelector::round_robin: {
        const bool stays = active_ >> current_ & 1;
        if (left_ > 0 && stays) {
            left_--;
            return current_;
        }
        left_ = o_.round_robin_ios - 1;
        const uint64_t ahead = active_ >> current_ >> 1;
        return current_ =
                   ahead ? current_ + 1 + static_cast<uint32_t>(std::countr_zero(ahead)) : first;
    }
    case PathSelector::most_recent: return current_ = active_ >> current_ & 1 ? current_ : first;
    case PathSelector::nearest: return nearest_;
    default: return choose_least(bytes);
    }
}

uint32_t Multipath::choose_least(uint64_t bytes) {
    Path* best = &paths_[static_cast<uint32_t>(std::countr_zero(active_))];
    for (uint64_t rest = active_ & (active_ - 1); rest; rest &= rest - 1) {
        Path& p = paths_[static_cast<uint32_t>(std::countr_zero(rest))];
        if (better(p, *best, bytes)) best = &p;
    }
    best->last_chosen = ++choices_;
    return best->number;
}
bool Multipath::better(const Path& a, const Path& than, uint64_t bytes) const {
    if (o_.selector == PathSelector::queue_depth) return a.outstanding < than.outstanding;
    if (o_.selector == PathSelector::queue_length) {
        if (a.outstanding != than.outstanding) return a.outstanding < than.outstanding;
        return a.last_chosen < than.last_chosen;
    }
    // (bytes under way + these) / throughput, without the division
    const uint64_t mine = (a.outstanding_bytes + bytes) * than.o.throughput,
                   theirs = (than.outstanding_bytes + bytes) * a.o.throughput;
    if (mine != theirs) return mine < theirs;
    if (a.o.throughput != than.o.throughput) return a.o.throughput > than.o.throughput;
    return a.last_chosen < than.last_chosen;
}

} // namespace storlab
