// For tests of codecs: messages sent through bytes, and messages of every kind at random.
#pragma once
#include "models/exchange/bytes.hpp"
#include "tests/protocol/rig.hpp"
#include <map>
#include <optional>

namespace storlab {

inline constexpr uint32_t codec_block = 512;

// Every message of the rig goes through bytes, which arrive in pieces.
template <class Codec> class ThroughBytes {
public:
    explicit ThroughBytes(Rig& rig) : random_(rig.o.seed, "pieces") {
        rig.wire.connected_anew = [this, &rig] {
            for (auto& c : codecs_) c.emplace(rig.o.profile, codec_block);
        };
        rig.wire.through = [this](Message& m, bool to_target) { pass(m, to_target); };
    }
    uint64_t bytes = 0;

private:
    Random random_;
    std::optional<Codec> codecs_[2]; // initiator's, target's
    std::vector<std::byte> wire_;

    void pass(Message& m, bool to_target) {
        wire_.clear();
        const uint32_t charged = m.wire_bytes;
        codecs_[!to_target]->encode(m, wire_);
        REQUIRE(wire_.size() == charged); // as the profile has it
        bytes += wire_.size();
        Codec& other = *codecs_[to_target];
        Decoded result = Decoded::incomplete;
        for (size_t at = 0; at < wire_.size();) {
            REQUIRE(result == Decoded::incomplete);
            const size_t n = std::min<size_t>(wire_.size() - at, 1 + random_.below(2000));
            other.feed(wire_.data() + at, n);
            at += n;
            result = other.decode(m);
        }
        INFO(other.fault());
        REQUIRE(result == Decoded::message);
        REQUIRE(m.wire_bytes == charged);
    }
};

inline Geometry codec_geometry() { return {16384, Bytes(codec_block), codec_block}; }

// What a codec must bring over of a message.
struct Fields {
    uint8_t kind;
    Op op;
    IoStatus status;
    bool last;
    uint16_t unit;
    uint32_t tag, generation;
    uint64_t lba;
    uint32_t offset, blocks, wire_bytes;
    std::vector<std::byte> payload;
    bool operator==(const Fields&) const = default;
};
inline Fields fields(const Message& m) {
    return {m.kind,       m.op,        m.status, m.last,   m.unit,       m.tag,
            m.generation, m.lba.block, m.offset, m.blocks, m.wire_bytes, m.payload};
}

// ... of the control side, which names no command.
inline void make_control(Message& m, Kind kind, const Profile& p, Random& random) {
    m.tag = m.generation = 0;
    switch (kind) {
    case Kind::access_report:
        m.wire_bytes = p.report;
        for (uint64_t n = random.below(20); n > 0; n--, m.wire_bytes += p.report_each)
            append(m.payload, {static_cast<uint16_t>(random.below(65535)),
                               static_cast<Access>(random.below(5))});
        break;
    case Kind::hello:
    case Kind::welcome:
        m.offset = static_cast<uint32_t>(random.below(p.login.size()));
        m.wire_bytes = kind == Kind::hello ? p.login[m.offset].request : p.login[m.offset].answer;
        // Who asks, and for how many tags: in the Connect, or in ISID and text of an iSCSI login.
        if (kind == Kind::hello && m.offset == 1)
            m.blocks = static_cast<uint32_t>(1 + random.below(4080));
        if (kind == Kind::hello && (m.offset == 1 || (m.offset == 0 && !p.notice_at_once)))
            m.lba = {random.next() >> 16};
        break;
    case Kind::abort_answer: m.wire_bytes = p.abort.answer; break;
    case Kind::ping: m.wire_bytes = p.keep_alive.request; break;
    case Kind::pong: m.wire_bytes = p.keep_alive.answer; break;
    case Kind::access_changed: m.wire_bytes = p.notice; break;
    case Kind::access_query: m.wire_bytes = p.query; break;
    default: FAIL("a kind that is of a command");
    }
}

// A message of a kind, filled in as the engine does, and only with what the wire carries.
inline void make_message(Message& m, Kind kind, const Profile& p, Random& random) {
    const uint32_t generations = p.generation_bits >= 32 ? ~0u : 1u << p.generation_bits;
    m.kind = static_cast<uint8_t>(kind);
    m.op = Op::read;
    m.status = IoStatus::ok;
    m.last = false;
    m.unit = 0;
    m.tag = static_cast<uint32_t>(random.below(4080));
    m.generation = static_cast<uint32_t>(random.below(generations));
    m.lba = {};
    m.offset = m.blocks = 0;
    m.payload.clear();
    const auto fill = [&](uint32_t blocks) {
        m.payload.resize(size_t{blocks} * codec_block);
        for (std::byte& b : m.payload) b = static_cast<std::byte>(random.below(256));
    };
    switch (kind) {
    case Kind::command:
        m.op = static_cast<Op>(random.below(3));
        m.unit = static_cast<uint16_t>(random.below(16384));
        m.wire_bytes = p.command;
        if (m.op == Op::flush) return;
        m.lba = {random.next()};
        m.blocks = static_cast<uint32_t>(1 + random.below(random.below(2) ? 40 : 8192));
        if (m.op == Op::write) m.offset = plan_write(p, m.blocks, codec_block).in_command;
        m.last = m.op == Op::write && m.offset == m.blocks;
        fill(m.offset);
        m.wire_bytes += m.offset * codec_block;
        return;
    case Kind::ready:
        m.op = Op::write;
        m.offset = static_cast<uint32_t>(random.below(8000));
        m.blocks = static_cast<uint32_t>(1 + random.below(512));
        m.wire_bytes = p.ready;
        return;
    case Kind::data_in:
    case Kind::data_out:
        m.op = kind == Kind::data_in ? Op::read : Op::write;
        m.last = random.below(2);
        m.offset = static_cast<uint32_t>(random.below(8000));
        m.blocks = static_cast<uint32_t>(1 + random.below(16));
        fill(m.blocks);
        m.wire_bytes = (kind == Kind::data_in ? p.data_in : p.data_out) + m.blocks * codec_block;
        return;
    case Kind::response: {
        Outcome o;
        do o = static_cast<Outcome>(random.below(static_cast<uint64_t>(Outcome::count)));
        while (o == Outcome::attention && p.notice_at_once);
        set_outcome(m, o);
        m.wire_bytes = o == Outcome::done ? p.response : p.refusal;
        return;
    }
    case Kind::abort: m.wire_bytes = p.abort.request; return;
    default: return make_control(m, kind, p, random);
    }
}

// A stream of messages, and what must come out of it.
template <class Codec> struct Stream {
    std::vector<std::byte> bytes;
    std::vector<Fields> messages;

    Stream(const Profile& p, Random& random, size_t count, bool to_target) {
        const std::vector<Kind> from_host = {Kind::command, Kind::data_out, Kind::abort,
                                             Kind::ping,    Kind::hello,    Kind::access_query};
        const std::vector<Kind> from_target = {
            Kind::ready,   Kind::data_in, Kind::response,       Kind::abort_answer,
            Kind::welcome, Kind::pong,    Kind::access_changed, Kind::access_report};
        const auto& kinds = to_target ? from_host : from_target;
        Codec codec(p, codec_block);
        for (size_t i = 0; i < count; i++) {
            Message m;
            const Kind kind = kinds[random.below(kinds.size())];
            make_message(m, kind, p, random);
            const size_t before = bytes.size();
            codec.encode(m, bytes);
            REQUIRE(bytes.size() - before == m.wire_bytes);
            messages.push_back(fields(m));
        }
    }
};

template <class Codec> void check_round_trips(const Profile& p, bool to_target, uint64_t seed) {
    Random random(seed, "round trip");
    const Stream<Codec> stream(p, random, 40, to_target);
    for (const size_t largest : {size_t{1}, size_t{100}, size_t{100'000}}) {
        Codec codec(p, codec_block);
        std::vector<Fields> got;
        Message m;
        for (size_t at = 0; at < stream.bytes.size();) {
            const size_t n = std::min<size_t>(stream.bytes.size() - at, 1 + random.below(largest));
            codec.feed(stream.bytes.data() + at, n);
            at += n;
            Decoded d;
            while ((d = codec.decode(m)) == Decoded::message) got.push_back(fields(m));
            INFO(codec.fault());
            REQUIRE(d == Decoded::incomplete);
        }
        REQUIRE(got.size() == stream.messages.size());
        for (size_t i = 0; i < got.size(); i++) {
            CAPTURE(i, static_cast<int>(got[i].kind));
            REQUIRE(got[i] == stream.messages[i]);
        }
    }
}

// Bytes are damaged, lost or repeated: whatever comes out is in itself sound, or an error.
template <class Codec> uint64_t check_damaged(const Profile& p, bool to_target, uint64_t seed) {
    Random random(seed, "damage");
    Stream<Codec> stream(p, random, 12, to_target);
    auto& bytes = stream.bytes;
    for (uint64_t n = 1 + random.below(6); n > 0; n--) {
        const size_t at = random.below(bytes.size());
        switch (random.below(4)) {
        case 0: bytes[at] = static_cast<std::byte>(random.below(256)); break;
        case 1: bytes[at] ^= static_cast<std::byte>(1u << random.below(8)); break;
        case 2: bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at)); break;
        default: bytes.resize(at + 1); break; // a connection that ends in the middle
        }
    }
    Codec codec(p, codec_block);
    Message m;
    uint64_t malformed = 0;
    for (size_t at = 0; at < bytes.size();) {
        const size_t n = std::min<size_t>(bytes.size() - at, 1 + random.below(3000));
        const std::vector<std::byte> piece(bytes.data() + at, bytes.data() + at + n);
        codec.feed(piece.data(), n);
        at += n;
        Decoded d;
        while ((d = codec.decode(m)) == Decoded::message) {
            REQUIRE(kind_of(m) <= Kind::access_report);
            if (kind_of(m) == Kind::data_in || kind_of(m) == Kind::data_out)
                REQUIRE(m.payload.size() == size_t{m.blocks} * codec_block);
            if (kind_of(m) == Kind::command)
                REQUIRE(m.payload.size() == size_t{m.offset} * codec_block);
        }
        if (d == Decoded::malformed) {
            REQUIRE_FALSE(codec.fault().empty());
            REQUIRE(codec.decode(m) == Decoded::malformed); // and stays so
            malformed = 1;
            break;
        }
    }
    return malformed;
}

// Commands of all sizes, an abort, access states and a loss, all through bytes.
template <class Codec> void check_engine(const Profile& p) {
    Rig rig({.profile = p, .depth = 16, .disk = codec_geometry()});
    ThroughBytes<Codec> bytes(rig);
    rig.go_live();
    uint32_t version = 0;
    for (const uint32_t blocks : {1u, 2u, 15u, 16u, 17u, 31u, 32u, 33u, 127u, 128u, 129u, 512u,
                                  513u, 1000u, 8192u}) { // up to 4 MiB
        CAPTURE(blocks);
        version++;
        Command w(rig, Op::write, 77, blocks);
        w.fill(version).submit();
        rig.run(Duration::ms(50));
        REQUIRE(w.times == 1);
        REQUIRE(w.request.status == IoStatus::ok);
        REQUIRE(w.on_disk(version));
        Command r(rig, Op::read, 77, blocks), f(rig, Op::flush, 0, 0);
        r.submit();
        f.submit();
        rig.run(Duration::ms(50));
        REQUIRE(r.read(version));
        REQUIRE(f.request.status == IoStatus::ok);
    }
    CHECK(bytes.bytes > 10'000'000);
    for (int i = 0; i < 40; i++) { // every generation of a tag
        Command r(rig, Op::read, 9000, 1);
        r.submit();
        rig.run(Duration::ms(1));
        REQUIRE(r.read(0));
    }
    Command beyond(rig, Op::read, 16384, 1);
    beyond.submit();
    rig.run(Duration::ms(1));
    CHECK(beyond.request.status == IoStatus::failed);
    rig.target->set_access(3, Access::inaccessible);
    rig.run(Duration::ms(1));
    Command denied(rig, Op::read, 0, 1);
    denied.submit();
    rig.run(Duration::ms(1));
    CHECK(denied.request.status == IoStatus::no_path);
    CHECK(rig.unit->access() == Access::inaccessible);
    rig.target->set_access(3, Access::optimized);
    rig.run(Duration::ms(1));

    rig.disk.hung = true;
    Command stuck(rig, Op::read, 0, 1);
    stuck.submit();
    rig.run(Duration::s(31)); // pings are exchanged meanwhile
    CHECK(rig.initiator->counters().timeouts == 1);
    rig.disk.release();
    rig.run(Duration::ms(1));
    CHECK(stuck.request.status == IoStatus::no_path);
    CHECK(rig.initiator->counters().aborted == 1);
    rig.run(Duration::s(30));
    CHECK(rig.wire.letters().find("?!") != std::string::npos);
    rig.wire.cut(Cut::told);
    rig.run(Duration::s(11));
    CHECK(rig.initiator->state() == SessionState::live);
    CHECK(rig.initiator->counters().violations + rig.target->counters().violations == 0);
}

} // namespace storlab
