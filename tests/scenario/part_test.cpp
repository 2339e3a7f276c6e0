#include "sim/scenario/part.hpp"
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

namespace storlab {
namespace {

const SourcePlace here{"mine.yaml", 8, 11};

// A catalogue of its own, gone with the test.
struct Shelf {
    std::string folder = std::filesystem::temp_directory_path() /
                         ("storlab-part-test-" + std::to_string(std::random_device{}()));
    ComplaintsPtr complaints = new_complaints();
    Shelf() { std::filesystem::create_directory(folder); }
    ~Shelf() { std::filesystem::remove_all(folder); }
    void put(const std::string& name, const std::string& text) const {
        std::ofstream(folder + "/" + name + ".yaml") << text;
    }
    Part find(const std::string& name) const {
        return Catalogue(folder, complaints).find(name, here);
    }
    std::string complaint() const { // without the folder
        std::string text;
        try {
            complaints->throw_if_any();
        } catch (const InputError& error) { text = error.what(); }
        for (size_t at; (at = text.find(folder + "/")) != std::string::npos;)
            text.erase(at, folder.size() + 1);
        return text;
    }
};

// Of a kind that no model reads, so that it may have any values.
constexpr auto drive = R"(title: A drive
kind: gadget
about: For a test.
dies: {value: 8, from: assumed}
t_read: {value: 45us, from: datasheet, source: "its sheet", range: 40us..90us}
rate: {value: 1.2GB/s, from: fitted, rows: [d-1m-sw, d-1m-sr], range: 1GB/s..2GB/s,
       residual: "+2 %"}
raw: {value: 64GiB, from: derived, note: "8 x 8 GiB"}
facts: [{fact: weight, value: 120 g, source: its sheet}]
)";

} // namespace

TEST_CASE("a part reads its values and keeps where they come from") {
    const Shelf shelf;
    shelf.put("drive", drive);
    const Part part = shelf.find("drive");
    REQUIRE(part);
    CHECK(part.title() == "A drive");
    CHECK(part.kind() == "gadget");
    CHECK(part.count("dies") == 8);
    CHECK(part.duration("t_read") == Duration::us(45));
    CHECK(part.rate("rate") == Rate::bytes_per_second(1.2e9));
    CHECK(part.size("raw") == Bytes::gib(64));
    CHECK(part.values().at("t_read").source == "its sheet");
    CHECK(part.values().at("rate").rows == std::vector<std::string>{"d-1m-sw", "d-1m-sr"});
    CHECK(part.values().at("rate").residual == "+2 %");
    CHECK(part.values().at("raw").from == "derived");
    CHECK(to_string(part.values().at("t_read").place) == shelf.folder + "/drive.yaml:5:1");
    CHECK(part.facts().at(0).value == "120 g");
    CHECK(shelf.complaint() == "");
}

TEST_CASE("a value that parts of the kind do not have is a complaint, inherited ones or not") {
    const Shelf shelf;
    shelf.put("ssd", "title: t\nkind: ssd\nt_read: {value: 45us, from: assumed}\n");
    shelf.put("mine", "title: t\nlike: ssd\nt_raed: {value: 60us, from: assumed}\n"
                      "colour: {value: red, from: assumed}\n");
    const Part mine = shelf.find("mine");
    shelf.find("mine"); // said once
    CHECK(mine.duration("t_read") == Duration::us(45));
    CHECK(shelf.complaint() ==
          "mine.yaml:3:1: error: unknown value 't_raed' in a part of kind ssd; did you mean "
          "'t_read'?\n"
          "mine.yaml:4:1: error: unknown value 'colour' in a part of kind ssd");
}

TEST_CASE("path software is told by one of its settings, and has those of its product only") {
    const Shelf shelf;
    const std::string from = "value: 5, from: assumed}\n";
    shelf.put("dm", "title: t\nkind: multipath\nrr_min_io_rq: {" + from + "iops: {" + from);
    shelf.put("esxi", "title: t\nkind: multipath\napd_timeout: {" + from + "iops: {" + from +
                          "rr_min_io_rq: {" + from);
    CHECK(shelf.find("dm"));
    CHECK(shelf.find("esxi"));
    CHECK(shelf.complaint() ==
          "dm.yaml:4:1: error: unknown value 'iops' in a part of kind multipath\n"
          "esxi.yaml:5:1: error: unknown value 'rr_min_io_rq' in a part of kind multipath");
}

TEST_CASE("a value that a model misses is a complaint") {
    const Shelf shelf;
    shelf.put("drive", drive);
    const Part part = shelf.find("drive");
    part.duration("t_reed");
    part.duration("t_reed"); // said once
    CHECK_FALSE(part.has("endurance"));
    CHECK(shelf.complaint() == "drive.yaml: error: a part of kind gadget needs the value 't_reed'; "
                               "did you mean 't_read'?");
}

TEST_CASE("each origin owes its evidence") {
    const Shelf shelf;
    shelf.put("drive", "title: t\nkind: gadget\n"
                       "a: {value: 1, from: fitted, rows: [r]}\n"
                       "b: {value: 1, from: derived, note: as everyone knows}\n"
                       "c: {value: 1, from: measured}\n"
                       "d: {value: 1, from: datasheet, source: s}\n"
                       "e: {value: 1, from: guessed}\n"
                       "f: {value: 1, from: assumed, sourec: s}\n"
                       "g: 45us\n"
                       "h: {from: assumed}\n"
                       "i: {value: 1, from: scenario}\n"
                       "facts: [{fact: x, value: y}]\n");
    shelf.find("drive");
    CHECK(shelf.complaint() ==
          "drive.yaml:3:4: error: a is fitted and needs 'range': what would be plausible\n"
          "drive.yaml:3:4: error: a is fitted and needs 'residual': how well it fits them\n"
          "drive.yaml:4:4: error: b is derived and needs its arithmetic in 'note'\n"
          "drive.yaml:5:4: error: c is measured and needs 'source'\n"
          "drive.yaml:7:21: error: 'guessed' is no from; expected one of assumed, datasheet, "
          "measured, "
          "derived, fitted\n"
          "drive.yaml:8:30: error: unknown key 'sourec' in f; did you mean 'source'?\n"
          "drive.yaml:9:4: error: g is a single value; expected a map of keys\n"
          "drive.yaml:10:4: error: h needs 'value'\n"
          "drive.yaml:11:21: error: 'scenario' is no from; expected one of assumed, datasheet, "
          "measured, "
          "derived, fitted\n"
          "drive.yaml:12:9: error: facts/0 needs 'source'");
}

TEST_CASE("a value outside its own range or limits is a complaint") {
    const Shelf shelf;
    shelf.put("drive", "title: t\nkind: gadget\n"
                       "low: {value: 30us, from: assumed, range: 40us..90us}\n"
                       "high: {value: 100us, from: assumed, range: 40us..90us}\n"
                       "edge: {value: 90us, from: assumed, range: 40us..90us}\n"
                       "vague: {value: 90us, from: assumed, range: 40..90}\n"
                       "none: {value: 0, from: assumed}\n"
                       "many: {value: 17, from: assumed, range: 9..33}\n"
                       "list: {value: [1], from: assumed}\n");
    const Part part = shelf.find("drive");
    CHECK(part.duration("low") == Duration{});
    CHECK(part.duration("high") == Duration{});
    CHECK(part.duration("edge") == Duration::us(90));
    part.duration("vague");
    CHECK(part.count("none") == 1);
    CHECK(part.count("many") == 17);
    part.size("list");
    CHECK(shelf.complaint() ==
          "drive.yaml:3:14: error: low is 30us, outside its own range 40us..90us\n"
          "drive.yaml:4:15: error: high is 100us, outside its own range 40us..90us\n"
          "drive.yaml:6:1: error: '40' has no unit; write 40us or 40ms\n"
          "drive.yaml:7:15: error: none is 0; expected at least 1\n"
          "drive.yaml:9:15: error: list must be a single value");
}

TEST_CASE("a part that is like another has its values unless it says otherwise") {
    const Shelf shelf;
    shelf.put("drive", drive);
    shelf.put("small", "title: A small drive\nlike: drive\ndies: {value: 2, from: assumed}\n");
    shelf.put("tiny", "title: A tiny drive\nlike: small\nraw: {value: 1GiB, from: assumed}\n");
    const Part tiny = shelf.find("tiny");
    REQUIRE(tiny);
    CHECK(tiny.kind() == "gadget");
    CHECK(tiny.title() == "A tiny drive");
    CHECK(tiny.count("dies") == 2);
    CHECK(tiny.size("raw") == Bytes::gib(1));
    CHECK(tiny.duration("t_read") == Duration::us(45));
    CHECK(shelf.find("drive").count("dies") == 8);
    CHECK(shelf.complaint() == "");
}

TEST_CASE("a part that cannot be found, or is like itself, is a complaint and reads as defaults") {
    const Shelf shelf;
    shelf.put("drive", drive);
    shelf.put("a", "title: a\nlike: b\n");
    shelf.put("b", "title: b\nlike: a\n");
    shelf.put("lost", "title: lost\nlike: nothing-here\n");
    shelf.put("cpu", "title: c\nlike: drive\nkind: cpu\n");
    shelf.put("list", "- title\n");
    shelf.put("broken", "title: [\n");
    const Part none = shelf.find("drvie");
    CHECK_FALSE(none);
    CHECK(none.duration("t_read") == Duration{});
    CHECK(none.text("x").empty());
    CHECK_FALSE(none.require_kind("ssd", here));
    CHECK_FALSE(shelf.find("../drive"));
    CHECK_FALSE(shelf.find("a"));
    CHECK_FALSE(shelf.find("lost"));
    CHECK_FALSE(shelf.find("list"));
    CHECK_FALSE(shelf.find("broken"));
    shelf.find("cpu");
    CHECK_FALSE(shelf.find("drive").require_kind("cpu", here));
    CHECK(shelf.find("drive").require_kind("gadget", here));
    const std::string all = shelf.complaint();
    CAPTURE(all);
    for (const auto line :
         {"mine.yaml:8:11: error: no part 'drvie'; did you mean 'drive'?",
          "mine.yaml:8:11: error: no part '../drive'", "b.yaml:2:7: error: part 'a' is like itself",
          "lost.yaml:2:7: error: no part 'nothing-here'",
          "list.yaml:1:1: error: list is a list; expected a map of keys",
          "broken.yaml:2:1: error: this is no YAML",
          "cpu.yaml:3:7: error: cpu is like a part of another kind, gadget",
          "mine.yaml:8:11: error: part 'drive' is of kind gadget; expected cpu"})
        CHECK(all.find(line) != std::string::npos);
    CHECK_THROWS_AS(Catalogue(shelf.folder + "/none", shelf.complaints), InputError);
}

TEST_CASE("a scenario overrides a value of its part, and only of that one") {
    const Shelf shelf;
    shelf.put("drive", drive);
    const Node ssd =
        load_text("{is: drive, count: 8, t_read: 60us, dise: 3}", "mine.yaml", shelf.complaints);
    Fields fields = ssd.map();
    Part part = shelf.find(fields.required("is").as_text());
    fields.required("count");
    part.override_from(fields);
    fields.finish();
    CHECK(part.duration("t_read") == Duration::us(60));
    CHECK(part.values().at("t_read").from == "scenario");
    CHECK(to_string(part.values().at("t_read").value.place()) == "mine.yaml:1:31");
    CHECK(part.count("dies") == 8);
    CHECK(shelf.find("drive").duration("t_read") == Duration::us(45));
    CHECK(shelf.complaint() ==
          "mine.yaml:1:37: error: unknown key 'dise' in the document; did you mean 'dies'?");
}

TEST_CASE("every part of the catalogue loads without a complaint") {
    const ComplaintsPtr complaints = new_complaints();
    const Catalogue catalogue("scenarios/parts", complaints);
    CHECK(catalogue.names().size() >= 9);
    for (const std::string& name : catalogue.names()) {
        const Part part = catalogue.find(name, here);
        CHECK(part);
        CHECK_FALSE(part.values().empty());
        for (const auto& [value, v] : part.values()) {
            CAPTURE(name, value);
            CHECK(is_name(value));
            for (const std::string* text : {&v.source, &v.note})
                for (const auto banned : {"seed", "shared", "brief"})
                    CHECK(text->find(banned) == std::string::npos);
        }
    }
    CHECK_NOTHROW(complaints->throw_if_any());
}

TEST_CASE("drives of the catalogue have every value, consistent in size, and nothing else") {
    const ComplaintsPtr complaints = new_complaints();
    const Catalogue catalogue("scenarios/parts", complaints);
    for (const auto name : {"memblaze-6926-12.8tb", "bench-device-read", "bench-device-gc"}) {
        CAPTURE(name);
        const Part p = catalogue.find(name, here);
        REQUIRE(p.require_kind("ssd", here));
        const Bytes capacity = p.size("capacity"), raw = p.size("raw_capacity");
        const Bytes page = p.size("page"), map_page = p.size("map_page");
        CHECK(capacity < raw);
        CHECK(capacity % map_page == Bytes(0));
        CHECK(page % map_page == Bytes(0));
        CHECK(p.count("dies") % p.count("channels") == 0);
        CHECK(raw % (page * p.count("dies") * p.count("planes")) == Bytes(0));
        CHECK(p.count("block_pages") % p.count("program_pages") == 0);
        CHECK(p.size("buffer") >= page * p.count("planes") * p.count("program_pages"));
        for (const auto time : {"t_read", "t_program", "t_erase", "t_suspend"})
            CHECK(p.duration(time) > Duration{});
        for (const auto time : {"command_read", "command_write", "write_ack"})
            CHECK(p.duration(time) >= Duration{});
        CHECK(p.rate("channel_rate") > Rate{});
        CHECK(p.rate("backend_rate") > Rate{});
        CHECK(p.text("host_link").starts_with("gen"));
        for (const auto& [value, v] : p.values()) CHECK(p.was_read(value));
    }
    CHECK_NOTHROW(complaints->throw_if_any());
}

TEST_CASE("the comparison drives are the over-provisioned sizes of their benchmark") {
    const ComplaintsPtr complaints = new_complaints();
    const Catalogue catalogue("scenarios/parts", complaints);
    const auto spare = [&](std::string_view name) {
        const Part p = catalogue.find(name, here);
        return 1 - double(p.size("capacity").count()) / double(p.size("raw_capacity").count());
    };
    CHECK(spare("bench-device-read") == Approx(0.07).epsilon(1e-5));
    CHECK(spare("bench-device-gc") == Approx(0.12).epsilon(1e-5));
}

TEST_CASE("the arithmetic in the notes of the cost tables holds") {
    const ComplaintsPtr complaints = new_complaints();
    const Catalogue catalogue("scenarios/parts", complaints);
    const Hertz clock = catalogue.find("xeon-8380", here).frequency("clock");
    const Part host = catalogue.find("linux-host", here),
               md = catalogue.find("linux-md-raid", here),
               card = catalogue.find("graid-sr1010", here);
    // One I/O of fio on a drive: 1.8 us.
    Duration whole;
    for (const auto op :
         {"load_submit", "load_reap", "block_submit", "drive_submit", "drive_complete"})
        whole += host.cost(op, clock);
    CHECK(whole == Duration::ns(1800));
    // A 4K write into md: 8.1 us beyond that.
    CHECK((md.cost("raid_write", clock) + md.cost("raid_write_page", clock)).in_us() ==
          Approx(8.1).epsilon(0.005));
    // The lock at its ceilings, contended from two sockets alike: 3.0 M chunks and 501 k writes a
    // second.
    const double hand_over =
        (md.duration("hand_over_same_socket") + md.duration("hand_over_other_socket")).in_us() / 2;
    const double chunk = md.duration("raid_lock_chunk").in_us() + hand_over;
    const double stripe = md.duration("raid_lock_stripe").in_us() + hand_over;
    // Not every hand-over is contended, so the ceiling is a little above 1 / chunk.
    CHECK(1 / chunk == Approx(3.0).epsilon(0.03));
    CHECK(1000 / (chunk + stripe) == Approx(501).epsilon(0.005));
    // A read-modify-write and a full stripe: about 10 and 16 us of a worker.
    const double pass = 3 * md.cost("raid_pass", clock).in_us();
    const double command = md.cost("raid_member_io", clock).in_us();
    const double per_kib = 1024 / md.rate("raid_parity").in_bytes_per_second() * 1e6;
    CHECK(pass + 4 * command + 12 * per_kib == Approx(10).epsilon(0.05));
    CHECK(pass + 8 * command + 28 * per_kib == Approx(16).epsilon(0.05));
    // A request to the card: 25 % of 160 threads at 10.5 M a second.
    const Duration request = host.cost("load_submit", clock) + host.cost("load_reap", clock) +
                             card.cost("card_submit", clock) + card.cost("card_driver", clock);
    CHECK(request.in_us() * 10.5 / 160 == Approx(0.25).epsilon(0.02));
    CHECK_NOTHROW(complaints->throw_if_any());
}

} // namespace storlab
