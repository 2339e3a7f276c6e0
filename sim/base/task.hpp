// Task<T>: a lazy coroutine whose frame comes from a pool and which resumes its waiter by symmetric
// transfer. Operating errors travel as values (IoStatus); an exception that escapes a Task is a bug
// of the program and ends it, because there is no caller on the stack to catch it.
#pragma once
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

namespace storlab {

using Handle = std::coroutine_handle<>;
inline Handle nothing() { return std::noop_coroutine(); }

// Free lists by 32-byte size class, one set a thread; frames go back to their list, never to the
// system, so a run's memory is its largest number of frames at one time.
class FramePool {
public:
    static void* take(size_t bytes) {
        frames_taken++;
        const size_t c = (bytes + 31) / 32;
        if (c >= classes) return ::operator new(bytes);
        if (void* p = free_[c]) {
            free_[c] = *static_cast<void**>(p);
            return p;
        }
        fresh_bytes += c * 32;
        return ::operator new(c * 32);
    }
    static void give(void* p, size_t bytes) {
        const size_t c = (bytes + 31) / 32;
        if (c >= classes) return ::operator delete(p);
        *static_cast<void**>(p) = free_[c];
        free_[c] = p;
    }
    static constinit inline thread_local uint64_t frames_taken = 0; // for `storlab bench`
    static constinit inline thread_local uint64_t fresh_bytes = 0;

private:
#ifdef __SANITIZE_ADDRESS__
    static constexpr size_t classes = 0; // it must see a frame that is used after its end
#else
    static constexpr size_t classes =
        64; // frames up to 2 KiB; a larger one is rare enough to malloc
#endif
    static constinit inline thread_local void* free_[classes + 1] = {};
};

namespace detail {
struct PromiseBase {
    Handle waiter = std::noop_coroutine();
    static void* operator new(size_t n) { return FramePool::take(n); }
    static void operator delete(void* p, size_t n) { FramePool::give(p, n); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    void unhandled_exception() { std::terminate(); }
};
struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class P> Handle await_suspend(std::coroutine_handle<P> h) noexcept {
        return h.promise().finish(h);
    }
    void await_resume() noexcept {}
};
} // namespace detail

template <class T> class [[nodiscard]] Task {
public:
    struct promise_type : detail::PromiseBase {
        T value{};
        Handle (*sink)(void*, T) = nullptr; // detached: whom to tell, after the frame is gone
        void* context = nullptr;

        Task get_return_object() {
            return Task{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        detail::FinalAwaiter final_suspend() noexcept { return {}; }
        void return_value(T v) { value = std::move(v); }
        Handle finish(Handle self) noexcept {
            if (!sink) return waiter;
            const auto tell = sink;
            void* const whom = context;
            T v = std::move(value);
            self.destroy();
            return tell(whom, std::move(v));
        }
    };

    explicit Task(std::coroutine_handle<promise_type> h) : h_(h) {}
    Task(Task&& o) noexcept : h_(std::exchange(o.h_, {})) {}
    Task& operator=(Task&& o) noexcept {
        std::swap(h_, o.h_);
        return *this;
    }
    ~Task() {
        if (h_) h_.destroy();
    }

    bool await_ready() const { return false; }
    Handle await_suspend(Handle waiter) {
        h_.promise().waiter = waiter;
        return h_;
    }
    T await_resume() { return std::move(h_.promise().value); }

    // Runs on its own: the frame frees itself and then calls sink. Returns the handle to resume.
    Handle detach(void* context, Handle (*sink)(void*, T)) && {
        h_.promise().sink = sink;
        h_.promise().context = context;
        return std::exchange(h_, {});
    }

private:
    std::coroutine_handle<promise_type> h_;
};

template <> class [[nodiscard]] Task<void> {
public:
    struct promise_type : detail::PromiseBase {
        Handle (*sink)(void*) = nullptr;
        void* context = nullptr;

        Task get_return_object() {
            return Task{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        detail::FinalAwaiter final_suspend() noexcept { return {}; }
        void return_void() {}
        Handle finish(Handle self) noexcept {
            if (!sink) return waiter;
            const auto tell = sink;
            void* const whom = context;
            self.destroy();
            return tell(whom);
        }
    };

    explicit Task(std::coroutine_handle<promise_type> h) : h_(h) {}
    Task(Task&& o) noexcept : h_(std::exchange(o.h_, {})) {}
    Task& operator=(Task&& o) noexcept {
        std::swap(h_, o.h_);
        return *this;
    }
    ~Task() {
        if (h_) h_.destroy();
    }

    bool await_ready() const { return false; }
    Handle await_suspend(Handle waiter) {
        h_.promise().waiter = waiter;
        return h_;
    }
    void await_resume() {}
    Handle detach(void* context, Handle (*sink)(void*)) && {
        h_.promise().sink = sink;
        h_.promise().context = context;
        return std::exchange(h_, {});
    }

private:
    std::coroutine_handle<promise_type> h_;
};

} // namespace storlab
