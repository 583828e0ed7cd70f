//! The threads that share the work, also on machines that limit their number.

use std::{
    hint::black_box,
    io,
    sync::{
        Mutex, Once,
        mpsc::{Sender, channel},
    },
    thread::{Builder, JoinHandle, available_parallelism},
};

use rayon::{ThreadBuilder, ThreadPoolBuilder};

/// Address space that the threads of the pool leave free, in bytes.
const ROOM: usize = 256 << 20;
/// Size in bytes of a freed block that raises the GNU allocator's threshold for returning memory.
/// The initial threshold is 128 KiB: larger blocks would be mapped and cleared again each time.
const KEPT: usize = 16 << 20;
/// Most threads of the pool on a machine with fewer cores.
const MOST: usize = 256;

/// Number of threads that share the work of this thread.
pub fn count() -> usize {
    start_pool();
    rayon::current_num_threads()
}

/// Starts the pool of threads, unless there is one.
///
/// It has one thread per core, or `RAYON_NUM_THREADS`, at most 256 or the number of cores. Where processes or memory
/// are limited, it has half of the threads that can be started, so that others have room; where none can, the calling
/// thread does all the work. Everything that uses rayon calls this first: a command that shares no work starts no
/// thread.
pub fn start_pool() {
    static ONCE: Once = Once::new();
    if rayon::current_thread_index().is_none() {
        ONCE.call_once(make_pool);
    }
}

fn make_pool() {
    let mut kept: Vec<u8> = Vec::new();
    let _ = black_box(&mut kept).try_reserve_exact(KEPT);
    drop(black_box(kept));
    let asked = std::env::var("RAYON_NUM_THREADS").ok();
    let wanted = wanted(asked.as_deref(), available_parallelism().map_or(1, usize::from));
    // Each thread reserves address space for its allocations. This block keeps some of it free where it is limited.
    let mut room: Vec<u8> = Vec::new();
    let _ = black_box(&mut room).try_reserve_exact(ROOM);
    let workers = workers(wanted, |work| Builder::new().spawn(work));
    let pool = ThreadPoolBuilder::new();
    // An error means that an embedding program has already made the pool.
    let _ = match workers.len() {
        0 => pool.num_threads(1).use_current_thread().build_global(),
        count => {
            let workers = Mutex::new(workers);
            let hand_out = move |work: ThreadBuilder| {
                let worker = workers.lock().ok().and_then(|mut workers| workers.pop());
                worker.and_then(|worker| worker.send(work).ok()).ok_or_else(|| io::Error::other("all workers ended"))
            };
            pool.num_threads(count).spawn_handler(hand_out).build_global()
        }
    };
    drop(black_box(room));
}

/// Number of threads to start for a value `asked` of `RAYON_NUM_THREADS` on `cores` cores.
fn wanted(asked: Option<&str>, cores: usize) -> usize {
    let asked = asked.and_then(|text| text.parse().ok()).filter(|count| *count > 0);
    asked.unwrap_or(cores).min(MOST.max(cores))
}

/// A thread that waits for its builder.
type Worker = Sender<ThreadBuilder>;

/// Waiting threads made by `spawn`: `wanted`, or half of those that could start, once the rest ended.
fn workers(
    wanted: usize,
    mut spawn: impl FnMut(Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>,
) -> Vec<Worker> {
    let (mut workers, mut threads) = (Vec::new(), Vec::new());
    while workers.len() < wanted {
        let (sender, receiver) = channel::<ThreadBuilder>();
        let (ready, is_ready) = channel();
        // A thread reserves addresses at its first allocation, which this message is. It ends when its sender is
        // dropped.
        let work = move || {
            let _ = ready.send(());
            receiver.recv().map_or((), ThreadBuilder::run)
        };
        match spawn(Box::new(work)) {
            Ok(thread) => {
                // A thread that ends at once sends nothing.
                let _ = is_ready.recv();
                workers.push(sender);
                threads.push(thread);
            }
            Err(_) => {
                workers.truncate(workers.len() / 2);
                // Threads that only waited return nothing.
                threads.drain(workers.len()..).for_each(|thread| drop(thread.join()));
                break;
            }
        }
    }
    workers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_is_bounded_whatever_the_environment_says() {
        for (asked, cores, expected) in [
            (None, 2, 2),
            (Some("64"), 2, 64),
            (Some("3000"), 2, MOST),
            (Some("20000"), 384, 384),
            (Some("0"), 2, 2),
            (Some("18446744073709551616"), 2, 2),
            (Some("many"), 2, 2),
        ] {
            assert_eq!(wanted(asked, cores), expected, "{asked:?} on {cores} cores");
        }
    }

    #[test]
    fn fewer_threads_than_wanted_are_halved_to_leave_room() {
        for (most, expected) in [(0, 0), (1, 0), (2, 1), (7, 3), (8, 8), (9, 8)] {
            let mut made = 0;
            let spawn = |_| {
                made += 1;
                if made <= most { Ok(std::thread::spawn(|| ())) } else { Err(io::Error::other("no more")) }
            };
            assert_eq!(workers(8, spawn).len(), expected, "{most}");
        }
    }
}
