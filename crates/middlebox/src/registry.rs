//! Boxes by name.

use crate::Middlebox;
use crate::aspq::{Controller, Freeze, Params};
use forebay_core::{ConfigError, Family, Named, Registry, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A built box; None for the kind "none".
impl Family for dyn Middlebox {
    const WHAT: &'static str = "box";
    type Facts = ();
    const USUAL: () = ();
    /// The link in front of which the box is; None if packets pass unqueued there.
    type Site<'a> = Option<Setting>;
    type Built = Option<Box<dyn Middlebox>>;
}

impl Named for Controller {
    type Family = dyn Middlebox;
    const NAME: &'static str = "aspq";
    const SUMMARY: &'static str =
        "freezes low-priority TCP senders while there is high-priority traffic";
    const SOURCE: &'static str = "Rahimi and Pournaghshband, ASPQ, section III-B";
    type Params = Params;

    fn resolve(params: &mut Params, link: &Option<Setting>) {
        if params.freeze != Freeze::Always {
            params.rate = params.rate.or(link.map(|link| link.rate));
        }
    }

    fn build(
        params: &Params,
        link: &Option<Setting>,
    ) -> Result<Option<Box<dyn Middlebox>>, ConfigError> {
        let overhead = link.map_or(0, |link| link.overhead);
        Ok(Some(Box::new(Controller::new(params)?.with_overhead(overhead))))
    }
}

/// No box.
struct Absent;

/// `none` has no parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AbsentParams {}

impl Named for Absent {
    type Family = dyn Middlebox;
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "as if there were no box, for studies";
    const SOURCE: &'static str = "none";
    type Params = AbsentParams;

    fn build(
        _: &AbsentParams,
        _: &Option<Setting>,
    ) -> Result<Option<Box<dyn Middlebox>>, ConfigError> {
        Ok(None)
    }
}

/// The boxes of this crate, one line for each.
pub fn builtin() -> Registry<dyn Middlebox> {
    Registry::default().with::<Controller>().with::<Absent>()
}
