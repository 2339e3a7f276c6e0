// Connections for tests: in order, with latency, and able to end at any message, in three ways.
// Whatever is sent is noted, and every message must have been given back in the end.
#pragma once
#include "models/exchange/kinds.hpp"
#include "sim/base/random.hpp"
#include "sim/kernel/calendar.hpp"
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace storlab {

enum class Cut : uint8_t {
    told,   // both ends are told at once, and what is under way is lost
    late,   // ... the target only after a while
    silent, // nobody is told, everything vanishes
};

class Wire {
public:
    struct Sent {
        Kind kind;
        bool to_target;
        uint32_t bytes, blocks, tag, generation, offset;
        bool last;
    };

    Wire(Calendar& calendar, uint64_t seed) : calendar_(calendar), random_(seed, "wire") {}

    // A new connection; `accept` gets the target's end. The initiator's end is returned.
    Connection* connect(const std::function<void(Connection&)>& accept) {
        if (unreachable) return nullptr;
        End& a = ends_.emplace_back(*this, true);
        End& b = ends_.emplace_back(*this, false);
        a.peer = &b;
        b.peer = &a;
        current_ = &a;
        if (connected_anew) connected_anew();
        accept(b);
        return &a;
    }
    void cut(Cut how) {
        if (!current_ || current_->over) return;
        End &a = *current_, &b = *a.peer;
        if (how == Cut::silent) {
            a.silent = b.silent = true;
            return;
        }
        a.end_with(Loss::link_down);
        if (how == Cut::told) b.end_with(Loss::link_down);
        else b.end_at(calendar_.now() + Duration::ms(1));
    }
    bool connected() const { return current_ && !current_->over && !current_->silent; }
    size_t out() const { return made_.size() - free_.size(); } // messages not given back
    // What was sent, a letter a message.
    std::string letters() const {
        std::string all;
        for (const Sent& s : log) all += "CR><=aA?!hwxqr"[static_cast<size_t>(s.kind)];
        return all;
    }

    Duration latency = Duration::us(10), jitter;
    bool unreachable = false;
    std::vector<Sent> log;
    int64_t cut_at = -1; // the session ends with this message of the log, counted from 0
    Cut cut_how = Cut::told;
    std::function<void(const Message&, bool to_target)> watch;
    std::function<void()> connected_anew;
    // What a message becomes on its way, if anything.
    std::function<void(Message&, bool to_target)> through;

private:
    struct End;
    struct Parcel : Message {
        End* to = nullptr;
        bool out = false;
    };
    struct End final : Connection, Event {
        Wire& wire;
        const bool initiator;
        End* peer = nullptr;
        Receiver* receiver = nullptr;
        bool over = false, silent = false;
        Instant last_arrival;

        End(Wire& w, bool i) : wire(w), initiator(i) {
            fire = [](Event& e) { static_cast<End&>(e).end_with(Loss::peer_gone); };
        }
        Message& message() override { return wire.take(); }
        void send(Message& m) override {
            REQUIRE_FALSE(over);
            wire.post(static_cast<Parcel&>(m), *this);
        }
        void recycle(Message& m) override { wire.give(static_cast<Parcel&>(m)); }
        void attach(Receiver& r) override { receiver = &r; }
        void close() override {
            over = true;
            if (!silent && !peer->over) peer->end_at(wire.calendar_.now() + wire.latency);
        }
        void end_at(Instant t) {
            if (at.since_start() == Duration()) wire.calendar_.schedule(*this, t);
        }
        void end_with(Loss why) {
            if (std::exchange(over, true)) return;
            if (receiver) receiver->lost(why);
        }
    };

    Calendar& calendar_;
    Random random_;
    std::deque<End> ends_;
    End* current_ = nullptr;
    std::deque<Parcel> made_;
    std::vector<Parcel*> free_;

    Message& take() {
        if (free_.empty()) free_.push_back(&made_.emplace_back());
        Parcel& p = *free_.back();
        free_.pop_back();
        p.out = true;
        p.kind = 0xff; // whatever is not filled in must be noticed
        p.wire_bytes = ~0u;
        p.offset = p.blocks = p.tag = p.generation = ~0u;
        return p;
    }
    void give(Parcel& p) {
        REQUIRE(p.out);
        p.out = false;
        free_.push_back(&p);
    }
    void post(Parcel& p, End& from) {
        REQUIRE(p.out);
        if (watch) watch(p, from.initiator);
        const auto at = static_cast<int64_t>(log.size());
        log.push_back({kind_of(p), from.initiator, p.wire_bytes, p.blocks, p.tag, p.generation,
                       p.offset, p.last});
        if (at == cut_at) cut(cut_how);
        if (from.over || from.silent) return give(p);
        Duration d = latency;
        if (jitter > Duration())
            d += Duration::ps(
                static_cast<int64_t>(random_.below(static_cast<uint64_t>(jitter.count_ps()))));
        if (through) through(p, from.initiator);
        p.to = from.peer;
        from.last_arrival = later(from.last_arrival, calendar_.now() + d);
        p.fire = [](Event& e) {
            auto& m = static_cast<Parcel&>(e);
            End& to = *m.to;
            if (to.over || to.silent || !to.receiver) to.wire.give(m);
            else to.receiver->receive(m);
        };
        p.phase = Phase::arrival;
        calendar_.schedule(p, from.last_arrival);
    }
};

} // namespace storlab
