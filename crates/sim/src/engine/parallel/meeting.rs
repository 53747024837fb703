//! A barrier at which threads wait for each other.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Turns of a waiting thread before it lets other programs run: some microseconds.
const PATIENCE: u32 = 2000;

/// A barrier. Threads spin while they wait, as a round takes only microseconds: [`std::sync::Barrier`]
/// takes a hundred times as long as a round without work.
#[derive(Default)]
pub struct Meeting {
    members: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A thread has ended by a panic.
    is_off: AtomicBool,
}

/// Participation of a thread. If it ends by a panic, the others do not wait for it.
pub struct Attendance<'a>(&'a Meeting);

impl Meeting {
    pub fn new(members: usize) -> Self {
        Meeting { members, ..Meeting::default() }
    }

    pub fn attend(&self) -> Attendance<'_> {
        Attendance(self)
    }
}

impl Attendance<'_> {
    /// Waits for all others. False if one has ended by a panic.
    pub fn meet(&self) -> bool {
        let meeting = self.0;
        let round = meeting.round.load(Ordering::Acquire);
        if meeting.arrived.fetch_add(1, Ordering::AcqRel) + 1 == meeting.members {
            meeting.arrived.store(0, Ordering::Relaxed);
            meeting.round.store(round.wrapping_add(1), Ordering::Release);
            return true;
        }
        let mut turns = 0;
        while meeting.round.load(Ordering::Acquire) == round {
            if meeting.is_off.load(Ordering::Relaxed) {
                return false;
            }
            if turns < PATIENCE {
                turns += 1;
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        true
    }
}

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.is_off.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn nobody_is_a_round_ahead() {
        let (meeting, sum) = (Meeting::new(3), AtomicU64::new(0));
        let work = || {
            let present = meeting.attend();
            for round in 1..=1000 {
                sum.fetch_add(1, Ordering::Relaxed);
                assert!(present.meet());
                assert_eq!(sum.load(Ordering::Relaxed), 3 * round);
                assert!(present.meet());
            }
        };
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
    }

    #[test]
    fn nobody_waits_for_one_who_panics() {
        let meeting = Meeting::new(2);
        thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _present = meeting.attend();
                panic!("as it is to be");
            });
            let waits = scope.spawn(|| meeting.attend().meet());
            assert!(panics.join().is_err());
            assert!(!waits.join().unwrap());
        });
    }
}
