//! Measurements of every user and every class of users.

use super::delay::DelayMeter;
use super::loss::LossPattern;
use crate::traffic::Codec;
use forebay_core::{Duration, Time, fetch};

/// Measures one class: the users who are reported together.
#[derive(Debug, Clone, Default)]
pub struct ClassMeter {
    /// Name in the report.
    pub name: String,
    /// One-way delay of delivered data packets.
    pub delay: DelayMeter,
    /// The shortest one before measurement began, in ms: a queue that is never empty during the
    /// measurement would hide in every delay.
    pub shortest_before_ms: Option<f64>,
    /// Durations of completed transfers.
    pub completion: DelayMeter,
    /// Connections that were opened.
    pub opened: u64,
    /// Sum of the times until they could send data, in ns.
    pub opening_time: u128,
    /// Payload bytes that arrived since the last point of the series.
    pub point_bytes: u64,
    /// Transfers that ended since then.
    pub point_completed: u32,
}

impl ClassMeter {
    /// A connection that began at `start` may send data from `now` on.
    pub fn opened(&mut self, start: Time, now: Time) {
        self.opened += 1;
        self.opening_time += u128::from(now.since(start).as_nanos());
    }

    /// Begins the measurement.
    pub fn restart(&mut self) {
        self.shortest_before_ms = self.shortest_ms();
        self.delay = DelayMeter::default();
        self.completion = DelayMeter::default();
    }

    /// A packet arrives after `delay` before measurement begins.
    pub fn precedes(&mut self, delay: Duration) {
        self.shortest_before_ms = shorter(self.shortest_before_ms, Some(delay.as_millis_f64()));
    }

    /// The shortest one-way delay since the run began, in ms, to three significant digits.
    pub fn shortest_ms(&self) -> Option<f64> {
        shorter(self.shortest_before_ms, self.delay.quantile_ms(0.0))
    }

    /// Adds the measurements of another part of the network.
    pub fn absorb(&mut self, other: &ClassMeter) {
        self.shortest_before_ms = shorter(self.shortest_before_ms, other.shortest_before_ms);
        self.delay.absorb(&other.delay);
        self.completion.absorb(&other.completion);
        self.opened += other.opened;
        self.opening_time += other.opening_time;
    }

    /// Mean time from the beginning of a connection until it may send data, in ms.
    pub fn mean_startup_ms(&self) -> Option<f64> {
        (self.opened > 0).then(|| self.opening_time as f64 / self.opened as f64 * 1e-6)
    }
}

fn shorter(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

/// Measures one user: one flow of a traffic entry, with all its successive transfers.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub struct UserMeter {
    // For packets that arrive: one cache line.
    /// Data packets that arrived.
    pub delivered: u64,
    /// Payload bytes delivered in order.
    pub bytes: u64,
    /// Delay of the last packet, if one was delivered.
    last_delay: Duration,
    /// Sum of one-way delays in ns.
    delay_time: Sum,
    /// Sum of the absolute changes of delay from packet to packet, in ns.
    jitter_time: Sum,
    /// Sum of the waits in queues in ns.
    wait_time: Sum,
    /// Longest wait in queues of any delivered packet.
    pub longest_wait: Duration,
    /// Index of the class.
    pub class: u32,
    /// Index of the traffic entry.
    pub traffic: u32,
    // For packets that are sent or dropped: another one.
    /// Data packets sent, retransmissions included.
    pub offered: u64,
    /// Bytes of those sent, IP headers included.
    pub offered_bytes: u64,
    /// Data packets sent in total, including the warm-up. Packets are numbered with it.
    sent: u64,
    /// Data packets dropped on the way.
    pub dropped: u64,
    /// Pattern of losses. Allocated at the first loss.
    pattern: Option<Box<LossPattern>>,
    /// Data packets marked congestion-experienced on the way.
    pub marked: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Sum of completion times in ns.
    pub completion_time: u128,
    /// Window probes sent (RFC 9293, section 3.8.6.1).
    pub probes: u64,
    /// Transfers completed.
    pub completed: u64,
    /// Connections given up (RFC 1122, R2).
    pub aborted: u64,
    /// Sum of the goodputs of completed transfers, in bit/s.
    completion_rate: f64,
    /// Upper bits of the sums of delays, jitter and waits.
    beyond: [u32; 3],
    /// Voice codec, for the quality of calls.
    pub codec: Option<Codec>,
}

/// The lower 64 bits of a sum. The upper ones, which only very long times need, are not in the same cache
/// line.
#[derive(Debug, Clone, Copy, Default)]
struct Sum(u64);

impl Sum {
    #[inline]
    fn add(&mut self, nanos: u64, beyond: &mut u32) {
        let (sum, is_beyond) = self.0.overflowing_add(nanos);
        self.0 = sum;
        if is_beyond {
            *beyond += 1;
        }
    }

    fn absorb(&mut self, beyond: &mut u32, (other, other_beyond): (Sum, u32)) {
        self.add(other.0, beyond);
        *beyond += other_beyond;
    }

    fn as_f64(self, beyond: u32) -> f64 {
        (u128::from(beyond) << 64 | u128::from(self.0)) as f64
    }
}

impl UserMeter {
    /// The meter of a user of traffic entry `traffic` and class `class`. With a codec, it is a call.
    pub fn new(traffic: u32, class: u32, codec: Option<Codec>) -> Self {
        UserMeter { traffic, class, codec, ..UserMeter::default() }
    }

    /// Resets the counts. Packets keep their numbers.
    pub fn restart(&mut self) {
        let sent = self.sent;
        *self = UserMeter { sent, ..UserMeter::new(self.traffic, self.class, self.codec) };
    }

    /// Fetches the fields that a packet needs when it arrives, or when it is sent.
    pub fn fetch(&self, arrives: bool) {
        if arrives { fetch(&self.delivered) } else { fetch(&self.offered) }
    }

    /// Fetches the fields that a loss needs.
    pub fn fetch_losses(&self) {
        fetch(&self.dropped);
    }

    /// Fetches what these point to.
    pub fn fetch_pattern(&self) {
        self.pattern.as_deref().into_iter().for_each(LossPattern::fetch);
    }

    /// Fetches what these point to in turn.
    pub fn fetch_last_loss(&self) {
        self.pattern.as_deref().into_iter().for_each(LossPattern::fetch_last);
    }

    /// Counts a data packet of `len` bytes that is sent, and numbers it.
    pub fn sends(&mut self, len: u32) -> u64 {
        self.offered += 1;
        self.offered_bytes += u64::from(len);
        self.sent += 1;
        self.sent
    }

    /// The data packet with number `number` was dropped.
    pub fn lost(&mut self, number: u64) {
        self.dropped += 1;
        self.pattern.get_or_insert_default().lost(number);
    }

    /// Pattern of the losses so far. None without losses.
    pub fn loss_pattern(&self) -> Option<LossPattern> {
        self.pattern.as_ref().map(|pattern| pattern.finished())
    }

    /// A data packet arrived after `delay`, of which it `waited` a part in queues.
    #[inline]
    pub fn arrived(&mut self, delay: Duration, waited: Duration) {
        let [delays, jitters, waits] = &mut self.beyond;
        self.wait_time.add(waited.as_nanos(), waits);
        self.longest_wait = self.longest_wait.max(waited);
        self.delay_time.add(delay.as_nanos(), delays);
        if self.delivered > 0 {
            let jitter = delay.as_nanos().abs_diff(self.last_delay.as_nanos());
            self.jitter_time.add(jitter, jitters);
        }
        self.last_delay = delay;
        self.delivered += 1;
    }

    /// A transfer of `bytes` that began at `start` has ended.
    pub fn ended(&mut self, start: Time, now: Time, bytes: u64) {
        self.completed += 1;
        self.completion_rate += bytes as f64 * 8.0 / now.since(start).as_secs_f64();
        self.completion_time += u128::from(now.since(start).as_nanos());
    }

    /// Adds the measurements of the same user in another part of the network. Packets arrive in one
    /// part only, and losses are reported to one part only.
    pub fn absorb(&mut self, other: &UserMeter) {
        self.offered += other.offered;
        self.offered_bytes += other.offered_bytes;
        self.sent += other.sent;
        if self.delivered == 0 {
            self.last_delay = other.last_delay;
        }
        self.delivered += other.delivered;
        self.bytes += other.bytes;
        let [delays, jitters, waits] = &mut self.beyond;
        self.delay_time.absorb(delays, (other.delay_time, other.beyond[0]));
        self.jitter_time.absorb(jitters, (other.jitter_time, other.beyond[1]));
        self.wait_time.absorb(waits, (other.wait_time, other.beyond[2]));
        self.longest_wait = self.longest_wait.max(other.longest_wait);
        self.dropped += other.dropped;
        self.marked += other.marked;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.probes += other.probes;
        self.completed += other.completed;
        self.aborted += other.aborted;
        self.completion_time += other.completion_time;
        self.completion_rate += other.completion_rate;
        self.pattern = self.pattern.take().or_else(|| other.pattern.clone());
    }

    /// Dropped packets over dropped and delivered ones. None before any packet.
    pub fn loss(&self) -> Option<f64> {
        let total = self.dropped + self.delivered;
        (total > 0).then(|| self.dropped as f64 / total as f64)
    }

    /// Mean goodput of its completed transfers, each its size over its duration, in bit/s.
    pub fn transfer_goodput_bps(&self) -> Option<f64> {
        (self.completed > 0).then(|| self.completion_rate / self.completed as f64)
    }

    /// Mean time in queues of a delivered packet, in ms.
    pub fn mean_wait_ms(&self) -> Option<f64> {
        (self.delivered > 0)
            .then(|| self.wait_time.as_f64(self.beyond[2]) / self.delivered as f64 * 1e-6)
    }

    /// Mean one-way delay in ms.
    pub fn mean_delay_ms(&self) -> Option<f64> {
        (self.delivered > 0)
            .then(|| self.delay_time.as_f64(self.beyond[0]) / self.delivered as f64 * 1e-6)
    }

    /// Mean absolute difference of successive one-way delays in ms (RFC 3550, section 6.4.1,
    /// without the smoothing).
    pub fn jitter_ms(&self) -> Option<f64> {
        (self.delivered > 1)
            .then(|| self.jitter_time.as_f64(self.beyond[1]) / (self.delivered - 1) as f64 * 1e-6)
    }

    /// Voice quality of this call: (R-factor, MOS).
    pub fn voice(&self) -> Option<(f64, f64)> {
        let codec = self.codec?;
        let r = super::r_factor(self.mean_delay_ms()? + codec.delay_ms(), self.loss()?, codec);
        Some((r, super::mos(r)))
    }
}

/// The inputs of satisfaction: a flow's mean time in queues in ms, and the data that reached its
/// receiver.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// Mean time in queues of its packets, ms.
    pub delay: f64,
    /// Payload bytes.
    pub data: f64,
}

/// Application satisfaction index of flows whose packets waited at most `longest` ms: (as printed,
/// flow by flow). None if no packet waited or nothing arrived.
///
/// Source: NCQ paper, section 5.2.2. 1 - |sum of (delay_i - share_i longest)| / (n longest), where
/// share_i is the flow's part of all data. As printed, the bars enclose the whole sum, so the index
/// is 1 - |mean delay / longest - 1 / n|, and does not depend on which of the flows waits. The
/// second form sums the absolute values. Both are between 0 and 1.
pub fn satisfaction(
    flows: impl Iterator<Item = Share> + Clone,
    longest: f64,
) -> Option<(f64, f64)> {
    let n = flows.clone().count() as f64;
    let data: f64 = flows.clone().map(|flow| flow.data).sum();
    if longest <= 0.0 || data <= 0.0 {
        return None;
    }
    let excess = flows.map(|flow| flow.delay - flow.data / data * longest);
    let whole: f64 = excess.clone().sum();
    let each: f64 = excess.map(f64::abs).sum();
    Some((1.0 - whole.abs() / (n * longest), 1.0 - each / (n * longest)))
}

/// Energy potential: 1 if everything that the channel could carry is original data.
///
/// Source: NCQ paper, section 5.2.2, with a = b = 1/2: 1 - (a (throughput - goodput) + b (most -
/// throughput)) / most. Equal weights make it (1 + goodput / most) / 2, for any throughput.
pub fn energy_potential(throughput: f64, goodput: f64, most: f64) -> f64 {
    1.0 - (0.5 * (throughput - goodput) + 0.5 * (most - throughput)) / most
}

/// Jain's fairness index of `shares`: 1 if all are equal, 1/n if one has everything. None if nobody
/// has anything. Source: Jain, Chiu and Hawe, DEC-TR-301, 1984.
pub fn jain(shares: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let n = shares.clone().count() as f64;
    let sum: f64 = shares.clone().sum();
    let squares: f64 = shares.map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_arrival_touches_is_one_cache_line() {
        use std::mem::offset_of;
        assert_eq!((offset_of!(UserMeter, delivered), offset_of!(UserMeter, offered)), (0, 64));
        assert_eq!(size_of::<UserMeter>(), 192);
    }

    #[test]
    fn satisfaction_by_hand() {
        let share = |delay, data| Share { delay, data };
        // Expected 10 and 90 ms of 100; waited 10 and 90.
        let fair = [share(10.0, 1e3), share(90.0, 9e3)];
        assert_eq!(satisfaction(fair.into_iter(), 100.0), Some((1.0, 1.0)));
        // The other way around: the printed form does not see it, (80 + 80) / 200 does.
        let unfair = [share(90.0, 1e3), share(10.0, 9e3)];
        assert_eq!(satisfaction(unfair.into_iter(), 100.0), Some((1.0, 1.0 - 160.0 / 200.0)));
        // 1 - |mean / longest - 1 / n|.
        let slow = [share(50.0, 1.0), share(100.0, 1.0), share(60.0, 2.0)];
        let (printed, _) = satisfaction(slow.into_iter(), 100.0).unwrap();
        assert!((printed - (1.0 - (0.7 - 1.0 / 3.0))).abs() < 1e-12);
        assert_eq!(satisfaction(fair.into_iter(), 0.0), None);
    }

    #[test]
    fn energy_is_wasted_on_what_is_repeated_and_on_waiting() {
        assert_eq!(energy_potential(10.0, 10.0, 10.0), 1.0);
        assert_eq!(energy_potential(8.0, 6.0, 10.0), 0.8);
        assert_eq!(energy_potential(0.0, 0.0, 10.0), 0.5);
    }

    #[test]
    fn fairness_runs_from_one_over_n_to_one() {
        assert_eq!(jain([2.0, 2.0, 2.0].into_iter()), Some(1.0));
        assert_eq!(jain([1.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([0.0].into_iter()), None);
    }

    #[test]
    fn jitter_is_the_mean_change_of_delay() {
        let mut user = UserMeter::default();
        for millis in [10, 12, 9] {
            user.arrived(Duration::from_millis(millis), Duration::from_millis(millis - 8));
        }
        assert_eq!(user.jitter_ms(), Some(2.5));
        assert!((user.mean_delay_ms().unwrap() - 31.0 / 3.0).abs() < 1e-9);
        assert!((user.mean_wait_ms().unwrap() - 7.0 / 3.0).abs() < 1e-9);
        assert_eq!(user.longest_wait, Duration::from_millis(4));
        // However long they are.
        let mut user = UserMeter::default();
        (0..3).for_each(|_| user.arrived(Duration::MAX, Duration::MAX));
        assert_eq!(user.mean_delay_ms(), Some(Duration::MAX.as_millis_f64()));
    }
}
