// A protocol's messages as the bytes of its standard, for the real world's sockets. One codec
// serves one end of one connection, and keeps what that end has to remember (sequence numbers,
// bytes of a message that has not arrived whole).
#pragma once
#include "sim/seam/message.hpp"
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace storlab {

enum class Decoded : uint8_t {
    message,
    incomplete, // more bytes are needed
    malformed,  // and so is everything that follows: end the connection
};

class Codec {
public:
    virtual ~Codec() = default;
    virtual void encode(const Message& m, std::vector<std::byte>& out) = 0; // appends
    virtual void feed(const std::byte* bytes, size_t n) = 0;                // what has arrived
    virtual Decoded decode(Message& m) = 0;     // the next one, once it is there
    virtual std::string_view fault() const = 0; // why it was malformed
};
using MakeCodec = std::function<std::unique_ptr<Codec>()>;

} // namespace storlab
