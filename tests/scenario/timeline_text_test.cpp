#include "sim/scenario/timeline_text.hpp"
#include <catch2/catch.hpp>

namespace storlab {
namespace {

struct Read {
    ComplaintsPtr complaints = new_complaints();
    std::vector<TimelineEvent> events;
    explicit Read(std::string_view list)
        : events(
              read_timeline(load_text(list, "mine.yaml", complaints).map().required("timeline"))) {}
    std::string complaint() const {
        try {
            complaints->throw_if_any();
        } catch (const InputError& error) { return error.what(); }
        return "";
    }
};

} // namespace

TEST_CASE("a timeline reads as it is written") {
    const Read read("timeline:\n"
                    "  - at 60 s: pull array/a\n"
                    "  - at 2 s: fail storage/ssd/3\n"
                    "  - \"at 1.5min: plug array/a\"\n"
                    "  - at 240 s: power-off array\n"
                    "  - at 60s: fail storage/ssd/0-1\n"
                    "  - at 3 h: {scrub: x}\n");
    CHECK(read.complaint() == "mine.yaml:7:13: error: at 3 h is a map; expected a text");
    REQUIRE(read.events.size() == 5);
    const auto& e = read.events;
    CHECK(e[0].at == Duration::s(2));
    CHECK(e[0].verb == Verb::fail);
    CHECK(e[0].target.text() == "storage/ssd/3");
    CHECK(to_string(e[0].place) == "mine.yaml:3:5");
    CHECK(e[1].verb == Verb::pull); // equal times keep their order
    CHECK(e[2].target.matches("storage/ssd/1"));
    CHECK(e[3].at == Duration::s(90));
    CHECK(e[3].verb == Verb::plug);
    CHECK(e[4].verb == Verb::power_off);
    CHECK(e[4].target.text() == "array");
}

TEST_CASE("every verb has a name that reads back") {
    for (const Verb verb : {Verb::fail, Verb::pull, Verb::scrub, Verb::unplug, Verb::plug,
                            Verb::silence, Verb::restore, Verb::power_off, Verb::power_on}) {
        const std::string line = "at 1 s: " + to_string(verb) + " a/b";
        CHECK(parse_timeline_line(line, {}).verb == verb);
    }
}

TEST_CASE("each wrong line of a timeline is a complaint of its own") {
    const Read read("timeline:\n"
                    "  - at 60: pull array/a\n"
                    "  - at 60 s: pul array/a\n"
                    "  - at 60 s: pull\n"
                    "  - at 60 s:\n"
                    "  - after 60 s: pull array/a\n"
                    "  - pull array/a\n"
                    "  - at 60 s: fail array/a slowly\n"
                    "  - at 60 s: pull array/a now\n"
                    "  - at 60 s: pull array//a\n"
                    "  - at 61 s: explode array/a\n"
                    "  - [at 60 s]\n");
    CHECK(read.events.empty());
    CHECK(
        read.complaint() ==
        "mine.yaml:2:5: error: '60' has no unit; write 60us or 60ms\n"
        "mine.yaml:3:14: error: 'pul' is nothing the timeline can do; it can fail, pull, scrub, "
        "unplug, plug, silence, restore, power-off, power-on; did you mean 'pull'?\n"
        "mine.yaml:4:14: error: 'pull' what? write e.g. 'at 60 s: pull storage/ssd/0'\n"
        "mine.yaml:5:5: error: at 60 s is empty; expected a text\n"
        "mine.yaml:6:5: error: a line of the timeline begins with its time; write e.g. 'at 60 s: "
        "pull storage/ssd/0'\n"
        "mine.yaml:7:5: error: 'pull array/a' is no line of a timeline; write e.g. 'at 60 s: pull "
        "storage/ssd/0'\n"
        "mine.yaml:8:14: error: 'fail' takes a path and nothing more, not 'slowly'\n"
        "mine.yaml:9:14: error: 'pull' takes a path and nothing more, not 'now'\n"
        "mine.yaml:10:14: error: 'array//a' is no path: a step between slashes or commas is empty\n"
        "mine.yaml:11:14: error: 'explode' is nothing the timeline can do; it can fail, pull, "
        "scrub, unplug, plug, silence, restore, power-off, power-on\n"
        "mine.yaml:12:5: error: timeline/10 is no line of a timeline; write e.g. 'at 60 s: pull "
        "storage/ssd/0'");
}

} // namespace storlab
