// Lines of a report: a label, and pieces that wrap under the first of them.
#pragma once
#include "sim/report/result.hpp"
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

constexpr size_t label_width = 8;

// Characters on the screen: UTF-8 continuation bytes take no room.
inline size_t columns_of(std::string_view text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}
inline std::string padded(std::string_view text, size_t width) {
    return std::string(text) + std::string(width - std::min(width, columns_of(text)), ' ');
}

// A labelled line whose pieces wrap under its own first piece.
class Lines {
public:
    explicit Lines(size_t width) : width_(width) {}
    void plain(std::string_view line) { (text_ += line) += '\n'; }
    void labelled(std::string_view label, const std::vector<std::string>& pieces,
                  std::string_view between) {
        if (pieces.empty()) return;
        std::string line = padded(label, label_width);
        bool fresh = true;
        for (const std::string& piece : pieces) {
            if (!fresh && columns_of(line) + columns_of(between) + columns_of(piece) > width_) {
                plain(line);
                line = std::string(label_width, ' ');
                fresh = true;
            }
            if (!fresh) line += between;
            line += piece;
            fresh = false;
        }
        plain(line);
    }
    // The right part moves to a line of its own when both do not fit.
    void left_and_right(std::string_view left, std::string_view right) {
        const size_t used = columns_of(left) + columns_of(right);
        if (used + 2 <= width_ || right.empty()) {
            const size_t gap = right.empty() ? 0 : width_ - used;
            plain(std::string(left) + std::string(gap, ' ') + std::string(right));
            return;
        }
        plain(left);
        plain(std::string(width_ - std::min(width_, columns_of(right)), ' ') + std::string(right));
    }
    std::string take() { return std::move(text_); }

private:
    size_t width_;
    std::string text_;
};

// text_timeline.cpp: what happened, and what the loads had between the events.
void add_timeline(Lines& out, const RunResult& result);

} // namespace storlab
