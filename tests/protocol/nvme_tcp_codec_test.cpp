// NVMe/TCP as bytes.
#include "models/nvme/profiles.hpp"
#include "models/nvme/tcp_codec.hpp"
#include "tests/protocol/codec_rig.hpp"

using namespace storlab;

namespace {
std::vector<Profile> profiles() {
    return {nvme_tcp(), nvme_tcp({Bytes(), Bytes::kib(128), false})};
}
std::vector<uint8_t> encoded(const Message& m, const Profile& p = nvme_tcp()) {
    std::vector<std::byte> out;
    NvmeTcpCodec(p, codec_block).encode(m, out);
    std::vector<uint8_t> bytes;
    for (const std::byte b : out) bytes.push_back(std::to_integer<uint8_t>(b));
    return bytes;
}
// Bytes that are not zero, by place.
std::map<size_t, int> not_zero(const std::vector<uint8_t>& bytes) {
    std::map<size_t, int> all;
    for (size_t i = 0; i < bytes.size(); i++)
        if (bytes[i]) all[i] = bytes[i];
    return all;
}
} // namespace

TEST_CASE("NVMe/TCP: a read command is the capsule of the standard, byte by byte") {
    Message m;
    m.kind = static_cast<uint8_t>(Kind::command);
    m.op = Op::read;
    m.unit = 4;
    m.tag = 0x123;
    m.generation = 0xa;
    m.lba = {0x1122334455667788};
    m.blocks = 8;
    const std::vector<uint8_t> bytes = encoded(m);
    REQUIRE(bytes.size() == 72);
    CHECK(not_zero(bytes) == std::map<size_t, int>{{0, 0x04},
                                                   {2, 72},
                                                   {4, 72}, // capsule, header length, PDU length
                                                   {8, 0x02},
                                                   {9, 0x40}, // read, SGL
                                                   {10, 0x23},
                                                   {11, 0xa1}, // identifier
                                                   {12, 5},    // namespace
                                                   {41, 0x10},
                                                   {47, 0x5a}, // 4096 bytes, transport descriptor
                                                   {48, 0x88},
                                                   {49, 0x77},
                                                   {50, 0x66},
                                                   {51, 0x55},
                                                   {52, 0x44},
                                                   {53, 0x33},
                                                   {54, 0x22},
                                                   {55, 0x11},
                                                   {56, 7}}); // first block, blocks less one
}

TEST_CASE("NVMe/TCP: data inside a capsule is described as such; the last data ends the read") {
    Message w;
    w.kind = static_cast<uint8_t>(Kind::command);
    w.op = Op::write;
    w.blocks = w.offset = 1;
    w.payload.assign(codec_block, std::byte{7});
    const std::vector<uint8_t> bytes = encoded(w);
    REQUIRE(bytes.size() == 72 + codec_block);
    CHECK(bytes[3] == 72);                        // where the data begins
    CHECK(bytes[4] + bytes[5] * 256 == 72 + 512); // PDU length
    CHECK(bytes[47] == 0x01);                     // data block, an offset
    CHECK(bytes[41] == 2);                        // 512
    Message d;
    d.kind = static_cast<uint8_t>(Kind::data_in);
    d.blocks = 1;
    d.last = true;
    d.payload.assign(codec_block, std::byte{7});
    CHECK(encoded(d)[1] == 0x0c); // LAST_PDU, SUCCESS
    CHECK(encoded(d, profiles()[1])[1] == 0x04);
    Message r;
    r.kind = static_cast<uint8_t>(Kind::response);
    r.tag = 1;
    set_outcome(r, Outcome::inaccessible);
    CHECK(not_zero(encoded(r)) ==
          std::map<size_t, int>{{0, 5}, {2, 24}, {4, 24}, {20, 1}, {22, 0x04}, {23, 0x06}});
}

TEST_CASE("NVMe/TCP: every message comes back as it was, in pieces of any size") {
    for (const Profile& p : profiles())
        for (uint64_t seed = 1; seed <= 20; seed++) {
            check_round_trips<NvmeTcpCodec>(p, true, seed);
            check_round_trips<NvmeTcpCodec>(p, false, seed);
        }
}

TEST_CASE("NVMe/TCP: the engine works through bytes, at the sizes its profile charges") {
    for (const Profile& p : profiles()) check_engine<NvmeTcpCodec>(p);
}

TEST_CASE("NVMe/TCP: damaged bytes are an error or a sound message") {
    uint64_t malformed = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++)
        malformed += check_damaged<NvmeTcpCodec>(profiles()[seed % 2], seed % 3 > 0, seed);
    CHECK(malformed > 1000);
}
