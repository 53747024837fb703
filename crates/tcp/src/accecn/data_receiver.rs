//! The receiver of data: its counters of marks, and the times at which it reports them.

use super::{FIRST_BYTES, FIRST_CEP, handshake_ace};
use super::{is_valid_transition, told_in_handshake};
use crate::segment::{AccEcnOption, DIVOPT};
use crate::{Flags, Segment};
use forebay_core::Ecn;

/// The feedback that a SYN requests (sections 3.1.2, 3.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Nothing,
    Classic,
    Accurate,
}

impl Asked {
    pub(crate) fn by(syn: &Segment) -> Self {
        match syn.flags.ace() {
            0b000 => Asked::Nothing,
            0b011 => Asked::Classic,
            // Values that are not defined yet count as 0b111 (section 3.1.3).
            _ => Asked::Accurate,
        }
    }
}

/// Counters of a data receiver in AccECN mode (section 3.2).
#[derive(Debug, Default)]
pub(crate) struct DataReceiver {
    /// r.cep
    cep: u64,
    /// r.e0b, r.ceb and r.e1b, modulo 2^24.
    bytes: [u32; 3],
    /// The byte counters that have ever changed.
    changed: [bool; 3],
    /// Whether a byte counter has changed since the last acknowledgment.
    news: bool,
    /// Marked packets since the last acknowledgment.
    marks: u8,
    /// How the last packet arrived.
    last: Option<Ecn>,
    /// Whether every change of the codepoint is told at once, and nothing else, as Linux does
    /// (`tcp_ecn_received_counters`).
    tells_changes: bool,
    syn_acks: u8,
    /// Whether the handshake is over (SYN-RCVD is left).
    pub(crate) open: bool,
    /// Data that arrived a second time, to be reported with the next acknowledgment (RFC 2883, as
    /// section 3.1.1 asks).
    pub(crate) duplicate: Option<(u64, u64)>,
}

impl DataReceiver {
    /// Number of marks after which an acknowledgment is sent at once: while data wait for one, and
    /// while none do (section 3.2.2.5.1).
    const WITH_DATA: u8 = 2;
    const WITHOUT_DATA: u8 = 3;

    pub(crate) fn new(tells_changes: bool) -> Self {
        DataReceiver {
            tells_changes,
            cep: FIRST_CEP,
            bytes: [FIRST_BYTES, 0, FIRST_BYTES],
            ..DataReceiver::default()
        }
    }

    /// The flags and the option of the SYN-ACK that answers a SYN which arrived as `came`. Only the
    /// first SYN-ACK has the option, and from the third on there are no flags (section 3.2.3.2.2).
    pub(crate) fn syn_ack(&mut self, came: Ecn) -> (Flags, Option<AccEcnOption>) {
        self.syn_acks = self.syn_acks.saturating_add(1);
        self.last = Some(came);
        let ace = if self.syn_acks > 2 { 0 } else { handshake_ace(came) };
        let option = (self.syn_acks == 1).then(|| self.option(1, 3));
        (Flags::NONE.with_ace(ace), option)
    }

    /// A segment without SYN arrived after a SYN-ACK that was sent as `sent`. Returns whether
    /// packets may be ECN-capable from now on (tables 3 and 4).
    pub(crate) fn lets_ect(&mut self, segment: &Segment, sent: Ecn) -> bool {
        let first = !std::mem::replace(&mut self.open, true);
        let pure = segment.len == 0 && segment.sack_count == 0 && !segment.flags.has(Flags::FIN);
        if !first || !pure {
            return true;
        }
        let ace = segment.flags.ace();
        ace != 0 && told_in_handshake(ace).is_none_or(|came| is_valid_transition(sent, came))
    }

    /// An acceptable packet with `len` bytes of payload arrived as `came`. `waits` says whether
    /// data, including its own, wait for their acknowledgment. Returns whether it must be
    /// acknowledged at once (section 3.2.2.5.1, or Linux's rule).
    pub(crate) fn on_packet(&mut self, came: Ecn, len: u32, waits: bool) -> bool {
        let marked = came == Ecn::Ce;
        let before = self.last.replace(came);
        self.cep += u64::from(marked);
        self.marks = self.marks.saturating_add(u8::from(marked));
        let place = match came {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(0),
            Ecn::Ce => Some(1),
            Ecn::Ect1 => Some(2),
        };
        if let Some(place) = place.filter(|_| len > 0) {
            self.bytes[place] = self.bytes[place].wrapping_add(len) % DIVOPT;
            self.changed[place] = true;
            self.news = true;
        }
        if self.tells_changes {
            return len > 0 && before.is_some_and(|before| before != came);
        }
        let changed = marked && before != Some(Ecn::Ce) && len > 0;
        let most = if waits { Self::WITH_DATA } else { Self::WITHOUT_DATA };
        changed || (marked && self.marks >= most)
    }

    /// Completes an acknowledgment: adds the ACE field (section 3.2.2), and, if a counter has
    /// changed since the last one, the option with every counter that has ever changed (section
    /// 3.2.3.3).
    pub(crate) fn complete(&mut self, ack: &mut Segment) {
        self.marks = 0;
        ack.flags = ack.flags.with_ace((self.cep % 8) as u8);
        if std::mem::take(&mut self.news) {
            let [e0b, ceb, e1b] = self.changed;
            let fields = match (e0b && e1b, ceb) {
                (true, _) => 3,
                (false, true) => 2,
                (false, false) => 1,
            };
            ack.set_accecn(self.option(u8::from(e1b), fields));
        }
    }

    fn option(&self, order: u8, fields: u8) -> AccEcnOption {
        let [e0b, ceb, e1b] = self.bytes;
        AccEcnOption { e0b, ceb, e1b, order, fields }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syns_ask_by_their_flags() {
        let syn =
            |ace| Asked::by(&Segment { flags: Flags::SYN.with_ace(ace), ..Segment::default() });
        assert_eq!([0b000, 0b011].map(syn), [Asked::Nothing, Asked::Classic]);
        for ace in [0b001, 0b010, 0b100, 0b101, 0b110, 0b111] {
            assert_eq!(syn(ace), Asked::Accurate);
        }
    }

    #[test]
    fn the_first_mark_and_every_second_are_told_at_once() {
        let mut receiver = DataReceiver::new(false);
        let mut ack = Segment { flags: Flags::ACK, ..Segment::default() };
        assert!(!receiver.on_packet(Ecn::Ect1, 1000, true));
        assert!(receiver.on_packet(Ecn::Ce, 1000, true));
        receiver.complete(&mut ack);
        assert_eq!(ack.flags.ace(), 6);
        let option = AccEcnOption { e0b: 1, ceb: 1000, e1b: 1001, order: 1, fields: 2 };
        assert_eq!(ack.accecn(), Some(option));
        // The second mark after it is acknowledged at once, not the first, and not the end of marks.
        assert!(!receiver.on_packet(Ecn::Ce, 1000, true));
        assert!(receiver.on_packet(Ecn::Ce, 1000, true));
        receiver.complete(&mut ack);
        assert_eq!(ack.flags.ace(), 0);
        assert!(!receiver.on_packet(Ecn::Ect1, 1000, true));
        // Without payload, the third mark is.
        assert!(!receiver.on_packet(Ecn::Ce, 0, false));
        assert!(!receiver.on_packet(Ecn::Ce, 0, false));
        assert!(receiver.on_packet(Ecn::Ce, 0, false));
    }

    #[test]
    fn linux_tells_every_change_at_once_and_no_second_mark() {
        let mut receiver = DataReceiver::new(true);
        let came = [Ecn::Ect1, Ecn::Ect1, Ecn::Ce, Ecn::Ce, Ecn::Ce, Ecn::Ect1, Ecn::Ect1];
        let at_once = came.map(|came| receiver.on_packet(came, 1000, true));
        assert_eq!(at_once, [false, false, true, false, false, true, false]);
        // Without payload nothing is.
        assert!(!receiver.on_packet(Ecn::Ce, 0, false));
    }

    #[test]
    fn fields_are_those_that_ever_changed() {
        let mut receiver = DataReceiver::new(false);
        let mut options = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::Ce, Ecn::Ect1].map(|came| {
            let mut ack = Segment::default();
            receiver.on_packet(came, 100, true);
            receiver.complete(&mut ack);
            ack.accecn().map(|option| (option.order, option.fields))
        });
        assert_eq!(options, [None, Some((0, 1)), Some((0, 1)), Some((0, 2)), Some((1, 3))]);
        // If only marks are counted, the order of the counters has to be chosen.
        let mut receiver = DataReceiver::new(false);
        receiver.on_packet(Ecn::Ce, 100, true);
        let mut ack = Segment::default();
        receiver.complete(&mut ack);
        options[0] = ack.accecn().map(|option| (option.order, option.fields));
        assert_eq!(options[0], Some((0, 2)));
    }

    #[test]
    fn byte_counters_wrap_at_24_bits() {
        let mut receiver = DataReceiver::new(false);
        receiver.bytes[1] = DIVOPT - 10;
        receiver.on_packet(Ecn::Ce, 1000, true);
        assert_eq!(receiver.bytes, [1, 990, 1]);
    }

    #[test]
    fn syn_acks_fall_back() {
        let mut receiver = DataReceiver::new(false);
        for (came, ace, has_option) in
            [(Ecn::Ect1, 0b011, true), (Ecn::Ce, 0b110, false), (Ecn::NotEct, 0b000, false)]
        {
            let (flags, option) = receiver.syn_ack(came);
            assert_eq!((flags.ace(), option.is_some()), (ace, has_option));
        }
    }

    #[test]
    fn an_acknowledgment_of_the_syn_ack_may_forbid_ect() {
        for (sent, ace, lets) in [
            (Ecn::NotEct, 0b010, true),
            (Ecn::NotEct, 0b100, false),
            (Ecn::Ect1, 0b011, true),
            (Ecn::Ect1, 0b110, true),
            (Ecn::Ect1, 0b010, false),
            (Ecn::Ect1, 0b000, false),
            (Ecn::Ect1, 0b101, true),
        ] {
            let ack = Segment { flags: Flags::ACK.with_ace(ace), ..Segment::default() };
            let mut receiver = DataReceiver::new(false);
            assert_eq!(receiver.lets_ect(&ack, sent), lets, "{sent:?} {ace:03b}");
            assert!(receiver.lets_ect(&ack, sent), "only the first tells");
        }
    }
}
