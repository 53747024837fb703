//! The leaves of a tree, and the packets that wait in them.
//!
//! Plain FIFOs are in one bank. So one of their packets touches only a word or two of memory, where
//! a separate discipline has an object, tables and packets in different places. With thousands of
//! leaves, memory is most of the cost of a packet.

use super::plan;
use forebay_core::{Backlog, Bank, Context, Discipline, Limit, Packet, Rate, Time, Verdict, Wake};

/// The leaves of a tree, by number.
pub struct Leaves {
    leaves: Vec<Leaf>,
    /// The packets of leaves that are plain FIFOs.
    bank: Bank,
    /// The disciplines of the other leaves.
    queues: Vec<Other>,
    /// Packets and bytes in these disciplines.
    held: Backlog,
    /// The last discipline that broke the contract when it was called.
    broken: Option<u32>,
}

/// A leaf.
pub struct Leaf {
    /// Its class.
    pub class: u32,
    /// Bytes that it sends in one turn.
    pub quantum: i32,
    /// Its priority.
    pub priority: u8,
    queue: Queue,
}

/// A discipline that is not a plain FIFO.
struct Other {
    queue: Box<dyn Discipline>,
    /// The `ceil` of its leaf, the highest link rate that it is told.
    ceil: Rate,
    /// A hash of its parameters as they are written.
    written: u64,
}

enum Queue {
    /// A FIFO with this limit, in the bank.
    Fifo(Limit),
    /// The discipline with this number, and what it holds.
    Other(u32, Backlog),
}

impl Leaves {
    /// The leaves of a plan, all empty.
    pub fn new(planned: Vec<plan::Leaf>) -> Self {
        let mut queues = Vec::new();
        let bank = Bank::new(planned.len());
        let leaves = planned.into_iter().map(|leaf| Leaf {
            class: leaf.class as u32,
            quantum: leaf.quantum,
            priority: leaf.priority as u8,
            queue: match leaf.queue {
                plan::Queue::Fifo(limit) => Queue::Fifo(limit),
                plan::Queue::Other(queue) => {
                    queues.push(Other { queue, ceil: leaf.ceil, written: leaf.written });
                    Queue::Other(queues.len() as u32 - 1, Backlog::default())
                }
            },
        });
        Leaves { leaves: leaves.collect(), bank, queues, held: Backlog::default(), broken: None }
    }

    /// Number of leaves.
    pub fn count(&self) -> usize {
        self.leaves.len()
    }

    /// One leaf.
    #[inline]
    pub fn at(&self, leaf: usize) -> &Leaf {
        &self.leaves[leaf]
    }

    /// Packets that a leaf holds.
    #[inline]
    pub fn packets(&self, leaf: usize) -> usize {
        match self.leaves[leaf].queue {
            Queue::Fifo(_) => self.bank.packets(leaf),
            Queue::Other(_, held) => held.packets,
        }
    }

    /// Shows every packet and its leaf.
    pub fn show(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.bank.show(out);
        for (number, leaf) in self.leaves.iter().enumerate() {
            if let Queue::Other(queue, _) = leaf.queue {
                self.queues[queue as usize].queue.waiting(&mut |_, packet| out(number, packet));
            }
        }
    }

    /// Packets and bytes in all leaves.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        let own = self.bank.total();
        let (packets, bytes) = (own.packets + self.held.packets, own.bytes + self.held.bytes);
        Backlog { packets, bytes }
    }

    /// A packet arrives for a leaf.
    #[inline]
    pub fn enqueue(&mut self, leaf: usize, packet: Packet, cx: &mut Context) -> Verdict {
        match &mut self.leaves[leaf].queue {
            Queue::Fifo(limit) => match self.bank.room(leaf, *limit, packet.len) {
                Ok(()) => {
                    self.bank.push(leaf, packet);
                    Verdict::Queued
                }
                Err(reason) => {
                    cx.drop(packet, reason);
                    Verdict::Dropped
                }
            },
            Queue::Other(number, held) => {
                let queue = &mut self.queues[*number as usize].queue;
                let verdict = queue.enqueue(packet, cx);
                recount(&mut self.held, held, queue.backlog());
                if queue.fault().is_some() {
                    self.broken = Some(*number);
                }
                verdict
            }
        }
    }

    /// The next packet of a leaf.
    #[inline]
    pub fn dequeue(&mut self, leaf: usize, cx: &mut Context) -> Option<Packet> {
        match &mut self.leaves[leaf].queue {
            Queue::Fifo(_) => self.bank.pop(leaf),
            Queue::Other(number, held) => {
                let queue = &mut self.queues[*number as usize].queue;
                let packet = queue.dequeue(cx);
                recount(&mut self.held, held, queue.backlog());
                if queue.fault().is_some() {
                    self.broken = Some(*number);
                }
                packet
            }
        }
    }

    /// Time at which a leaf that holds packets will give the next one.
    pub fn wake(&self, leaf: usize, now: Time) -> Time {
        let Queue::Other(number, _) = self.leaves[leaf].queue else { return now };
        match self.queues[number as usize].queue.wake(now) {
            Wake::Ready => now,
            Wake::At(time) => time,
            Wake::Idle => Time::MAX,
        }
    }

    /// The link's rate is now `rate`.
    pub fn set_link_rate(&mut self, now: Time, rate: Rate) {
        for Other { queue, ceil, .. } in &mut self.queues {
            queue.set_link_rate(now, rate.min(*ceil));
        }
    }

    /// Whether [`Leaves::take_over`] can be called with `fresh`: the leaves have the same places and
    /// disciplines.
    pub fn can_take_over(&self, fresh: &Leaves) -> bool {
        let same = |(own, fresh): (&Leaf, &Leaf)| {
            let queues = match (&own.queue, &fresh.queue) {
                (Queue::Fifo(_), Queue::Fifo(_)) => true,
                (Queue::Other(own, _), Queue::Other(fresh, _)) => own == fresh,
                _ => false,
            };
            queues && (own.class, own.priority) == (fresh.class, fresh.priority)
        };
        self.leaves.len() == fresh.leaves.len()
            && self.leaves.iter().zip(&fresh.leaves).all(same)
            && self.queues.iter().zip(&fresh.queues).all(|(own, new)| own.written == new.written)
    }

    /// Takes over the turns, limits and rates of `fresh` from `now` on, and keeps every packet.
    pub fn take_over(&mut self, fresh: &Leaves, now: Time) {
        for (own, new) in self.leaves.iter_mut().zip(&fresh.leaves) {
            own.quantum = new.quantum;
            if let (Queue::Fifo(own), Queue::Fifo(new)) = (&mut own.queue, &new.queue) {
                *own = *new;
            }
        }
        for (own, new) in self.queues.iter_mut().zip(&fresh.queues) {
            if own.ceil != new.ceil {
                own.ceil = new.ceil;
                own.queue.set_link_rate(now, new.ceil);
            }
        }
    }

    /// The contract that one of the disciplines broke, if it was caught. The caller asks often, and
    /// there may be thousands of them.
    pub fn fault(&self) -> Option<String> {
        self.queues[self.broken? as usize].queue.fault()
    }
}

/// Updates `held`, the content of one discipline, to `now`, and `sum`, that of all.
#[inline]
fn recount(sum: &mut Backlog, held: &mut Backlog, now: Backlog) {
    let before = std::mem::replace(held, now);
    sum.packets = sum.packets - before.packets + now.packets;
    sum.bytes = sum.bytes - before.bytes + now.bytes;
}
