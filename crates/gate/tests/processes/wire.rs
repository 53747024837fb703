//! The interfaces of all gates, and the place of every frame.

use crate::world::World;
use forebay_gate::direction::Account;
use forebay_gate::io::{BATCH, Io, Missed, Pool, Side};
use forebay_shaper::headers::Layer;
use rustix::fd::BorrowedFd;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// An IP packet of UDP, behind which its number stands.
const HEADERS: [u8; 28] =
    [0x45, 0, 0, 100, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 7, 0, 80, 0, 0];
const LENGTH: usize = 100;

/// Both sides.
#[derive(Default)]
pub struct Wire {
    /// Frames that no gate has taken, by their number, and when they came.
    pub coming: [VecDeque<(u64, u64)>; 2],
    came: [u64; 2],
    /// Of the frames that came in at a side, how many left at the other, and the last of them.
    left: [u64; 2],
    last: [u64; 2],
    /// Where the packets are that each gate took.
    accounts: Vec<[Account; 2]>,
    given: Vec<[u64; 2]>,
    /// The gate that takes frames, of each side.
    receiver: [usize; 2],
    /// Whether the interfaces have disappeared.
    pub is_gone: bool,
}

impl Wire {
    /// The number of another gate on these interfaces.
    pub fn open(&mut self) -> usize {
        self.accounts.push(Default::default());
        self.given.push(Default::default());
        self.accounts.len() - 1
    }

    /// Gates so far.
    pub fn gates(&self) -> usize {
        self.accounts.len()
    }

    /// Frames that have left.
    pub fn left(&self) -> u64 {
        self.left.iter().sum()
    }

    /// A frame comes in.
    pub fn come(&mut self, side: usize, now: u64) {
        self.came[side] += 1;
        self.coming[side].push_back((self.came[side], now));
    }

    /// Notes where the packets are that gate `number` took.
    pub fn report(&mut self, number: usize, accounts: [Account; 2]) {
        self.accounts[number] = accounts;
    }

    /// Every frame is accounted for.
    pub fn check(&self) {
        for side in 0..2 {
            let given: u64 = self.given.iter().map(|given| given[side]).sum();
            assert_eq!(self.came[side], given + self.coming[side].len() as u64);
            let mut gone = self.left[side];
            for (accounts, given) in self.accounts.iter().zip(&self.given) {
                let Account { received, passed, sent, dropped, answered, made, .. } =
                    accounts[side];
                assert_eq!(received, given[side]);
                assert_eq!(received, passed + sent + dropped + answered + accounts[side].waiting);
                gone += accounts[side].in_transit;
                gone -= passed + sent + made;
            }
            assert_eq!(gone, 0, "frames that left are those that gates sent");
        }
    }
}

/// The interfaces, as one gate has them open.
pub struct Interfaces {
    world: Arc<World>,
    number: usize,
}

impl Interfaces {
    pub fn new(world: Arc<World>, number: usize) -> Self {
        Interfaces { world, number }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the interface has disappeared")
}

impl Io for Interfaces {
    fn layer(&self) -> Layer {
        Layer::Ip
    }

    fn receive(&mut self, side: Side, pool: &mut Pool, out: &mut Vec<u32>) -> io::Result<()> {
        let wire = &mut self.world.look().wire;
        if wire.is_gone {
            return Err(gone());
        }
        let place = side as usize;
        while out.len() < BATCH && !wire.coming[place].is_empty() {
            let Some(index) = pool.take() else { break };
            let (frame_number, _) = wire.coming[place].pop_front().expect("there is one");
            let before = wire.receiver[place];
            let number = self.number;
            assert!(before <= number, "gate {number} takes a frame after gate {before} has");
            wire.receiver[place] = self.number;
            wire.given[self.number][place] += 1;
            let frame = &mut pool.buffer(index)[..LENGTH];
            frame.fill(0);
            frame[..HEADERS.len()].copy_from_slice(&HEADERS);
            frame[HEADERS.len()..][..8].copy_from_slice(&frame_number.to_be_bytes());
            pool.set_extent(index, 0, LENGTH);
            out.push(index);
        }
        Ok(())
    }

    fn send(&mut self, side: Side, frames: &mut VecDeque<u32>, pool: &mut Pool) -> io::Result<()> {
        let wire = &mut self.world.look().wire;
        if wire.is_gone {
            return Err(gone());
        }
        let from = side.other() as usize;
        for index in frames.drain(..) {
            let number = pool.frame(index)[HEADERS.len()..][..8].try_into().map(u64::from_be_bytes);
            let number = number.expect("eight bytes");
            assert!(wire.last[from] < number, "{number} leaves after {}", wire.last[from]);
            wire.last[from] = number;
            wire.left[from] += 1;
            pool.give(index);
        }
        Ok(())
    }

    fn descriptors(&self) -> io::Result<Vec<BorrowedFd<'_>>> {
        Ok(Vec::new())
    }

    fn descriptor(&self, _: Side) -> BorrowedFd<'_> {
        unreachable!("the simulation does not wait")
    }

    fn missed(&mut self, _: Side) -> Missed {
        Missed::default()
    }
}
