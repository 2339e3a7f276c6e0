#include "sim/base/random.hpp"
#include "sim/scenario/node.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

namespace storlab {
namespace {

struct Doc {
    ComplaintsPtr complaints = new_complaints();
    Node root;
    explicit Doc(std::string_view text) : root(load_text(text, "mine.yaml", complaints)) {}
    std::string complaint() const { // all of them, in order of place
        try {
            complaints->throw_if_any();
        } catch (const InputError& error) { return error.what(); }
        return "";
    }
    Node at(std::string_view path) const {
        Node node = root;
        for (const std::string& step : path_steps(path)) node = node.map().optional(step);
        return node;
    }
};
std::string load_error(std::string_view text) {
    try {
        Doc doc(text);
        return doc.complaint();
    } catch (const InputError& error) { return error.what(); }
}
std::string repeated(std::string_view text, int n) {
    std::string all;
    for (int i = 0; i < n; i++) all += text;
    return all;
}

constexpr auto array_text = R"(storlab: 1
arrays:
  main:
    raid: {level: 5, drives: ssd/*, chunk: 64KiB}
    cables:
      - a to b
      - [c, d]
    empty:
)";

} // namespace

TEST_CASE("every value knows its place, counted from 1, and its path") {
    const Doc doc(array_text);
    const Node chunk = doc.at("arrays/main/raid/chunk");
    CHECK(to_string(chunk.place()) == "mine.yaml:4:44");
    CHECK(chunk.path() == "arrays/main/raid/chunk");
    CHECK(chunk.name() == "chunk");
    const Node cables = doc.at("arrays/main/cables");
    CHECK(to_string(cables.items()[1].place()) == "mine.yaml:7:9");
    CHECK(cables.items()[1].items()[1].path() == "arrays/main/cables/1/1");
    CHECK(cables.items()[1].name() == "cables/1");
    CHECK(to_string(doc.at("arrays/main").entries()[1].key_place) == "mine.yaml:5:5");
    CHECK(to_string(doc.root.place()) == "mine.yaml:1:1");
    CHECK(doc.at("arrays/main/empty").kind() == Node::Kind::null);
    CHECK(doc.at("arrays/man").kind() == Node::Kind::absent);
}

TEST_CASE(
    "unknown, missing and duplicate keys of one file are reported together, sorted by place") {
    Doc doc("raid:\n  levle: 5\n  chnk: 64KiB\n  drives: a\n  drives: b\n  drives: c\nelse: 1\n");
    Fields top = doc.root.map();
    Fields raid = top.required("raid").map();
    raid.required("level");
    raid.optional("chunk");
    CHECK(raid.required("drives").as_text() == "a");
    raid.finish();
    top.required("loads");
    top.finish();
    top.finish(); // says it once
    CHECK(doc.complaint() ==
          "mine.yaml:1:1: error: the document needs 'loads'\n"
          "mine.yaml:2:3: error: raid needs 'level'\n"
          "mine.yaml:2:3: error: unknown key 'levle' in raid; did you mean 'level'?\n"
          "mine.yaml:3:3: error: unknown key 'chnk' in raid; did you mean 'chunk'?\n"
          "mine.yaml:5:3: error: key 'drives' is written twice; first on line 4\n"
          "mine.yaml:6:3: error: key 'drives' is written twice; first on line 4\n"
          "mine.yaml:7:1: error: unknown key 'else' in the document; known here: loads, raid");
}

TEST_CASE("a quoted key and a plain one are the same key") {
    CHECK(load_error("a: 1\n\"a\": 2\n") ==
          "mine.yaml:2:1: error: key 'a' is written twice; first on line 1");
    CHECK(load_error("{a: 1, 'a': 2}") ==
          "mine.yaml:1:8: error: key 'a' is written twice; first on line 1");
}

TEST_CASE("getters read every kind of value") {
    const Doc doc(R"({size: 64KiB, time: 80us, rate: 16 Gbit/s, iops: 30000 iops, clock: 2.3GHz,
        cycles: 4140 cycles, part: 28%, factor: 1.25, count: 8, yes: on, text: x16 gen4 socket 0,
        word: random, paths: a/* b/0-3, list: [a, b c], one: alone})");
    CHECK(doc.at("size").as_size() == Bytes::kib(64));
    CHECK(doc.at("time").as_duration() == Duration::us(80));
    CHECK(doc.at("rate").as_rate() == Rate::bytes_per_second(2e9));
    CHECK(doc.at("iops").as_iops() == Iops(30000));
    CHECK(doc.at("clock").as_frequency() == Hertz{2.3e9});
    CHECK(doc.at("cycles").as_cycles() == 4140);
    CHECK(doc.at("cycles").as_cost({2.3e9}) == Duration::ns(1800));
    CHECK(doc.at("part").as_fraction() == 0.28);
    CHECK(doc.at("factor").as_factor() == 1.25);
    CHECK(doc.at("count").as_count({1, 8}) == 8);
    CHECK(doc.at("yes").as_bool());
    CHECK(doc.at("text").as_text() == "x16 gen4 socket 0");
    CHECK(doc.at("word").as_one_of({"random", "sequential"}) == "random");
    CHECK(doc.at("paths").as_patterns().size() == 2);
    CHECK(doc.at("list").as_patterns().size() == 3);
    CHECK(doc.at("one").items().size() == 1);
    CHECK(doc.complaint() == "");
}

TEST_CASE("an absent value gives the fallback and no complaint") {
    const Doc doc("a: 1");
    const Node none = doc.at("none/at/all");
    CHECK(none.as_size(Bytes(7)) == Bytes(7));
    CHECK(none.as_count({1, 5}, 3) == 3);
    CHECK(none.as_text("x") == "x");
    CHECK(none.as_one_of({"a"}, "b") == "b");
    CHECK(none.items().empty());
    CHECK(none.entries().empty());
    CHECK(none.as_patterns().empty());
    Fields fields = none.map();
    fields.required("key");
    fields.finish();
    CHECK(doc.complaint() == "");
}

TEST_CASE("a wrong value is a complaint with place, found and expected, and gives the fallback") {
    const Doc doc(
        "size: 2 TB/s\ncount: 0\nmany: 9\nword: randm\nflag: maybe\nmap: 5\nlist: {a: 1}\n"
        "seq: [1]\nnil:\nname: {a b: 1}\npath: a//b\n");
    CHECK(doc.at("size").as_size(Bytes(1)) == Bytes(1));
    doc.at("count").as_count({1});
    doc.at("many").as_count({1, 8});
    doc.at("word").as_one_of({"random", "sequential"});
    doc.at("flag").as_bool();
    doc.at("map").map().finish();
    doc.at("list").items();
    doc.at("seq").as_text();
    doc.at("nil").as_duration();
    doc.at("name").named();
    doc.at("path").as_patterns();
    CHECK(
        doc.complaint() ==
        "mine.yaml:1:7: error: '2 TB/s' is not a size; write 2TB or 2TiB\n"
        "mine.yaml:2:8: error: count is 0; expected at least 1\n"
        "mine.yaml:3:7: error: many is 9; expected 1 to 8\n"
        "mine.yaml:4:7: error: 'randm' is no word; expected one of random, sequential; did you "
        "mean 'random'?\n"
        "mine.yaml:5:7: error: 'maybe' is neither yes nor no\n"
        "mine.yaml:6:6: error: map is a single value; expected a map of keys\n"
        "mine.yaml:7:7: error: list is a map; expected a list\n"
        "mine.yaml:8:6: error: seq is a list; expected a text\n"
        "mine.yaml:9:1: error: nil is empty; expected a duration\n"
        "mine.yaml:10:8: error: 'a b' is no name: a name holds letters, digits, '-', '_' and '.'\n"
        "mine.yaml:11:7: error: 'a//b' is no path: a step between slashes or commas is empty");
}

TEST_CASE("an alias stands where it is written and its contents where the anchor is") {
    const Doc doc("base: &b {chunk: 64KiB}\nraid: *b\n");
    CHECK(to_string(doc.at("raid").place()) == "mine.yaml:2:7");
    CHECK(to_string(doc.at("raid/chunk").place()) == "mine.yaml:1:18");
    CHECK(doc.at("raid/chunk").path() == "raid/chunk");
    CHECK(doc.at("raid").canonical() == doc.at("base").canonical());
}

TEST_CASE("what YAML allows and a scenario has no use for is refused with its place") {
    CHECK(load_error("a: !!int 5") ==
          "mine.yaml:1:4: error: tag 'tag:yaml.org,2002:int' has no meaning here");
    CHECK(load_error("a: 1\n---\nb: 2\n") ==
          "mine.yaml:2:1: error: a second document starts; expected one a file");
    CHECK(load_error("? [a, b]\n: c\n") ==
          "mine.yaml:1:3: error: a list or map is no key; is a bracket left open?");
    CHECK(load_error("~: c\n") == "mine.yaml:1:1: error: a key is missing before ':'");
    CHECK(load_error("a: &x [1, *x]\n") ==
          "mine.yaml:1:11: error: this alias is part of its own anchor");
    CHECK(load_error("x: &a b\n*a : c\n") == "mine.yaml:2:1: error: an alias cannot be a key");
    CHECK(load_error("a: [1, 2") != "");
    CHECK(load_error("a: 'b") != "");
    CHECK(load_error("a: b: c") != "");
    CHECK(load_error("\tb: c").find("mine.yaml:1:3: error: this is no YAML: ") == 0);
    CHECK(load_error(std::string_view("a: b\nc: \0", 9)) ==
          "mine.yaml:2:4: error: byte 0 does not belong in a text file");
    // UTF-8, and nothing that only looks like it.
    CHECK(load_error("title: \xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xbe\n") == "");
    for (const char* text : {"\xe9", "\xff\xfe", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                             "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe2\x82"}) {
        const auto first = static_cast<unsigned char>(*text);
        CHECK(load_error(std::string("a: b\nc: ") + text + "\n") ==
              "mine.yaml:2:4: error: byte " + std::to_string(first) +
                  " is no UTF-8, which a scenario is in");
    }
}

TEST_CASE("an empty document is a value that is no map") {
    for (const auto text : {"", "\n", "# nothing\n", "---\n", "~"}) {
        const Doc doc(text);
        doc.root.map().finish();
        CHECK(doc.complaint().find("the document is empty; expected a map of keys") !=
              std::string::npos);
    }
}

TEST_CASE("hostile nesting, aliases and sizes are errors, at once") {
    const auto begin = std::chrono::steady_clock::now();
    const auto deep = "nested more than 64 deep";
    const auto unclosed = "is a bracket left open?";
    CHECK(load_error(std::string(100'000, '[')).find(unclosed) != std::string::npos);
    CHECK(load_error(repeated("{a: ", 100'000)).find(unclosed) != std::string::npos);
    CHECK(load_error(std::string(100'000, '[') + std::string(100'000, ']')).find(deep) !=
          std::string::npos);
    CHECK(load_error(repeated("{a: ", 100'000) + std::string(100'000, '}')).find(deep) !=
          std::string::npos);
    CHECK(load_error(repeated("- ", 100'000)).find(deep) != std::string::npos);
    CHECK(load_error(repeated("? ", 100'000)) != "");
    std::string indented;
    for (int i = 0; i < 1000; i++) indented += std::string(static_cast<size_t>(i), ' ') + "a:\n";
    CHECK(load_error(indented).find(deep) != std::string::npos);

    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"; // 10^10 values in ten lines
    std::string chain = "a0: &a0 {a: x}\n";
    const auto line = [](int i, int aliases, std::string_view open, std::string_view close) {
        const std::string n = std::to_string(i), item = "*a" + std::to_string(i - 1);
        std::string text = "a";
        text.append(n).append(": &a").append(n).append(" ").append(open).append(item);
        for (int k = 1; k < aliases; k++) text.append(", ").append(item);
        return text.append(close).append("\n");
    };
    for (int i = 1; i < 10; i++) bomb += line(i, 10, "[", "]");
    for (int i = 1; i < 1000; i++) chain += line(i, 1, "{a: ", "}");
    CHECK(load_error(bomb).find("more than 200000 values, aliases expanded") != std::string::npos);
    CHECK(load_error(chain).find(deep) != std::string::npos);
    CHECK(load_error(repeated("- x\n", 300'000)).find("more than 200000 values") !=
          std::string::npos);
    CHECK(load_error(std::string(5 << 20, 'a')) == "mine.yaml: error: larger than 4MiB");
    CHECK(load_error(std::string(2000, 'k') + ": 1") != "");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    CHECK(took.count() < 30); // a quarter of a second in a release build
}

TEST_CASE("a file that cannot be read is an error that names it") {
    const auto error_of = [](const std::string& file) {
        try {
            load_file(file, new_complaints());
        } catch (const InputError& error) { return std::string(error.what()); }
        return std::string();
    };
    const std::string folder = std::filesystem::temp_directory_path() /
                               ("storlab-node-test-" + std::to_string(std::random_device{}()));
    std::filesystem::create_directory(folder);
    CHECK(error_of(folder) == folder + ": error: is a folder");
    CHECK(error_of(folder + "/none") == folder + "/none: error: cannot be opened");
    std::ofstream(folder + "/large").seekp(50 << 20).put('x');
    CHECK(error_of(folder + "/large") == folder + "/large: error: larger than 4MiB");
    std::ofstream(folder + "/good") << "a: 5\n";
    CHECK(load_file(folder + "/good", new_complaints()).map().required("a").as_count() == 5);
    std::filesystem::remove_all(folder);
}

TEST_CASE("ten thousand damaged texts load or are refused, and nothing else") {
    const std::string original =
        std::string(array_text) + "x: &b {q: 'r', s: \"t\\n\"}\ny: *b\nz: |\n  text\n";
    Random random(1, "damage");
    constexpr std::string_view alphabet = "{}[]:,-#&*!|>'\"%@`?~ \n\tab0\\<\xc3\xff";
    int loaded = 0, refused = 0;
    for (int i = 0; i < 10'000; i++) {
        std::string text = original;
        for (uint64_t n = 1 + random.below(6); n > 0; n--) {
            const size_t at = random.below(text.size());
            const char c = alphabet[random.below(alphabet.size())];
            switch (random.below(3)) {
            case 0: text[at] = c; break;
            case 1: text.insert(at, 1, c); break;
            default: text.erase(at, 1 + random.below(5));
            }
        }
        try {
            const Doc doc(text);
            CHECK(Doc(text).root.canonical() == doc.root.canonical());
            loaded++;
        } catch (const InputError& error) {
            REQUIRE(error.complaints().size() == 1);
            const auto lines = 2 + std::count(text.begin(), text.end(), '\n');
            CHECK(error.complaints()[0].where.line >= 1);
            CHECK(error.complaints()[0].where.line <= lines);
            CHECK(error.complaints()[0].where.column >= 1);
            refused++;
        }
    }
    CHECK(loaded > 100);
    CHECK(refused > 100);
}

TEST_CASE("the canonical text ignores order of keys, style, comments and nothing else") {
    const Doc doc("{a: 1, b: [x, {c: d}]}");
    const Doc same("# comment\nb:\n- \"x\"\n-   c:   'd'\na: 1\n");
    CHECK(doc.root.canonical() == same.root.canonical());
    CHECK(doc.root.canonical() == R"({"a":"1","b":["x",{"c":"d"}]})");
    for (const auto other : {"{a: 1, b: [{c: d}, x]}", "{a: 2, b: [x, {c: d}]}", "{a: 1, b: x}",
                             "{a: 1, b: [x, {c: }]}", "{a: '1\", b', b: [x, {c: d}]}"})
        CHECK(Doc(other).root.canonical() != doc.root.canonical());
}

TEST_CASE("--set replaces a value, adds a missing leaf and leaves all else alone") {
    Doc doc("loads:\n  reads: {fio: {iodepth: 32}}\n  list: [a, {b: c}]\n  qos:\n");
    apply_override(doc.root, "loads/reads/fio/iodepth=64");
    apply_override(doc.root, "loads/reads/fio/runtime", "30 s");
    apply_override(doc.root, "loads/list/1/b", "{x: [1, 2]}");
    apply_override(doc.root, "loads/qos/max=30000 iops");
    apply_override(doc.root, "note=a=b");
    CHECK(doc.root.canonical() ==
          Doc("loads: {reads: {fio: {iodepth: 64, runtime: 30 s}}, list: [a, {b: {x: [1, 2]}}],\n"
              "  qos: {max: 30000 iops}}\nnote: a=b\n")
              .root.canonical());
    CHECK(doc.at("loads/reads/fio/iodepth").as_count() == 64);
    CHECK(doc.at("loads/qos/max").path() == "loads/qos/max");
}

TEST_CASE("--set through an alias changes one place only") {
    Doc doc("a: &x {k: 1}\nb: *x\n");
    const Node before = doc.root;
    apply_override(doc.root, "b/k=2");
    CHECK(doc.root.canonical() == R"({"a":{"k":"1"},"b":{"k":"2"}})");
    CHECK(before.canonical() == R"({"a":{"k":"1"},"b":{"k":"1"}})");
}

TEST_CASE("a wrong --set names the option and the column") {
    const auto error_of = [](std::string_view assignment) {
        Doc doc("loads:\n  reads: {fio: {iodepth: 32}}\n  list: [a]\n");
        try {
            apply_override(doc.root, assignment);
        } catch (const InputError& error) { return std::string(error.what()); }
        doc.at("loads/reads/fio/iodepth").as_count();
        return doc.complaint();
    };
    CHECK(error_of("laods/reads/x=1") ==
          "--set:1:1: error: no 'laods' in the scenario; did you mean 'loads'?");
    CHECK(error_of("loads/raeds/fio/x=1") ==
          "--set:1:7: error: no 'raeds' in 'loads'; did you mean 'reads'?");
    CHECK(error_of("loads/reads/fio/iodepth/x=1") ==
          "--set:1:25: error: 'iodepth' is a single value; there is no 'x' in it");
    CHECK(error_of("loads/list/5=1") ==
          "--set:1:12: error: 'list' is a list of 1, counted from 0; there is no '5' in it");
    CHECK(error_of("loads/reads/fio/iodepth=many") ==
          "--set:1:25: error: 'many' is not a whole number; write 2");
    CHECK(error_of("loads/reads/fio/iodepth={a: 1, a: 2}") ==
          "--set:1:25: error: iodepth is a map; expected a whole number\n"
          "--set:1:32: error: key 'a' is written twice; first on line 1");
    CHECK(error_of("loads/reads") ==
          "--set:1:1: error: 'loads/reads' sets nothing; write path=value");
    CHECK(error_of("=5") == "--set:1:1: error: '' is no path of the scenario");
    CHECK(error_of("loads//reads=5") ==
          "--set:1:1: error: 'loads//reads' is no path of the scenario");
    CHECK(error_of("loads/x=") == "--set:1:9: error: 'loads/x' is given no value");
    CHECK(error_of("loads/x=[1").find("--set:1:") == 0);
    const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
    CHECK(error_of("loads/x=" + deep) == "--set:1:73: error: nested more than 64 deep");
    CHECK(error_of(std::string(100'000, 'a') + "=1").size() < 200);
    CHECK(error_of(repeated("a/", 100'000) + "a=1").size() < 200);
}

} // namespace storlab
