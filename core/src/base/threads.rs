//! The threads that share the work, where a machine may not give as many as it has cores.

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

/// Bytes of addresses that the threads of the pool leave to the rest.
const ROOM: usize = 256 << 20;
/// Bytes of a block of memory that, once it has been freed, has the GNU allocator keep others up to this size for what is allocated
/// next: at first it gives those of 128 KiB back to the system, which then has to provide and clear them again.
const KEPT: usize = 16 << 20;
/// Threads of the pool, at most, on a machine that has no more cores.
const MOST: usize = 256;

/// The number of threads that share the work on this thread.
pub fn count() -> usize {
    start_pool();
    rayon::current_num_threads()
}

/// Makes the pool of threads, unless there is one: one thread for each core, or as many as `RAYON_NUM_THREADS` says, up to 256 (or the
/// cores that there are, if more). Where so many cannot be had (a limit on processes or on memory), it has half of those that can, so
/// that there is room for others; where none can, the thread that calls does all of the work. Whatever uses rayon calls this first: a
/// command that shares no work starts no thread.
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
    // Every thread reserves addresses for what it allocates; where they are limited, this is kept free of that. Without it they do.
    let mut room: Vec<u8> = Vec::new();
    let _ = black_box(&mut room).try_reserve_exact(ROOM);
    let workers = workers(wanted, |work| Builder::new().spawn(work));
    let pool = ThreadPoolBuilder::new();
    // An error means that a program around this one has made the pool.
    let _ = match workers.len() {
        0 => pool.num_threads(1).use_current_thread().build_global(),
        count => {
            let workers = Mutex::new(workers);
            let hand_out = move |work: ThreadBuilder| {
                let worker = workers.lock().ok().and_then(|mut workers| workers.pop());
                worker.and_then(|worker| worker.send(work).ok()).ok_or_else(|| io::Error::other("no worker is left"))
            };
            pool.num_threads(count).spawn_handler(hand_out).build_global()
        }
    };
    drop(black_box(room));
}

/// The number of threads to start where `RAYON_NUM_THREADS` says `asked`, on so many cores.
fn wanted(asked: Option<&str>, cores: usize) -> usize {
    let asked = asked.and_then(|text| text.parse().ok()).filter(|count| *count > 0);
    asked.unwrap_or(cores).min(MOST.max(cores))
}

/// A thread that waits for what it is to do.
type Worker = Sender<ThreadBuilder>;

/// Waiting threads, made by `spawn`: as many as are wanted, or half of those that it makes, when the others have ended.
fn workers(
    wanted: usize,
    mut spawn: impl FnMut(Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>,
) -> Vec<Worker> {
    let (mut workers, mut threads) = (Vec::new(), Vec::new());
    while workers.len() < wanted {
        let (sender, receiver) = channel::<ThreadBuilder>();
        let (ready, is_ready) = channel();
        // A thread reserves addresses when it first allocates something, which this message is; one whose sender is dropped ends.
        let work = move || {
            let _ = ready.send(());
            receiver.recv().map_or((), ThreadBuilder::run)
        };
        match spawn(Box::new(work)) {
            Ok(thread) => {
                // One that ends at once is not waited for.
                let _ = is_ready.recv();
                workers.push(sender);
                threads.push(thread);
            }
            Err(_) => {
                workers.truncate(workers.len() / 2);
                // A thread that only waited has nothing to say.
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
