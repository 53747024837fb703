//! The three mechanisms by name.

use super::params::check;
use super::{Differentiated, Measure, Mechanism, RioParams, WredParams, WrtParams};
use crate::Admit;
use forebay_core::config::require;
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Named, Packet, QueueId, Rate, Setting, Time,
};
use std::any::Any;

/// Weighted RED: every level is judged by the average of the whole queue.
pub struct Wred(Differentiated);

/// RED with in and out: level 0 is judged by the average of level-0 packets alone.
pub struct Rio(Differentiated);

/// WRED with thresholds: level 0 is treated as level 1 once its own average is too high.
pub struct Wrt(Differentiated);

impl Wred {
    /// WRED with these parameters.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &WredParams, setting: &Setting) -> Result<Self, ConfigError> {
        let checked = check(params)?;
        Ok(Wred(Differentiated::new(Mechanism::Wred, checked, params, setting)))
    }
}

impl Rio {
    /// RIO with these parameters.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &RioParams, setting: &Setting) -> Result<Self, ConfigError> {
        let params = WredParams::from(params);
        let checked = check(&params)?;
        Ok(Rio(Differentiated::new(Mechanism::Rio, checked, &params, setting)))
    }
}

impl Wrt {
    /// WRT with these parameters.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &WrtParams, setting: &Setting) -> Result<Self, ConfigError> {
        let (measure, threshold) = Measure::of(params.in_profile_th);
        let params = WredParams::from(params);
        let checked = check(&params)?;
        require(checked.curves.len() >= 2, "levels", || "must be 2 to 8 levels, got 1".into())?;
        require(threshold > 0.0, "in_profile_th", || "must be above 0, got \"0\"".into())?;
        require(measure == checked.measure, "in_profile_th", || {
            "must be in the unit of the levels: all in packets or all in bytes".into()
        })?;
        Ok(Wrt(Differentiated::new(Mechanism::Wrt(threshold), checked, &params, setting)))
    }
}

/// Registers a mechanism and hands its calls on.
macro_rules! mechanism {
    ($type:ident, $params:ty, $name:literal, $summary:literal, $source:literal) => {
        impl Named for $type {
            type Family = dyn Admit;
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const SOURCE: &'static str = $source;
            type Params = $params;

            fn build(params: &$params, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
                Ok(Box::new($type::new(params, setting)?))
            }
        }

        impl Admit for $type {
            fn bank(&self, queues: usize) -> Bank {
                self.0.bank(queues)
            }
            #[inline]
            fn arrive(
                &mut self,
                queue: QueueId,
                packet: &mut Packet,
                bank: &mut Bank,
                cx: &mut Context,
            ) -> Result<(), DropReason> {
                self.0.arrive(queue, packet, bank, cx)
            }
            #[inline]
            fn depart(
                &mut self,
                queue: QueueId,
                bank: &mut Bank,
                cx: &mut Context,
            ) -> Option<Packet> {
                self.0.depart(queue, bank, cx)
            }
            fn set_link_rate(&mut self, now: Time, rate: Rate) {
                self.0.set_link_rate(now, rate);
            }
            fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
                let fresh = fresh.downcast_mut::<Self>();
                fresh.is_some_and(|fresh| self.0.retune(now, &mut fresh.0))
            }
            fn probe(&self, now: Time, bank: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
                self.0.probe(now, bank, out);
            }
        }
    };
}

mechanism!(
    Wred,
    WredParams,
    "wred",
    "RED with a curve for each drop precedence",
    "Bodin and Schelén, section 2"
);
mechanism!(
    Rio,
    RioParams,
    "rio",
    "WRED that judges in-profile packets by their own average",
    "Clark and Fang 1998; Bodin and Schelén, section 2.1"
);
mechanism!(
    Wrt,
    WrtParams,
    "wrt",
    "WRED that treats too much in-profile traffic as out of profile",
    "Bodin, Schelén and Pink 2000; Bodin and Schelén, section 2.1"
);
