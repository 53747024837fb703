//! `codel`, `gsp`, `pie`, `red`, `rio`, `wred`, `wrt`: one queue under that algorithm, first in,
//! first out. Names, parameters and sources are those of the admission rules.

use crate::classify::One;
use crate::registry::Named;
use crate::{Admit, Composed, admit, schedule};
use forebay_core::{ConfigError, Discipline, Setting};

/// The kind that is one queue under the admission rule of the same name.
macro_rules! single_queue {
    ($($(#[$doc:meta])+ $kind:ident),+ $(,)?) => {$(
        $(#[$doc])+
        pub struct $kind;

        impl Named<dyn Discipline> for $kind {
            const NAME: &'static str = <admit::$kind as Named<dyn Admit>>::NAME;
            const SUMMARY: &'static str = <admit::$kind as Named<dyn Admit>>::SUMMARY;
            const SOURCE: &'static str = <admit::$kind as Named<dyn Admit>>::SOURCE;
            type Params = <admit::$kind as Named<dyn Admit>>::Params;

            fn resolve(params: &mut Self::Params, setting: &Setting) {
                <admit::$kind as Named<dyn Admit>>::resolve(params, setting);
            }

            fn build(
                params: &Self::Params,
                setting: &Setting,
            ) -> Result<Box<dyn Discipline>, ConfigError> {
                let inner = Setting { queues: 1, ..*setting };
                let rule = admit::$kind::new(params, &inner)?;
                Ok(Box::new(Composed::new(One, rule, schedule::Fifo)))
            }
        }
    )+};
}

single_queue! {
    /// One queue under CoDel.
    Codel,
    /// One queue under GSP.
    Gsp,
    /// One queue under PIE.
    Pie,
    /// One queue under RED.
    Red,
    /// One queue under RIO.
    Rio,
    /// One queue under WRED.
    Wred,
    /// One queue under WRT.
    Wrt,
}
