#include "models/raid/stripe_cache.hpp"
#include "sim/base/error.hpp"
#include <bit>

namespace storlab {

StripeCache::StripeCache(uint32_t stripes, uint32_t columns, uint32_t payload)
    : payload_(payload), stripes_(stripes), pages_(size_t{stripes} * columns * payload),
      bucket_(std::bit_ceil(size_t{stripes} * 2), nullptr),
      shift_(64 - std::countr_zero(bucket_.size())) {
    STORLAB_ENSURE(stripes > 0);
    for (size_t i = 0; i < stripes_.size(); i++) {
        stripes_[i].pages = pages_.get() + i * columns * payload;
        put(stripes_[i]);
    }
}

void StripeCache::unlink_idle(Stripe& s) {
    (s.older ? s.older->newer : oldest_) = s.newer;
    (s.newer ? s.newer->older : newest_) = s.older;
    s.older = s.newer = nullptr;
}
void StripeCache::unhash(Stripe& s) {
    Stripe** p = &bucket(s.line);
    while (*p != &s) p = &(*p)->chain;
    *p = s.chain;
}

Stripe* StripeCache::get(uint64_t line) {
    for (Stripe* s = bucket(line); s; s = s->chain) {
        if (s->line != line) continue;
        if (s->idle()) unlink_idle(*s);
        return s;
    }
    if (!oldest_) {
        exhausted++;
        return nullptr;
    }
    Stripe& s = *oldest_;
    unlink_idle(s);
    if (s.hashed) unhash(s);
    s.line = line;
    s.cached = 0;
    s.hashed = true;
    s.chain = bucket(line);
    bucket(line) = &s;
    return &s;
}

void StripeCache::put(Stripe& s) {
    s.newer = nullptr;
    s.older = newest_;
    (newest_ ? newest_->newer : oldest_) = &s;
    newest_ = &s;
    while (oldest_ && !waiters.empty()) {
        Event& w = waiters.pop();
        w.fire(w);
    }
}

} // namespace storlab
