//! The sender of data: the feedback that it requests, and its use of the reports.

use super::{DIVACE, FIRST_CEP, Feedback};
use super::{handshake_ace, is_valid_transition, told_in_handshake};
use crate::segment::{AccEcnOption, DIVOPT};
use crate::{Flags, Segment};
use forebay_core::Ecn;

/// The answer of a SYN-ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) feedback: Feedback,
    /// Packets may be ECN-capable: nothing on the path has changed the SYN's codepoint.
    pub(crate) lets_ect: bool,
    /// The SYN was marked on its way.
    pub(crate) syn_marked: bool,
}

/// The marks that an acknowledgment reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct News {
    /// Whether it reports marks.
    pub(crate) marks: bool,
    /// Packets that are newly reported as marked.
    pub(crate) packets: u32,
    /// Bytes that are newly reported as marked.
    pub(crate) marked: u64,
    /// Packets must no longer be ECN-capable, because something on the path changes the reports.
    pub(crate) mangled: bool,
}

/// Counters of a data sender in AccECN mode, or during its negotiation (section 3.2), and of
/// packets that it received without payload.
#[derive(Debug, Default)]
pub(crate) struct DataSender {
    /// s.cep: marked packets by the last report.
    cep: u64,
    /// s.ceb modulo 2^24.
    ceb: u32,
    /// Marked bytes that were counted from the ACE field because an option was missing. The next
    /// option counts them again.
    ahead: u64,
    /// Marked bytes that are known so far.
    marked: u64,
    /// Moving average of the number of packets that an acknowledgment covers; 0 before the first.
    thinning: f64,
    /// Marked packets and delivered bytes since the last option.
    since_option: (u64, u64),
    /// Timestamp of the newest acknowledgment that was read.
    tsval: Option<u32>,
    /// Whether options are mangled on the path.
    ignores_options: bool,
    /// Whether the first acknowledgment after the handshake has been read (section 3.2.2.4).
    begun: bool,
    /// Whether it was mangled, so that reports do not count.
    deaf: bool,
    syns: u8,
    /// The codepoint of the SYN-ACK, to be reported with a pure acknowledgment (section 3.2.2.1).
    pub(crate) to_tell: Option<Ecn>,
    syn_ack_marked: bool,
    /// r.cep: marked packets that it received.
    heard: u64,
    /// Marks since the last packet that it sent.
    unsaid: u8,
}

impl DataSender {
    /// Number of marked packets after which something is sent although no data wait for an
    /// acknowledgment (section 3.2.2.5.1).
    const UNSAID: u8 = 3;
    /// Packets per acknowledgment that are "well below 8", and the weight of the last value in
    /// their average. Both are Linux's.
    const THINNED: f64 = 4.0;
    const THINNING_WEIGHT: f64 = 1.0 / 64.0;
    /// SAFETY_FACTOR (appendix A.2.2).
    const SAFETY: u64 = 2;

    pub(crate) fn new() -> Self {
        DataSender { cep: FIRST_CEP, heard: FIRST_CEP, ..DataSender::default() }
    }

    /// The flags of the next SYN. After two SYNs without an answer it requests nothing, because the
    /// path may drop SYNs that do (section 3.1.4.1).
    pub(crate) fn syn(&mut self) -> Flags {
        self.syns = self.syns.saturating_add(1);
        Flags::NONE.with_ace(if self.asks() { 0b111 } else { 0b000 })
    }

    /// Whether the last SYN requested feedback. Other SYNs are not ECN-capable.
    pub(crate) fn asks(&self) -> bool {
        self.syns <= 2
    }

    /// Reads the first SYN-ACK, which arrived as `came`, after SYNs sent as `sent` (table 2).
    pub(crate) fn on_syn_ack(&mut self, syn_ack: &Segment, came: Ecn, sent: Ecn) -> Answer {
        let ace = syn_ack.flags.ace();
        let feedback = match ace {
            // The server is not ECN-capable, or it is broken and repeats the flags of the SYN.
            0b000 | 0b111 => Feedback::None,
            0b001 => Feedback::Classic,
            _ => Feedback::Accurate,
        };
        if feedback != Feedback::Accurate {
            let lets_ect = feedback == Feedback::Classic;
            return Answer { feedback, lets_ect, syn_marked: false };
        }
        self.on_syn_ack_again(came);
        // Section 3.2.3.2.4.
        self.ignores_options = syn_ack
            .accecn()
            .is_some_and(|option| option.fields == 3 && (option.e0b == 0 || option.e1b == 0));
        let told = told_in_handshake(ace);
        // After SYNs with and without a request it is not known which one is answered.
        let lets_ect = !self.asks() || told.is_none_or(|told| is_valid_transition(sent, told));
        Answer { feedback, lets_ect, syn_marked: told == Some(Ecn::Ce) }
    }

    /// A SYN-ACK arrived as `came`, which must be reported. Its mark counts once, even if it
    /// arrives several times (section 3.2.2.2).
    pub(crate) fn on_syn_ack_again(&mut self, came: Ecn) {
        self.to_tell = Some(came);
        if came == Ecn::Ce && !std::mem::replace(&mut self.syn_ack_marked, true) {
            self.heard += 1;
        }
    }

    /// A segment without SYN arrived as `came`. Returns whether an answer must be sent.
    pub(crate) fn on_packet(&mut self, came: Ecn) -> bool {
        if came == Ecn::Ce {
            self.heard += 1;
            self.unsaid = self.unsaid.saturating_add(1);
        }
        self.unsaid >= Self::UNSAID
    }

    /// The ACE field of the next packet without SYN. `pure` says that it has no payload.
    pub(crate) fn ace(&mut self, pure: bool) -> u8 {
        self.unsaid = 0;
        match self.to_tell.take_if(|_| pure) {
            Some(came) => handshake_ace(came),
            None => (self.heard % DIVACE) as u8,
        }
    }

    /// Reads an acknowledgment that newly acknowledges, also selectively, `delivered` bytes in
    /// segments of up to `mss`.
    pub(crate) fn read(&mut self, ack: &Segment, delivered: u64, mss: u64) -> News {
        if self.is_superseded(ack, delivered) {
            return News::default();
        }
        // Only the first acknowledgment shows whether the field is mangled (section 3.2.2.4).
        let mangled = !std::mem::replace(&mut self.begun, true) && ack.flags.ace() == 0;
        self.deaf |= mangled;
        if self.deaf {
            return News { mangled, ..News::default() };
        }
        let packets = delivered / mss;
        if packets > 0 {
            let weight = if self.thinning > 0.0 { Self::THINNING_WEIGHT } else { 1.0 };
            self.thinning += weight * (packets as f64 - self.thinning);
        }
        let option = ack.accecn().filter(|_| !self.ignores_options);
        let told = option.map(|option| self.bytes_by(&option));
        let least = (u64::from(ack.flags.ace()) + DIVACE - self.cep % DIVACE) % DIVACE;
        let new = match told {
            // Appendix A.2.1: acknowledgments for many packets are usual here, and no sign of loss.
            None if self.thinning > Self::THINNED => least,
            told => cautious(least, packets, told.map(|bytes| (bytes, mss))),
        };
        self.cep += new;
        self.since_option.0 += new;
        self.since_option.1 += delivered;
        let Some(bytes) = told else {
            // Appendix A.3, with full-sized segments.
            let marked = (new * mss).min(delivered);
            self.ahead += marked;
            self.marked += marked;
            return News { marks: new > 0, packets: new as u32, marked, mangled: false };
        };
        let marked = bytes.saturating_sub(self.ahead);
        self.ahead -= self.ahead.min(bytes);
        self.marked += marked;
        // Bytes were marked, but the field counts no packet, and it cannot mean eight (section
        // 3.2.3.2.5).
        let (marks, delivered) = std::mem::take(&mut self.since_option);
        let mangled = bytes > 0 && marks == 0 && delivered < DIVACE * mss;
        News { marks: new > 0 || marked > 0, packets: new as u32, marked, mangled }
    }

    pub(crate) fn counted(&self) -> (u64, u64) {
        (self.cep - FIRST_CEP, self.marked)
    }

    /// Whether this acknowledgment is later than the last one that was read (appendix A.1). If it
    /// acknowledges no new bytes, only its timestamp can tell.
    fn is_superseded(&mut self, ack: &Segment, delivered: u64) -> bool {
        if !ack.has_timestamp {
            return delivered == 0;
        }
        let ahead = self.tsval.map_or(1, |tsval| ack.tsval.wrapping_sub(tsval) as i32);
        if ahead > 0 {
            self.tsval = Some(ack.tsval);
        }
        ahead < 0 || (ahead == 0 && delivered == 0)
    }

    /// d.ceb of appendix A.1.
    fn bytes_by(&mut self, option: &AccEcnOption) -> u64 {
        if !option.tells_ceb() {
            return 0;
        }
        let new = (option.ceb + DIVOPT - self.ceb) % DIVOPT;
        self.ceb = option.ceb;
        u64::from(new)
    }
}

/// dSafer.cep of appendix A.2: the most of `packets` that may have been marked, if the field has
/// advanced by `least`, or by this and whole rounds of eight. By A.2.2 if `told` has the marked
/// bytes and the size of a full segment.
fn cautious(least: u64, packets: u64, told: Option<(u64, u64)>) -> u64 {
    if packets <= least {
        return least;
    }
    let most = packets - (packets - least) % DIVACE;
    match told {
        Some((bytes, mss)) if bytes <= mss * least && bytes * DataSender::SAFETY < mss * most => {
            least
        }
        _ => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_safest_count_is_that_of_appendix_a_2() {
        // A.2.1: "9 - ((9-2) % 8) = 2", "10 - ((10-2) % 8) = 10".
        assert_eq!(cautious(2, 9, None), 2);
        assert_eq!(cautious(2, 10, None), 10);
        // If there are more marks than packets, the field is right.
        assert_eq!(cautious(3, 1, None), 3);
        assert_eq!(cautious(0, 7, None), 0);
        assert_eq!(cautious(0, 8, None), 8);
        // A.2.2, with an MSS of 1460 and eight packets more.
        for (least, bytes, want) in [(0, 1460, 8), (2, 1460, 2), (7, 10_200, 7)] {
            assert_eq!(cautious(least, least + 8, Some((bytes, 1460))), want);
        }
        // If the marked bytes are those of ten whole segments, ten packets were marked.
        assert_eq!(cautious(2, 10, Some((14_600, 1460))), 10);
    }

    fn ack(ace: u8, option: Option<AccEcnOption>) -> Segment {
        let mut ack = Segment { flags: Flags::ACK.with_ace(ace), ..Segment::default() };
        option.into_iter().for_each(|option| ack.set_accecn(option));
        ack
    }

    fn ceb(bytes: u32) -> Option<AccEcnOption> {
        Some(AccEcnOption { e0b: 1, ceb: bytes % DIVOPT, e1b: 1, order: 1, fields: 2 })
    }

    fn marked(sender: &mut DataSender, ack: &Segment, delivered: u64) -> (bool, u64, bool) {
        let News { marks, marked, mangled, .. } = sender.read(ack, delivered, 1000);
        (marks, marked, mangled)
    }

    #[test]
    fn the_field_wraps() {
        let mut sender = DataSender::new();
        assert_eq!(marked(&mut sender, &ack(5, None), 1000), (false, 0, false));
        for (ace, new) in [(6, 1), (0, 2), (0, 0), (1, 1)] {
            let want = (new > 0, 1000 * new, false);
            assert_eq!(marked(&mut sender, &ack(ace, None), 2000), want, "{ace}");
        }
        assert_eq!(sender.cep, 9);
        // Thirteen segments are acknowledged at once, and the field has not changed: eight marks.
        assert_eq!(marked(&mut sender, &ack(1, None), 13_000), (true, 8000, false));
        assert_eq!(sender.counted(), (12, 12_000));
        // Where such acknowledgments are usual, no marks.
        let mut sender = DataSender::new();
        assert_eq!(marked(&mut sender, &ack(5, None), 10_000), (false, 0, false));
    }

    #[test]
    fn options_count_bytes_and_what_they_missed() {
        let mut sender = DataSender::new();
        assert_eq!(marked(&mut sender, &ack(6, ceb(700)), 2000), (true, 700, false));
        // Without an option a segment counts as full; the next option corrects this.
        assert_eq!(marked(&mut sender, &ack(7, None), 2000), (true, 1000, false));
        assert_eq!(marked(&mut sender, &ack(0, ceb(2100)), 2000), (true, 400, false));
        // Thirteen segments are acknowledged at once, none of them marked.
        assert_eq!(marked(&mut sender, &ack(0, ceb(2100)), 13_000), (false, 0, false));
        sender.ceb = DIVOPT - 100;
        assert_eq!(marked(&mut sender, &ack(1, ceb(900)), 2000), (true, 1000, false));
    }

    #[test]
    fn what_came_late_or_changed_is_ignored() {
        let mut sender = DataSender::new();
        assert_eq!(marked(&mut sender, &ack(7, None), 0), (false, 0, false));
        let at = |tsval, ace| Segment { has_timestamp: true, tsval, ..ack(ace, None) };
        assert_eq!(marked(&mut sender, &at(10, 6), 1000), (true, 1000, false));
        assert_eq!(marked(&mut sender, &at(9, 5), 1000), (false, 0, false));
        assert_eq!(marked(&mut sender, &at(10, 7), 0), (false, 0, false));
        assert_eq!(marked(&mut sender, &at(11, 7), 0), (true, 0, false));
        // First an option is late. Then bytes were marked, but no packet.
        assert_eq!(marked(&mut sender, &ack(7, ceb(2000)), 1000), (true, 1000, false));
        assert_eq!(marked(&mut sender, &ack(7, ceb(3000)), 1000), (true, 1000, true));
        // After a first field of 0, no report counts.
        let mut sender = DataSender::new();
        assert_eq!(marked(&mut sender, &ack(0, None), 1000), (false, 0, true));
        assert_eq!(marked(&mut sender, &ack(2, None), 1000), (false, 0, false));
    }

    #[test]
    fn syn_acks_say_what_feedback_there_is() {
        for (ace, sent, feedback, lets_ect, syn_marked) in [
            (0b000, Ecn::NotEct, Feedback::None, false, false),
            (0b001, Ecn::NotEct, Feedback::Classic, true, false),
            (0b010, Ecn::NotEct, Feedback::Accurate, true, false),
            (0b011, Ecn::Ect1, Feedback::Accurate, true, false),
            (0b100, Ecn::Ect0, Feedback::Accurate, true, false),
            (0b101, Ecn::Ect1, Feedback::Accurate, true, false),
            (0b110, Ecn::Ect1, Feedback::Accurate, true, true),
            (0b111, Ecn::Ect1, Feedback::None, false, false),
            // The codepoint is cleared, or set where it was not.
            (0b010, Ecn::Ect1, Feedback::Accurate, false, false),
            (0b011, Ecn::NotEct, Feedback::Accurate, false, false),
            (0b110, Ecn::NotEct, Feedback::Accurate, false, true),
        ] {
            let syn_ack = Segment { flags: Flags::SYN.with_ace(ace), ..Segment::default() };
            let answer = DataSender::new().on_syn_ack(&syn_ack, Ecn::NotEct, sent);
            assert_eq!(answer, Answer { feedback, lets_ect, syn_marked }, "{ace:03b}");
        }
    }

    #[test]
    fn the_syn_ack_is_told_once_and_what_follows_counted() {
        for (came, told, counted) in [
            (Ecn::NotEct, 0b010, 5),
            (Ecn::Ect1, 0b011, 5),
            (Ecn::Ect0, 0b100, 5),
            (Ecn::Ce, 0b110, 6),
        ] {
            let mut sender = DataSender::new();
            let syn_ack = Segment { flags: Flags::SYN.with_ace(0b010), ..Segment::default() };
            sender.on_syn_ack(&syn_ack, came, Ecn::NotEct);
            sender.on_syn_ack_again(came);
            assert_eq!([sender.ace(true), sender.ace(true)], [told, counted]);
        }
        let mut sender = DataSender::new();
        let owes = [Ecn::Ce, Ecn::Ect1, Ecn::Ce, Ecn::Ce].map(|came| sender.on_packet(came));
        assert_eq!(owes, [false, false, false, true]);
        assert_eq!(sender.ace(true), 0);
    }

    #[test]
    fn a_syn_that_is_not_answered_asks_twice() {
        let mut sender = DataSender::new();
        assert_eq!([(); 4].map(|()| sender.syn().ace()), [0b111, 0b111, 0, 0]);
    }
}
