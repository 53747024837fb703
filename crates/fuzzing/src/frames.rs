//! The gate's reading and rewriting of packets.

use etherparse::{IpSlice, Ipv4Header, TcpSlice};
use forebay_core::PacketKind;
use forebay_gate::io::Train;
use forebay_shaper::headers::{
    Frame, IpView, Layer, complete_checksum, set_tos, set_window, updated,
};

/// The first byte chooses how the frame begins and what is written into it; the rest is the frame.
///
/// # Panics
/// If a rewrite changes anything else, a checksum that was right is wrong after it, or the segments
/// of a train are not those of the one that is made of them.
pub fn frames(data: &[u8]) {
    let Some((choice, frame)) = data.split_first() else { return };
    let layer = if choice & 1 == 0 { Layer::Ethernet } else { Layer::Ip };
    // Longer frames do not fit into the gate's buffers.
    let frame = &frame[..frame.len().min(9_100)];
    let Frame::Ip(view) = Frame::read(frame, layer) else { return };
    assert!(usize::from(view.at) + view.len as usize <= frame.len());
    follow(frame, layer, &view);
    let before = rights(frame, &view);
    let mut written = frame.to_vec();
    set_tos(&mut written, view.at, view.version, *choice);
    let again = Frame::read(&written, layer);
    let mut marked = view.clone();
    marked.tos = *choice;
    assert_eq!(again, Frame::Ip(marked));
    set_window(&mut written, &view, u16::from(*choice) * 257);
    assert_eq!(Frame::read(&written, layer), again);
    let after = rights(&written, &view);
    assert!(before.0 <= after.0 && before.1 <= after.1, "{before:?} {after:?} {view:?}");
    if complete_checksum(&mut written, &view) {
        assert!(view.protocol != 6 || rights(&written, &view).1, "{view:?}");
        assert!(!complete_checksum(&mut written, &view), "{view:?}");
    }
}

/// Sends `frame` and the segment that follows it as one.
fn follow(frame: &[u8], layer: Layer, view: &IpView) {
    let (Some(at), true) = (view.transport_at, view.whole && view.protocol == 6) else { return };
    let (at, end) = (usize::from(at), usize::from(view.at) + view.len as usize);
    let Ok(tcp) = TcpSlice::from_slice(&frame[at..end]) else { return };
    let payload = tcp.payload().len();
    let mut next = frame.to_vec();
    let seq = tcp.sequence_number().wrapping_add(payload as u32).to_be_bytes();
    next[at + 4..at + 8].copy_from_slice(&seq);
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let sum = [at + 4, at + 6]
        .iter()
        .fold(tcp.checksum(), |sum, place| updated(sum, word(frame, *place), word(&next, *place)));
    next[at + 16..at + 18].copy_from_slice(&sum.to_be_bytes());
    let Some(train) = Train::find([frame, &next].into_iter(), layer) else { return };
    assert_eq!(train.frames, 2);
    assert!(rights(frame, view).1 && view.kind == PacketKind::Data && !view.fragment, "{view:?}");
    let mut whole = [train.header(), train.payload(frame), train.payload(&next)].concat();
    let Frame::Ip(read) = Frame::read(&whole, layer) else { panic!("{view:?}") };
    let mut longer = view.clone();
    longer.len += payload as u32;
    assert_eq!(read, longer);
    assert!(complete_checksum(&mut whole, &read) || rights(&whole, &read).1, "{view:?}");
    assert!(rights(&whole, &read).1, "{view:?}");
}

/// Whether the IP header's checksum is right, and TCP's.
fn rights(frame: &[u8], view: &IpView) -> (bool, bool) {
    let packet = &frame[usize::from(view.at)..];
    let header = Ipv4Header::from_slice(packet)
        .is_ok_and(|(header, _)| header.header_checksum == header.calc_header_checksum());
    let segment = view.transport_at.filter(|_| view.whole && view.protocol == 6).and_then(|at| {
        TcpSlice::from_slice(&frame[usize::from(at)..usize::from(view.at) + view.len as usize]).ok()
    });
    let right = segment.is_some_and(|tcp| match IpSlice::from_slice(packet) {
        Ok(IpSlice::Ipv4(ip)) => {
            let header = ip.header();
            tcp.calc_checksum_ipv4(header.source(), header.destination())
                .is_ok_and(|sum| sum == tcp.checksum())
        }
        Ok(IpSlice::Ipv6(ip)) => {
            let header = ip.header();
            tcp.calc_checksum_ipv6(header.source(), header.destination())
                .is_ok_and(|sum| sum == tcp.checksum())
        }
        Err(_) => false,
    });
    (header, right)
}
