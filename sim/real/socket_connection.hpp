// One connection of Sockets: a socket, the codec of its end, the bytes on their way in and out.
#pragma once
#include "sim/real/sockets.hpp"
#include <deque>
#include <optional>

namespace storlab {

class SocketConnection final : public Connection {
public:
    // `patient`: does not read on while much is unsent. A target's end does so, that a peer which
    // asks without reading the answers cannot fill the memory; a host's end must not, or both could
    // wait for each other.
    SocketConnection(Sockets& owner, int socket, std::unique_ptr<Codec> codec, bool patient);
    ~SocketConnection() override;
    SocketConnection(const SocketConnection&) = delete;
    SocketConnection& operator=(const SocketConnection&) = delete;

    Message& message() override;
    void send(Message& m) override;
    void recycle(Message& m) override;
    void attach(Receiver& r) override;
    void close() override;
    void cut(Loss why);
    void set_silent(bool silent);
    void shut(); // both ways: what is under way in the ring ends

private:
    struct Command : RingCommand {
        SocketConnection* connection = nullptr;
        iovec bytes{};
        bool under_way = false;
    };
    struct Step : Event {
        SocketConnection* connection = nullptr;
        bool posted = false;
    };
    Sockets& owner_;
    int socket_;
    const std::unique_ptr<Codec> codec_;
    const bool patient_;
    Receiver* receiver_ = nullptr;
    bool open_ = true; // its user has not closed it nor been told of its loss
    bool silent_ = false;
    std::optional<Loss> cut_; // to be told from the loop
    std::deque<Message> messages_;
    EventQueue free_;
    std::vector<std::byte> inbox_;           // where the kernel puts bytes
    std::vector<std::byte> outbox_, on_way_; // encoded; being sent
    size_t sent_ = 0;                        // of on_way_
    size_t held_ = 0;                        // bytes in the inbox, not looked at: silent
    bool ended_ = false;                     // the peer's end is over; not told while silent
    Command receive_, send_;
    Step flush_, turn_; // of what happens to its link

    void start(Command& c, RingCommand::Kind kind, std::byte* at, size_t n);
    static void received(RingCommand& c, int result);
    static void sent(RingCommand& c, int result);
    void read_on();
    void take(size_t bytes);
    void flush_soon();
    void flush();
    void turned();
    void lose(Loss why);
    void release();
};

class SocketListener {
public:
    SocketListener(Sockets& owner, int socket, MakeCodec codec,
                   std::function<void(Connection&)> accepted);
    ~SocketListener();
    SocketListener(const SocketListener&) = delete;
    SocketListener& operator=(const SocketListener&) = delete;
    void accept();
    void shut();

private:
    struct Command : RingCommand {
        SocketListener* listener = nullptr;
    };
    struct Pause : Event {
        SocketListener* listener = nullptr;
    };
    Sockets& owner_;
    const int socket_;
    const MakeCodec codec_;
    const std::function<void(Connection&)> accepted_;
    Command command_;
    Pause again_; // after a pause: there was no room for a connection
    static void accepted(RingCommand& c, int result);
};

} // namespace storlab
