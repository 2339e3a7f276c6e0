// One session at a target: a slot for each tag, where a command waits for its data, for a core, for
// the device and for its answer to be sent.
#pragma once
#include "models/exchange/target.hpp"

namespace storlab {

class TargetSession final : public Receiver {
public:
    explicit TargetSession(Target& target) : t_(target) {}
    TargetSession(const TargetSession&) = delete;
    TargetSession& operator=(const TargetSession&) = delete;

    void begin(Connection& connection);
    void drop(); // the connection is closed; what is at a device ends there
    bool open() const { return connection_ != nullptr; }
    bool over() const { return !connection_ && busy_ == 0; }
    bool live() const { return live_; }
    uint64_t identity() const { return identity_; }
    uint32_t busy() const { return busy_; }
    Instant heard() const { return heard_; }
    void notify(uint16_t unit); // its access has changed
    void leftovers_gone();

    void receive(Message& m) override;
    void lost(Loss why) override;

private:
    enum class Phase : uint8_t { free, gathering, at_device, answering };
    struct Slot {
        Request request{nullptr, Op::read, {}, 0, nullptr};
        TargetSession* session = nullptr;
        Phase phase = Phase::free;
        bool visiting = false; // being paid for
        bool aborted = false;
        uint16_t unit = 0;
        Cpu* context = nullptr; // of the unit, which pays
        uint32_t tag = 0, generation = 0;
        uint32_t block = 0, payload = 0; // of the unit
        uint32_t got = 0, asked = 0;     // blocks of a write
        Work debt;                       // run up while gathering
        Message* abort = nullptr;        // to be answered
        std::vector<std::byte> data;
    };

    Target& t_;
    Connection* connection_ = nullptr;
    Connection* last_connection_ = nullptr; // whose messages may still be here
    bool live_ = false;
    uint64_t identity_ = 0;
    uint32_t step_ = 0;
    uint32_t busy_ = 0;        // slots
    Message* hello_ = nullptr; // not answered before an earlier session's commands have ended
    Instant heard_;
    std::vector<Slot> slots_;
    std::vector<bool> attention_; // by unit

    void login(Message& m);
    void welcome(Message& m);
    void command(Message& m);
    void refuse(const Message& m, Outcome why);
    Outcome judge(const Message& m);
    void data(Message& m);
    void abort(Message& m);
    void report();
    void violation(Message& m);
    Message& answer(Kind kind, uint32_t bytes);
    bool send(Message& m);

    void advance(Slot& s);
    void ask(Slot& s);
    void to_device(Slot& s);
    static void asked(Event& e);
    static Handle finished(Request& r);
    void pay_answer(Slot& s);
    static void answer_paid(Event& e);
    void send_answer(Slot& s);
    bool ended_early(Slot& s);
    void free_slot(Slot& s);
    uint32_t data_messages(const Slot& s) const; // that a read's answer takes
};

} // namespace storlab
