//! A gate on several cores: each runs a loop with interfaces, buffers and trees of its own, for a part
//! of the circuits.
//!
//! A frame may arrive on another core than its circuit's, as the interface spreads them. That core
//! passes its bytes on ([`Mail`]), one lock for a batch. Rates that several trees have are shared
//! ([`Rates`]); nothing else is.

use crate::config::At;
use crate::io::{Pool, Side};
use forebay_disciplines::kinds::Account;
use forebay_isp::Place;
use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Most frames that wait for a core.
const MOST: usize = 4_096;

/// The rates that trees of several cores share, by the side on which packets arrive and the place in
/// the network. An account stays over reloads as long as a tree has it.
#[derive(Debug)]
pub struct Rates {
    cores: usize,
    accounts: Mutex<HashMap<(At, Place), Arc<Account>>>,
}

impl Rates {
    /// No accounts yet, for so many cores.
    pub fn new(cores: usize) -> Self {
        Rates { cores, accounts: Mutex::default() }
    }

    /// The account of `place` for packets that arrive on `side`.
    pub fn account(&self, side: At, place: &Place) -> Arc<Account> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (side, place.clone());
        if !accounts.contains_key(&key) {
            // Those of nodes that are gone.
            accounts.retain(|_, account| Arc::strong_count(account) > 1);
        }
        Arc::clone(accounts.entry(key).or_insert_with(|| Arc::new(Account::new(self.cores))))
    }
}

/// Wakes a loop.
pub fn ring(bell: &OwnedFd) {
    // An error means that the counter is at its maximum: the loop is being woken already.
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

/// Frames one after another.
#[derive(Default)]
struct Bag {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

impl Bag {
    /// Empties it.
    fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }
}

/// The frames from each side that wait for a core.
struct Inbox {
    bags: Mutex<[Bag; 2]>,
    count: AtomicUsize,
    /// Whether the core's loop sleeps, or is about to.
    sleeps: AtomicBool,
    bell: Arc<OwnedFd>,
}

/// The mail of a core: frames that it passes to others, and that they pass to it.
pub struct Mail {
    core: usize,
    boxes: Arc<[Inbox]>,
    /// Frames from each side for each of the others, until the end of a batch.
    out: Vec<[Bag; 2]>,
    /// Frames from each side that have come.
    come: [Bag; 2],
    /// Number of those that are done, and where the next one begins.
    done: [(usize, usize); 2],
    /// Frames from each side that a core could not take.
    pub lost: [u64; 2],
}

impl Mail {
    /// The mail of cores whose loops have these bells.
    pub fn between(bells: &[Arc<OwnedFd>]) -> Vec<Mail> {
        let of = |bell: &Arc<OwnedFd>| Inbox {
            bags: Mutex::default(),
            count: AtomicUsize::new(0),
            sleeps: AtomicBool::new(false),
            bell: Arc::clone(bell),
        };
        let boxes: Arc<[Inbox]> = bells.iter().map(of).collect();
        let mail = (0..bells.len()).map(|core| Mail {
            core,
            boxes: Arc::clone(&boxes),
            out: bells.iter().map(|_| Default::default()).collect(),
            come: Default::default(),
            done: [(0, 0); 2],
            lost: [0; 2],
        });
        mail.collect()
    }

    /// The core's number.
    pub fn core(&self) -> usize {
        self.core
    }

    /// Number of cores.
    pub fn cores(&self) -> usize {
        self.boxes.len()
    }

    /// Puts `frame`, which arrived on `side`, into the mail for `core`.
    pub fn put(&mut self, core: usize, side: Side, frame: &[u8]) {
        let bag = &mut self.out[core][side as usize];
        bag.bytes.extend_from_slice(frame);
        bag.lengths.push(frame.len() as u32);
    }

    /// Passes on what was put into the mail.
    pub fn post(&mut self) {
        for (bags, to) in self.out.iter_mut().zip(self.boxes.iter()) {
            if bags.iter().all(|bag| bag.lengths.is_empty()) {
                continue;
            }
            let mut waiting = to.bags.lock().unwrap_or_else(PoisonError::into_inner);
            for ((bag, waiting), lost) in bags.iter_mut().zip(&mut *waiting).zip(&mut self.lost) {
                if waiting.lengths.is_empty() {
                    std::mem::swap(waiting, bag);
                } else if waiting.lengths.len() + bag.lengths.len() <= MOST {
                    waiting.bytes.extend_from_slice(&bag.bytes);
                    waiting.lengths.append(&mut bag.lengths);
                } else {
                    *lost += bag.lengths.len() as u64;
                }
                bag.clear();
            }
            let count = waiting.iter().map(|bag| bag.lengths.len()).sum();
            to.count.store(count, Ordering::SeqCst);
            drop(waiting);
            if to.sleeps.load(Ordering::SeqCst) {
                ring(&to.bell);
            }
        }
    }

    /// Whether nothing has come. From then on until [`Mail::wake`], what comes rings the bell.
    pub fn may_sleep(&self) -> bool {
        let own = &self.boxes[self.core];
        own.sleeps.store(true, Ordering::SeqCst);
        own.count.load(Ordering::SeqCst) == 0
            && self.come.iter().all(|come| come.lengths.is_empty())
    }

    /// The loop is awake.
    pub fn wake(&self) {
        self.boxes[self.core].sleeps.store(false, Ordering::Relaxed);
    }

    /// Gets what has come, once everything before is taken. Returns whether there are frames from
    /// each side.
    pub fn fetch(&mut self) -> [bool; 2] {
        let own = &self.boxes[self.core];
        let is_empty = self.come.iter().all(|come| come.lengths.is_empty());
        if is_empty && own.count.load(Ordering::Relaxed) > 0 {
            let mut waiting = own.bags.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut *waiting, &mut self.come);
            own.count.store(0, Ordering::SeqCst);
        }
        self.come.each_ref().map(|come| !come.lengths.is_empty())
    }

    /// Takes up to `most` frames from `side` that have come into buffers.
    pub fn take(&mut self, side: Side, most: usize, pool: &mut Pool, out: &mut Vec<u32>) {
        let Bag { bytes, lengths } = &mut self.come[side as usize];
        let (done, at) = &mut self.done[side as usize];
        for len in lengths[*done..].iter().take(most) {
            let len = *len as usize;
            match pool.take() {
                Some(index) => {
                    pool.buffer(index)[..len].copy_from_slice(&bytes[*at..][..len]);
                    pool.set_extent(index, 0, len);
                    out.push(index);
                }
                None => self.lost[side as usize] += 1,
            }
            (*done, *at) = (*done + 1, *at + len);
        }
        if *done == lengths.len() {
            self.come[side as usize].clear();
            (*done, *at) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_stays_as_long_as_a_tree_has_it() {
        let rates = Rates::new(2);
        let of = |name: &str| rates.account(At::Inside, &Place::Node(name.into()));
        let kept = of("stays");
        (0..1_000).for_each(|day| drop(of(&format!("day {day}"))));
        assert!(Arc::ptr_eq(&kept, &of("stays")));
        assert!(rates.accounts.lock().unwrap().len() <= 2);
    }
}
