//! Classic protection: higher queues come first, but queue 0 has a share of the link while both
//! wait.
//!
//! A credit in bytes decides. Bytes that a higher queue sends while queue 0 waits
//! raise it by `share`; bytes that queue 0 sends while another waits lower it by the rest. If it is
//! above zero, queue 0 is served. So a low-latency queue that stays short is served at once, and
//! one that does not cannot starve the classic queue.
//!
//! Source: RFC 9332, sections 2.5.1.1 and 4.1.1 (a conditional priority scheduler with a small weight
//! for the classic queue); Linux 6.17, `sch_dualpi2.c`, for the credit and its default.
//!
//! | Linux | here |
//! |---|---|
//! | classic_protection (wc, in %) | `share` |
//! | c_protection_credit | `credit` |
//!
//! Deviations: D1. The credit starts again, at 2 `share` - 1 packets of the largest size, when the
//! last packet leaves; in Linux when the link asks and nothing waits. D2. If there are more than
//! two queues, the highest one that holds packets competes with queue 0.
//!
//! Cost: one multiplication and one addition per packet.

use crate::Schedule;
use crate::classify::CLASSIC;
use crate::retune::retuned;
use forebay_core::config::within;
use forebay_core::{Bank, ConfigError, Named, QueueId, Setting, Time, params};
use std::any::Any;

/// Priority for higher queues, and a share for queue 0.
pub struct ClassicProtection {
    /// Its share, in millionths.
    share: i64,
    /// Millionths of bytes that queue 0 may still send, if above zero.
    credit: i64,
    start: i64,
}

/// The whole link, in millionths.
const WHOLE: i64 = 1_000_000;

params! {
    /// Parameters of `classic-protection`.
    pub struct ClassicProtectionParams {
        /// Share of the link that queue 0 has while others wait, 0 to 1. Default 0.1.
        pub share: f64 = 0.1,
    }
}

impl ClassicProtection {
    /// The scheduler with this share.
    ///
    /// # Errors
    /// A share below 0 or above 1, as that of the field `path`.
    pub fn new(share: f64, path: &str, setting: &Setting) -> Result<Self, ConfigError> {
        within(path, share, 0.0..=1.0)?;
        let share = (share * WHOLE as f64).round() as i64;
        let start = i64::from(setting.mtu) * (2 * share - WHOLE);
        Ok(ClassicProtection { share, credit: start, start })
    }
}

impl Named for ClassicProtection {
    type Family = dyn Schedule;
    const NAME: &'static str = "classic-protection";
    const SUMMARY: &'static str = "higher queues first, but queue 0 keeps a share";
    const SOURCE: &'static str = "RFC 9332, section 4.1.1; Linux 6.17, sch_dualpi2.c";
    type Params = ClassicProtectionParams;

    fn build(
        params: &ClassicProtectionParams,
        setting: &Setting,
    ) -> Result<Box<dyn Schedule>, ConfigError> {
        Ok(Box::new(ClassicProtection::new(params.share, "share", setting)?))
    }
}

impl Schedule for ClassicProtection {
    #[inline]
    fn next(&mut self, bank: &Bank) -> Option<QueueId> {
        let highest = (1..bank.queues()).rev().find(|queue| bank.packets(*queue) > 0);
        let classic = bank.packets(CLASSIC) > 0;
        if classic && (highest.is_none() || self.credit > 0) { Some(CLASSIC) } else { highest }
    }

    #[inline]
    fn served(&mut self, queue: QueueId, len: u32, bank: &Bank) {
        let (held, classic) = (bank.total().packets, bank.packets(CLASSIC));
        let len = i64::from(len);
        if held == 0 {
            self.credit = self.start;
        } else if queue == CLASSIC && held > classic {
            self.credit -= (WHOLE - self.share) * len;
        } else if queue != CLASSIC && classic > 0 {
            self.credit += self.share * len;
        }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        retuned(self, fresh, |own| &mut own.credit)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Rig, ms};
    use forebay_core::Ecn;
    use serde_json::json;

    /// Whether each of `count` departures is of the classic queue, both queues being long.
    fn classic(share: f64, count: usize) -> Vec<bool> {
        let mut rig = Rig::new(json!({
            "classify": { "kind": "low-latency" },
            "admit": { "kind": "tail-drop" },
            "schedule": { "kind": "classic-protection", "share": share },
        }));
        for turn in 0..2 * count as u32 {
            let ecn = if turn.is_multiple_of(2) { Ecn::NotEct } else { Ecn::Ect1 };
            rig.offer(ms(0), |packet| (packet.len, _) = (1500, packet.set_ecn(ecn)));
        }
        (0..count).map(|_| rig.take(ms(0)).unwrap().is_multiple_of(2)).collect()
    }

    #[test]
    fn the_credit_is_linux_s() {
        // It begins at -0.8 packets; each low-latency packet adds 0.1: the ninth makes it 0.1, above
        // zero. Then a classic one takes 0.9.
        let first = classic(0.1, 40).iter().position(|classic| *classic);
        assert_eq!(first, Some(9));
        let share = |share| classic(share, 400).iter().filter(|classic| **classic).count();
        assert_eq!([0.0, 0.1, 0.25, 0.5].map(share), [0, 40, 100, 200]);
    }
}
