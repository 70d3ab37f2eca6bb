// Threads that share the tasks of one step of work after another, for engine/kernel.c.
//
// Whoever calls works through the tasks itself; helpers take what is left. A step ends when its tasks are done, not when
// every helper has come by: on a machine that has other things to do, a helper that the system has put aside is waited
// for only if it holds a task. (OpenMP's barriers wait for every thread; under load each of some hundred a token cost
// milliseconds.)

#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#define MOST_HELPERS 63
#define LOOKS 3000  // how often a helper looks for work before it lets others run or sleeps: some ten microseconds

// Does task `index`; `who` is the number of the thread, 0 for the caller.
typedef void (*Work)(const void *with, int64_t index, int who);

static struct {
    pthread_mutex_t busy, sleep;
    pthread_cond_t call;
    // Step, number of tasks, next task, 24 + 20 + 20 bits: one exchange takes a task and says of which step.
    _Atomic uint64_t state;
    _Atomic int64_t done, helpers_wanted;
    _Atomic int gathered;
    uint64_t step, calls;
    int64_t helpers;
    Work work;
    const void *with;
} team = {.busy = PTHREAD_MUTEX_INITIALIZER, .sleep = PTHREAD_MUTEX_INITIALIZER, .call = PTHREAD_COND_INITIALIZER};

#define COUNT(state) (((state) >> 20) & 0xfffff)
#define NEXT(state) ((state) & 0xfffff)

static inline void rest(void) { __builtin_ia32_pause(); }

// Takes and does one task; false when none is left.
static int one_task(int who) {
    uint64_t seen = atomic_load_explicit(&team.state, memory_order_acquire);
    do {
        if (NEXT(seen) >= COUNT(seen)) return 0;
        // Put aside on its way here, a helper may come to a smaller team: it has no number there, and no room of its own.
        if (who > atomic_load_explicit(&team.helpers_wanted, memory_order_relaxed)) return 0;
    } while (!atomic_compare_exchange_weak_explicit(&team.state, &seen, seen + 1, memory_order_acq_rel, memory_order_acquire));
    // The step can't end before this task is counted, so what it consists of stays as it is.
    team.work(team.with, (int64_t)NEXT(seen), who);
    atomic_fetch_add_explicit(&team.done, 1, memory_order_release);
    return 1;
}

// Whether a helper belongs to the team that is at work now.
static int here(int who) {
    return atomic_load_explicit(&team.gathered, memory_order_relaxed) &&
           who <= atomic_load_explicit(&team.helpers_wanted, memory_order_relaxed);
}

static void *help(void *number) {
    const int who = (int)(intptr_t)number;
    uint64_t heard = 0;
    for (;;) {
        pthread_mutex_lock(&team.sleep);
        while (team.calls == heard) pthread_cond_wait(&team.call, &team.sleep);
        heard = team.calls;
        pthread_mutex_unlock(&team.sleep);
        // Nobody wakes it between two steps: while the team is together it stays up, even if the last task of a step takes long.
        for (int looks = 0; looks < LOOKS || here(who); looks++) {
            if (one_task(who))
                looks = 0;
            else if (looks < LOOKS)
                rest();
            else
                sched_yield();
        }
    }
    return NULL;
}

// A forked process has none of the helpers, and nobody who would give back what was held at that moment.
static void begin_anew(void) {
    team.busy = team.sleep = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    team.call = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    atomic_store(&team.gathered, 0);
    team.helpers = 0;
}

__attribute__((constructor)) static void watch_for_forks(void) { pthread_atfork(NULL, NULL, begin_anew); }

// Wakes `threads` - 1 helpers, starting those that don't exist yet. False when somebody else has the team: then alone.
static int gather(int64_t threads) {
    if (pthread_mutex_trylock(&team.busy)) return 0;
    const int64_t wanted = threads - 1 < MOST_HELPERS ? threads - 1 : MOST_HELPERS;
    while (team.helpers < wanted) {
        pthread_t made;
        if (pthread_create(&made, NULL, help, (void *)(intptr_t)(team.helpers + 1))) break;
        pthread_detach(made);
        team.helpers++;
    }
    atomic_store_explicit(&team.helpers_wanted, wanted, memory_order_relaxed);
    atomic_store_explicit(&team.gathered, 1, memory_order_relaxed);
    pthread_mutex_lock(&team.sleep);
    team.calls++;
    pthread_cond_broadcast(&team.call);
    pthread_mutex_unlock(&team.sleep);
    return 1;
}

static void dismiss(int together) {
    if (!together) return;
    atomic_store_explicit(&team.gathered, 0, memory_order_relaxed);
    pthread_mutex_unlock(&team.busy);
}

// Does tasks 0..count - 1, with the team's help if `together`. Returns when all are done.
static void share(int together, Work work, const void *with, int64_t count) {
    if (!together || count < 2 || count > 0xfff00) {
        for (int64_t i = 0; i < count; i++) work(with, i, 0);
        return;
    }
    team.work = work;
    team.with = with;
    atomic_store_explicit(&team.done, 0, memory_order_relaxed);
    team.step = (team.step + 1) & 0xffffff;
    atomic_store_explicit(&team.state, team.step << 40 | (uint64_t)count << 20, memory_order_release);
    while (one_task(0)) {
    }
    while (atomic_load_explicit(&team.done, memory_order_acquire) < count) rest();
}
