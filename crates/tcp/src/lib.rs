//! TCP without I/O: sender, receiver, recovery, congestion control.
//!
//! A [`Sender`] and a [`Receiver`] exchange [`Segment`]s. The caller has the clock and the network,
//! and carries the segments. Neither end stores payload, reads a clock or has a timer of its own.
//!
//! ```
//! use forebay_core::{Duration, Time};
//! use forebay_tcp::{Config, Receiver, Sender, State};
//!
//! let config = Config::default();
//! let mut now = Time::ZERO;
//! let mut sender = Sender::new(&config, now);
//! let mut receiver = Receiver::new(&config);
//! sender.write(100_000);
//! sender.close();
//! while sender.state() != State::Done {
//!     let mut acks = Vec::new();
//!     while let Some(segment) = sender.poll(now) {
//!         acks.extend(receiver.on_segment(now, &segment, segment.ecn()));
//!     }
//!     if acks.is_empty() {
//!         // Nothing in flight: the next thing to happen is a deadline.
//!         let wake = [sender.deadline(), receiver.deadline()].into_iter().flatten().min();
//!         now = wake.expect("a deadline exists while data are outstanding");
//!         acks.extend(receiver.on_deadline(now));
//!         sender.on_deadline(now);
//!     } else {
//!         now += Duration::from_millis(10);
//!     }
//!     acks.iter().for_each(|ack| sender.on_segment(now, ack, ack.ecn()));
//! }
//! assert_eq!(receiver.delivered(), 100_000);
//! assert!(receiver.finished());
//! ```
//!
//! # Parts
//! - Loss detection and recovery: RFC 5681, 6582, 6675, 3042, 6937, with the retransmission timer
//!   of RFC 6298.
//! - Congestion control behind [`congestion::CongestionController`]: RFC 5681 and CUBIC (RFC
//!   9438), with HyStart++ (RFC 9406) for either, LEDBAT (RFC 6817), DCTCP (RFC 8257), Prague and BBR.
//! - Flow control, window probes and delayed acknowledgments: RFC 9293.
//! - Linux 2.6.18, 2.6.26 and 6.1 by their own rules, if [`Config::stack`] asks for them: they send
//!   what the kernels send, packet by packet.
//! - ECN (RFC 3168) and accurate feedback of it (AccECN, RFC 9768), timestamps (RFC 7323),
//!   selective acknowledgments (RFC 2018).
//! - Historical senders, rule by rule as in their sources ([`Stack`]): ns-2.35's Reno, Newreno and
//!   Sack1, and ns-3.18's New Reno. Scripts made from packet traces of these programs check them
//!   (`tests/scripts/ns-2`, `tests/scripts/ns-3.18`).
//!
//! # Deviations
//! - D1. Sequence numbers are 64-bit offsets that never wrap, so there is no PAWS (RFC 7323,
//!   section 5).
//! - D2. Data flow one way. The receiver's own FIN is not modelled: the sender is done when its FIN
//!   is acknowledged.
//! - D3. The SYN-ACK has no timer. If it is lost, the SYN's timer repeats it after the same time.
//! - D4. At most three SACK blocks, as with timestamps on the wire, and D-SACK (RFC 2883) from
//!   Linux's receivers and those with AccECN alone.
//! - D5. SACKed ranges survive a timeout unless the receiver has visibly taken them back (RFC
//!   6675, section 5.1, allows both).
//! - D6. An ECN echo reduces cwnd to no less than two segments, as Linux does; RFC 3168, section
//!   6.1.2, goes down to one and then waits for the retransmission timer.
//! - D7. The RTO is bounded as in RFC 6298, max(SRTT + 4 RTTVAR, minimum); Linux bounds the
//!   variation instead, which gives SRTT + 200 ms or more.
//! - D8. Windows grow only while they limit the sender (RFC 7661, section 4.3; RFC 9438, section
//!   4.2), in every preset except those of historical senders.
//! - D9. Linux's stacks: the timer wheel of 6.1 begins at time 0. Receivers do not merge segments
//!   (GRO), as where each interrupt brings one packet. Nagle's algorithm holds back no segment that
//!   would leave alone.
//! - D10. ns-2's clock begins a tick at time 0 (its `boot_time_` is random). A SYN is timed by this
//!   crate's own estimator. ns-3.18 sends a separate ACK to end the handshake; here the first data
//!   do this.

mod accecn;
mod chosen;
mod config;
pub mod congestion;
mod connection;
mod pace;
mod params;
mod presets;
mod ranges;
mod receiver;
mod segment;
mod sender;
pub mod stacks;
mod state;
mod window;

pub use accecn::Feedback;
pub use chosen::Chosen;
pub use config::Config;
pub use congestion::{CongestionControl, LedbatParams};
pub use params::{ConnectionParams, LossRecovery};
pub use receiver::Receiver;
pub use segment::{AccEcnOption, Flags, OptionTail, SackBlock, Segment};
pub use sender::Sender;
pub use stacks::Stack;
pub use state::{Info, SenderStats, State};
pub use window::ReceiveWindow;
