#include "sim/base/path.hpp"
#include <algorithm>
#include <catch2/catch.hpp>

namespace storlab {
namespace {

const SourcePlace here{"mine.yaml", 3, 5};
bool matches(std::string_view pattern, std::string_view path) {
    return PathPattern(pattern, here).matches(path);
}
std::string complaint_of(std::string_view pattern) {
    try {
        PathPattern(pattern, here);
    } catch (const InputError& error) { return error.what(); }
    return "accepted";
}
using Names = std::vector<std::string>;

} // namespace

TEST_CASE("a plain path matches itself and nothing else") {
    CHECK(matches("storage/fc/2/port/1", "storage/fc/2/port/1"));
    for (const auto other : {"storage/fc/2/port", "storage/fc/2/port/10", "storage/fc/2/port/1/x",
                             "storage/fc/2/port/", "", "xstorage/fc/2/port/1"})
        CHECK_FALSE(matches("storage/fc/2/port/1", other));
    CHECK(PathPattern("a/b", here).plain());
    CHECK_FALSE(PathPattern("a/*", here).plain());
    CHECK_FALSE(PathPattern("a/0-1", here).plain());
    CHECK_FALSE(PathPattern("a/b,c", here).plain());
    CHECK(PathPattern("dell-r750", here).plain());
}

TEST_CASE("a star matches any text within one step") {
    CHECK(matches("client/*/fc", "client/12/fc"));
    CHECK_FALSE(matches("client/*/fc", "client/12/13/fc"));
    CHECK_FALSE(matches("client/*", "client"));
    CHECK(matches("ssd*", "ssd"));
    CHECK(matches("*d*", "ssd-old"));
    CHECK(matches("*a*b*c", "xxaxxbxbxc"));
    CHECK_FALSE(matches("*a*b*c", "xxaxxbxbxcx"));
}

TEST_CASE("a number range matches exactly its numbers") {
    for (int n = 0; n < 120; n++)
        CHECK(matches("ssd/8-11", "ssd/" + std::to_string(n)) == (n >= 8 && n <= 11));
    CHECK_FALSE(matches("ssd/8-11", "ssd/x"));
    CHECK_FALSE(matches("ssd/8-11", "ssd/8-11"));
    CHECK(matches("ssd/0-99999999999999999999999", "ssd/12345678901234567890"));
}

TEST_CASE("a list of a step matches each of its members") {
    for (int n = 0; n < 12; n++) {
        const bool inside = n == 0 || n == 2 || (n >= 5 && n <= 7);
        CHECK(matches("ssd/0,2,5-7", "ssd/" + std::to_string(n)) == inside);
    }
    CHECK(matches("red,blue/port/*", "blue/port/3"));
}

TEST_CASE("many stars against a long name cost no more than their product") {
    std::string stars, name(4000, 'a');
    for (int i = 0; i < 500; i++) stars += "*a";
    CHECK(matches(stars, name));
    CHECK_FALSE(matches(stars + "b", name)); // exponential if each star were retried
}

TEST_CASE("what is no path is refused with its reason") {
    CHECK(complaint_of("ssd/7-3") ==
          "mine.yaml:3:5: error: 'ssd/7-3': the range '7-3' runs backwards");
    CHECK(complaint_of("a//b") ==
          "mine.yaml:3:5: error: 'a//b' is no path: a step between slashes or commas is empty");
    CHECK(complaint_of("a/b!") == "mine.yaml:3:5: error: 'a/b!' is no path: a name holds letters, "
                                  "digits, '-', '_' and '.', not '!'");
    for (const auto text :
         {"", "/", "/a", "a/", "a,", ",a", "a b", "a\tb", "{a}", "a\n", "[a]", "a?"})
        CHECK(complaint_of(text) != "accepted");
}

TEST_CASE("natural order compares numbers as numbers and shorter paths first") {
    const Names expected = {"a",
                            "ssd",
                            "ssd/0",
                            "ssd/2",
                            "ssd/10",
                            "ssd/10/port/1",
                            "ssd/10/port/9",
                            "ssd/10/port/10",
                            "ssd-b",
                            "ssd-b/1",
                            "z2",
                            "z02",
                            "z10"};
    Names sorted(expected.rbegin(), expected.rend());
    std::sort(sorted.begin(), sorted.end(), natural_less);
    // z2 and z02 hold the same number; the texts decide.
    Names wanted = expected;
    std::swap(wanted[10], wanted[11]);
    CHECK(sorted == wanted);
}

TEST_CASE("natural order is a strict total order") {
    Names all;
    for (const auto a : {"", "a", "1", "01", "/", "-", "b"})
        for (const auto b : {"", "a", "9", "10", "010", "/", "."})
            for (const auto c : {"", "0", "z", "/2"}) all.push_back(a + std::string(b) + c);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const auto& a : all)
        for (const auto& b : all) {
            REQUIRE(natural_less(a, b) + natural_less(b, a) == (a == b ? 0 : 1));
            if (!natural_less(a, b)) continue;
            for (const auto& c : all)
                if (natural_less(b, c)) REQUIRE(natural_less(a, c));
        }
}

TEST_CASE("selection keeps the written order of patterns and lists nothing twice") {
    Names names;
    for (int i = 11; i >= 0; i--) names.push_back("ssd/" + std::to_string(i));
    Complaints complaints;
    const auto patterns = parse_patterns("ssd/10-11 ssd/2,0 ssd/*", here);
    REQUIRE(patterns.size() == 3);
    const Names selected = select_names(patterns, names, "drive", complaints);
    CHECK(selected == Names{"ssd/10", "ssd/11", "ssd/0", "ssd/2", "ssd/1", "ssd/3", "ssd/4",
                            "ssd/5", "ssd/6", "ssd/7", "ssd/8", "ssd/9"});
    const Names all = select_names(parse_patterns("ssd/8-11", here), names, "drive", complaints);
    CHECK(all == Names{"ssd/8", "ssd/9", "ssd/10", "ssd/11"});
    CHECK(complaints.empty());
}

TEST_CASE("a pattern that selects nothing is a complaint with the nearest name") {
    const Names names = {"red", "blue"};
    Complaints complaints;
    const Names selected =
        select_names(parse_patterns("rde green", here), names, "switch", complaints);
    CHECK(selected.empty());
    REQUIRE(complaints.all().size() == 2);
    CHECK(complaints.all()[0].what == "no switch 'rde'; did you mean 'red'?");
    CHECK(complaints.all()[1].what == "no switch 'green'; there is blue, red");
}

TEST_CASE("paths split and join") {
    CHECK(path_steps("a/b/0") == Names{"a", "b", "0"});
    CHECK(path_steps("").empty());
    CHECK(join_path("a/b", "c") == "a/b/c");
    CHECK(join_path("", "c") == "c");
    CHECK(join_path("a", "") == "a");
    CHECK(is_path("a/b.c/d_e-f"));
    CHECK_FALSE(is_path("a/*"));
    CHECK_FALSE(is_name("a/b"));
    CHECK_FALSE(is_name(""));
}

} // namespace storlab
