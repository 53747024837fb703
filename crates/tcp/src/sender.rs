//! The sending side.

mod view;

use crate::accecn::Feedback;
use crate::connection::{Connection, FOREVER, Site, Timer};
use crate::stacks::{AnyLaw, Law};
use crate::{Config, Flags, Segment, State};
use forebay_core::{Ecn, Time};

/// The sending side of a connection.
///
/// After each call of [`Sender::on_segment`] (a segment arrives), [`Sender::on_deadline`] (its
/// [`Sender::deadline`] has come), [`Sender::write`] and [`Sender::close`], call [`Sender::poll`]
/// until it returns None.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    connection: Connection,
    law: AnyLaw,
}

impl Sender {
    /// A sender that opens its connection at `now`, with the first [`Sender::poll`]. `config` must
    /// be valid ([`Config::validate`]).
    pub fn new(config: &Config, now: Time) -> Self {
        let Config { connection, congestion, stack } = config;
        let (law, connection) = AnyLaw::new(stack, &Site { connection, congestion, now });
        Sender { connection, law }
    }

    /// Takes over the parameters of the control of `config`, which must be of the same kind, and
    /// keeps its state. Returns false, and changes nothing, if it cannot. Call [`Sender::poll`]
    /// afterwards.
    pub fn retune(&mut self, config: &Config) -> bool {
        match &mut self.law {
            AnyLaw::Standard(law) => law.retune(&config.congestion, &config.connection),
            AnyLaw::Other(_) => false,
        }
    }

    /// Adds `bytes` to the stream.
    ///
    /// # Panics
    /// In debug builds, after [`Sender::close`].
    pub fn write(&mut self, bytes: u64) {
        let connection = &mut self.connection;
        debug_assert!(!connection.closed, "nothing can be written after close");
        self.law.get_mut().on_write(connection.end.saturating_sub(connection.next));
        connection.end = connection.end.saturating_add(bytes).min(FOREVER);
    }

    /// Makes the stream endless.
    pub fn write_forever(&mut self) {
        self.write(FOREVER);
    }

    /// Whether the stream has no end.
    pub fn is_endless(&self) -> bool {
        self.connection.end == FOREVER
    }

    /// Ends the stream: a FIN follows the last byte written.
    pub fn close(&mut self) {
        self.connection.closed = true;
        if self.connection.state == State::Established {
            self.connection.state = State::Closing;
        }
    }

    /// Ends the stream after what has been sent: the application is gone, and with it the rest.
    pub fn cut(&mut self) {
        let Connection { next, end, probed, .. } = &mut self.connection;
        // A FIN that is out says where the end is; a probe may have brought an octet more.
        if *next <= *end {
            *end = (*next + u64::from(*probed)).clamp(1, (*end).max(1));
        }
        self.close();
    }

    /// Takes an arriving segment, whose packet had the codepoint `ecn`.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let Sender { connection, law } = self;
        match connection.state {
            State::Done | State::Aborted => return,
            State::SynSent => {
                if let Some(opened) = connection.on_syn_ack(now, segment, ecn) {
                    law.get_mut().open(connection, &opened);
                }
                return;
            }
            State::Established | State::Closing => {}
        }
        let Some(offered) = connection.admit(segment, ecn) else { return };
        match law {
            AnyLaw::Standard(law) => law.on_ack(connection, now, segment, offered),
            AnyLaw::Other(law) => law.on_ack(connection, now, segment, offered),
        }
        if connection.closed && connection.una > connection.end {
            connection.finish(State::Done);
        }
    }

    /// The next segment to send now. Call it until it returns None.
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        self.poll_into(now, &mut segment).then_some(segment)
    }

    /// The same, written into `segment`. Returns false if there is none.
    #[inline]
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        match self.connection.state {
            State::Established | State::Closing if !self.connection.handshake_due => {}
            State::Established | State::Closing | State::SynSent
                if self.connection.handshake_due =>
            {
                if self.poll_handshake(now, segment) {
                    return true;
                }
            }
            _ => return false,
        }
        let Sender { connection, law } = self;
        let sent = match law {
            AnyLaw::Standard(law) => law.poll(connection, now, segment),
            AnyLaw::Other(law) => law.poll(connection, now, segment),
        };
        if sent {
            return true;
        }
        if connection.probe_due || connection.handshake_due {
            connection.send_bare(now, segment);
            law.get_mut().on_sent(connection, now, segment);
            return true;
        }
        if connection.timer == Timer::Off
            && connection.una == connection.next
            && connection.next < connection.end
            && (connection.plain || law.get().pace_deadline() == Time::MAX)
        {
            // Nothing in flight, data waiting, and the receiver has no room for it.
            connection.set_timer(Timer::Persist, now + law.get().info(connection).rto);
        }
        false
    }

    /// Sends the handshake's part that must precede data. Returns false if there is none.
    #[cold]
    fn poll_handshake(&mut self, now: Time, segment: &mut Segment) -> bool {
        let Sender { connection, law } = self;
        if connection.state == State::SynSent {
            let deadline = law.get().syn_deadline(now, connection.retries.min(32) as u8);
            connection.send_syn(now, deadline, segment);
            return true;
        }
        let first = connection.acknowledges_first();
        if first {
            connection.emit(now, connection.next, 0, Flags::ACK, segment);
        }
        first
    }

    /// When to call [`Sender::on_deadline`], unless a segment arrives before.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        let mut deadline = self.connection.deadline;
        if !self.connection.plain && !matches!(self.connection.state, State::Done | State::Aborted)
        {
            deadline = deadline.min(self.law.get().pace_deadline());
        }
        (deadline != Time::MAX).then_some(deadline)
    }

    /// The deadline has come. A call that is too early has no effect.
    pub fn on_deadline(&mut self, now: Time) {
        let Sender { connection, law } = self;
        if now < connection.deadline {
            return law.get_mut().on_pace();
        }
        if connection.timer == Timer::Retransmission && connection.state != State::SynSent {
            return law.get_mut().on_deadline(connection, now);
        }
        if !connection.try_again() {
            return;
        }
        match connection.timer {
            Timer::Off => {}
            Timer::Persist => {
                connection.probe_due = true;
                connection.persist_backoff = connection.persist_backoff.saturating_add(1);
                let after = law.get().backed_off(connection.persist_backoff);
                connection.set_timer(Timer::Persist, now + after);
            }
            Timer::Retransmission => {
                connection.stats.timeouts += 1;
                connection.handshake_due = true;
                let deadline = law.get().syn_deadline(now, connection.retries.min(32) as u8);
                connection.set_timer(Timer::Retransmission, deadline);
            }
        }
    }
}
