//! What a world promises, and what it says of an endpoint that breaks the contract.

use forebay_world::{Ecn, Endpoint, Fault, Time, World, endpoints, json};

/// Sends `len` bytes at once when it begins, and wants to be called at `deadline` for ever.
struct Odd {
    len: usize,
    left: u32,
    deadline: Option<Time>,
}

impl Endpoint for Odd {
    fn receive(&mut self, _: Time, _: &[u8], _: Ecn) {}

    fn transmit(&mut self, _: Time, datagram: &mut Vec<u8>) -> Option<Ecn> {
        self.left = self.left.checked_sub(1)?;
        datagram.resize(self.len, 1);
        Some(Ecn::Ect0)
    }

    fn deadline(&mut self, _: Time) -> Option<Time> {
        self.deadline
    }

    fn on_deadline(&mut self, _: Time) {}
}

fn odd(len: usize, left: u32, deadline: Option<Time>) -> World {
    let quiet = || Odd { len: 0, left: 0, deadline: None };
    World::dumbbell("10Mbit", "10ms")
        .warmup("0s")
        .host("odd", move |_| endpoints(Odd { len, left, deadline }, quiet()))
}

fn fault(world: &World) -> String {
    match world.try_run() {
        Err(Fault::Run(what)) => what,
        other => panic!("it runs: {other:?}"),
    }
}

#[test]
fn what_is_sent_arrives() {
    let outcome = odd(972, 10, None).check_repeats();
    // 10 s, and nothing of the packets is lost.
    outcome.goodput("odd", 972.0 * 8.0 - 1e-6..=972.0 * 8.0 + 1e-6).loss(..=0.0);
    assert_eq!(outcome.number(&["packets"]), 10.0);
}

#[test]
fn an_end_that_does_not_wait_ends_the_run() {
    assert!(fault(&odd(100, 0, Some(Time::ZERO))).contains("does not wait for time to pass"));
    assert!(fault(&odd(100, u32::MAX, None)).contains("does not wait for time to pass"));
}

#[test]
fn a_datagram_that_no_packet_holds_ends_the_run() {
    assert!(fault(&odd(65_508, 1, None)).contains("65508 bytes, more than an IP packet holds"));
    odd(65_507, 1, None).run();
}

#[test]
fn a_wrong_field_is_named() {
    let world = odd(972, 1, None).queue("codle", json!({}));
    let Err(Fault::Scenario(what)) = world.try_run() else { panic!("it runs") };
    assert!(what.contains("codel"), "{what}");
}

#[test]
#[should_panic(expected = "goodput of \"odd\" in bit/s is")]
fn a_check_that_fails_shows_the_run() {
    odd(972, 10, None).run().goodput("odd", 1e6..);
}
