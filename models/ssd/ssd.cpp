#include "models/ssd/ssd.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include <algorithm>

namespace storlab {

namespace {
constexpr Bytes map_page{4096};

// The slice keeps the drive's number of superblocks, so their size scales with it: a superblock
// must still hold very many of the largest random extent, or greedy's victims come out too empty.
FtlOptions ftl_options(const SsdOptions& o) {
    constexpr uint32_t superblocks = 640;
    const uint64_t logical = (o.blocks * uint64_t(o.block.count()) + 4095) / 4096;
    FtlOptions f;
    f.logical_pages = logical;
    f.flash_page = static_cast<uint32_t>(std::max<int64_t>(1, o.flash_page / map_page));
    f.unit = f.flash_page * o.planes * o.program_pages;
    const double raw = static_cast<double>(logical) * (1 + o.over_provisioning);
    f.superblocks = superblocks;
    const double size = raw / superblocks;
    f.pages_per_superblock = std::max(1u, static_cast<uint32_t>(size / f.unit + 0.5)) * f.unit;
    f.superblocks = static_cast<uint32_t>(raw / f.pages_per_superblock + 0.5);
    // A tiny slice of a drive with little spare: enough superblocks to collect at all.
    const auto needed = static_cast<uint32_t>(logical / f.pages_per_superblock + 1) + f.reserve + 3;
    f.superblocks = std::max(f.superblocks, needed);
    return f;
}
} // namespace

Ftl Ssd::aged_map(const SsdOptions& o) {
    Ftl ftl(ftl_options(o));
    if (o.state == SsdState::filled) ftl.fill_sequentially();
    if (o.state == SsdState::steady)
        ftl.age(static_cast<uint32_t>(std::max<int64_t>(1, o.aged_by / map_page)), o.seed);
    return ftl;
}

Ssd::Ssd(Calendar& c, std::shared_ptr<const SsdOptions> options, uint64_t seed, const Ftl* aged)
    : calendar_(c), options_(std::move(options)), o_(*options_),
      unit_pages_(static_cast<uint32_t>(o_.flash_page / map_page) * o_.planes * o_.program_pages),
      sense_pages_(static_cast<uint32_t>(o_.flash_page / map_page) * o_.planes),
      units_per_erase_(std::max<uint64_t>(1, o_.block_pages / o_.program_pages)),
      backend_page_(map_page / o_.backend_rate), link_(o_.link), dies_(o_.dies),
      channels_(o_.channels), programmed_(o_.dies), store_(o_.blocks, o_.payload),
      ftl_(aged ? *aged : aged_map(o_)), credits_(o_.buffer_pages) {
    STORLAB_ENSURE(o_.dies > 0 && o_.channels > 0 && unit_pages_ > 0);
    STORLAB_ENSURE(o_.buffer_pages >= unit_pages_);
    // Erase counters start apart, as they are on a drive that has been used.
    Random random(seed, "erase phase");
    for (uint32_t& p : programmed_) p = static_cast<uint32_t>(random.below(units_per_erase_));
}

BlockDevice& Ssd::reached_by(const PcieRoute& route) { return ports_.emplace_back(*this, route); }

Handle Ssd::submit(Request& r, Port& port) {
    r.device = &port;
    r.phase = Phase::completion;
    r.enter(Layer::command, calendar_.now());
    ftl_.expect(page_of(r.lba));
    if (port.route.down.count && r.op == Op::write) {
        r.step = 0;
        fetching(r);
    } else fetched(r);
    return nothing();
}

// A write's data on its way here, at one of the stations before the drive's own link.
void Ssd::fetching(Event& e) {
    Port& port = port_of(e);
    Ssd& d = port.ssd;
    auto& r = static_cast<Request&>(e);
    const PcieWay& way = port.route.down;
    const PcieHop& hop = way.hops[r.step++];
    const bool last = r.step == way.count;
    const Bytes data = d.data_of(r);
    const Duration here = hop.time(data);
    const Duration then = last ? d.link_.read_time(data) : way.hops[r.step].time(data);
    const Instant end = hop.station->serve(d.calendar_.now(), here);
    d.next(r, PcieWay::reaches(end, hop.latency, here, then), last ? fetched : fetching);
}

// The link and the controller are a FIFO tandem fed from one place, so the second's date follows at
// once. A write's data is fetched with its command. What a command without data takes beyond the
// link is added at the end: in the middle it would put the tandem out of order.
void Ssd::fetched(Event& e) {
    Port& port = port_of(e);
    Ssd& d = port.ssd;
    auto& r = static_cast<Request&>(e);
    const Bytes data = d.data_in(r);
    const Instant sent = d.link_.from_host(d.calendar_.now(), data);
    const Duration work = r.op == Op::write ? d.o_.command_write : d.o_.command_read;
    const bool passed = r.op == Op::write && port.route.down.count;
    const Instant done = d.controller_.serve(sent, work);
    d.next(r, passed ? done : done + port.route.down.latency, decoded);
}

// An answer, with a read's data: over the own link, then whatever lies beyond.
void Ssd::send(Request& r, Bytes data) {
    const PcieWay& way = port_of(r).route.up;
    const Instant now = calendar_.now();
    if (way.count == 0 || data == Bytes(0))
        return next(r, link_.to_host(now, data) + way.latency, answered);
    r.step = 0;
    const Duration here = link_.write_time(data), then = way.hops[0].time(data);
    next(r, PcieWay::reaches(link_.up.serve(now, here), link_.hop(), here, then), sending);
}

void Ssd::sending(Event& e) {
    Ssd& d = of(e);
    auto& r = static_cast<Request&>(e);
    const PcieWay& way = port_of(e).route.up;
    const PcieHop& hop = way.hops[r.step++];
    const Bytes data = d.data_of(r);
    const Duration here = hop.time(data);
    const Instant end = hop.station->serve(d.calendar_.now(), here);
    if (r.step == way.count) return d.next(r, end + hop.latency, answered);
    d.next(r, PcieWay::reaches(end, hop.latency, here, way.hops[r.step].time(data)), sending);
}

void Ssd::abandon(Request& r) { next(r, calendar_.now() + link_.hop(), answered); }

void Ssd::decoded(Event& e) {
    Ssd& d = of(e);
    auto& r = static_cast<Request&>(e);
    if (d.failed_) return d.abandon(r);
    switch (r.op) {
    case Op::read: return d.start_read(r);
    case Op::write: return d.start_write(r);
    case Op::flush: // the buffer is power-safe: nothing to wait for
        return d.send(r, Bytes(0));
    }
}

bool Ssd::in_buffer(uint32_t physical) const {
    return last_host_page_ != Ftl::unmapped && (last_host_page_ + 1) % unit_pages_ != 0 &&
           physical / unit_pages_ == last_host_page_ / unit_pages_;
}

void Ssd::start_read(Request& r) {
    const Instant now = calendar_.now();
    store_.expect(r.lba);
    r.enter(Layer::flash, now);
    const uint64_t first = page_of(r.lba), last = page_of(r.lba + (r.blocks - 1));
    if (first != last) return read_large(r, first, last);
    const uint32_t physical = ftl_.place(first);
    if (physical == Ftl::unmapped || in_buffer(physical)) { // from the map or the buffer alone
        return transferred(r);
    }
    const uint32_t die = die_of(physical);
    r.step = static_cast<uint16_t>(die);
    next(r, dies_[die].read(now, o_.nand, sense_of(physical)), sensed);
}

void Ssd::sensed(Event& e) { // page register to controller
    Ssd& d = of(e);
    auto& r = static_cast<Request&>(e);
    const Instant now = d.calendar_.now();
    if (d.failed_) return d.abandon(r);
    d.store_.expect(r.lba);
    r.enter(Layer::transfer, now);
    FifoStation& channel = d.channels_[r.step % d.channels_.size()];
    d.next(r, channel.serve(now, d.o_.block * r.blocks / d.o_.channel_rate), transferred);
}

void Ssd::transferred(Event& e) { // controller to host
    Ssd& d = of(e);
    auto& r = static_cast<Request&>(e);
    if (d.failed_) return d.abandon(r);
    d.store_.read(r);
    d.send(r, d.data_of(r));
}

void Ssd::answered(Event& e) {
    Ssd& d = of(e);
    auto& r = static_cast<Request&>(e);
    r.enter(Layer::host, d.calendar_.now());
    r.finish(d.failed_ ? IoStatus::no_device : IoStatus::ok).resume();
}

// All planes of a die sense together, so what stands side by side on them costs one sense; parts
// arrive in any order.
void Ssd::read_large(Request& r, uint64_t first, uint64_t last) {
    const Instant now = calendar_.now();
    const uint32_t per_sense = sense_pages_;
    uint16_t parts = 0;
    for (uint64_t page = first; page <= last;) {
        const uint32_t physical = ftl_.place(page);
        uint32_t pages = 1;
        if (physical != Ftl::unmapped)
            while (page + pages <= last && physical % per_sense + pages < per_sense &&
                   ftl_.place(page + pages) == physical + pages)
                pages++;
        page += pages;
        if (physical == Ftl::unmapped || in_buffer(physical)) continue;
        FlashRead& f = take_read();
        f.request = &r;
        f.die = die_of(physical);
        f.pages = pages;
        f.fire = page_sensed;
        parts++;
        calendar_.schedule(f, dies_[f.die].read(now, o_.nand, sense_of(physical)));
    }
    r.step = parts;
    if (parts == 0) transferred(r);
}

void Ssd::page_sensed(Event& e) {
    auto& f = static_cast<FlashRead&>(e);
    Ssd& d = *f.ssd;
    FifoStation& channel = d.channels_[f.die % d.channels_.size()];
    f.fire = page_transferred;
    d.calendar_.schedule(f,
                         channel.serve(d.calendar_.now(), map_page * f.pages / d.o_.channel_rate));
}
void Ssd::page_transferred(Event& e) {
    auto& f = static_cast<FlashRead&>(e);
    Ssd& d = *f.ssd;
    Request& r = *f.request;
    d.free_reads_.push_back(&f);
    if (--r.step > 0) return;
    r.enter(Layer::transfer, d.calendar_.now());
    transferred(r);
}

Ssd::FlashRead& Ssd::take_read() {
    if (free_reads_.empty()) {
        reads_.push_back(std::make_unique<FlashRead>());
        reads_.back()->ssd = this;
        free_reads_.push_back(reads_.back().get());
    }
    FlashRead& f = *free_reads_.back();
    free_reads_.pop_back();
    return f;
}

void Ssd::start_write(Request& r) {
    r.step = 0; // map pages admitted so far
    if (waiting_.empty() && admit(r)) return;
    counters_.buffer_waits++;
    waiting_.push(r);
}

// Takes as many of the request's pages as there is room for; true once all are in.
bool Ssd::admit(Request& r) {
    const uint64_t first = page_of(r.lba), last = page_of(r.lba + (r.blocks - 1));
    const auto pages = static_cast<uint32_t>(last - first + 1);
    while (r.step < pages && credits_ > 0) {
        credits_--;
        write_page(first + r.step++);
    }
    if (r.step < pages) return false;
    store_.write(r);
    next(r, calendar_.now() + o_.write_latency, buffered);
    return true;
}

void Ssd::buffered(Event& e) { of(e).send(static_cast<Request&>(e), Bytes(0)); }

void Ssd::write_page(uint64_t page) {
    const Instant now = calendar_.now();
    work_.clear();
    const uint32_t physical = ftl_.write(page, &work_);
    last_host_page_ = physical;
    counters_.host_pages++;
    counters_.moved_pages += work_.moved;
    controller_.occupy(now, backend_page_ * (1 + work_.moved));
    for (const uint32_t at : work_.sensed) { // the collector's reads: nobody waits for them
        const uint32_t die = die_of(at);
        dies_[die].read(now, o_.nand, sense_of(at));
        channels_[die % channels_.size()].occupy(now, o_.flash_page / o_.channel_rate);
    }
    for (const uint32_t at : work_.programmed) program(at, false);
    if ((physical + 1) % unit_pages_ == 0) program(physical, true);
}

void Ssd::program(uint32_t physical, bool host) {
    const Instant now = calendar_.now();
    const uint32_t die = die_of(physical);
    FifoStation& channel = channels_[die % channels_.size()];
    const Duration load = map_page * unit_pages_ / o_.channel_rate;
    counters_.programs++;
    if (++programmed_[die] >= units_per_erase_) { // a block is full: one was erased to make it
        programmed_[die] = 0;
        counters_.erases++;
        dies_[die].erase(now, o_.nand);
    }
    if (!host) {
        channel.occupy(now, load);
        dies_[die].program(channel.free_at(), o_.nand);
        return;
    }
    if (free_programs_.empty()) {
        programs_.push_back(std::make_unique<Program>());
        programs_.back()->ssd = this;
        programs_.back()->fire = programmed;
        free_programs_.push_back(programs_.back().get());
    }
    Program& p = *free_programs_.back();
    free_programs_.pop_back();
    p.die = die;
    const Instant done = dies_[die].program(channel.serve(now, load), o_.nand);
    p.postponed = dies_[die].postponed();
    calendar_.schedule(p, done);
}

void Ssd::programmed(Event& e) {
    auto& p = static_cast<Program&>(e);
    Ssd& d = *p.ssd;
    const Duration postponed = d.dies_[p.die].postponed();
    if (postponed > p.postponed) { // suspended by reads meanwhile
        const Duration more = postponed - p.postponed;
        p.postponed = postponed;
        return d.calendar_.schedule(p, d.calendar_.now() + more);
    }
    d.free_programs_.push_back(&p);
    d.credits_ += d.unit_pages_;
    while (d.credits_ > 0 && !d.waiting_.empty()) {
        auto& r = static_cast<Request&>(*d.waiting_.front());
        if (d.failed_) d.waiting_.pop(), d.abandon(r);
        else if (Event* const following = r.next; d.admit(r)) d.waiting_.drop_front(following);
        else break;
    }
}

void Ssd::describe(const std::string& name, std::vector<StationDescription>& out) const {
    const Instant now = calendar_.now();
    const auto sum = [&](const auto& stations) {
        StationCount total;
        for (const auto& s : stations) {
            const StationCount c = s.count(now);
            total.served += c.served;
            total.busy += c.busy;
            total.sojourn += c.sojourn;
        }
        return total;
    };
    out.push_back({name + "/controller", "drive controller", 1, controller_.count(now)});
    out.push_back({name + "/dies", "flash dies", o_.dies, sum(dies_)});
    out.push_back({name + "/channels", "flash channels", o_.channels, sum(channels_)});
    out.push_back({name + "/link/up", "PCIe link to host", 1, link_.up.count(now)});
    out.push_back({name + "/link/down", "PCIe link from host", 1, link_.down.count(now)});
}

} // namespace storlab
