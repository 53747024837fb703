//! The ledger: stories of packets, and counts for the series.

use crate::engine::fabric::cargo::Cargo;
use crate::measure::UserMeter;
use forebay_core::{DropReason, Duration, PacketKind, Time};
use std::collections::VecDeque;

/// Most stories that are kept, the latest ones.
const MOST_STORIES: usize = 20_000;
/// Most dropped packets that are kept for the next picture.
const MOST_GONE: usize = 100;
/// Most flows of a traffic entry that are shown one by one.
const FEW_FLOWS: usize = 10;

/// A packet's number in the run, from 1; 0 if it is not known.
pub type Serial = u64;

/// A kind of step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Sent,
    Queued,
    Dropped(DropReason),
    Marked,
    Transmitted,
    /// Lost on the wire, in the air or in a box.
    Lost,
    Delivered,
}

/// One step of a story.
#[derive(Debug, Clone)]
pub struct Step {
    pub at: Time,
    pub what: What,
    /// None at the ends of the path.
    pub link: Option<u32>,
    /// Backlog before the decision of a queue, in packets.
    pub waiting: Option<u32>,
    /// Variables of the discipline after it, at the watched queue.
    pub variables: Box<[(&'static str, f64)]>,
}

/// The steps of a packet so far.
#[derive(Debug)]
pub struct Story {
    pub user: u32,
    pub bytes: u32,
    pub kind: PacketKind,
    pub backward: bool,
    pub steps: Vec<Step>,
    /// The last link that sent it, and when its last bit left.
    pub left: Option<(u32, Time)>,
    // Distinguish it from other packets with the same handle.
    sent: Time,
    number: u64,
    life: u32,
}

/// Counts since the last point of the series.
#[derive(Debug, Default)]
pub struct Since {
    /// By class: number of delivered data packets, and the sum of their delays.
    pub delays: Vec<(u32, Duration)>,
    /// By row: bytes of delivered IP packets.
    pub bytes: Vec<u64>,
    /// By reason, at the watched queue.
    pub dropped: [u32; DropReason::ALL.len()],
    /// Packets marked there.
    pub marked: u32,
}

/// Flows that are shown as one.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Traffic entry.
    pub traffic: u32,
    pub class: u32,
    pub flows: u32,
}

/// Records of a watched world.
#[derive(Default)]
pub struct Ledger {
    /// Stories by packet handle.
    open: Vec<Serial>,
    stories: VecDeque<Story>,
    /// Number of stories that are no longer kept.
    forgotten: u64,
    /// Row of each user.
    pub rows: Vec<u32>,
    pub shown: Vec<Row>,
    pub classes: Vec<u32>,
    pub since: Since,
    /// The series, one JSON object for each point.
    pub points: Vec<String>,
    /// Dropped by the watched queue since the last picture.
    pub gone: VecDeque<(Serial, DropReason)>,
    /// The packet of the watched queue in transmission, and when it began.
    pub sending: Option<(Serial, Time)>,
    /// Number of packets that have joined or left the watched queue.
    moves: u64,
    /// Steps without their variables yet.
    decided: Vec<(Serial, usize)>,
    /// Packet and link of an arrival that the queue has not seen yet.
    arriving: Option<(u32, u32)>,
    /// Packet and link of the last dequeue.
    sent: Option<(u32, u32)>,
    /// Losses on the wire so far, by link.
    wire_lost: Vec<u64>,
}

impl Ledger {
    /// Adds the users that are not yet known.
    pub fn cast(&mut self, users: &[UserMeter], classes: usize) {
        let known = self.rows.len();
        for entry in users[known..].chunk_by(|one, other| one.traffic == other.traffic) {
            let (traffic, class) = (entry[0].traffic, entry[0].class);
            let (rows, flows) =
                if entry.len() > FEW_FLOWS { (1, entry.len()) } else { (entry.len(), 1) };
            let first = self.shown.len() as u32;
            let rows = rows as u32;
            self.rows.extend((0..entry.len() as u32).map(|flow| first + flow.min(rows - 1)));
            let row = Row { traffic, class, flows: flows as u32 };
            self.shown.resize(self.shown.len() + rows as usize, row);
        }
        self.classes.extend(users[known..].iter().map(|user| user.class));
        self.since.bytes.resize(self.shown.len(), 0);
        self.since.delays.resize(classes, Default::default());
    }

    /// The number of packet `id` with this cargo, or 0.
    pub fn serial(&self, id: u32, cargo: &Cargo) -> Serial {
        let serial = self.open.get(id as usize).copied().unwrap_or_default();
        let is_it = self.story(serial).is_some_and(|story| {
            let Cargo { sent, user, number, life, backward, .. } = *cargo;
            (story.sent, story.user, story.number, story.life, story.backward)
                == (sent, user, number, life, backward)
        });
        if is_it { serial } else { 0 }
    }

    /// Row and class of a user.
    pub fn place(&self, user: u32) -> (u32, u32) {
        (self.rows[user as usize], self.classes[user as usize])
    }

    pub fn story(&self, serial: Serial) -> Option<&Story> {
        let place = serial.checked_sub(self.forgotten + 1)?;
        self.stories.get(place as usize)
    }

    fn of(&mut self, id: u32) -> Option<(Serial, &mut Story)> {
        let serial = *self.open.get(id as usize)?;
        self.story_mut(serial).map(|story| (serial, story))
    }

    fn story_mut(&mut self, serial: Serial) -> Option<&mut Story> {
        let place = serial.checked_sub(self.forgotten + 1)?;
        self.stories.get_mut(place as usize)
    }

    /// Packet `id` arrives at the end of a pipe. Its story begins, unless it has begun.
    pub fn comes(&mut self, id: u32, cargo: &Cargo) {
        if self.serial(id, cargo) > 0 {
            return;
        }
        // The packet that had this handle ended in the air or in a box.
        self.end(id, cargo.sent, What::Lost, None);
        if self.stories.len() == MOST_STORIES {
            self.stories.pop_front();
            self.forgotten += 1;
        }
        self.stories.push_back(Story {
            user: cargo.user,
            bytes: cargo.packet.len,
            kind: cargo.packet.kind,
            backward: cargo.backward,
            steps: Vec::new(),
            left: None,
            sent: cargo.sent,
            number: cargo.number,
            life: cargo.life,
        });
        let place = id as usize;
        if place >= self.open.len() {
            self.open.resize(place + 1, 0);
        }
        self.open[place] = self.forgotten + self.stories.len() as u64;
        self.step(cargo.sent, id, What::Sent, None, None);
    }

    /// Adds a step. Returns the packet's number and the index of the step.
    fn step(
        &mut self,
        at: Time,
        id: u32,
        what: What,
        link: Option<u32>,
        waiting: Option<usize>,
    ) -> Option<(Serial, usize)> {
        let (serial, story) = self.of(id)?;
        let (waiting, variables) = (waiting.map(|waiting| waiting as u32), Box::default());
        story.steps.push(Step { at, what, link, waiting, variables });
        Some((serial, story.steps.len() - 1))
    }

    /// Adds the last step of packet `id`.
    fn end(&mut self, id: u32, at: Time, what: What, link: Option<u32>) {
        self.step(at, id, what, link, None);
        if let Some(open) = self.open.get_mut(id as usize) {
            *open = 0;
        }
    }

    pub fn arrives(&mut self, id: u32, link: u32) {
        self.arriving = Some((id, link));
    }

    /// The queue has seen packet `id`.
    pub fn reached(&mut self, id: u32) {
        self.arriving.take_if(|(arriving, _)| *arriving == id);
    }

    /// The packet that has arrived at a link but not at its queue was dropped by the policer.
    pub fn policed(&mut self, now: Time, watched: Option<u32>) {
        if let Some((id, link)) = self.arriving.take() {
            let is_watched = watched == Some(link);
            self.dropped(now, link, id, DropReason::Policed, is_watched, 0);
            self.settle(&[]);
        }
    }

    /// A queue took packet `id` when `waiting` packets waited.
    pub fn queued(&mut self, now: Time, link: u32, id: u32, is_watched: bool, waiting: usize) {
        let step = self.step(now, id, What::Queued, Some(link), Some(waiting));
        if is_watched {
            self.moves += 1;
            self.decided.extend(step);
        }
    }

    pub fn dropped(
        &mut self,
        now: Time,
        link: u32,
        id: u32,
        reason: DropReason,
        is_watched: bool,
        waiting: usize,
    ) {
        let step = self.step(now, id, What::Dropped(reason), Some(link), Some(waiting));
        if let Some(open) = self.open.get_mut(id as usize) {
            *open = 0;
        }
        if is_watched {
            self.moves += 1;
            self.since.dropped[reason as usize] += 1;
            if let Some((serial, _)) = step {
                self.gone.push_back((serial, reason));
                self.gone.drain(..self.gone.len().saturating_sub(MOST_GONE));
            }
            self.decided.extend(step);
        }
    }

    pub fn marked(&mut self, now: Time, link: u32, id: u32, is_watched: bool, waiting: usize) {
        let step = self.step(now, id, What::Marked, Some(link), Some(waiting));
        if is_watched {
            self.since.marked += 1;
            self.decided.extend(step);
        }
    }

    /// A queue gave packet `id` to the link.
    pub fn sent(&mut self, link: u32, id: u32, is_watched: bool) {
        self.sent = Some((id, link));
        self.moves += u64::from(is_watched);
        if is_watched {
            self.sending = None;
        }
    }

    /// The link of the last dequeue.
    pub fn sender(&self) -> Option<u32> {
        self.sent.map(|(_, link)| link)
    }

    /// The packet of the last dequeue is sent from `now` until `free_at`; the link has lost `wire_lost`
    /// packets so far.
    pub fn transmitted(
        &mut self,
        now: Time,
        link: u32,
        free_at: Time,
        wire_lost: u64,
        is_watched: bool,
    ) {
        let Some((id, _)) = self.sent.take() else { return };
        if let Some((serial, story)) = self.of(id) {
            story.left = Some((link, free_at));
            if is_watched {
                self.sending = Some((serial, now));
            }
        }
        self.step(now, id, What::Transmitted, Some(link), None);
        let link_index = link as usize;
        if link_index >= self.wire_lost.len() {
            self.wire_lost.resize(link_index + 1, 0);
        }
        // The count begins again when the warm-up ends.
        if wire_lost > std::mem::replace(&mut self.wire_lost[link_index], wire_lost) {
            self.end(id, free_at, What::Lost, Some(link));
        }
    }

    pub fn delivered(&mut self, now: Time, id: u32, cargo: &Cargo) {
        if cargo.packet.kind == PacketKind::Data {
            let row = self.rows[cargo.user as usize] as usize;
            self.since.bytes[row] += u64::from(cargo.packet.len);
            let (count, sum) = &mut self.since.delays[self.classes[cargo.user as usize] as usize];
            *count += 1;
            *sum += now - cargo.sent;
        }
        self.end(id, now, What::Delivered, None);
    }

    /// Whether there are steps without variables.
    pub fn has_decided(&self) -> bool {
        !self.decided.is_empty()
    }

    /// Adds the variables to these steps.
    pub fn settle(&mut self, variables: &[(&'static str, f64)]) {
        for (serial, step) in std::mem::take(&mut self.decided) {
            if let Some(story) = self.story_mut(serial) {
                story.steps[step].variables = variables.into();
            }
        }
    }

    pub fn moves(&self) -> u64 {
        self.moves
    }
}
