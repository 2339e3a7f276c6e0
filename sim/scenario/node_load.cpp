#include "sim/scenario/node_data.hpp"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unordered_map>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace storlab {
namespace {
constexpr size_t most_text = 4 << 20;  // a scenario is a few kilobytes; parts are smaller
constexpr size_t most_depth = 64;      // below yaml-cpp's own 500, and no recursion of ours is deep
constexpr size_t most_nodes = 200'000; // aliases expanded: nine lines of them can mean 10^9 nodes
constexpr size_t longest_key = 1000;   // YAML's own bound on a key is 1024 characters
} // namespace

// Receives the parser's events and builds the tree.
class TreeBuilder final : public YAML::EventHandler {
public:
    TreeBuilder(std::string file, int first_column, Complaints& complaints)
        : file_(std::move(file)), first_column_(first_column), complaints_(complaints) {}

    std::shared_ptr<const Node::Data> root;

    SourcePlace place(const YAML::Mark& mark) const {
        if (mark.is_null()) return last_;
        return {file_, mark.line + 1, mark.column + (mark.line == 0 ? first_column_ : 1)};
    }

private:
    using DataPtr = std::shared_ptr<Node::Data>;
    struct Open { // a collection that has begun and not ended
        DataPtr data;
        YAML::anchor_t anchor;
        bool has_key = false;
        std::string key;
        SourcePlace key_place;
        std::unordered_map<std::string, int> lines{}; // of the keys so far
    };

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (root) throw InputError(place(mark), "a second document starts; expected one a file");
    }
    void OnDocumentEnd() override {}
    void OnAnchor(const YAML::Mark&, const std::string&) override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        DataPtr data = fresh(mark, Node::Kind::null);
        // The parser's mark is that of whatever follows; the key is where a reader looks.
        if (!stack_.empty() && stack_.back().has_key) data->place = stack_.back().key_place;
        value(data, anchor);
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& text) override {
        check_tag(mark, tag);
        DataPtr data = fresh(mark, Node::Kind::scalar);
        data->text = text;
        value(data, anchor);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, Node::Kind::sequence);
    }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, Node::Kind::map);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapEnd() override { close(); }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        last_ = place(mark);
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end())
            throw InputError(last_, "this alias is part of its own anchor");
        if (expecting_key()) throw InputError(last_, "an alias cannot be a key");
        if (stack_.size() + found->second->depth > most_depth) too_deep();
        count(found->second->nodes);
        // Its own place is where the alias stands; what is inside stands at the anchor.
        auto copy = std::make_shared<Node::Data>(*found->second);
        copy->place = last_;
        attach(std::move(copy));
    }

    DataPtr fresh(const YAML::Mark& mark, Node::Kind kind) {
        last_ = place(mark);
        count(1);
        auto data = std::make_shared<Node::Data>();
        data->kind = kind;
        data->place = last_;
        return data;
    }
    void count(size_t n) {
        nodes_ += n;
        if (nodes_ > most_nodes)
            throw InputError(last_, "more than " + std::to_string(most_nodes) +
                                        " values, aliases expanded");
    }
    [[noreturn]] void too_deep() const {
        throw InputError(last_, "nested more than " + std::to_string(most_depth) + " deep");
    }
    // "?" is a plain value and "!" a quoted one.
    void check_tag(const YAML::Mark& mark, const std::string& tag) {
        if (tag.empty() || tag == "?" || tag == "!") return;
        complaints_.add(place(mark), "tag " + in_quotes(tag) + " has no meaning here");
    }
    bool expecting_key() const {
        return !stack_.empty() && stack_.back().data->kind == Node::Kind::map &&
               !stack_.back().has_key;
    }
    void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
              Node::Kind kind) {
        check_tag(mark, tag);
        DataPtr data = fresh(mark, kind);
        if (expecting_key())
            throw InputError(last_, "a list or map is no key; is a bracket left open?");
        if (stack_.size() >= most_depth) too_deep();
        stack_.push_back({.data = std::move(data), .anchor = anchor, .key = {}, .key_place = {}});
    }
    void close() {
        const DataPtr data = std::move(stack_.back().data);
        const YAML::anchor_t anchor = stack_.back().anchor;
        stack_.pop_back();
        value(data, anchor);
    }
    void value(const DataPtr& data, YAML::anchor_t anchor) {
        if (expecting_key()) return key(*data);
        if (anchor) anchors_[anchor] = data;
        attach(data);
    }
    void key(const Node::Data& data) {
        if (data.kind != Node::Kind::scalar || data.text.empty())
            throw InputError(data.place, "a key is missing before ':'");
        if (data.text.size() > longest_key) throw InputError(data.place, "a key is too long");
        Open& map = stack_.back();
        map.has_key = true;
        map.key = data.text;
        map.key_place = data.place;
    }
    void attach(std::shared_ptr<const Node::Data> data) {
        if (stack_.empty()) {
            root = std::move(data);
            return;
        }
        Open& into = stack_.back();
        into.data->nodes += data->nodes;
        into.data->depth = std::max(into.data->depth, data->depth + 1);
        if (into.data->kind == Node::Kind::sequence) {
            into.data->items.push_back({{}, {}, std::move(data)});
            return;
        }
        into.has_key = false;
        const auto [first, added] = into.lines.emplace(into.key, into.key_place.line);
        if (added) into.data->items.push_back({into.key, into.key_place, std::move(data)});
        else
            complaints_.add(into.key_place, "key " + in_quotes(into.key) +
                                                " is written twice; first on line " +
                                                std::to_string(first->second));
    }

    std::string file_;
    int first_column_; // of the text's first line in what the user typed
    Complaints& complaints_;
    SourcePlace last_{file_, 1, first_column_};
    std::vector<Open> stack_;
    std::unordered_map<YAML::anchor_t, std::shared_ptr<const Node::Data>> anchors_;
    size_t nodes_ = 0;
};

namespace {

// How many bytes the character there takes in UTF-8; 0 if it is none.
size_t utf8_bytes(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
    };
    const unsigned first = byte(0), second = byte(1);
    const size_t n = first < 0x80   ? 1
                     : first < 0xc2 ? 0
                     : first < 0xe0 ? 2
                     : first < 0xf0 ? 3
                     : first < 0xf5 ? 4
                                    : 0;
    for (size_t i = 1; i < n; i++)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool no_character = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    return too_long || no_character ? 0 : n;
}
void check_text(std::string_view text, const std::string& name) {
    if (text.size() > most_text)
        throw InputError({name, 0, 0}, "larger than " + format_size(Bytes(most_text)));
    int line = 1, column = 1;
    for (size_t i = 0, bytes = 0; i < text.size(); i += bytes) {
        const char c = text[i];
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f)
            throw InputError({name, line, column},
                             "byte " + std::to_string(byte) + " does not belong in a text file");
        bytes = utf8_bytes(text, i);
        if (bytes == 0)
            throw InputError({name, line, column}, "byte " + std::to_string(byte) +
                                                       " is no UTF-8, which a scenario is in");
        column += static_cast<int>(bytes);
        if (c == '\n') line++, column = 1;
    }
}
void build(TreeBuilder& builder, std::string_view text) {
    std::istringstream in{std::string(text)};
    try {
        YAML::Parser parser(in);
        while (parser.HandleNextDocument(builder)) {}
    } catch (const YAML::Exception& error) {
        throw InputError(builder.place(error.mark), "this is no YAML: " + error.msg);
    }
}

} // namespace

Node load_text(std::string_view text, const std::string& name, ComplaintsPtr complaints) {
    check_text(text, name);
    TreeBuilder builder(name, 1, *complaints);
    build(builder, text);
    if (!builder.root) {
        auto empty = std::make_shared<Node::Data>();
        empty->place = {name, 1, 1};
        builder.root = std::move(empty);
    }
    return {builder.root, "", std::move(complaints)};
}

Node load_file(const std::string& file, ComplaintsPtr complaints) {
    const SourcePlace whole{file, 0, 0};
    std::error_code error;
    if (std::filesystem::is_directory(file, error)) throw InputError(whole, "is a folder");
    std::ifstream in(file, std::ios::binary);
    if (!in) throw InputError(whole, "cannot be opened");
    std::string text(most_text + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad()) throw InputError(whole, "cannot be read");
    text.resize(static_cast<size_t>(in.gcount()));
    return load_text(text, file, std::move(complaints));
}

void apply_override(Node& root, std::string_view assignment) {
    const size_t equals = assignment.find('=');
    if (equals == std::string_view::npos)
        throw InputError({"--set", 1, 1},
                         in_quotes(assignment) + " sets nothing; write path=value");
    apply_override(root, assignment.substr(0, equals), assignment.substr(equals + 1));
}

void apply_override(Node& root, std::string_view path, std::string_view value) {
    using DataPtr = std::shared_ptr<const Node::Data>;
    constexpr auto option = "--set";
    const SourcePlace start{option, 1, 1};
    const int value_column = static_cast<int>(path.size()) + 2;
    if (!is_path(path)) throw InputError(start, in_quotes(path) + " is no path of the scenario");
    check_text(value, option);
    TreeBuilder builder(option, value_column, *root.complaints_);
    build(builder, value);
    if (!builder.root)
        throw InputError({option, 1, value_column}, in_quotes(path) + " is given no value");

    const std::vector<std::string> steps = path_steps(path);
    const auto changed = [&](const DataPtr& old, size_t at, int column,
                             const auto& self) -> DataPtr {
        if (at == steps.size()) return builder.root;
        const std::string& step = steps[at];
        const SourcePlace here{option, 1, column};
        const std::string parent = at == 0 ? "the scenario" : in_quotes(steps[at - 1]);
        auto copy = std::make_shared<Node::Data>(*old);
        if (copy->kind == Node::Kind::null) copy->kind = Node::Kind::map;
        if (copy->kind == Node::Kind::scalar)
            throw InputError(here, parent + " is a single value; there is no " + in_quotes(step) +
                                       " in it");
        std::vector<std::string> known;
        const int next = column + static_cast<int>(step.size()) + 1;
        for (size_t i = 0; i < copy->items.size(); i++) {
            Node::Data::Item& item = copy->items[i];
            known.push_back(copy->kind == Node::Kind::map ? item.key : std::to_string(i));
            if (known.back() != step) continue;
            item.value = self(item.value, at + 1, next, self);
            return copy;
        }
        if (copy->kind == Node::Kind::sequence)
            throw InputError(here, parent + " is a list of " + std::to_string(copy->items.size()) +
                                       ", counted from 0; there is no " + in_quotes(step) +
                                       " in it");
        if (at + 1 < steps.size())
            throw InputError(here,
                             "no " + in_quotes(step) + " in " + parent + did_you_mean(step, known));
        copy->items.push_back({step, here, builder.root});
        return copy;
    };
    root.data_ = changed(root.data_, 0, 1, changed);
}

} // namespace storlab
