// iSCSI as bytes.
#include "models/scsi/iscsi_codec.hpp"
#include "models/scsi/profiles.hpp"
#include "tests/protocol/codec_rig.hpp"

using namespace storlab;

namespace {
IscsiOptions separate() {
    IscsiOptions o = open_iscsi();
    o.immediate_data = false;
    return o;
}
std::vector<Profile> profiles() { return {iscsi(), iscsi(open_iscsi()), iscsi(separate())}; }
std::map<size_t, int> not_zero(const std::vector<std::byte>& bytes) {
    std::map<size_t, int> all;
    for (size_t i = 0; i < bytes.size(); i++)
        if (bytes[i] != std::byte{}) all[i] = std::to_integer<int>(bytes[i]);
    return all;
}
} // namespace

TEST_CASE("iSCSI: a read command is the PDU of the standard, byte by byte") {
    IscsiCodec codec(iscsi(), codec_block);
    Message m;
    m.kind = static_cast<uint8_t>(Kind::command);
    m.op = Op::read;
    m.unit = 5;
    m.tag = 0x0102;
    m.generation = 0x0a0b;
    m.lba = {0x1122334455667788};
    m.blocks = 8;
    std::vector<std::byte> bytes;
    codec.encode(m, bytes);
    REQUIRE(bytes.size() == 48);
    CHECK(not_zero(bytes) ==
          std::map<size_t, int>{{0, 0x01},  {1, 0xc1}, // final, read, simple
                                {9, 5},                // unit
                                {16, 0x0a}, {17, 0x0b}, {18, 0x01}, {19, 0x02}, // task tag
                                {22, 0x10},                                     // 4096 bytes
                                {27, 1},                                        // CmdSN
                                {31, 1},                                        // ExpStatSN
                                {32, 0x88}, {34, 0x11}, {35, 0x22}, {36, 0x33}, {37, 0x44},
                                {38, 0x55}, {39, 0x66}, {40, 0x77}, {41, 0x88}, {45, 8}});
    bytes.clear();
    m.unit = 0x123;
    codec.encode(m, bytes);
    CHECK(bytes[8] == std::byte{0x41}); // flat space
    CHECK(bytes[9] == std::byte{0x23});
    CHECK(bytes[27] == std::byte{2}); // the next CmdSN
}

TEST_CASE("iSCSI: a check condition carries sense data, the last data in its status") {
    IscsiCodec codec(iscsi(), codec_block);
    Message m;
    m.kind = static_cast<uint8_t>(Kind::response);
    m.tag = m.generation = 0;
    set_outcome(m, Outcome::attention);
    std::vector<std::byte> bytes;
    codec.encode(m, bytes);
    REQUIRE(bytes.size() == 48 + 20);
    const auto at = [&](size_t i) { return std::to_integer<int>(bytes[i]); };
    CHECK(at(0) == 0x21);
    CHECK(at(3) == 0x02);                      // CHECK CONDITION
    CHECK(at(7) == 20);                        // data segment
    CHECK(at(49) == 18);                       // sense length
    CHECK((at(50) == 0x70 && at(52) == 0x06)); // UNIT ATTENTION
    CHECK((at(62) == 0x2a && at(63) == 0x06)); // asymmetric access state changed
    Message d;
    d.kind = static_cast<uint8_t>(Kind::data_in);
    d.tag = 1;
    for (uint32_t i = 0; i < 3; i++) {
        d.offset = i;
        d.blocks = 1;
        d.last = i == 2;
        d.payload.assign(codec_block, std::byte{1});
        bytes.clear();
        codec.encode(d, bytes);
        CHECK(at(39) == static_cast<int>(i)); // DataSN
        CHECK(at(1) == (d.last ? 0x81 : 0));  // F and S
        CHECK(at(27) == (d.last ? 2 : 0));    // StatSN, after the response's 1
        CHECK(at(42) * 256 + at(43) == static_cast<int>(i) * 512);
    }
}

TEST_CASE("iSCSI: every message comes back as it was, in pieces of any size") {
    for (const Profile& p : profiles())
        for (uint64_t seed = 1; seed <= 20; seed++) {
            check_round_trips<IscsiCodec>(p, true, seed);
            check_round_trips<IscsiCodec>(p, false, seed);
        }
}

TEST_CASE("iSCSI: the engine works through bytes, at the sizes its profile charges") {
    for (const Profile& p : profiles()) check_engine<IscsiCodec>(p);
}

TEST_CASE("iSCSI: damaged bytes are an error or a sound message") {
    uint64_t malformed = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++)
        malformed += check_damaged<IscsiCodec>(profiles()[seed % 3], seed % 5 > 1, seed);
    CHECK(malformed > 500);
}
