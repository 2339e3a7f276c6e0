// iSCSI on a socket: messages of the exchange engine to PDUs and back. One codec an end of a
// connection; it keeps the sequence numbers of the session. Source: RFC 7143, section 11 (PDUs);
// SPC-4 (REPORT TARGET PORT GROUPS, sense data), SBC-3 (READ, WRITE, SYNCHRONIZE CACHE of 16).
//
// Left out: digests, additional header segments, negotiation (the login's text is fixed and both
// ends know the profile), units beyond 16383, a command window. The initiator task tag is sixteen
// bits of tag and sixteen of generation; the last sixteen tags belong to what is no I/O.
#pragma once
#include "models/exchange/bytes.hpp"
#include "models/exchange/kinds.hpp"
#include "models/exchange/profile.hpp"
#include <string_view>

namespace storlab {

class IscsiCodec final : public Codec {
public:
    // Blocks of so many bytes, of which messages carry all.
    IscsiCodec(const Profile& profile, uint32_t block);

    void encode(const Message& m, std::vector<std::byte>& out) override;
    void feed(const std::byte* bytes, size_t n) override { inbox_.feed(bytes, n); }
    Decoded decode(Message& m) override;
    std::string_view fault() const override { return fault_; }

private:
    Profile p_;
    uint32_t block_;
    Inbox inbox_;
    std::string_view fault_;
    uint32_t command_sn_ = 1, status_sn_ = 1; // the next of ours
    uint32_t peer_sn_ = 0;                    // the last of the other end's: StatSN or CmdSN
    uint32_t data_tag_ = ~0u, data_sn_ = 0;   // of a run of data
    std::vector<uint32_t> readies_; // by tag: R2Ts of the command so far, sent or received

    bool bad(std::string_view why) {
        fault_ = why;
        return false;
    }
    struct Header {
        uint8_t opcode, flags;
        uint32_t task;
        size_t data = 0;
        bool counted = false; // takes a number of its own: CmdSN or StatSN
    };
    std::byte* begin(std::vector<std::byte>& out, const Header& h);
    std::byte* begin_scsi(std::vector<std::byte>& out, const Header& h, uint16_t unit,
                          uint32_t length);
    void put_sense(std::byte* data, Outcome o);
    uint32_t& readies(uint32_t tag);
    void encode_command(const Message& m, std::vector<std::byte>& out);
    void encode_data(const Message& m, std::vector<std::byte>& out);
    void encode_hello(const Message& m, std::vector<std::byte>& out);
    void encode_welcome(const Message& m, std::vector<std::byte>& out);
    void encode_response(const Message& m, std::vector<std::byte>& out);
    void encode_report(const Message& m, std::vector<std::byte>& out);
    void encode_control(const Message& m, std::vector<std::byte>& out);

    bool decode_pdu(const std::byte* pdu, uint32_t data, Message& m);
    bool decode_command(const std::byte* pdu, uint32_t data, Message& m);
    bool decode_other_command(const std::byte* pdu, uint32_t data, Message& m);
    bool decode_login(const std::byte* pdu, uint32_t data, Message& m);
    bool decode_answer(const std::byte* pdu, uint32_t data, Message& m);
    bool decode_response(const std::byte* pdu, uint32_t data, Message& m);
    bool decode_data(const std::byte* pdu, uint32_t data, Message& m);
    bool decode_report(const std::byte* groups, uint32_t bytes, Message& m);
};

} // namespace storlab
