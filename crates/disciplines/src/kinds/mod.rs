//! Named kinds: combinations with defaults. Each admission rule also gives a kind of the same name,
//! with one queue, which needs no file here.

mod cake;
mod cake_mq;
mod choice;
mod cq_aqm;
mod drr;
mod dualpi2;
mod fifo;
mod fq_codel;
mod fq_pie;
mod htb;
mod ncq;
mod nqb;
mod prio;
mod wrr;

pub use cake::{AckFilter, Cake, CakeParams, Diffserv, Framing, Isolation};
pub use cake_mq::{CakeMq, CakeMqParams, SharingParams};
pub use choice::{ClassesParams, ServerParams, ServiceParams, SorterParams};
pub use cq_aqm::{CqAqm, CqAqmParams};
pub use drr::{Drr, DrrParams};
pub use dualpi2::{DualPi2, DualPi2Params, StepAndShareParams};
pub use fifo::Fifo;
pub use fq_codel::{FqCodel, FqCodelParams};
pub use fq_pie::{FqPie, FqPieParams};
pub use htb::{Account, Htb, HtbClassParams, HtbParams, same_shape, share};
pub use ncq::{Ncq, NcqParams};
pub use nqb::{Nqb, NqbParams, RoomsParams};
pub use prio::{Prio, PrioParams};
pub use wrr::{Wrr, WrrParams};
