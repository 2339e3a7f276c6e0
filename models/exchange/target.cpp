#include "models/exchange/target_session.hpp"

namespace storlab {

Target::Target(Clock& clock, const Profile& profile, TargetOptions options)
    : clock_(clock), p_(profile), o_(options), software_(p_.software && !o_.offloaded),
      silence_(clock, this, [](void* t) { static_cast<Target*>(t)->look_for_silent(); }) {
    STORLAB_ENSURE(o_.depth > 0);
}
Target::~Target() = default;

void Target::add_unit(uint16_t number, BlockDevice& device, Cpu& context, Access access) {
    if (units_.size() <= number) units_.resize(number + size_t{1});
    STORLAB_ENSURE(!units_[number].device);
    const Geometry g = device.geometry();
    units_[number] = {&device,   &context, access, static_cast<uint32_t>(g.block.count()),
                      g.payload, g.blocks};
}
void Target::remove_unit(uint16_t number) {
    STORLAB_ENSURE(unit(number));
    units_[number] = {};
}

void Target::set_access(uint16_t number, Access access) {
    STORLAB_ENSURE(unit(number));
    if (units_[number].access == access) return;
    units_[number].access = access;
    for (size_t i = 0; i < sessions_.size(); i++)
        if (sessions_[i]->open() && sessions_[i]->live()) sessions_[i]->notify(number);
}

void Target::accept(Connection& connection) {
    if (p_.timers.silence > Duration() && !silence_.is_set())
        silence_.set(clock_.now() + p_.timers.silence);
    for (const auto& s : sessions_)
        if (s->over()) return s->begin(connection);
    sessions_.push_back(std::make_unique<TargetSession>(*this));
    sessions_.back()->begin(connection);
}

void Target::drop_sessions() {
    for (size_t i = 0; i < sessions_.size(); i++) sessions_[i]->drop();
}

uint32_t Target::sessions() const {
    uint32_t n = 0;
    for (const auto& s : sessions_) n += s->open();
    return n;
}

// Seen between one and two times the limit: the alarm looks at all sessions together.
void Target::look_for_silent() {
    const Instant now = clock_.now();
    bool any = false;
    for (size_t i = 0; i < sessions_.size(); i++) {
        TargetSession& s = *sessions_[i];
        if (!s.open()) continue;
        if (now - s.heard() < p_.timers.silence) {
            any = true;
            continue;
        }
        counters_.silent++;
        s.drop();
    }
    if (any) silence_.set(now + p_.timers.silence);
}

bool Target::has_leftovers(const TargetSession& of) const {
    if (of.identity() == 0) return false;
    for (const auto& s : sessions_)
        if (s.get() != &of && s->identity() == of.identity() && s->busy()) return true;
    return false;
}
void Target::drop_older(const TargetSession& than) {
    if (than.identity() == 0) return;
    for (size_t i = 0; i < sessions_.size(); i++)
        if (sessions_[i].get() != &than && sessions_[i]->identity() == than.identity())
            sessions_[i]->drop();
}
void Target::drained() {
    for (size_t i = 0; i < sessions_.size(); i++) sessions_[i]->leftovers_gone();
}

} // namespace storlab
