//! A pool that compiles kernels on all cores, in the order in which they will be needed.
//!
//! [`KernelPool::announce`] starts threads that compile announced kernels; [`KernelPool::get`] returns a kernel once it
//! is ready. A caller compiles a kernel that no thread has begun. Each kernel is compiled once.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread::{Builder, JoinHandle, available_parallelism},
    time::Instant,
};

use super::{
    cache::{self, Compiled},
    compile, sass,
};
use crate::{Error, Result, base::digest::fnv1a};

/// A kernel to compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    /// Instruction's name, for messages and for the file in the cache.
    pub label: String,
    /// Complete CUDA C++ source.
    pub source: String,
    /// Architecture: `sm_90a`.
    pub target: &'static str,
    /// Listing of the machine code, if there is a disassembler.
    pub listing: SassListing,
}

/// The part of a kernel's machine code that is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SassListing {
    /// Nothing.
    Nothing,
    /// Arithmetic ([`sass::arithmetic`]).
    Arithmetic,
    /// Bodies of loops ([`sass::loops`]).
    Loops,
}

impl Job {
    fn key(&self) -> u64 {
        fnv1a(format!("{}\0{:?}\0{}", self.target, self.listing, self.source).as_bytes())
    }
}

/// Counts and durations (in seconds of all threads together).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct KernelTimes {
    /// Kernels compiled.
    pub compiled: usize,
    /// Kernels read from the cache.
    pub cached: usize,
    /// Seconds of compilation.
    pub compiling: f64,
    /// Seconds of disassembly.
    pub disassembling: f64,
    /// Seconds that callers waited.
    pub waiting: f64,
}

impl KernelTimes {
    fn add(&mut self, other: &KernelTimes) {
        self.compiled += other.compiled;
        self.cached += other.cached;
        self.compiling += other.compiling;
        self.disassembling += other.disassembling;
        self.waiting += other.waiting;
    }
}

/// The function that turns a job into a kernel, for now without opcodes.
type Making = fn(&Job) -> (Result<Compiled>, KernelTimes);

/// Kernels that are compiled, being compiled, or queued.
pub(super) struct KernelPool {
    shared: Arc<Shared>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<PoolState>,
    /// Signals that a kernel is done.
    done: Condvar,
    work: Making,
}

#[derive(Default)]
struct PoolState {
    queue: VecDeque<u64>,
    kernels: HashMap<u64, KernelState>,
    /// Compiled kernels whose machine code is not listed yet.
    unlisted: Vec<Unlisted>,
    /// True while a thread lists machine code.
    is_listing: bool,
    times: KernelTimes,
}

/// A compiled kernel without its opcodes.
struct Unlisted {
    key: u64,
    job: Job,
    compiled: Compiled,
    /// True if the cache does not have it.
    is_new: bool,
}

enum KernelState {
    Queued(Job),
    Begun,
    Done(Result<Arc<Compiled>>),
}

impl KernelPool {
    /// The pool of this process, shared by all open GPUs.
    pub(super) fn shared() -> Arc<KernelPool> {
        static POOL: Mutex<Weak<KernelPool>> = Mutex::new(Weak::new());
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        pool.upgrade().unwrap_or_else(|| {
            let new = Arc::new(KernelPool::new(compiled));
            *pool = Arc::downgrade(&new);
            new
        })
    }

    fn new(work: Making) -> KernelPool {
        let shared = Shared { state: Mutex::default(), done: Condvar::new(), work };
        KernelPool { shared: Arc::new(shared), workers: Mutex::default() }
    }

    /// Compiles `jobs` in the background, in this order.
    pub(super) fn announce(&self, jobs: impl IntoIterator<Item = Job>) {
        let waiting = {
            let mut state = self.shared.lock();
            for job in jobs {
                let key = job.key();
                let PoolState { queue, kernels, .. } = &mut *state;
                if let Entry::Vacant(slot) = kernels.entry(key) {
                    slot.insert(KernelState::Queued(job));
                    queue.push_back(key);
                }
            }
            state.queue.len()
        };
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.retain(|worker| !worker.is_finished());
        let cores = available_parallelism().map_or(1, usize::from);
        while workers.len() < cores.min(waiting) {
            let shared = Arc::clone(&self.shared);
            // With fewer threads than wanted, these threads or the callers do the work.
            let Ok(worker) = Builder::new().name("compiler".into()).spawn(move || shared.work_off()) else { break };
            workers.push(worker);
        }
    }

    /// Returns the kernel once it is compiled.
    ///
    /// # Errors
    /// A device error: no compiler, or a refused source.
    pub(super) fn get(&self, job: Job) -> Result<Arc<Compiled>> {
        let (key, start) = (job.key(), Instant::now());
        let mut state = self.shared.lock();
        let kernel = loop {
            match state.kernels.get(&key) {
                Some(KernelState::Done(kernel)) => break kernel.clone(),
                Some(KernelState::Begun) => {
                    state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                Some(KernelState::Queued(_)) | None => {
                    state.kernels.insert(key, KernelState::Begun);
                    drop(state);
                    self.shared.finish(key, &job);
                    state = self.shared.lock();
                }
            }
        };
        state.times.waiting += start.elapsed().as_secs_f64();
        kernel
    }

    /// Compiled kernels, and all kernels announced or requested.
    pub(super) fn kernels(&self) -> (usize, usize) {
        let state = self.shared.lock();
        (state.kernels.values().filter(|slot| matches!(slot, KernelState::Done(_))).count(), state.kernels.len())
    }

    /// Durations so far.
    pub(super) fn times(&self) -> KernelTimes {
        self.shared.lock().times
    }
}

impl Drop for KernelPool {
    /// Waits for running compilations: the compiler must not run when the process ends.
    fn drop(&mut self) {
        self.shared.lock().queue.clear();
        for worker in self.workers.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compiles until the queue is empty.
    fn work_off(&self) {
        loop {
            let (key, job) = {
                let mut state = self.lock();
                let Some(key) = state.queue.pop_front() else { return };
                // A caller has begun it meanwhile.
                let Some(KernelState::Queued(job)) = state.kernels.get(&key) else { continue };
                let job = job.clone();
                state.kernels.insert(key, KernelState::Begun);
                (key, job)
            };
            self.finish(key, &job);
        }
    }

    /// Compiles a job, and hands the kernel to all who wait, or to the thread that lists machine code.
    /// Where panics unwind (tests, other programs), a panic becomes an error: waiters would otherwise wait forever.
    fn finish(&self, key: u64, job: &Job) {
        let panicked = |_| (Err(Error::device(format!("compiling {} panicked", job.label))), KernelTimes::default());
        let (compiled, times) = catch_unwind(AssertUnwindSafe(|| (self.work)(job))).unwrap_or_else(panicked);
        let mut state = self.lock();
        state.times.add(&times);
        match compiled {
            Ok(compiled) if job.listing != SassListing::Nothing && compiled.opcodes.is_none() => {
                state.unlisted.push(Unlisted { key, job: job.clone(), compiled, is_new: times.compiled > 0 });
                self.list(state);
            }
            compiled => {
                state.kernels.insert(key, KernelState::Done(compiled.map(Arc::new)));
                self.done.notify_all();
            }
        }
    }

    /// Lists the machine code of all kernels that are compiled, unless another thread does.
    /// That thread also takes what is compiled meanwhile.
    fn list<'a>(&'a self, mut state: MutexGuard<'a, PoolState>) {
        if std::mem::replace(&mut state.is_listing, true) {
            return;
        }
        while !state.unlisted.is_empty() {
            let mut kernels = std::mem::take(&mut state.unlisted);
            drop(state);
            let seconds = catch_unwind(AssertUnwindSafe(|| add_opcodes(&mut kernels))).unwrap_or_default();
            state = self.lock();
            state.times.disassembling += seconds;
            for Unlisted { key, compiled, .. } in kernels {
                state.kernels.insert(key, KernelState::Done(Ok(Arc::new(compiled))));
            }
            self.done.notify_all();
        }
        state.is_listing = false;
    }
}

fn entry(job: &Job) -> Option<cache::CacheEntry> {
    cache::folder().map(|folder| cache::CacheEntry::new(&folder, &job.label, &job.source, job.target))
}

/// Reads the kernel from the cache, or compiles it.
fn compiled(job: &Job) -> (Result<Compiled>, KernelTimes) {
    let entry = entry(job);
    if let Some(cached) = entry.as_ref().and_then(cache::CacheEntry::read) {
        return (Ok(cached), KernelTimes { cached: 1, ..KernelTimes::default() });
    }
    let mut times = KernelTimes { compiled: 1, ..KernelTimes::default() };
    let cubin = timed(&mut times.compiling, || compile::compile(&job.source, job.target));
    let kernel = cubin
        .map_err(|e| e.within(&job.label))
        .and_then(|cubin| Ok(Compiled { cubin, compiler: format!("NVRTC {}", compile::version()?), opcodes: None }));
    // Others are written with their opcodes.
    if let (Some(entry), Ok(kernel), SassListing::Nothing) = (entry, &kernel, job.listing) {
        entry.write(kernel);
    }
    (kernel, times)
}

/// Adds the opcodes of kernels, here and in the cache, if there is a disassembler.
/// Returns the seconds of disassembly.
fn add_opcodes(kernels: &mut [Unlisted]) -> f64 {
    let mut seconds = 0.0;
    let cubins: Vec<(&str, &[u8])> = kernels.iter().map(|k| (k.job.target, &k.compiled.cubin[..])).collect();
    let program = sass::disassembler();
    let texts = program.map(|program| timed(&mut seconds, || sass::disassemble(&program, &cubins)));
    let texts = texts.unwrap_or_else(|| vec![None; kernels.len()]);
    for (Unlisted { job, compiled, is_new, .. }, text) in kernels.iter_mut().zip(texts) {
        compiled.opcodes = text.map(|text| match job.listing {
            SassListing::Loops => sass::loops(&text),
            _ => sass::arithmetic(&text),
        });
        if let Some(entry) = entry(job).filter(|_| *is_new || compiled.opcodes.is_some()) {
            entry.write(compiled);
        }
    }
    seconds
}

/// Does `work`, and adds its duration to `seconds`.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *seconds += start.elapsed().as_secs_f64();
    result
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            OnceLock,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use super::*;

    fn job(label: &str) -> Job {
        Job { label: label.into(), source: label.into(), target: "sm_90a", listing: SassListing::Nothing }
    }

    fn echo(job: &Job) -> (Result<Compiled>, KernelTimes) {
        let compiled = Compiled { cubin: job.source.clone().into(), compiler: String::new(), opcodes: None };
        (Ok(compiled), KernelTimes { compiled: 1, ..KernelTimes::default() })
    }

    #[test]
    fn each_kernel_is_compiled_once_whoever_asks_and_however_often() {
        let pool = KernelPool::new(echo);
        let names: Vec<String> = (0..200).map(|number| format!("kernel {number}")).collect();
        pool.announce(names.iter().map(|name| job(name)));
        pool.announce(names.iter().map(|name| job(name)));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    names.iter().rev().for_each(|n| assert_eq!(pool.get(job(n)).unwrap().cubin, n.as_bytes()))
                });
            }
        });
        assert_eq!(pool.get(job("never announced")).unwrap().cubin, b"never announced");
        assert_eq!((pool.times().compiled, pool.kernels()), (201, (201, 201)));
    }

    #[test]
    fn failures_and_panics_reach_everyone_who_asks() {
        let pool = KernelPool::new(|job| match job.label.as_str() {
            "panic" => panic!("as this test wants"),
            _ => (Err(Error::device("refused")), KernelTimes::default()),
        });
        pool.announce([job("refused"), job("panic")]);
        for _ in 0..2 {
            assert_eq!(pool.get(job("refused")).unwrap_err().to_string(), "refused");
            assert_eq!(pool.get(job("panic")).unwrap_err().to_string(), "compiling panic panicked");
        }
    }

    #[test]
    fn a_kernel_that_is_wanted_now_does_not_wait_for_those_before_it() {
        // All other kernels wait for this one's end.
        static DONE: OnceLock<()> = OnceLock::new();
        let pool = KernelPool::new(|job| {
            if job.label == "slow" {
                DONE.wait();
            }
            echo(job)
        });
        pool.announce((0..1000).map(|n| Job { source: n.to_string(), ..job("slow") }));
        pool.announce([job("urgent")]);
        let urgent = pool.get(job("urgent"));
        let compiled = pool.times().compiled;
        DONE.set(()).expect("once");
        assert!(urgent.is_ok());
        assert_eq!(compiled, 1);
    }

    #[test]
    fn nothing_is_begun_once_the_pool_is_dropped() {
        static BEGUN: AtomicUsize = AtomicUsize::new(0);
        let pool = KernelPool::new(|job| {
            BEGUN.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            echo(job)
        });
        pool.announce((0..100_000).map(|n| job(&n.to_string())));
        drop(pool);
        let started_jobs = BEGUN.load(Ordering::SeqCst);
        assert!(started_jobs < 100_000);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(BEGUN.load(Ordering::SeqCst), started_jobs);
    }
}
