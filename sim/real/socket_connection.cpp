#include "sim/real/socket_connection.hpp"
#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

namespace storlab {

namespace {
constexpr size_t inbox_bytes = 256 << 10;
constexpr size_t much_unsent = 4 << 20; // a patient end does not read on
constexpr Duration pause = Duration::ms(100);
} // namespace

SocketConnection::SocketConnection(Sockets& owner, int socket, std::unique_ptr<Codec> codec,
                                   bool patient)
    : owner_(owner), socket_(socket), codec_(std::move(codec)), patient_(patient),
      inbox_(inbox_bytes) {
    receive_.connection = send_.connection = this;
    receive_.done = received;
    send_.done = sent;
    flush_.connection = turn_.connection = this;
    flush_.fire = [](Event& e) {
        auto& step = static_cast<Step&>(e);
        step.posted = false;
        step.connection->flush();
    };
    turn_.fire = [](Event& e) {
        auto& step = static_cast<Step&>(e);
        step.posted = false;
        step.connection->turned();
    };
}
SocketConnection::~SocketConnection() {
    if (socket_ >= 0) ::close(socket_);
}

Message& SocketConnection::message() {
    if (free_.empty()) return messages_.emplace_back();
    return static_cast<Message&>(free_.pop());
}
void SocketConnection::recycle(Message& m) { free_.push(m); }

void SocketConnection::send(Message& m) {
    if (open_ && !ended_) {
        codec_->encode(m, outbox_);
        flush_soon();
    }
    recycle(m);
}

void SocketConnection::attach(Receiver& r) {
    receiver_ = &r;
    read_on();
}

void SocketConnection::close() {
    open_ = false;
    shut();
    release();
}
void SocketConnection::shut() {
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

void SocketConnection::cut(Loss why) {
    if (!open_ || cut_) return;
    cut_ = why;
    shut();
    if (!std::exchange(turn_.posted, true)) owner_.world_.post(turn_);
}
void SocketConnection::set_silent(bool silent) {
    if (!open_ || silent_ == silent) return;
    silent_ = silent;
    if (!std::exchange(turn_.posted, true)) owner_.world_.post(turn_);
}
void SocketConnection::turned() {
    if (cut_) return lose(*cut_);
    if (!open_ || silent_) return;
    flush();
    if (const size_t n = std::exchange(held_, 0)) take(n);
    else read_on();
}

void SocketConnection::start(Command& c, RingCommand::Kind kind, std::byte* at, size_t n) {
    c.kind = kind;
    c.file = socket_;
    c.bytes = {at, n};
    c.vectors = &c.bytes;
    c.vector_count = 1;
    c.under_way = true;
    owner_.issue(c);
}

// One command of a kind at a time, while there is somebody to tell.
void SocketConnection::read_on() {
    if (!open_ || !receiver_ || receive_.under_way || held_ > 0 || silent_ || cut_) return;
    if (ended_) return lose(Loss::peer_gone);
    if (patient_ && outbox_.size() > much_unsent) return; // until some of it is sent
    start(receive_, RingCommand::Kind::receive, inbox_.data(), inbox_.size());
}

void SocketConnection::received(RingCommand& ended, int result) {
    auto& c = static_cast<Command&>(ended);
    SocketConnection& self = *c.connection;
    c.under_way = false;
    self.owner_.under_way_--;
    if (!self.open_) return self.release();
    if (result == -EINTR || result == -EAGAIN) return self.read_on();
    if (result <= 0) {
        self.ended_ = true;
        return self.read_on();
    }
    const auto n = static_cast<size_t>(result);
    if (!self.silent_ && !self.cut_) self.take(n);
    else self.held_ = n;
}

// Any of these messages may make its receiver close the connection.
void SocketConnection::take(size_t bytes) {
    owner_.counters_.bytes_received += bytes;
    codec_->feed(inbox_.data(), bytes);
    while (open_) {
        Message& m = message();
        const Decoded what = codec_->decode(m);
        if (what == Decoded::message) {
            receiver_->receive(m);
            continue;
        }
        recycle(m);
        if (what == Decoded::incomplete) break;
        owner_.counters_.malformed++;
        owner_.last_fault_ = codec_->fault();
        shut();
        return lose(Loss::peer_gone);
    }
    read_on();
}

// At the end of the loop's round, so that what is sent in one round travels together.
void SocketConnection::flush_soon() {
    if (send_.under_way || std::exchange(flush_.posted, true)) return;
    owner_.world_.post(flush_, true);
}
void SocketConnection::flush() {
    if (!open_ || ended_ || send_.under_way || silent_ || cut_) return;
    if (sent_ == on_way_.size()) {
        on_way_.clear();
        sent_ = 0;
        std::swap(on_way_, outbox_);
    }
    if (!on_way_.empty())
        start(send_, RingCommand::Kind::send, on_way_.data() + sent_, on_way_.size() - sent_);
}

void SocketConnection::sent(RingCommand& ended, int result) {
    auto& c = static_cast<Command&>(ended);
    SocketConnection& self = *c.connection;
    c.under_way = false;
    self.owner_.under_way_--;
    if (!self.open_) return self.release();
    if (result > 0) {
        self.sent_ += static_cast<size_t>(result);
        self.owner_.counters_.bytes_sent += static_cast<uint64_t>(result);
    } else if (result != -EINTR && result != -EAGAIN) {
        self.ended_ = true;
    }
    self.flush();
    self.read_on();
}

void SocketConnection::lose(Loss why) {
    if (!open_) return;
    open_ = false;
    owner_.counters_.lost++;
    if (receiver_) receiver_->lost(why);
    release();
}

// Once nothing of it is in the ring any more. Messages stay: somebody may hold one.
void SocketConnection::release() {
    if (open_ || receive_.under_way || send_.under_way) {
        shut(); // so that it ends
        return;
    }
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    for (auto* bytes : {&inbox_, &outbox_, &on_way_}) std::vector<std::byte>().swap(*bytes);
    held_ = 0;
}

SocketListener::SocketListener(Sockets& owner, int socket, MakeCodec codec,
                               std::function<void(Connection&)> accepted)
    : owner_(owner), socket_(socket), codec_(std::move(codec)), accepted_(std::move(accepted)) {
    command_.listener = this;
    command_.kind = RingCommand::Kind::accept;
    command_.file = socket_;
    command_.done = SocketListener::accepted;
    again_.listener = this;
    again_.fire = [](Event& e) { static_cast<Pause&>(e).listener->accept(); };
    accept();
}
SocketListener::~SocketListener() { ::close(socket_); }
void SocketListener::shut() { ::shutdown(socket_, SHUT_RDWR); }
void SocketListener::accept() { owner_.issue(command_); }

void SocketListener::accepted(RingCommand& c, int result) {
    SocketListener& self = *static_cast<Command&>(c).listener;
    self.owner_.under_way_--;
    if (self.owner_.closing_) {
        if (result >= 0) ::close(result);
        return;
    }
    if (result >= 0) self.accepted_(self.owner_.add(result, self.codec_, true));
    if (result >= 0 || result == -EINTR || result == -ECONNABORTED) return self.accept();
    self.again_.phase = storlab::Phase::timer; // no descriptors left, say
    self.owner_.world_.wake(self.again_, self.owner_.world_.now() + pause);
}

} // namespace storlab
