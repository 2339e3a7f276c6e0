// NVMe/TCP on a socket: messages of the exchange engine to the bytes of the standard and back. One
// codec an end of a connection. Source: NVMe TCP Transport Specification 1.0, section 3.6 (PDUs);
// NVM Express Base 2.0 and NVM Command Set 1.0 (submission and completion queue entries, ANA log).
//
// Left out: digests and a separate admin queue. Admin commands travel on the same connection; the
// last sixteen of the 4096 command identifiers that a queue of ours can have are theirs. A command
// identifier is twelve bits of tag and four of generation, as in Linux.
#pragma once
#include "models/exchange/bytes.hpp"
#include "models/exchange/kinds.hpp"
#include "models/exchange/profile.hpp"
#include <string_view>

namespace storlab {

class NvmeTcpCodec final : public Codec {
public:
    // Blocks of so many bytes, of which messages carry all.
    NvmeTcpCodec(const Profile& profile, uint32_t block);

    void encode(const Message& m, std::vector<std::byte>& out) override;
    void feed(const std::byte* bytes, size_t n) override { inbox_.feed(bytes, n); }
    Decoded decode(Message& m) override;
    std::string_view fault() const override { return fault_; }

private:
    Profile p_;
    uint32_t block_;
    Inbox inbox_;
    std::string_view fault_;

    bool bad(std::string_view why) {
        fault_ = why;
        return false;
    }
    std::byte* begin(std::vector<std::byte>& out, uint8_t type, size_t data = 0, uint8_t flags = 0);
    std::byte* begin_command(std::vector<std::byte>& out, uint16_t id, uint8_t opcode,
                             size_t data = 0);
    std::byte* begin_answer(std::vector<std::byte>& out, uint16_t id, uint16_t status = 0);
    std::byte* begin_data(std::vector<std::byte>& out, uint8_t type, uint16_t id, uint64_t offset,
                          size_t bytes, uint8_t flags);
    void encode_command(const Message& m, std::vector<std::byte>& out);
    void encode_hello(const Message& m, std::vector<std::byte>& out);
    void encode_welcome(const Message& m, std::vector<std::byte>& out);
    void encode_report(const Message& m, std::vector<std::byte>& out);

    bool decode_pdu(const std::byte* pdu, uint32_t bytes, Message& m);
    bool decode_command(const std::byte* pdu, uint32_t bytes, Message& m);
    bool decode_io(const std::byte* sqe, const std::byte* data, uint32_t data_bytes, Message& m);
    bool decode_admin(const std::byte* sqe, const std::byte* data, uint32_t data_bytes, Message& m);
    bool decode_answer(const std::byte* cqe, Message& m);
    bool decode_data(const std::byte* pdu, uint32_t bytes, Message& m);
    bool decode_report(const std::byte* log, uint32_t bytes, Message& m);
};

} // namespace storlab
