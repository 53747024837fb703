//! A rate that trees on several cores share.
//!
//! Each core has a tree of its own, and a class may stand in several of them. Its `ceil` then
//! belongs to an [`Account`]: the time until which the rate is given away. A tree that has sent more
//! than it has paid for takes the next piece of that time, with one atomic step, and its class waits
//! until the piece begins. So pieces follow each other in the order in which trees ask, whatever the
//! cores' clocks and sleep, and all together send the rate, a packet for each tree and the bursts of leaves.
//! A tree that holds packets takes as much at once as its leaves' part of a round, by their quanta,
//! so trees share as the leaves would in one tree, and a step serves many packets. A tree that holds
//! none takes nothing. What a piece has left when its tree becomes empty is used later.

use super::bucket::PerByte;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Length of a round in ns, unless packets are too long for it.
const ROUND: i64 = 200_000;
/// Bytes that a round has for each tree at least: eight of the largest packets.
const LEAST: u32 = 12_000;

/// The rate of a class that stands in several trees.
#[derive(Debug)]
pub struct Account {
    /// Time until which the rate is given away, in ns.
    given: AtomicI64,
    /// What the leaves of each tree that hold packets send in a turn, in bytes.
    weights: Box<[Weight]>,
}

/// A number that one core writes, in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Weight(AtomicI64);

impl Account {
    /// An account of so many trees.
    pub fn new(trees: usize) -> Self {
        let weights = (0..trees).map(|_| Weight::default());
        Account { given: AtomicI64::new(0), weights: weights.collect() }
    }

    /// Gives away a piece of `span` ns, no earlier than `now`. Returns when it begins.
    #[inline]
    fn take(&self, span: i64, now: i64) -> i64 {
        let mut given = self.given.load(Ordering::Relaxed);
        loop {
            let begin = given.max(now);
            let end = begin.saturating_add(span);
            match self.given.compare_exchange_weak(given, end, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return begin,
                Err(other) => given = other,
            }
        }
    }
}

/// A tree's part in an account.
#[derive(Debug)]
pub struct Share {
    account: Arc<Account>,
    /// The number of the tree.
    tree: usize,
    cost: PerByte,
    /// Length of a round, in ns.
    round: i64,
    /// What its leaves that hold packets send in a turn, in bytes.
    weight: i64,
    /// What is left of its piece, in ns; a debt below 0 is paid with the next one.
    left: i64,
    /// Time at which its piece begins, in ns.
    begins: i64,
}

impl Share {
    /// The part of the tree with this number in `account`, for a class whose bytes take `cost`.
    pub fn new(account: &Arc<Account>, tree: usize, cost: PerByte) -> Self {
        let round = ROUND.max(cost.nanos(LEAST).saturating_mul(account.weights.len() as i64));
        let account = Arc::clone(account);
        Share { account, tree, cost, round, weight: 0, left: 0, begins: 0 }
    }

    /// Time from which the class may send, in ns.
    #[inline]
    pub fn begins(&self) -> i64 {
        self.begins
    }

    /// `len` bytes are sent at `now`.
    #[inline]
    pub fn charge(&mut self, len: u32, now: i64) {
        self.left -= self.cost.nanos(len);
        if self.left < 0 {
            // The debt is within its part of the round, or parts would grow by it.
            let span = self.part().max(-self.left);
            self.begins = self.account.take(span, now);
            self.left += span;
        }
    }

    /// Its part of a round, in ns; 0 if it holds no packets.
    fn part(&self) -> i64 {
        if self.weight == 0 {
            return 0;
        }
        let weights = self.account.weights.iter().map(|weight| weight.0.load(Ordering::Relaxed));
        let all = weights.sum::<i64>().max(self.weight);
        (i128::from(self.round) * i128::from(self.weight) / i128::from(all)) as i64
    }

    /// Leaves that send `bytes` in a turn begin to hold packets, or end if it is below 0.
    #[inline]
    pub fn weigh(&mut self, bytes: i64) {
        self.weight += bytes;
        let own = &self.account.weights[self.tree].0;
        // Only trees of one core write it.
        own.store(own.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    /// Takes over the rate of `fresh`. Pieces and debts stay; they are times.
    pub fn take_over(&mut self, fresh: &Share) {
        (self.cost, self.round) = (fresh.cost, fresh.round);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.weight != 0 {
            self.weigh(-self.weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Rig;
    use crate::kinds::share;
    use forebay_core::{Duration, Rng, Time, Wake};
    use serde_json::json;

    /// 1 Gbit/s: a packet of 1000 B takes 8 us.
    const PACKET: u64 = 8_000;

    /// Trees on cores of their own, below one rate.
    struct Cores {
        trees: Vec<Rig>,
        /// The leaf of each packet, by tree.
        leaves: Vec<Vec<usize>>,
        /// Packets sent: time, tree and leaf.
        sent: Vec<(Time, usize, usize)>,
        now: Time,
    }

    impl Cores {
        /// Trees with so many leaves each.
        fn new(leaves: &[usize]) -> Self {
            let account = Arc::new(Account::new(leaves.len()));
            let tree = |(tree, count): (usize, &usize)| {
                let below = vec![json!({ "rate": "1Mbit", "ceil": "1Gbit" }); *count];
                let mut rig = Rig::new(json!({ "kind": "htb", "overhead": 0, "classes": [
                    { "rate": "1Gbit", "classes": below },
                ] }));
                assert!(share(&mut *rig.discipline, tree, &[(vec![0], Arc::clone(&account))]));
                rig
            };
            Cores {
                trees: leaves.iter().enumerate().map(tree).collect(),
                leaves: vec![Vec::new(); leaves.len()],
                sent: Vec::new(),
                now: Time::from_nanos(1_000_000_000),
            }
        }

        fn offer(&mut self, tree: usize, leaf: usize) {
            self.leaves[tree].push(leaf);
            self.trees[tree].offer(self.now, |packet| packet.class = leaf as u8);
        }

        /// Serves all trees for `span`; leaves for which `busy` is true always have packets.
        fn serve(&mut self, span: Duration, busy: impl Fn(usize, usize) -> bool) {
            let end = self.now + span;
            loop {
                let wake = |rig: &Rig| match rig.discipline.wake(self.now) {
                    Wake::Idle => Time::MAX,
                    Wake::Ready => self.now,
                    Wake::At(time) => time,
                };
                // The first tree is always faster than the others.
                let next = self.trees.iter().map(wake).enumerate().min_by_key(|(_, at)| *at);
                let Some((tree, at)) = next.filter(|(_, at)| *at <= end) else { break };
                self.now = at;
                if let Some(id) = self.trees[tree].take(at) {
                    let leaf = self.leaves[tree][id as usize];
                    self.sent.push((at, tree, leaf));
                    if busy(tree, leaf) {
                        self.offer(tree, leaf);
                    }
                }
            }
            self.now = end;
        }

        fn share(&self, is_of: impl Fn(usize, usize) -> bool) -> f64 {
            let own = self.sent.iter().filter(|(_, tree, leaf)| is_of(*tree, *leaf)).count();
            own as f64 / self.sent.len() as f64
        }

        /// The most that was sent beyond the rate from any time on, in packets.
        fn excess(&self) -> f64 {
            let (mut most, mut least) = (0, i64::MAX);
            for (count, (at, ..)) in self.sent.iter().enumerate() {
                let ahead = count as i64 * PACKET as i64 - at.as_nanos() as i64;
                least = least.min(ahead);
                most = most.max(ahead + PACKET as i64 - least);
            }
            most as f64 / PACKET as f64
        }
    }

    /// Whether a packet more was sent than at the rate in `span`, or one fewer.
    fn is_whole(cores: &Cores, span: Duration) -> bool {
        let whole = span.as_nanos() / PACKET;
        (cores.sent.len() as u64).abs_diff(whole) <= 2 + cores.trees.len() as u64
    }

    #[test]
    fn trees_share_as_their_leaves_would_in_one() {
        for leaves in [vec![1, 1], vec![1, 9], vec![5, 1, 2, 8]] {
            let mut cores = Cores::new(&leaves);
            for (tree, count) in leaves.iter().enumerate() {
                (0..2 * count).for_each(|turn| cores.offer(tree, turn % count));
            }
            cores.serve(Duration::from_millis(20), |_, _| true);
            cores.sent.clear();
            let span = Duration::from_millis(400);
            cores.serve(span, |_, _| true);
            assert!(is_whole(&cores, span), "{}", cores.sent.len());
            let all: usize = leaves.iter().sum();
            for (tree, count) in leaves.iter().enumerate() {
                let share = cores.share(|other, _| other == tree) * all as f64 / *count as f64;
                assert!((share - 1.0).abs() < 0.05, "{leaves:?}: tree {tree} has {share}");
            }
        }
    }

    #[test]
    fn beginning_at_once_they_send_a_packet_each_too_much() {
        for trees in [2, 4, 16] {
            let mut cores = Cores::new(&vec![1; trees]);
            (0..2 * trees).for_each(|turn| cores.offer(turn % trees, 0));
            cores.serve(Duration::from_millis(50), |_, _| true);
            let excess = cores.excess();
            println!("{trees} trees: {excess:.1} kB beyond the rate");
            // A packet each that is sent before it is paid for, and two of a leaf's own burst.
            assert!(excess <= 3.0 * trees as f64, "{trees}: {excess}");
        }
    }

    #[test]
    fn what_sparse_trees_do_not_use_is_used() {
        println!("a busy tree beside sparse ones: part of the rate, and what they leave");
        for trees in [2_usize, 4, 16] {
            let mut cores = Cores::new(&vec![1; trees]);
            let mut rng = Rng::named(3, "sparse");
            (0..2).for_each(|_| cores.offer(0, 0));
            let gap = 2_000_000.0 / (trees - 1) as f64;
            let (begin, mut sparse) = (cores.now, 0);
            while cores.now.since(begin) < Duration::from_millis(1_000) {
                let pause = Duration::from_nanos((-libm::log(1.0 - rng.uniform()) * gap) as u64);
                cores.serve(pause, |tree, _| tree == 0);
                cores.offer(1 + rng.below(trees as u64 - 1) as usize, 0);
                sparse += 1;
            }
            let span = cores.now.since(begin);
            let part = cores.share(|tree, _| tree == 0) * cores.sent.len() as f64 * PACKET as f64
                / span.as_nanos() as f64;
            let left = 1.0 - f64::from(sparse) * PACKET as f64 / span.as_nanos() as f64;
            println!("{trees:2} trees: {part:.3}, {left:.3}");
            assert!((part - left).abs() < 0.005, "{part} {left}");
        }
    }

    #[test]
    fn threads_lose_no_piece() {
        let account = Account::new(2);
        let pieces =
            |account: &Account| -> Vec<i64> { (0..20_000).map(|_| account.take(10, 0)).collect() };
        let mut all: Vec<i64> = std::thread::scope(|scope| {
            let both = [scope.spawn(|| pieces(&account)), scope.spawn(|| pieces(&account))];
            both.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_unstable();
        assert!(all.iter().enumerate().all(|(number, begin)| *begin == number as i64 * 10));
    }
}
