// What a Node points to; for node.cpp and node_load.cpp only. Immutable once built, so an alias
// shares its anchor's data and an override copies the path from the root to the change.
#pragma once
#include "sim/scenario/node.hpp"

namespace storlab {

struct Node::Data {
    struct Item {
        std::string key; // of a map's entry
        SourcePlace key_place;
        std::shared_ptr<const Data> value;
    };
    Kind kind = Kind::null;
    SourcePlace place;
    std::string text; // of a scalar
    std::vector<Item> items;
    size_t nodes = 1; // in this subtree, aliases expanded
    size_t depth = 1;
};

} // namespace storlab
