//! The cell alone: packets with given logical times go in, and come out.

use etherparse::{IpFragOffset, Ipv4Header, PacketBuilder};
use forebay_core::Rate;
use forebay_disciplines::Disciplines;
use forebay_rattan::{DisciplineCell, DisciplineCellConfig};
use rattan_core::cells::{Cell, CellState, ControlInterface, Egress, Ingress, Packet, StdPacket};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Builder;

type Built = DisciplineCell<StdPacket>;

fn cell(rate: &str, queue: Value) -> Result<Built, rattan_core::error::Error> {
    let mut cell =
        DisciplineCell::new(read(json!({ "rate": rate, "queue": queue })), &disciplines())?;
    cell.receiver().change_state(CellState::Normal);
    Ok(cell)
}

fn disciplines() -> Arc<Disciplines> {
    Disciplines::builtin().into()
}

fn read(config: Value) -> DisciplineCellConfig {
    serde_json::from_value(config).unwrap()
}

/// A frame with an IP packet of 1000 B, numbered in its first byte of data, with this ECN codepoint.
fn frame(number: u8, ecn: u8) -> StdPacket {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let mut data = [0; 972];
    data[0] = number;
    builder.udp(1, 2).write(&mut bytes, &data).unwrap();
    bytes[15] = ecn;
    let header = Ipv4Header::from_slice(&bytes[14..]).unwrap().0;
    assert_eq!(header.fragment_offset, IpFragOffset::ZERO);
    bytes[24..26].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
    StdPacket::from_raw_buffer(&bytes)
}

fn number(packet: &StdPacket) -> u8 {
    packet.as_slice()[42]
}

/// Everything that leaves within `millis`.
async fn all(cell: &mut Built, millis: u64) -> Vec<StdPacket> {
    let mut out = Vec::new();
    let end = tokio::time::Instant::now() + Duration::from_millis(millis);
    while let Ok(Some(packet)) = tokio::time::timeout_at(end, cell.receiver().dequeue()).await {
        out.push(packet);
    }
    out
}

fn in_runtime<T>(test: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

#[test]
fn packets_leave_in_order_when_their_transmission_ends() {
    in_runtime(async {
        let mut cell = cell("8Mbit", json!({ "kind": "fifo", "limit": "5p" })).unwrap();
        let first = frame(0, 0);
        let begin = first.get_timestamp();
        cell.sender().enqueue(first).unwrap();
        for each in 1..8 {
            let mut packet = frame(each, 0);
            packet.delay_until(begin);
            cell.sender().enqueue(packet).unwrap();
        }
        let left = all(&mut cell, 100).await;
        // Of eight at once, five find room.
        assert_eq!(left.iter().map(number).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let status = cell.control_interface().status();
        assert_eq!((status.received, status.sent, status.waiting), (8, 5, 0));
        assert_eq!(status.dropped, [("overflow", 3)].into());
        // 1000 B at 8 Mbit/s: a millisecond each, whatever the machine does meanwhile.
        for (place, packet) in left.iter().enumerate() {
            let took = packet.get_timestamp() - begin;
            assert_eq!(took, Duration::from_millis(place as u64 + 1));
        }
        assert_eq!((status.mean_delay_ms, status.max_delay_ms), (2.0, 4.0));
    });
}

#[test]
fn marks_are_written_and_the_checksum_stays_right() {
    in_runtime(async {
        let queue = json!({ "kind": "step", "threshold": "1ms" });
        let mut cell = cell("8Mbit", queue).unwrap_or_else(|error| panic!("{error}"));
        let begin = tokio::time::Instant::now();
        for each in 0..20 {
            let mut packet = frame(each, 0b10);
            packet.delay_until(begin);
            cell.sender().enqueue(packet).unwrap();
        }
        let left = all(&mut cell, 100).await;
        let status = cell.control_interface().status();
        assert_eq!((left.len(), status.dropped.len()), (20, 0));
        let headers = left.iter().map(|packet| Ipv4Header::from_slice(&packet.as_slice()[14..]));
        let headers: Vec<_> = headers.map(|header| header.unwrap().0).collect();
        let marked = headers.iter().filter(|header| header.ecn.value() == 0b11).count() as u64;
        assert_eq!(marked, status.marked);
        assert!(marked > 10, "{status:?}");
        assert!(headers.iter().all(|each| each.calc_header_checksum() == each.header_checksum));
    });
}

#[test]
fn what_is_not_ip_does_not_wait() {
    in_runtime(async {
        let mut cell = cell("8kbit", json!({ "kind": "fifo" })).unwrap();
        let arp = [&[0xff; 12][..], &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &[0; 20]].concat();
        cell.sender().enqueue(frame(0, 0)).unwrap();
        cell.sender().enqueue(StdPacket::from_raw_buffer(&arp)).unwrap();
        let left = all(&mut cell, 50).await;
        // The packet before it takes a second.
        assert_eq!(left.iter().map(Packet::as_slice).collect::<Vec<_>>(), [&arp[..]]);
        assert_eq!(cell.control_interface().status().passed, 1);
    });
}

#[test]
fn a_change_loses_no_packet_and_a_wrong_one_changes_nothing() {
    in_runtime(async {
        let mut cell = cell("80kbit", json!({ "kind": "fifo" })).unwrap();
        for each in 0..10 {
            cell.sender().enqueue(frame(each, 0)).unwrap();
        }
        // A packet takes 100 ms now, and 1 ms after the change.
        assert_eq!(all(&mut cell, 50).await.len(), 0);
        let control = cell.control_interface();
        let wrong = [
            (json!({ "queue": { "kind": "codel", "target": "-5ms" } }), "queue.target: "),
            (json!({ "queue": { "kind": "codle" } }), "did you mean"),
            (json!({ "rate": "0bit" }), "rate: "),
            (json!({ "mtu": "20B" }), "mtu: "),
            (json!({ "seed": 2 }), "seed: cannot be changed"),
        ];
        for (config, said) in wrong {
            let error = control.set_config(read(config)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        control.set_config(read(json!({ "rate": "8Mbit", "queue": { "kind": "codel" } }))).unwrap();
        let left = all(&mut cell, 300).await;
        assert_eq!(left.iter().map(number).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    });
}

#[test]
fn a_configuration_that_is_not_understood_is_refused() {
    in_runtime(async {
        let refused = |config| Built::new(read(config), &disciplines()).err().unwrap().to_string();
        assert_eq!(refused(json!({ "rate": "8Mbit" })), "Config error: queue: is missing");
        assert!(refused(json!({ "queue": { "kind": "fifo" } })).contains("rate: is missing"));
        let error = serde_json::from_value::<DisciplineCellConfig>(json!({ "rat": "8Mbit" }));
        assert!(error.unwrap_err().to_string().contains("unknown field `rat`"));
    });
}

#[test]
fn every_kind_runs_in_a_cell_and_a_cell_may_end_with_packets_in_it() {
    let disciplines = disciplines();
    in_runtime(async {
        for kind in disciplines.every_kind().names() {
            let config =
                DisciplineCellConfig::new(Rate::from_bps(8_000_000), json!({ "kind": kind }));
            let Ok(mut cell) = Built::new(config, &disciplines) else {
                // Of those that need parameters.
                assert!(["htb", "agent"].contains(&kind), "{kind}");
                continue;
            };
            cell.receiver().change_state(CellState::Normal);
            for each in 0..30 {
                cell.sender().enqueue(frame(each, 0b01)).unwrap();
            }
            let left = all(&mut cell, 15).await;
            let status = cell.control_interface().status();
            let dropped: u64 = status.dropped.values().sum();
            assert!(!left.is_empty(), "{kind}");
            assert!(
                status.sent + status.waiting + dropped == status.received,
                "{kind}: {status:?}"
            );
        }
    });
}
