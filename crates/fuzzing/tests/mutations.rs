//! Packets of all sorts, mutated at random, through the gate's reading and rewriting; and what else
//! the gate reads, mutated likewise.

#![cfg(target_os = "linux")]

mod common;

use etherparse::{PacketBuilder, TcpHeader, TcpOptionElement};
use forebay_core::Rng;

/// Mutated packets, unless the environment asks for more (`make soak`: 10 million).
const PACKETS: u64 = 200_000;

/// Mutated files and requests for each target that has a corpus of them, likewise: a hundredth.
const INPUTS: u64 = PACKETS / 100;

#[expect(clippy::disallowed_methods, reason = "a soak asks for more by the environment")]
fn asked() -> u64 {
    let asked = std::env::var("FOREBAY_MUTATIONS").ok();
    asked.map_or(PACKETS, |count| count.parse().expect("a number of packets"))
}

#[test]
fn mutated_configurations_requests_answers_and_recordings_are_read() {
    let mut rng = Rng::named(1, "inputs");
    for target in ["answers", "configuration", "control", "page", "recording"] {
        let inputs = common::corpus(target).expect("it has a corpus");
        for _ in 0..asked() * INPUTS / PACKETS {
            let (_, mut input) = inputs[rng.below(inputs.len() as u64) as usize].clone();
            for _ in 0..1 + rng.below(8) {
                mutate(&mut input, &mut rng);
            }
            forebay_fuzzing::run(target, &input);
        }
    }
}

#[test]
fn mutated_packets_are_read_and_rewritten() {
    let count = asked();
    let packets = packets();
    for packet in &packets {
        forebay_fuzzing::run("frames", packet);
    }
    let mut rng = Rng::named(1, "mutations");
    for _ in 0..count {
        let mut packet = packets[rng.below(packets.len() as u64) as usize].clone();
        for _ in 0..1 + rng.below(8) {
            mutate(&mut packet, &mut rng);
        }
        forebay_fuzzing::run("frames", &packet);
    }
}

fn mutate(packet: &mut Vec<u8>, rng: &mut Rng) {
    let mut place = |end: usize| rng.below(end.max(1) as u64) as usize;
    let (length, headers) = (packet.len(), packet.len().min(100));
    match place(6) {
        _ if length == 0 => packet.push(place(256) as u8),
        0 => packet.truncate(place(length)),
        1 => packet.resize(length + place(64), place(256) as u8),
        2 => packet[place(length)] = place(256) as u8,
        3 => packet[place(headers)] ^= 1 << place(8),
        4 => packet[place(headers)] = [0, 1, 0x45, 0x60, 0x7f, 0xff][place(6)],
        _ => {
            let (from, to, count) = (place(headers), place(headers), place(16));
            let count = count.min(length - from).min(length - to);
            packet.copy_within(from..from + count, to);
        }
    }
}

/// Right packets, each behind the byte that chooses how it is taken.
fn packets() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut tcp = TcpHeader::new(1234, 80, 7, 512);
    tcp.ack = true;
    let options = [
        TcpOptionElement::Timestamp(1, 2),
        TcpOptionElement::SelectiveAcknowledgement((5, 9), [Some((20, 30)), None, None]),
    ];
    tcp.set_options(&options).expect("they fit");
    let four = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let six = ([1; 16], [2; 16]);
    let mut add = |choice: u8, write: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = vec![choice];
        write(&mut packet);
        all.push(packet);
    };
    let ethernet = || PacketBuilder::ethernet2([2; 6], [4; 6]);
    for payload in [&[][..], &[7; 40], &[9; 1400]] {
        let ip = || PacketBuilder::ipv4(four.0, four.1, 64);
        add(1, &|out| ip().tcp_header(tcp.clone()).write(out, payload).unwrap());
        add(0xb9, &|out| ip().udp(5000, 53).write(out, payload).unwrap());
        let ip = || PacketBuilder::ipv6(six.0, six.1, 64);
        add(3, &|out| ip().tcp_header(tcp.clone()).write(out, payload).unwrap());
        add(5, &|out| ip().icmpv6_echo_request(1, 2).write(out, payload).unwrap());
        let tagged = || ethernet().single_vlan(5.try_into().unwrap()).ipv4(four.0, four.1, 64);
        add(0, &|out| tagged().tcp_header(tcp.clone()).write(out, payload).unwrap());
        let twice = || {
            let (outer, inner) = (7.try_into().unwrap(), 9.try_into().unwrap());
            ethernet().double_vlan(outer, inner).ipv6(six.0, six.1, 64)
        };
        add(0xfe, &|out| twice().udp(1, 2).write(out, payload).unwrap());
    }
    // A fragment header, hop-by-hop options, ARP, and nothing.
    add(1, &|out| {
        out.extend([0x60, 0, 0, 0, 0, 16, 44, 64]);
        out.extend([1; 32]);
        out.extend([6, 0, 0, 1, 0, 0, 0, 9, 0, 80, 0, 80, 0, 0, 0, 0]);
    });
    add(1, &|out| {
        out.extend([0x60, 0, 0, 0, 0, 16, 0, 64]);
        out.extend([1; 32]);
        out.extend([17, 0, 5, 2, 0, 0, 1, 0, 0, 80, 0, 80, 0, 8, 0, 0]);
    });
    add(0, &|out| {
        out.extend([0xff; 12]);
        out.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        out.extend([0; 20]);
    });
    add(0, &|_| {});
    all
}
