//! Files of others: packet captures and capacity traces.

use forebay_core::{Capacity, Duration, Rate, Rng, Time};
use forebay_sim::pcap_in::{read_capture, read_segments};
use forebay_sim::trace::{QUANTUM, has_steps, read_steps, read_trace};
use forebay_sim::traffic::{Datagrams, Marks, Pcap, PcapParams};

/// A capture file: what is read is in order, and its replay goes forward in time.
pub fn pcap(data: &[u8]) {
    let headers = read_segments(data);
    let Ok(capture) = read_capture(data) else { return assert!(headers.is_err()) };
    let (headers, _) = headers.expect("one reader reads what the other reads");
    assert!(headers.iter().map(|(packet, _)| packet).eq(&capture.packets));
    assert!(!capture.packets.is_empty() && capture.packets.len() <= capture.recorded);
    assert!(capture.packets.is_sorted_by_key(|packet| packet.at_nanos));
    assert!(capture.packets.iter().all(|packet| packet.at_nanos <= capture.span_nanos));
    assert!(capture.packets.iter().all(|packet| packet.dscp < 64));
    for (speed, repeat) in [(1.0, false), (1e-9, true), (3.0, true), (1e12, true)] {
        let mut params = PcapParams::default();
        (params.speed, params.repeat) = (speed, repeat);
        let Ok(mut replay) = Pcap::new(&params, &capture, Marks::default()) else { continue };
        let mut rng = Rng::named(1, "replay");
        let mut at = Time::from_nanos(1);
        for _ in 0..2 * capture.packets.len() + 1 {
            let Some(datagram) = replay.next(at, &mut rng) else { break };
            assert!(datagram.at >= at && datagram.flow < replay.flows());
            at = datagram.at;
        }
    }
}

/// A trace. Steps have as many entries as lines that are not empty. With opportunities, transmissions end
/// after they begin, in order.
pub fn trace(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if has_steps(text) {
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        let counts = [
            read_steps::<Rate>(text).map(|steps| steps.len()),
            read_steps::<Duration>(text).map(|steps| steps.len()),
            read_steps::<f64>(text).map(|steps| steps.len()),
        ];
        assert!(counts.iter().flatten().all(|count| *count == lines));
    }
    for quantum in [1, QUANTUM] {
        let Ok(mut capacity) = read_trace(text, quantum) else { return };
        assert!(capacity.rate(Time::ZERO).bps() > 0);
        let mut at = Time::ZERO;
        for bytes in [1, 40, 1504, 65_535, 66_535] {
            at = transmit(&mut capacity, at, bytes);
            // Idle for a while that is no multiple of anything.
            at = Time::from_nanos(at.as_nanos() + 1_234_567_891);
        }
        assert!(capacity.bits_between(Time::ZERO, at) >= 0.0);
    }
}

fn transmit(capacity: &mut Capacity, start: Time, bytes: u32) -> Time {
    let end = capacity.finish(start, bytes);
    assert!(end >= start);
    end
}
