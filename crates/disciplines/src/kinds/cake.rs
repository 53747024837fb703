//! `cake`: a shaper, tins by DSCP, fair queues of flows and hosts, and COBALT, in one.
//!
//! A packet's DSCP chooses a tin ([`Diffserv`]), and a set-associative hash its
//! flow's queue in the tin ([`flows`]). Flows are served as in FQ-CoDel, new ones first. The flows
//! of one host share one flow's turn, at the end of the connection where that is less
//! ([`Isolation`]). Each queue is under COBALT ([`CobaltState`]). With `bandwidth`, packets leave
//! at that rate, counted as the bottleneck frames them ([`Wire`]), and a tin has priority while it
//! is below its share; without it, tins share by weights. When too many bytes are held, the longest
//! queue loses packets from its head ([`longest`]). On request, acknowledgments that later ones
//! make redundant are dropped ([`ack_filter`]).
//!
//! Source: Linux 6.1, `sch_cake.c`; T. Høiland-Jørgensen, D. Täht and J. Morton, "Piece of CAKE: A
//! Comprehensive Queue Management Solution for Home Gateways", LANMAN 2018. Defaults are those of `tc`.
//!
//! | `tc-cake(8)` | here |
//! |---|---|
//! | bandwidth, unlimited | `bandwidth`, none |
//! | besteffort, precedence, diffserv3, 4, 8 | `diffserv` |
//! | flowblind, srchost ... triple-isolate | `isolation` ("none" is flowblind) |
//! | rtt | `rtt`; `target` is a twentieth of it |
//! | overhead, mpu, atm, ptm | `overhead`, `mpu`, `framing` |
//! | wash, ingress, memlimit | the same; `memory_limit` |
//! | ack-filter, ack-filter-aggressive | `ack_filter`, "conservative" or "aggressive" |
//!
//! Deviations: D1. `memory_limit` counts bytes of IP packets; Linux counts what the kernel
//! allocates for them, half as much again for the largest. D2. Hosts are distinguished by 16 bits;
//! packets whose hosts are not known share with no others. D3. Flows and hosts are hashed by
//! another function. D4. `nat`, `autorate-ingress`, `fwmark`, filters and splitting of
//! super-packets are not included. D5. The ACK filter distinguishes flows by their number. Linux
//! compares addresses and ports, also those of IPv6 within IPv4. Options of a wrong length keep an
//! acknowledgment in the queue; Linux ignores what follows them. COBALT's own deviations do not
//! apply here.
//!
//! Cost: a hash, a list operation and COBALT's comparisons per packet; up to 16 comparisons if the
//! flow's first place is taken. A heap is maintained while overflows are recent. If one host has
//! many flows, each packet looks at all of them, as in Linux. With the ACK filter, each segment
//! that joins is looked at, and if it is an acknowledgment, those that wait in its queue as well.

mod ack_filter;
mod flows;
mod longest;
mod shaper;
mod tins;

use crate::admit::{CobaltLaw, CobaltParams};
use crate::classify::mix;
use ack_filter::Acks;
use flows::{Flows, QUEUES};
use forebay_core::config::{above_zero, require, within};
use forebay_core::tcp::Tcp;
use forebay_core::{
    Backlog, Bank, Bytes, Conduct, ConfigError, Context, Discipline, DropReason, Duration, Named,
    Packet, Rate, Setting, Time, Verdict, Wake, params,
};
use longest::Longest;
use shaper::Shaper;

pub use ack_filter::AckFilter;
pub use flows::Isolation;
pub use shaper::{Framing, Wire};
pub use tins::Diffserv;

/// CAKE.
pub struct Cake {
    diffserv: Diffserv,
    isolation: Isolation,
    salt: u64,
    wash: bool,
    ingress: bool,
    wire: Wire,
    memory_limit: u64,
    shaper: Option<Shaper>,
    tins: Vec<Tin>,
    /// The tin that is served next without a shaper.
    turn: usize,
    bank: Bank,
    longest: Longest,
    acks: Option<Acks>,
}

struct Tin {
    flows: Flows,
    law: CobaltLaw,
    /// The part of the bandwidth that is the tin's threshold.
    part: f64,
    /// The threshold, and until when the tin has used it up.
    rate: Option<Rate>,
    spent_until: Time,
    deficit: i64,
    quantum: i64,
    packets: usize,
}

params! {
    /// Parameters of CAKE.
    pub struct CakeParams {
        /// Rate to shape to, by the length on the wire; above 0. Default: none, the link's own rate
        /// is the limit.
        pub bandwidth: Option<Rate> = None,
        /// The mapping of DSCPs to tins: "besteffort", "precedence", "diffserv3", "diffserv4" or
        /// "diffserv8". Default "diffserv3".
        pub diffserv: Diffserv = Diffserv::Diffserv3,
        /// Parties that share the bandwidth fairly: "none", "srchost", "dsthost", "hosts", "flows",
        /// "dual-srchost", "dual-dsthost" or "triple-isolate". Default "triple-isolate".
        pub isolation: Isolation = Isolation::TripleIsolate,
        /// The usual round-trip time to the far ends, COBALT's interval; above 0. Default 100ms.
        pub rtt: Duration = Duration::from_millis(100),
        /// Acceptable standing delay; above 0, below `rtt`. Default: a twentieth of `rtt`. A tin's
        /// is at least 1.5 transmissions of the largest packet at its threshold.
        pub target: Option<Duration> = None,
        /// Bytes that the bottleneck adds to every IP packet, -64 to 256. Default: those of the
        /// link.
        pub overhead: Option<i64> = None,
        /// Minimum length on the wire, including overhead; at most 256B. Default 0B.
        pub mpu: Bytes = Bytes(0),
        /// The bottleneck's framing: "none", "atm" (53 bytes for each 48 begun) or "ptm" (a byte
        /// more for each 64 begun). Default "none".
        pub framing: Framing = Framing::None,
        /// Whether the DSCP of packets is cleared once the tin is chosen. Default false.
        pub wash: bool = false,
        /// Whether dropped packets count as sent, for a shaper behind the bottleneck. Default
        /// false.
        pub ingress: bool = false,
        /// Which pure acknowledgments are dropped from the queue because later ones of their flow
        /// make them redundant: "none", "conservative" (the first of two such) or "aggressive"
        /// (also a single one, next to the new one). It has an effect where TCP headers are known:
        /// on links and in the gate, but not in wireless networks or behind the C interface.
        /// Default "none".
        pub ack_filter: AckFilter = AckFilter::None,
        /// Room for packets in bytes; above 0. Default: four `rtt` at `bandwidth`, at least 4MB;
        /// 15.5MB without bandwidth.
        pub memory_limit: Option<Bytes> = None,
        /// Perturbation of the hash over flows and hosts; any whole number. Default 0.
        pub salt: u64 = 0,
    }
}

/// Bytes that a flow sends in its turn if its tin's threshold is `rate`.
fn round(rate: Rate) -> i64 {
    ((rate.bps() / 8) >> 12).clamp(300, 1514) as i64
}

impl Tin {
    fn new(
        params: &CakeParams,
        share: tins::Share,
        setting: &Setting,
    ) -> Result<Self, ConfigError> {
        let rate = params.bandwidth.map(|rate| tins::part(rate, share.rate));
        let largest = u64::from(setting.mtu + setting.overhead);
        let mtu_time = rate.map_or(Duration::ZERO, |rate| rate.transmission(largest));
        let least = params.target.unwrap_or_default();
        let target = least.max(Duration::from_nanos(mtu_time.as_nanos() * 3 / 2));
        let interval = (params.rtt + target.saturating_sub(least)).max(target.saturating_mul(2));
        let law = CobaltParams { target, interval, ..CobaltParams::default() };
        let round = rate.map_or(1514, round);
        Ok(Tin {
            flows: Flows::new(params.isolation, round, params.salt),
            law: CobaltLaw::with_mtu_time(&law, mtu_time)?,
            part: share.rate,
            rate,
            spent_until: Time::ZERO,
            deficit: 0,
            quantum: share.quantum,
            packets: 0,
        })
    }

    /// Counts `len` bytes on the wire against the tin's threshold.
    #[inline]
    fn charge(&mut self, len: u64, now: Time) {
        let Some(rate) = self.rate else { return };
        let span = rate.transmission(len);
        if self.spent_until < now {
            self.spent_until += span;
        } else {
            self.spent_until = self.spent_until.max(now + span);
        }
    }
}

impl Named for Cake {
    type Family = dyn Discipline;
    const NAME: &'static str = "cake";
    const SUMMARY: &'static str =
        "a shaper with tins by DSCP, fair shares for flows and hosts, and COBALT";
    const SOURCE: &'static str = "Linux 6.1, sch_cake.c; Høiland-Jørgensen et al., LANMAN 2018";
    const FACTS: Conduct = Conduct::REORDERS.with_shaping(true);
    type Params = CakeParams;

    fn resolve(params: &mut CakeParams, setting: &Setting) {
        let CakeParams { rtt, bandwidth, .. } = *params;
        let largest = (10_240 * u64::from(setting.mtu + 14)).max(4 << 20);
        let four_rtt = |rate: Rate| rate.bytes_in(rtt.saturating_mul(4)) as u64;
        let room = bandwidth.map_or(largest, |rate| four_rtt(rate).clamp(4 << 20, largest));
        params.target.get_or_insert(Duration::from_nanos(rtt.as_nanos() / 20));
        params.overhead.get_or_insert(setting.overhead.into());
        params.memory_limit.get_or_insert(Bytes(room));
    }

    fn build(params: &CakeParams, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Cake::new(params, setting)?))
    }
}

impl Cake {
    /// The discipline with these parameters, all of which are set.
    pub(super) fn new(params: &CakeParams, setting: &Setting) -> Result<Self, ConfigError> {
        let CakeParams { bandwidth, diffserv, isolation, rtt, mpu, framing, salt, .. } = *params;
        let (target, overhead) = (params.target.unwrap_or_default(), params.overhead.unwrap_or(0));
        let memory_limit = params.memory_limit.unwrap_or_default();
        require(bandwidth.is_none_or(|rate| rate.bps() > 0), "bandwidth", || {
            "must be above 0; leave it out not to shape".into()
        })?;
        above_zero("rtt", rtt)?;
        require(Duration::ZERO < target && target < rtt, "target", || {
            format!("must be above 0 and below rtt (\"{rtt}\"), got \"{target}\"")
        })?;
        within("overhead", overhead, -64..=256)?;
        require(mpu.0 <= 256, "mpu", || format!("must be at most 256B, got \"{mpu}\""))?;
        above_zero("memory_limit", memory_limit)?;
        let tins: Result<Vec<Tin>, ConfigError> =
            diffserv.shares().into_iter().map(|share| Tin::new(params, share, setting)).collect();
        let tins = tins?;
        let queues = tins.len() * QUEUES;
        Ok(Cake {
            diffserv,
            isolation,
            salt,
            wash: params.wash,
            ingress: params.ingress,
            wire: Wire { overhead, least: mpu.0 as i64, framing },
            memory_limit: memory_limit.0,
            shaper: bandwidth.map(Shaper::new),
            tins,
            turn: 0,
            bank: Bank::new(queues),
            longest: Longest::new(queues),
            acks: Acks::new(params.ack_filter),
        })
    }

    /// Shapes to `rate` from the next packet on, if it shapes. COBALT and the room stay as they were
    /// for the first rate.
    pub(super) fn set_bandwidth(&mut self, rate: Rate) {
        let Some(shaper) = &mut self.shaper else { return };
        shaper.set_rate(rate);
        for tin in &mut self.tins {
            let rate = tins::part(rate, tin.part);
            tin.rate = Some(rate);
            tin.flows.set_quantum(round(rate));
        }
    }

    /// Number of its inner queues.
    pub(super) fn queues(&self) -> usize {
        self.tins.len() * QUEUES
    }

    /// The tin and the queue in it that `packet` joins.
    #[inline]
    fn classify(&mut self, packet: &Packet) -> (usize, usize) {
        let tin = self.diffserv.tin(packet.dscp());
        let hosts @ [source, destination] = [packet.source, packet.destination];
        let key = match self.isolation {
            Isolation::None => return (tin, self.tins[tin].flows.place(0, hosts)),
            Isolation::Srchost => source.into(),
            Isolation::Dsthost => destination.into(),
            Isolation::Hosts => u32::from(source) << 16 | u32::from(destination),
            _ => packet.flow,
        };
        (tin, self.tins[tin].flows.place(mix(self.salt, key), hosts))
    }

    /// Drops from the head of the longest queue until what is held fits.
    #[cold]
    fn shed(&mut self, cx: &mut Context) {
        while self.bank.total().bytes > self.memory_limit {
            let bank = &mut self.bank;
            let queue = self.longest.get(|queue| bank.bytes(queue));
            let Some(packet) = bank.pop(queue) else { return };
            self.longest.shrunk(queue, |queue| bank.bytes(queue));
            let tin = &mut self.tins[queue / QUEUES];
            tin.packets -= 1;
            tin.flows.flow(queue % QUEUES).cobalt.full(&tin.law, cx.now);
            self.lose(queue / QUEUES, packet, DropReason::Overflow, cx);
        }
    }

    /// Drops a packet of tin `index`. If the shaper is behind the bottleneck (`ingress`), the
    /// packet still takes its time on the wire.
    fn lose(&mut self, index: usize, packet: Packet, reason: DropReason, cx: &mut Context) {
        if self.ingress {
            let len = self.wire.len(packet.len);
            self.tins[index].charge(len, cx.now);
            if let Some(shaper) = &mut self.shaper {
                shaper.charge(len, true);
            }
        }
        cx.drop(packet, reason);
    }

    /// A packet with this header has joined `queue`. Drops an acknowledgment that it makes
    /// redundant.
    fn filter(&mut self, queue: usize, header: Option<Tcp>, cx: &mut Context) {
        let (acks, bank) = (&mut self.acks, &mut self.bank);
        let redundant = acks.as_mut().and_then(|acks| acks.joined(bank, queue, header));
        let Some(place) = redundant else { return };
        let ack = bank.remove(queue, place);
        self.longest.shrunk(queue, |queue| bank.bytes(queue));
        self.tins[queue / QUEUES].packets -= 1;
        self.lose(queue / QUEUES, ack, DropReason::RedundantAck, cx);
    }

    /// The tin to serve. With a shaper: the highest tin below its threshold, or else the one that
    /// will be below it first. Without: by deficit round robin.
    #[inline]
    fn choose(&mut self, now: Time) -> usize {
        if self.shaper.is_none() {
            loop {
                let tin = &mut self.tins[self.turn];
                if tin.deficit >= 0 && tin.flows.active() {
                    return self.turn;
                }
                if tin.deficit <= 0 {
                    tin.deficit += tin.quantum;
                }
                self.turn = (self.turn + 1) % self.tins.len();
            }
        }
        let (mut best, mut earliest) = (0, Time::MAX);
        for (index, tin) in self.tins.iter().enumerate() {
            if tin.flows.active() && (tin.spent_until <= now || tin.spent_until <= earliest) {
                (best, earliest) = (index, tin.spent_until);
            }
        }
        best
    }

    /// The next packet of tin `index`. None if a flow turned out to be empty; then the choice is
    /// made again. `fresh` is true until a flow has been looked at.
    fn serve(&mut self, index: usize, fresh: &mut bool, cx: &mut Context) -> Option<Packet> {
        let (tin, bank) = (&mut self.tins[index], &mut self.bank);
        'flow: loop {
            let place = tin.flows.head(std::mem::take(fresh))?;
            let queue = index * QUEUES + place;
            if tin.flows.flow(place).deficit <= 0 {
                tin.flows.end_round(place, bank.packets(queue) > 0, cx.rng);
                continue;
            }
            loop {
                let cobalt = &mut tin.flows.flow(place).cobalt;
                let Some(mut packet) = bank.pop(queue) else {
                    cobalt.empty(&tin.law, cx.now);
                    let remembers = !cobalt.at_rest(cx.now);
                    tin.flows.found_empty(place, remembers);
                    return None;
                };
                self.longest.shrunk(queue, |queue| bank.bytes(queue));
                tin.packets -= 1;
                let flows = if self.ingress { tin.flows.bulk() } else { 0 };
                let flow = tin.flows.flow(place);
                let drop = flow.cobalt.must_drop(&tin.law, &mut packet, flows, cx);
                // The last packet of a queue is never dropped.
                let sends = !drop || bank.packets(queue) == 0;
                let len = self.wire.len(packet.len);
                if sends || self.ingress {
                    flow.deficit -= len as i64;
                    tin.deficit -= len as i64;
                    tin.charge(len, cx.now);
                    if let Some(shaper) = &mut self.shaper {
                        shaper.charge(len, !sends);
                    }
                }
                if sends {
                    self.longest.sent();
                    return Some(packet);
                }
                cx.drop(packet, DropReason::Aqm);
                if self.ingress {
                    continue 'flow;
                }
            }
        }
    }
}

impl Discipline for Cake {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context) -> Verdict {
        let (index, place) = self.classify(&packet);
        if self.wash {
            packet.set_dscp(0);
        }
        let queue = index * QUEUES + place;
        let header = self.acks.as_ref().and_then(|_| cx.tcp_header(&packet));
        if let Some(shaper) = &mut self.shaper {
            let tin = &mut self.tins[index];
            if tin.packets == 0 {
                tin.spent_until = tin.spent_until.max(cx.now);
                if self.bank.total().packets == 0 {
                    shaper.begin(cx.now);
                }
            }
        }
        let (tin, bank) = (&mut self.tins[index], &mut self.bank);
        bank.push(queue, packet);
        tin.packets += 1;
        self.longest.grown(queue, |queue| bank.bytes(queue));
        tin.flows.joined(place, cx.rng);
        self.filter(queue, header, cx);
        if self.bank.total().bytes > self.memory_limit {
            self.shed(cx);
        }
        Verdict::Queued
    }

    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        let mut fresh = true;
        while self.wake(cx.now) == Wake::Ready {
            let index = self.choose(cx.now);
            let packet = self.serve(index, &mut fresh, cx);
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn wake(&self, now: Time) -> Wake {
        if self.bank.total().packets == 0 {
            return Wake::Idle;
        }
        match &self.shaper {
            Some(shaper) if shaper.due() > now => Wake::At(shaper.due()),
            _ => Wake::Ready,
        }
    }

    fn backlog(&self) -> Backlog {
        self.bank.total()
    }

    fn probe(&self, _: Time, out: &mut dyn FnMut(&'static str, f64)) {
        let sum =
            |count: fn(&Flows) -> u64| self.tins.iter().map(|tin| count(&tin.flows)).sum::<u64>();
        out("sparse_flows", sum(Flows::sparse) as f64);
        out("bulk_flows", sum(Flows::bulk) as f64);
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.bank.show(out);
    }
}

#[cfg(test)]
mod tests;
