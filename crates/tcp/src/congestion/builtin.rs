//! The congestion controls of this crate.

use super::{
    Agent, Bbr, Bbr3, CongestionController, Cubic, Cubic2008, Dctcp, Ledbat, LinuxReno, NewReno,
    Prague, Rfc2581,
};
use forebay_core::Registry;

/// The congestion controls of this crate, one line for each.
pub fn builtin() -> Registry<dyn CongestionController> {
    Registry::default()
        .with::<Agent>()
        .with::<Bbr>()
        .with::<Bbr3>()
        .with::<Cubic>()
        .with::<Cubic2008>()
        .with::<Dctcp>()
        .with::<Ledbat>()
        .with::<LinuxReno>()
        .with::<NewReno>()
        .with::<Prague>()
        .with::<Rfc2581>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectionParams;
    use crate::congestion::{CongestionControl, Needs};
    use schemars::SchemaGenerator;
    use serde_json::{Map, Value};

    #[test]
    fn every_control_explains_itself() {
        for entry in &builtin() {
            assert!(!entry.summary.is_empty() && !entry.source.is_empty(), "{}", entry.name);
            let schema = entry.schema(&mut SchemaGenerator::default());
            let properties = schema.get("properties").and_then(Value::as_object);
            for (field, form) in properties.into_iter().flatten() {
                let described = form.get("description").is_some_and(|text| !text.is_null());
                assert!(described, "{}.{field} has no doc comment", entry.name);
            }
        }
    }

    #[test]
    fn what_a_control_needs_is_asked_for() {
        for entry in &builtin() {
            let control = CongestionControl::choose(&builtin(), &entry.name, &Map::new()).unwrap();
            let bare = ConnectionParams::default();
            let refused = control.check(&bare).err().map(|error| error.path);
            let wanted = (entry.facts.needs != Needs::Nothing).then(|| "congestion".to_owned());
            assert_eq!(refused, wanted, "{}", entry.name);
            let all = ConnectionParams { timestamps: true, ecn: true, accurate_ecn: true, ..bare };
            control.check(&all).unwrap();
            assert!(control.start(&all).heap() > 0);
        }
    }
}
