//! `my-codel`: CoDel (RFC 8289, section 5) as a plug-in.
//!
//! An admission rule becomes a kind with one queue, first in, first out. The last line makes this
//! crate a plug-in.

use forebay_plugin::{
    Admit, Bank, ConfigError, Context, DropReason, Duration, Limit, Named, Packet, QueueId,
    Setting, Time, params, require,
};

params! {
    /// Parameters of CoDel.
    pub struct CodelParams {
        /// Room in the queue, in packets ("1000p") or bytes ("1.5MB"). Above 0.
        pub limit: Limit = Limit::Packets(1000),
        /// Acceptable standing delay; above 0, below `interval`. Default 5ms (section 4.4).
        pub target: Duration = Duration::from_millis(5),
        /// Time for which the delay must stay above the target before the first drop. Default 100ms
        /// (section 4.3).
        pub interval: Duration = Duration::from_millis(100),
    }
}

/// Variables of one queue, by their names in the RFC.
#[derive(Clone, Default)]
struct State {
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

/// Controlled delay.
pub struct Codel {
    params: CodelParams,
    max_packet: u64,
    states: Vec<State>,
}

impl Named for Codel {
    type Family = dyn Admit;
    const NAME: &'static str = "my-codel";
    const SUMMARY: &'static str = "CoDel, from a plug-in";
    const SOURCE: &'static str = "RFC 8289, section 5";
    type Params = CodelParams;

    fn build(params: &CodelParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        let CodelParams { limit, target, interval } = params;
        require(!limit.is_zero(), "limit", || "must be above 0, got \"0\"".into())?;
        require(*target > Duration::ZERO && target < interval, "target", || {
            format!("must be above 0 and below the interval, got \"{target}\"")
        })?;
        Ok(Box::new(Codel {
            params: params.clone(),
            max_packet: setting.mtu.into(),
            states: vec![State::default(); setting.queues],
        }))
    }
}

impl Codel {
    /// control_law.
    fn control(&self, time: Time, count: u32) -> Time {
        let span = self.params.interval.as_nanos() as f64 / f64::from(count).sqrt();
        time + Duration::from_nanos(span as u64)
    }

    /// dodequeue: the next packet, and whether it may be dropped.
    #[inline(always)]
    fn next(&mut self, queue: QueueId, bank: &mut Bank, now: Time) -> Option<(Packet, bool)> {
        let state = &mut self.states[queue];
        let packet = bank.pop(queue);
        let below = packet.as_ref().is_none_or(|packet| {
            now.since(packet.queued) < self.params.target || bank.bytes(queue) <= self.max_packet
        });
        if below {
            state.first_above_time = None;
            return packet.map(|packet| (packet, false));
        }
        let due = match state.first_above_time {
            None => {
                state.first_above_time = Some(now + self.params.interval);
                false
            }
            Some(time) => now >= time,
        };
        packet.map(|packet| (packet, due))
    }
}

impl Admit for Codel {
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        _: &mut Context,
    ) -> Result<(), DropReason> {
        if self.params.limit.admits(bank.packets(queue), bank.bytes(queue), packet.len) {
            Ok(())
        } else {
            Err(DropReason::Overflow)
        }
    }

    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        let now = cx.now;
        let Some((mut packet, due)) = self.next(queue, bank, now) else {
            self.states[queue].dropping = false;
            return None;
        };
        if self.states[queue].dropping {
            self.states[queue].dropping = due;
            while self.states[queue].dropping && now >= self.states[queue].drop_next {
                cx.drop(packet, DropReason::Aqm);
                self.states[queue].count += 1;
                let following = self.next(queue, bank, now);
                let dropping = following.as_ref().is_some_and(|(_, due)| *due);
                self.states[queue].dropping = dropping;
                if dropping {
                    let State { drop_next, count, .. } = self.states[queue];
                    self.states[queue].drop_next = self.control(drop_next, count);
                }
                (packet, _) = following?;
            }
        } else if due {
            cx.drop(packet, DropReason::Aqm);
            let following = self.next(queue, bank, now);
            let State { drop_next, count, lastcount, .. } = self.states[queue];
            let recent = now.since(drop_next) < self.params.interval.saturating_mul(16);
            let count = if count - lastcount > 1 && recent { count - lastcount } else { 1 };
            let drop_next = self.control(now, count);
            let state = &mut self.states[queue];
            *state = State { drop_next, count, lastcount: count, dropping: true, ..*state };
            return following.map(|(packet, _)| packet);
        }
        Some(packet)
    }

    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.states.iter().map(|state| state.count).max().unwrap_or(0)));
    }
}

forebay_plugin::plugin!(Codel);
