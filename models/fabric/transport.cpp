// The part of a connection that repairs what the fabric lost (transport.hpp).
#include "models/fabric/connection.hpp"
#include "models/fabric/network.hpp"
#include <algorithm>
#include <utility>

namespace storlab {

// A message arrives here whole, in part because the window was smaller, or in part because a buffer
// was full. Its event then belongs to the receiver, to the sender's window, or to its time-out.
void ConnectionEnd::arrived_reliably(Packet& p) {
    ConnectionEnd& to = *s_.peer;
    if (to.dead_) { // the system there knows no such connection
        if (!dead_) network().tell(*this, Loss::peer_gone, network().calendar().now() + back_);
        return network().give(p);
    }
    const uint32_t came = p.part - p.missing;
    p.left -= came;
    if (dead_) return p.left ? network().give(p) : to.take_in(p);
    if (came == p.part) {
        retries_ = 0;
        timeout_ = s_.transport.timeout_min;
        stalled_since_ = lost_.empty() ? Instant{} : network().calendar().now();
    }
    if (windowed_) acknowledge(came);
    if (const Packet* const gap = lost_.front();
        gap && !gap_armed_ &&
        (gap->sent < p.sent || (gap->sent == p.sent && gap->sequence < p.sequence))) {
        gap_armed_ = true;
        ConnectionTick t;
        t.kind = TickKind::gap;
        t.seen = p.sent;
        network().tick(*this, t, network().calendar().now() + back_);
    }
    if (p.missing) return note_lost(p);
    if (p.left) {
        waiting_.insert(p);
        return arm_acknowledgement();
    }
    to.take_in(p);
}

void ConnectionEnd::take_in(Packet& p) {
    if (p.sequence != expected_) return early_.insert(p);
    Packet* next = &p;
    do {
        expected_++;
        network().count().delivered++;
        receiver_->receive(*next);
        if (dead_ || early_.empty() || early_.front()->sequence != expected_) return;
        next = &early_.pop();
    } while (true);
}

void ConnectionEnd::acknowledge(uint32_t bytes) {
    acknowledgements_.push_back({network().calendar().now() + back_, bytes});
    if (!waiting_.empty()) arm_acknowledgement();
}

void ConnectionEnd::arm_acknowledgement() {
    if (acknowledgement_armed_ || taken_ == acknowledgements_.size()) return;
    acknowledgement_armed_ = true;
    ConnectionTick t;
    t.kind = TickKind::acknowledged;
    network().tick(*this, t, later(network().calendar().now(), acknowledgements_[taken_].at));
}

void ConnectionEnd::take_acknowledgements() {
    const Instant now = network().calendar().now();
    for (; taken_ < acknowledgements_.size() && acknowledgements_[taken_].at <= now; taken_++) {
        const uint32_t bytes = acknowledgements_[taken_].bytes;
        if (static_cast<double>(under_way_) >= window_ / 2) // it was the window that held it
            window_ += window_ < threshold_ ? bytes : s_.transport.segment * bytes / window_;
        window_ = std::min(window_, static_cast<double>(s_.transport.window));
        under_way_ = std::max<int64_t>(0, under_way_ - bytes);
    }
    if (taken_ == acknowledgements_.size() || taken_ >= 64) {
        acknowledgements_.erase(acknowledgements_.begin(),
                                acknowledgements_.begin() + static_cast<std::ptrdiff_t>(taken_));
        taken_ = 0;
    }
}

// Bytes of the message that may leave now. A message is not cut because half of it is beyond the
// window; one larger than the whole window leaves in parts.
uint32_t ConnectionEnd::allowed(const Packet& p) const {
    if (!windowed_) return p.left;
    const auto under_way = static_cast<double>(under_way_);
    if (p.left <= window_) return under_way + p.left / 2.0 <= window_ ? p.left : 0;
    const auto segments =
        static_cast<uint32_t>(std::max(0.0, window_ - under_way)) / s_.transport.segment;
    if (segments) return std::min(p.left, segments * s_.transport.segment);
    return under_way_ ? 0 : std::min(p.left, s_.transport.segment);
}

void ConnectionEnd::pump() {
    while (!waiting_.empty()) {
        const uint32_t part = allowed(*waiting_.front());
        if (!part && waiting_.front()->left) return;
        Packet& p = waiting_.pop();
        under_way_ += part;
        transmit(p, part);
    }
}

void ConnectionEnd::note_lost(Packet& p) {
    if (stalled_since_ == Instant{}) stalled_since_ = p.sent;
    if (lost_.empty()) arm_timeout(p);
    lost_.insert(p);
}

void ConnectionEnd::arm_timeout(const Packet& p) {
    Instant at = p.sent + timeout_;
    if (const Duration most = s_.transport.user_timeout; most > Duration{})
        at = std::min(at, stalled_since_ + most);
    ConnectionTick t;
    t.kind = TickKind::timeout;
    t.serial = ++timeout_serial_;
    network().tick(*this, t, later(network().calendar().now(), at));
}

void ConnectionEnd::on_timeout() {
    if (lost_.empty()) return;
    take_acknowledgements(); // they came before the window is cut
    const Instant now = network().calendar().now();
    network().count().timeouts++;
    const Duration most = s_.transport.user_timeout;
    if (++retries_ > s_.transport.retries || (most > Duration{} && now >= stalled_since_ + most))
        return fail(Loss::timed_out);
    timeout_ = std::min(timeout_ * 2, s_.transport.timeout_max);
    cut_window(s_.transport.segment);
    PacketList all = std::exchange(lost_, {});
    send_again(all);
}

// Something sent later has arrived: what was sent before it and has not is lost.
void ConnectionEnd::on_gap(Instant seen) {
    gap_armed_ = false;
    take_acknowledgements();
    PacketList again, not_yet;
    while (!lost_.empty()) {
        Packet& p = lost_.pop();
        if (p.sent <= seen) again.insert(p);
        else not_yet.insert(p);
    }
    if (again.empty()) {
        lost_ = not_yet;
        return;
    }
    if (again.front()->sent >= last_cut_) cut_window(window_ / 2);
    lost_ = not_yet;
    if (!lost_.empty()) arm_timeout(*lost_.front());
    send_again(again);
}

void ConnectionEnd::cut_window(double to) {
    threshold_ = std::max(window_ / 2, 2.0 * s_.transport.segment);
    window_ = std::max(to, static_cast<double>(s_.transport.segment));
    last_cut_ = network().calendar().now();
}

void ConnectionEnd::send_again(PacketList& packets) {
    while (!packets.empty()) {
        Packet& p = packets.pop();
        network().count().sent_again++;
        under_way_ = std::max<int64_t>(0, under_way_ - p.missing);
        if (windowed_) waiting_.insert(p);
        else transmit(p, p.left);
    }
    if (windowed_) pump();
    if (!waiting_.empty()) arm_acknowledgement();
}

} // namespace storlab
