#include "models/workload/fio/buffer_pattern.hpp"
#include "models/workload/fio/units.hpp"
#include <charconv>
#include <cstdint>

namespace storlab::fio {

namespace {
class PatternReader {
public:
    PatternReader(std::string_view text, const SourcePlace& where) : text_(text), where_(where) {}
    std::vector<std::byte> read() {
        while (at_ < text_.size()) {
            if (text_[at_] == '"') characters();
            else if (text_.substr(at_, 2) == "0x") hexadecimal();
            else decimal();
            if (bytes_.size() > max_pattern)
                fail("is longer than " + std::to_string(max_pattern) + " bytes");
        }
        if (bytes_.empty()) fail("is no pattern");
        return std::move(bytes_);
    }

private:
    std::string_view text_;
    const SourcePlace& where_;
    size_t at_ = 0;
    std::vector<std::byte> bytes_;

    [[noreturn]] void fail(const std::string& why) const {
        throw InputError(where_,
                         quoted(text_) + " " + why + "; expected \"text\", a number or 0x...");
    }
    void characters() {
        const size_t end = text_.find('"', at_ + 1);
        if (end == std::string_view::npos) fail("has a quote that is not closed");
        for (const char c : text_.substr(at_ + 1, end - at_ - 1))
            bytes_.push_back(static_cast<std::byte>(c));
        at_ = end + 1;
    }
    void hexadecimal() {
        const std::string_view rest = text_.substr(at_ + 2);
        size_t n = rest.find_first_not_of("0123456789abcdefABCDEF");
        if (n == std::string_view::npos) n = rest.size();
        if (n == 0) fail("has no digits after 0x");
        const std::string digits = (n % 2 ? "0" : "") + std::string(rest.substr(0, n));
        for (size_t i = 0; i < digits.size(); i += 2) {
            uint8_t byte = 0;
            std::from_chars(&digits[i], &digits[i] + 2, byte, 16);
            bytes_.push_back(std::byte{byte});
        }
        at_ += 2 + n;
    }
    void decimal() {
        int32_t n = 0;
        const auto [end, error] =
            std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
        if (error == std::errc::result_out_of_range) fail("has a number beyond 32 bits");
        if (error != std::errc()) fail("is no pattern");
        at_ = static_cast<size_t>(end - text_.data());
        auto left = static_cast<uint32_t>(n);
        do {
            bytes_.push_back(static_cast<std::byte>(left));
            left >>= 8;
        } while (left > 0);
    }
};
} // namespace

std::vector<std::byte> pattern_bytes(std::string_view text, const SourcePlace& where) {
    return PatternReader(text, where).read();
}

void repeat_pattern(std::span<const std::byte> pattern, std::span<std::byte> buffer) {
    size_t i = 0;
    for (std::byte& b : buffer) {
        b = pattern[i];
        if (++i == pattern.size()) i = 0;
    }
}

} // namespace storlab::fio
