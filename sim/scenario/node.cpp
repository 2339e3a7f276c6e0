#include "sim/scenario/node.hpp"
#include "sim/scenario/node_data.hpp"
#include <algorithm>

namespace storlab {
namespace {

std::string_view kind_in_words(Node::Kind kind) {
    switch (kind) {
    case Node::Kind::scalar: return "a single value";
    case Node::Kind::sequence: return "a list";
    case Node::Kind::map: return "a map";
    case Node::Kind::null:
    case Node::Kind::absent: break;
    }
    return "empty";
}
bool all_digits(std::string_view text) {
    return text.find_first_not_of("0123456789") == std::string_view::npos;
}
void append_escaped(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    out += '"';
}

} // namespace

std::string Between::in_words() const {
    if (max == Between{}.max) return "at least " + std::to_string(min);
    return std::to_string(min) + " to " + std::to_string(max);
}

Node::Kind Node::kind() const { return data_ ? data_->kind : Kind::absent; }
const SourcePlace& Node::place() const {
    static const SourcePlace nowhere;
    return data_ ? data_->place : nowhere;
}
// An index alone says nothing: "cables/3".
std::string Node::name() const {
    if (path_.empty()) return "the document";
    size_t slash = path_.rfind('/');
    if (slash == std::string::npos) return path_;
    if (all_digits(std::string_view(path_).substr(slash + 1)) && slash > 0)
        slash = path_.rfind('/', slash - 1);
    return slash == std::string::npos ? path_ : path_.substr(slash + 1);
}
void Node::complain(std::string what) const {
    if (complaints_) complaints_->add(place(), std::move(what));
}
Node Node::child(std::string_view key, std::shared_ptr<const Data> data) const {
    return {std::move(data), join_path(path_, key), complaints_};
}
Node Node::renamed(std::string path) const { return {data_, std::move(path), complaints_}; }

const std::string* Node::scalar(std::string_view expected) const {
    if (kind() == Kind::absent) return nullptr;
    if (kind() == Kind::scalar) return &data_->text;
    complain(name() + " is " + std::string(kind_in_words(kind())) + "; expected " +
             std::string(expected));
    return nullptr;
}
template <class T, class Parse>
T Node::read(std::string_view expected, T fallback, Parse parse) const {
    const std::string* text = scalar(expected);
    if (!text) return fallback;
    try {
        return parse(*text, place());
    } catch (const InputError& error) {
        complaints_->add(error);
        return fallback;
    }
}

Bytes Node::as_size(Bytes fallback, std::string_view usual) const {
    return read("a size", fallback, [&](const std::string& text, const SourcePlace& at) {
        return parse_size(text, at, usual);
    });
}
Duration Node::as_duration(Duration fallback) const {
    return read("a duration", fallback, parse_duration);
}
Rate Node::as_rate(Rate fallback, std::string_view usual) const {
    return read("a rate", fallback, [&](const std::string& text, const SourcePlace& at) {
        return parse_rate(text, at, usual);
    });
}
Iops Node::as_iops(Iops fallback) const { return read("a rate of I/Os", fallback, parse_iops); }
Hertz Node::as_frequency(Hertz fallback) const {
    return read("a frequency", fallback, parse_frequency);
}
int64_t Node::as_cycles(int64_t fallback) const {
    return read("a number of cycles", fallback, parse_cycles);
}
Duration Node::as_cost(Hertz clock, Duration fallback) const {
    return read("cycles or a duration", fallback,
                [&](const std::string& text, const SourcePlace& at) {
                    return parse_cost(text, clock, at);
                });
}
double Node::as_fraction(double fallback) const {
    return read("a fraction", fallback, parse_fraction);
}
double Node::as_factor(double fallback) const { return read("a number", fallback, parse_factor); }

int64_t Node::as_count(Between limits, int64_t fallback) const {
    return read("a whole number", fallback, [&](const std::string& text, const SourcePlace& at) {
        const int64_t n = parse_count(text, at);
        if (limits.contains(n)) return n;
        throw InputError(at,
                         name() + " is " + std::to_string(n) + "; expected " + limits.in_words());
    });
}
bool Node::as_bool(bool fallback) const {
    return read("yes or no", fallback, [](const std::string& text, const SourcePlace& at) {
        if (text == "yes" || text == "true" || text == "on") return true;
        if (text == "no" || text == "false" || text == "off") return false;
        throw InputError(at, in_quotes(text) + " is neither yes nor no");
    });
}
std::string Node::as_text(std::string_view fallback) const {
    const std::string* text = scalar("a text");
    return text ? *text : std::string(fallback);
}
std::string Node::as_one_of(std::span<const std::string> words, std::string_view fallback) const {
    const std::string* text = scalar("one of " + joined(words));
    if (!text) return std::string(fallback);
    if (std::find(words.begin(), words.end(), *text) != words.end()) return *text;
    complain(in_quotes(*text) + " is no " + name() + "; expected one of " + joined(words) +
             did_you_mean(*text, words));
    return std::string(fallback);
}
std::vector<PathPattern> Node::as_patterns() const {
    std::vector<PathPattern> patterns;
    for (const Node& item : items()) {
        const auto some = item.read("a path", std::vector<PathPattern>(), parse_patterns);
        patterns.insert(patterns.end(), some.begin(), some.end());
    }
    return patterns;
}

Fields Node::map() const {
    if (kind() == Kind::map) return Fields(*this);
    if (*this)
        complain(name() + " is " + std::string(kind_in_words(kind())) + "; expected a map of keys");
    return Fields(Node());
}
std::vector<Node::Entry> Node::entries() const {
    const Fields checked = map();
    return checked.rest();
}
std::vector<Node::Entry> Node::named() const {
    std::vector<Entry> all = entries();
    std::erase_if(all, [&](const Entry& e) {
        if (is_name(e.key)) return false;
        complaints_->add(e.key_place, in_quotes(e.key) +
                                          " is no name: a name holds letters, digits, "
                                          "'-', '_' and '.'");
        return true;
    });
    return all;
}
std::vector<Node> Node::items() const {
    if (kind() == Kind::absent) return {};
    if (kind() == Kind::scalar) return {*this};
    if (kind() != Kind::sequence) {
        complain(name() + " is " + std::string(kind_in_words(kind())) + "; expected a list");
        return {};
    }
    std::vector<Node> all;
    for (const Data::Item& item : data_->items)
        all.push_back(child(std::to_string(all.size()), item.value));
    return all;
}

std::string Node::canonical() const {
    const auto write = [](std::string& out, const Data& data, const auto& self) -> void {
        if (data.kind == Kind::null) out += '~';
        if (data.kind == Kind::scalar) append_escaped(out, data.text);
        if (data.kind != Kind::sequence && data.kind != Kind::map) return;
        std::vector<const Data::Item*> order;
        for (const Data::Item& item : data.items) order.push_back(&item);
        if (data.kind == Kind::map)
            std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->key < b->key; });
        out += data.kind == Kind::map ? '{' : '[';
        for (const Data::Item* item : order) {
            if (item != order.front()) out += ',';
            if (data.kind == Kind::map) append_escaped(out, item->key), out += ':';
            self(out, *item->value, self);
        }
        out += data.kind == Kind::map ? '}' : ']';
    };
    std::string out;
    if (data_) write(out, *data_, write);
    return out;
}

Node Fields::find(std::string_view key) {
    asked_.emplace_back(key);
    if (!node_) return {};
    for (const auto& item : node_.data_->items)
        if (item.key == key) return node_.child(key, item.value);
    return {};
}
Node Fields::optional(std::string_view key) { return find(key); }
Node Fields::required(std::string_view key) {
    Node found = find(key);
    if (node_ && !found) node_.complain(node_.name() + " needs " + in_quotes(key));
    return found;
}
bool Fields::has(std::string_view key) const {
    if (!node_) return false;
    const auto& items = node_.data_->items;
    return std::any_of(items.begin(), items.end(), [&](const auto& i) { return i.key == key; });
}
void Fields::take(std::string_view key) { asked_.emplace_back(key); }
void Fields::also_known(std::string_view key) { known_.emplace_back(key); }

std::vector<Node::Entry> Fields::rest() const {
    std::vector<Node::Entry> entries;
    if (!node_) return entries;
    for (const auto& item : node_.data_->items)
        if (std::find(asked_.begin(), asked_.end(), item.key) == asked_.end())
            entries.push_back({item.key, item.key_place, node_.child(item.key, item.value)});
    return entries;
}
void Fields::finish() {
    std::vector<std::string> known = asked_;
    known.insert(known.end(), known_.begin(), known_.end());
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    const std::vector<std::string> asked = asked_; // the language's own keys
    constexpr size_t easily_listed = 12;
    for (const Node::Entry& e : rest()) {
        std::string hint = did_you_mean(e.key, known);
        // Of a part's many values only those are told that are near.
        const auto& shown = known.size() <= easily_listed ? known : asked;
        if (hint.empty() && !shown.empty() && shown.size() <= easily_listed)
            hint = "; known here: " + joined(shown);
        node_.complaints_->add(e.key_place,
                               "unknown key " + in_quotes(e.key) + " in " + node_.name() + hint);
        asked_.push_back(e.key);
    }
}

} // namespace storlab
