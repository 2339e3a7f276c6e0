#include "sim/cluster/engine.hpp"
#include "sim/base/error.hpp"
#include "sim/seam/node.hpp"
#include <cmath>
#include <csignal>
#include <cstring>
#include <cxxabi.h>
#include <limits>
#include <simgrid/Exception.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>
#include <vector>

namespace storlab {

namespace sg = simgrid::s4u;

namespace {

// SimGrid installs handlers of SIGINT, SIGSEGV and SIGBUS. They belong to the program, not to us.
class KeptSignals {
public:
    KeptSignals() {
        for (int s = 1; s < NSIG; s++) known_[s] = sigaction(s, nullptr, &actions_[s]) == 0;
        sigaltstack(nullptr, &stack_);
    }
    ~KeptSignals() {
        for (int s = 1; s < NSIG; s++)
            if (known_[s] && s != SIGKILL && s != SIGSTOP) sigaction(s, &actions_[s], nullptr);
        sigaltstack(&stack_, nullptr);
    }

private:
    struct sigaction actions_[NSIG];
    bool known_[NSIG] = {};
    stack_t stack_{};
};

// The exceptions a thread has caught and not yet left are a stack of the thread, and SimGrid's
// actors share one thread: an actor that waits inside a handler would leave with another's
// exception.
class OwnExceptions {
public:
    OwnExceptions() : globals_(abi::__cxa_get_globals()) {
        std::memcpy(saved_, globals_, sizeof saved_);
        std::memset(static_cast<void*>(globals_), 0, sizeof saved_);
    }
    ~OwnExceptions() { std::memcpy(static_cast<void*>(globals_), saved_, sizeof saved_); }

private:
    abi::__cxa_eh_globals* globals_;
    unsigned char saved_[sizeof(void*) + sizeof(unsigned)]; // Itanium C++ ABI, 2.2.2
};

// Asked last because it is not idempotent, a hook made for ns-3. The argument is the delay to the
// earliest date that anything else in SimGrid knows.
class KernelModel : public simgrid::kernel::resource::Model {
public:
    KernelModel() : Model("storlab I/O kernel") {}
    bool next_occurring_event_is_idempotent() override { return false; }
    double next_occurring_event(double delay) override {
        return kernel ? kernel->run_kernel(delay) : -1.0;
    }
    void update_actions_state(double, double) override {
        if (kernel) kernel->date_reached();
    }
    Coupled* kernel = nullptr;
};

} // namespace

struct WakeUp::Body {
    sg::SemaphorePtr semaphore = sg::Semaphore::create(0);
};
WakeUp::WakeUp() : body_(std::make_shared<Body>()) {}
void WakeUp::give() const { body_->semaphore->release(); }

class ActorSeat final : public Seat {
public:
    bool sleep(double seconds) override {
        return wait_in([&] { sg::this_actor::sleep_for(seconds); });
    }
    bool wait(const WakeUp& wake_up) override {
        return wait_in([&] { wake_up.body_->semaphore->acquire(); });
    }
    void park() override {
        // The reference keeps the stack mapped, which is still in use as far as anyone can tell.
        intrusive_ptr_add_ref(sg::Actor::self());
        for (;;) try {
                sg::this_actor::suspend(); // once killed, an actor is never answered again
            } catch (const simgrid::ForcefulKillException&) {}
    }
    // SimGrid has to see its exception leave the actor.
    void let_die() const {
        if (killed_) std::rethrow_exception(killed_);
    }

private:
    const aid_t actor_ = sg::this_actor::get_pid();
    std::exception_ptr killed_;

    template <class Wait> bool wait_in(Wait wait) {
        STORLAB_ENSURE(sg::this_actor::get_pid() == actor_); // another's seat, or no actor at all
        if (killed_) return false;
        const OwnExceptions own;
        try {
            wait();
        } catch (const simgrid::ForcefulKillException&) { killed_ = std::current_exception(); }
        return !killed_;
    }
};

struct Engine::Body {
    std::unique_ptr<sg::Engine> engine;
    std::shared_ptr<KernelModel> model = std::make_shared<KernelModel>();
    std::vector<sg::Host*> hosts;
    sg::ActorPtr main;
};

Engine::Engine(size_t hosts) : body_(std::make_unique<Body>()) {
    STORLAB_ENSURE(!sg::Engine::is_initialized());
    std::vector<std::string> words{"storlab", "--log=root.thres:critical",
                                   "--cfg=contexts/stack-size:256",
                                   // The default, LV08, corrects for TCP on a wide-area network.
                                   "--cfg=network/model:CM02"};
#ifdef __SANITIZE_ADDRESS__
    words.push_back("--cfg=contexts/factory:thread"); // it must know every stack there is
#endif
    std::vector<char*> arguments;
    for (std::string& w : words) arguments.push_back(w.data());
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    const KeptSignals kept;
    body_->engine = std::make_unique<sg::Engine>(&count, arguments.data());
    auto* const zone = sg::create_full_zone("testbed");
    for (size_t i = 0; i < hosts; i++)
        body_->hosts.push_back(zone->create_host("host-" + std::to_string(i), 1e9));
    zone->seal();
    body_->engine->add_model(body_->model);
}
Engine::~Engine() = default;

Engine& Engine::with_hosts(size_t hosts) {
    // Never destroyed at exit: SimGrid has static objects of its own, in an order nobody knows.
    static Engine* engine = nullptr;
    if (engine && engine->body_->hosts.size() < hosts) {
        delete engine;
        engine = nullptr;
    }
    if (!engine) {
        size_t stock = 64;
        while (stock < hosts) stock *= 2;
        engine = new Engine(stock);
    }
    for (sg::Host* const h : engine->body_->hosts)
        if (!h->is_on()) h->turn_on();
    return *engine;
}

double Engine::clock() const { return sg::Engine::get_clock(); }

double Engine::precision(double clock) {
    // A tenth of the grid of dates that are usual; later, what the double still resolves.
    const double spacing = std::nextafter(clock, std::numeric_limits<double>::infinity()) - clock;
    return std::max(1e-10, 4 * spacing);
}

void Engine::run(Coupled& kernel, double ends, std::function<void(Seat&)> main) {
    sg::Engine::set_config("surf/precision", precision(ends));
    body_->model->kernel = &kernel;
    body_->main = sg::Actor::create("main", body_->hosts[0], [main = std::move(main)] {
        ActorSeat seat;
        main(seat);
        seat.let_die();
    });
    body_->engine->run();
    body_->model->kernel = nullptr;
    body_->main = nullptr;
}

void Engine::kill_main() { body_->main->kill(); }

void Engine::start_actor(size_t host, const std::string& name, std::function<void(Seat&)> body,
                         Failed failed) {
    sg::Actor::create(name, body_->hosts[host],
                      [body = std::move(body), failed = std::move(failed)] {
                          ActorSeat seat;
                          report_exceptions([&] { body(seat); }, failed);
                          seat.let_die();
                      })
        ->daemonize();
}

void Engine::power(size_t host, bool on) {
    sg::Host* const h = body_->hosts[host];
    if (on) h->turn_on();
    else h->turn_off();
}

void Engine::report_exceptions(const std::function<void()>& body, const Failed& failed) {
    try {
        body();
    } catch (const simgrid::ForcefulKillException&) { throw; } catch (const PowerLost&) {
    } catch (const std::exception& e) { failed(e.what()); } catch (...) {
        failed("an exception that is no std::exception");
    }
}

} // namespace storlab
