#include "sim/real/sockets.hpp"
#include "sim/base/error.hpp"
#include "sim/real/socket_connection.hpp"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace storlab {

namespace {
sockaddr_in loopback(uint16_t port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}
const sockaddr* address(const sockaddr_in& a) { return reinterpret_cast<const sockaddr*>(&a); }

// On loopback a connection is there within microseconds or not at all; only a listener whose
// backlog is full would let us wait.
bool connected(int socket, const sockaddr_in& a) {
    if (::connect(socket, address(a), sizeof a) == 0) return true;
    constexpr int patience_ms = 100;
    pollfd wait{socket, POLLOUT, 0};
    if (errno != EINPROGRESS || ::poll(&wait, 1, patience_ms) != 1) return false;
    int error = 0;
    socklen_t length = sizeof error;
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}
} // namespace

Sockets::Sockets(RealWorld& world) : world_(world) {}

Sockets::~Sockets() {
    closing_ = true;
    for (auto& l : listeners_) l->shut();
    for (auto& c : connections_) c->close();
    while (under_way_ > 0) world_.ring().wait(Duration::ms(100));
}

void Sockets::issue(RingCommand& command) {
    under_way_++;
    world_.ring().issue(command);
}

uint16_t Sockets::listen(uint16_t port, MakeCodec codec,
                         std::function<void(Connection&)> accepted) {
    const auto complain = [&](const char* step) {
        throw InputError({"127.0.0.1:" + std::to_string(port), 0, 0},
                         std::string("cannot ") + step + ": " + std::strerror(errno));
    };
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) complain("make a socket");
    struct Guard {
        int socket;
        ~Guard() {
            if (socket >= 0) ::close(socket);
        }
    } guard{socket};
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in a = loopback(port);
    constexpr int backlog = 128;
    if (::bind(socket, address(a), sizeof a) != 0 || ::listen(socket, backlog) != 0)
        complain("listen there");
    socklen_t length = sizeof a;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&a), &length) != 0)
        complain("learn the port");
    listeners_.push_back(
        std::make_unique<SocketListener>(*this, socket, std::move(codec), std::move(accepted)));
    guard.socket = -1;
    return ntohs(a.sin_port);
}

Connection* Sockets::connect(uint16_t port, const MakeCodec& codec) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return nullptr;
    if (!connected(socket, loopback(port))) {
        ::close(socket);
        return nullptr;
    }
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK); // the ring waits for us
    return &add(socket, codec, false);
}

SocketConnection& Sockets::add(int socket, const MakeCodec& codec, bool patient) {
    const int on = 1; // we gather what travels together ourselves
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    counters_.connections++;
    return *connections_.emplace_back(
        std::make_unique<SocketConnection>(*this, socket, codec(), patient));
}

void Sockets::cut(Connection& connection, Loss why) {
    static_cast<SocketConnection&>(connection).cut(why);
}
void Sockets::set_silent(Connection& connection, bool silent) {
    static_cast<SocketConnection&>(connection).set_silent(silent);
}

} // namespace storlab
