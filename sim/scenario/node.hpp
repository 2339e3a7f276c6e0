// A YAML document as a tree that knows where each value stands. Built from yaml-cpp's parser
// events, not its nodes, because those accept duplicate keys (first wins), lose the place of a
// missing key and report an alias at its anchor. Readers complain into one shared list and go on
// with a default, so that a whole file is reported at once. Left out: tags, merge keys, several
// documents a file. Limits (text 4 MiB, depth 64, 200 000 nodes with aliases expanded) keep hostile
// files harmless.
#pragma once
#include "sim/base/error.hpp"
#include "sim/base/path.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

using ComplaintsPtr = std::shared_ptr<Complaints>;
inline ComplaintsPtr new_complaints() { return std::make_shared<Complaints>(); }

struct Between { // both ends belong to it
    int64_t min = 0;
    int64_t max = std::numeric_limits<int64_t>::max();
    bool contains(int64_t n) const { return n >= min && n <= max; }
    std::string in_words() const; // "1 to 64", "at least 1"
};

class Fields;

// A cheap handle on one value of the document. `absent` stands for a value that is not there: every
// getter returns its fallback silently, since whoever looked for it has complained if need be.
// A getter that finds something else than it wants complains and returns the fallback.
class Node {
public:
    enum class Kind { absent, null, scalar, sequence, map };

    Node() = default; // absent
    Kind kind() const;
    explicit operator bool() const { return kind() != Kind::absent; }
    bool is_map() const { return kind() == Kind::map; }
    bool is_sequence() const { return kind() == Kind::sequence; }
    bool is_scalar() const { return kind() == Kind::scalar; }
    const SourcePlace& place() const;
    const std::string& path() const { return path_; } // "loads/reads/fio", "" for the document
    std::string name() const;                         // last step of the path, for messages
    void complain(std::string what) const;            // at place()
    const ComplaintsPtr& complaints() const { return complaints_; }

    // `usual`: the unit that advice shows.
    Bytes as_size(Bytes fallback = {}, std::string_view usual = {}) const;
    Duration as_duration(Duration fallback = {}) const;
    Rate as_rate(Rate fallback = {}, std::string_view usual = {}) const;
    Iops as_iops(Iops fallback = {}) const;
    Hertz as_frequency(Hertz fallback = {}) const;
    int64_t as_cycles(int64_t fallback = 0) const;
    Duration as_cost(Hertz clock, Duration fallback = {}) const; // "4140 cycles" or "1.8us"
    double as_fraction(double fallback = 0) const;               // 0 to 1
    double as_factor(double fallback = 0) const;
    int64_t as_count(Between limits = {}, int64_t fallback = 0) const; // fallback may lie outside
    bool as_bool(bool fallback = false) const;                         // yes/no, true/false, on/off
    std::string as_text(std::string_view fallback = {}) const;
    std::string as_one_of(std::span<const std::string> words, std::string_view fallback = {}) const;
    std::string as_one_of(std::initializer_list<std::string> words,
                          std::string_view fallback = {}) const {
        return as_one_of(std::span<const std::string>(words.begin(), words.size()), fallback);
    }
    // Paths and ranges: "ssd/*", "a b" or [a, b].
    std::vector<PathPattern> as_patterns() const;

    Fields map() const; // complains if this is not a map
    struct Entry;
    std::vector<Entry> entries() const; // of a map, in written order, any keys
    std::vector<Entry> named() const;   // the same, and each key must be a name (one path step)
    std::vector<Node> items() const; // of a sequence; a single scalar counts as a sequence of one

    // One spelling of the whole content, map keys sorted, places left out: for hashes and records.
    std::string canonical() const;
    // The same value seen as another path, for parts of a document that are read under their own
    // name.
    Node renamed(std::string path) const;

private:
    struct Data; // sim/scenario/node_data.hpp
    friend class Fields;
    friend class TreeBuilder;
    friend Node load_text(std::string_view, const std::string& name, ComplaintsPtr);
    friend void apply_override(Node&, std::string_view path, std::string_view value);
    Node(std::shared_ptr<const Data> data, std::string path, ComplaintsPtr complaints)
        : data_(std::move(data)), path_(std::move(path)), complaints_(std::move(complaints)) {}
    template <class T, class Parse>
    T read(std::string_view expected, T fallback, Parse parse) const;
    const std::string* scalar(std::string_view expected) const; // or complains, or is absent
    Node child(std::string_view key, std::shared_ptr<const Data> data) const;
    std::shared_ptr<const Data> data_;
    std::string path_;
    ComplaintsPtr complaints_;
};
struct Node::Entry {
    std::string key;
    SourcePlace key_place;
    Node value;
};

// Reads one map by its keys. finish() complains about every key that nobody asked for.
class Fields {
public:
    Node required(std::string_view key); // complains if missing
    Node optional(std::string_view key);
    bool has(std::string_view key) const;  // does not count as asking
    std::vector<Node::Entry> rest() const; // entries that nobody asked for yet
    void take(std::string_view key);       // the key is dealt with elsewhere
    void also_known(std::string_view key); // a candidate for "did you mean", nothing more
    void finish();
    const Node& node() const { return node_; }

private:
    friend class Node;
    explicit Fields(Node node) : node_(std::move(node)) {}
    Node find(std::string_view key);
    Node node_; // absent if it was no map
    std::vector<std::string> asked_, known_;
};

// A file or text that is no YAML, or beyond the limits, is an InputError at once; duplicate keys
// and tags are complaints. `name` is what messages call the file.
Node load_file(const std::string& file, ComplaintsPtr complaints);
Node load_text(std::string_view text, const std::string& name, ComplaintsPtr complaints);

// --set loads/reads/fio/iodepth=64: replaces the value at a path of the document, or adds the last
// step to a map that exists; a number steps into a sequence. InputError at "--set:1:column".
void apply_override(Node& root, std::string_view assignment);
void apply_override(Node& root, std::string_view path, std::string_view value);

} // namespace storlab
