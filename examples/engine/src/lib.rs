//! `small_first`: the engine of the Python package with one more part, the classifier `size`.
//!
//! Parts of every family can be added in this way. Plug-ins cannot contain classifiers, schedulers,
//! markers, boxes, or sources and congestion controls in Rust. Disciplines can be added without the C
//! interface.

use forebay_core::config::require;
use forebay_core::{Bank, ConfigError, Context, Named, Packet, QueueId, Setting, params};
use forebay_disciplines::Classify;
use forebay_sim::Registry;
use pyo3::prelude::*;

params! {
    /// Parameters of `size`.
    pub struct SizeParams {
        /// Longest small packet, in bytes of IP; above 0.
        pub small: u32 = 256,
    }
}

/// Small packets in a queue of their own, the higher one.
pub struct Size {
    small: u32,
}

impl Named for Size {
    type Family = dyn Classify;
    const NAME: &'static str = "size";
    const SUMMARY: &'static str = "small packets in a queue of their own";
    const SOURCE: &'static str = "an example of forebay's";
    type Params = SizeParams;

    fn build(params: &SizeParams, _: &Setting) -> Result<Box<dyn Classify>, ConfigError> {
        require(params.small > 0, "small", || "must be above 0, got 0".into())?;
        Ok(Box::new(Size { small: params.small }))
    }
}

impl Classify for Size {
    fn queues(&self) -> usize {
        2
    }

    fn classify(&mut self, packet: &Packet, _: &Bank, _: &mut Context) -> QueueId {
        usize::from(packet.len <= self.small)
    }
}

#[pymodule]
fn small_first(module: &Bound<'_, PyModule>) -> PyResult<()> {
    forebay_binding::engine(module, Registry::builtin().with::<Size>())
}
