//! `cake-mq`: CAKE on each of a card's transmit queues, with one bandwidth for all.
//!
//! A hash sorts flows into queues, and each queue has a [`Cake`] of its own, as if each
//! were on a core of its own. They share the bandwidth without a lock: an instance that serves looks
//! at the others every `interval`, counts those that hold packets or have sent one since its last
//! look, and shapes to the bandwidth divided by that number and itself. The card serves queues that
//! may send in turns, packet by packet.
//!
//! Source: Linux 7.0, `sch_cake.c` (`cake_mq`); J. Köppeler, T. Høiland-Jørgensen and S. Schmid,
//! "mq-cake: scaling software rate limiting across CPU cores", Netdev 0x19, 2025.
//!
//! | Linux | here |
//! |---|---|
//! | transmit queues of the device | `queues` |
//! | `sync_time`, 200 us | `interval` |
//! | the choice of a queue (XPS, hash) | `skew`, `salt` |
//! | `active_queues` | the variable `active_queues`, the mean over queues |
//!
//! **How far it errs.** R is the bandwidth, N the number of queues, T `interval`, and L the largest
//! packet. Of two instances that have looked in the last T and still send, the later look has seen
//! the earlier one: that one held a packet then, or has sent it since. So the k-th look counts k, and
//! all together never send faster than R (1 + 1/2 + ... + 1/N). Once the same queues have been
//! busy for T and a packet, all count the same number, and the sum is R. If all begin at once, they
//! send up to R T (1/2 + ... + 1/N) and 3 N / 2 packets too much. In the other direction nothing bounds
//! the loss but N: an instance whose packets come one by one counts as much as a busy one and leaves
//! the rest of its part unused. Beside N - 1 queues in which packets arrive at random, one in T and
//! half a packet with probability p, a busy one gets R (1 - (1 - p)^N) / (N p). And a queue's part
//! does not depend on its flows: over busy flows, Jain's index is the harmonic mean of the numbers
//! of flows in the queues divided by their arithmetic mean.
//!
//! Deviations: those of `cake`, and D1. The rate of all tins follows, as in Linux since a fix of
//! 7.0. D2. An instance looks when a packet arrives in its queue, and before it sends. D3. The
//! card is not slower than the bandwidth unless the link is. D4. Room is that of `cake` for each
//! queue.
//!
//! Cost: that of `cake`; every `interval`, a look at all queues; for each packet, at those that do not
//! send.

use super::cake::{Cake, CakeParams};
use crate::classify::mix;
use forebay_core::config::{above_zero, within};
use forebay_core::{
    Backlog, Conduct, ConfigError, Context, Discipline, Duration, Named, Packet, Rate, Setting,
    Time, Verdict, Wake, compose, params,
};

/// CAKE on several queues.
pub struct CakeMq {
    instances: Vec<Instance>,
    bandwidth: Option<Rate>,
    interval: Duration,
    /// Hashes below this one belong to the first queue; the others are spread.
    skew: u32,
    salt: u64,
    /// The queue that the card serves next.
    turn: usize,
    held: Backlog,
}

struct Instance {
    cake: Cake,
    /// The last look at the others.
    looked: Option<Time>,
    /// The last packet sent.
    sent: Option<Time>,
    /// Instances that share the bandwidth, as far as it knows.
    sharing: u32,
}

compose! {
    /// Parameters of `cake-mq`.
    pub struct CakeMqParams {
        sharing: SharingParams = SharingParams::default(),
        cake: CakeParams = CakeParams::default() => described {
            "memory_limit": "Room for packets of each queue in bytes; above 0. Default: four `rtt` at \
                `bandwidth`, at least 4MB; 15.5MB without bandwidth.",
        },
    }
}

params! {
    /// How several instances share a bandwidth.
    pub struct SharingParams {
        /// Transmit queues, each with a CAKE; 1 to 64. Default 4.
        pub queues: u32 = 4,
        /// Time between two looks of an instance at the others; above 0. Linux has 200us, and no
        /// option for it. Default 200us.
        pub interval: Duration = Duration::from_micros(200),
        /// Part of the flows that the hash puts into the first queue; the others are spread over all
        /// evenly; 0 to 1. Default 0.
        pub skew: f64 = 0.0,
    }
}

impl Named for CakeMq {
    type Family = dyn Discipline;
    const NAME: &'static str = "cake-mq";
    const SUMMARY: &'static str = "CAKE on each of several queues, which share one bandwidth";
    const SOURCE: &'static str = "Linux 7.0, sch_cake.c (cake_mq)";
    const FACTS: Conduct = Conduct::REORDERS.with_shaping(true);
    type Params = CakeMqParams;

    fn resolve(params: &mut CakeMqParams, setting: &Setting) {
        Cake::resolve(&mut params.cake, setting);
    }

    fn build(params: &CakeMqParams, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(CakeMq::new(params, setting)?))
    }
}

impl CakeMq {
    fn new(params: &CakeMqParams, setting: &Setting) -> Result<Self, ConfigError> {
        let SharingParams { queues, interval, skew } = params.sharing;
        within("queues", queues, 1..=64)?;
        above_zero("interval", interval)?;
        within("skew", skew, 0.0..=1.0)?;
        let instance = |_| {
            let cake = Cake::new(&params.cake, setting)?;
            Ok(Instance { cake, looked: None, sent: None, sharing: 1 })
        };
        Ok(CakeMq {
            instances: (0..queues).map(instance).collect::<Result<_, ConfigError>>()?,
            bandwidth: params.cake.bandwidth,
            interval,
            skew: (skew * f64::from(u32::MAX)) as u32,
            salt: params.cake.salt,
            turn: 0,
            held: Backlog::default(),
        })
    }

    /// The queue of a flow. The hash is not that by which CAKE finds a flow's own queue.
    #[inline]
    fn queue(&self, flow: u32) -> usize {
        let salt = self.salt ^ 0x6d71;
        if mix(salt, flow) < self.skew {
            return 0;
        }
        let spread = u64::from(mix(salt ^ 1 << 32, flow)) * self.instances.len() as u64;
        (spread >> 32) as usize
    }

    /// The instance at `place` looks at the others, if it is time.
    fn look(&mut self, place: usize, now: Time) {
        let Instance { looked, sharing, .. } = self.instances[place];
        let recent = looked.is_some_and(|looked| now.since(looked) < self.interval);
        let Some(bandwidth) = self.bandwidth.filter(|_| !recent) else { return };
        let others = self.instances.iter().enumerate().filter(|(other, one)| {
            *other != place && (one.cake.backlog().packets > 0 || one.sent > looked)
        });
        let count = 1 + others.count() as u32;
        let own = &mut self.instances[place];
        own.looked = Some(now);
        if count != sharing {
            own.sharing = count;
            own.cake.set_bandwidth(Rate::from_bps(bandwidth.bps() / u64::from(count)));
        }
    }

    /// Counts what an instance, which held `before`, holds now.
    fn count(&mut self, place: usize, before: Backlog) {
        let now = self.instances[place].cake.backlog();
        self.held.packets = self.held.packets + now.packets - before.packets;
        self.held.bytes = self.held.bytes + now.bytes - before.bytes;
    }
}

impl Discipline for CakeMq {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        let place = self.queue(packet.flow);
        let before = self.instances[place].cake.backlog();
        let verdict = self.instances[place].cake.enqueue(packet, cx);
        self.count(place, before);
        self.look(place, cx.now);
        verdict
    }

    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        let queues = self.instances.len();
        for place in (self.turn..queues).chain(0..self.turn) {
            if self.instances[place].cake.wake(cx.now) != Wake::Ready {
                continue;
            }
            self.look(place, cx.now);
            let before = self.instances[place].cake.backlog();
            let packet = self.instances[place].cake.dequeue(cx);
            self.count(place, before);
            if packet.is_some() {
                self.instances[place].sent = Some(cx.now);
                self.turn = (place + 1) % queues;
                return packet;
            }
        }
        None
    }

    fn wake(&self, now: Time) -> Wake {
        if self.held.packets == 0 {
            return Wake::Idle;
        }
        let mut first = Wake::Idle;
        for one in &self.instances {
            match (one.cake.wake(now), first) {
                (Wake::Ready, _) => return Wake::Ready,
                (Wake::At(time), Wake::At(soonest)) if time >= soonest => {}
                (wake @ Wake::At(_), _) => first = wake,
                (Wake::Idle, _) => {}
            }
        }
        first
    }

    fn backlog(&self) -> Backlog {
        self.held
    }

    fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        let count: u32 = self.instances.iter().map(|one| one.sharing).sum();
        out("active_queues", f64::from(count) / self.instances.len() as f64);
        let mut sums = [("sparse_flows", 0.0), ("bulk_flows", 0.0)];
        for one in &self.instances {
            one.cake.probe(now, &mut |name, value| {
                sums.iter_mut().filter(|(own, _)| *own == name).for_each(|(_, sum)| *sum += value);
            });
        }
        sums.into_iter().for_each(|(name, sum)| out(name, sum));
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        let mut first = 0;
        for one in &self.instances {
            one.cake.waiting(&mut |queue, packet| out(first + queue, packet));
            first += one.cake.queues();
        }
    }
}

#[cfg(test)]
mod tests;
