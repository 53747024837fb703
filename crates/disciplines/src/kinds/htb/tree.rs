//! The discipline of a tree: its turns, and the charges of its classes.
//!
//! A class that may send is in the row of its level, for each priority of its leaves that hold
//! packets. A class that borrows is in its parent's feed, and the parent in turn is in a row or
//! feed above. The next packet comes from the lowest row that is not empty, from the first priority
//! there, down through the feeds.

use super::account::{Account, Share};
use super::agenda::{Agenda, NOWHERE};
use super::bucket::{Buckets, Mode};
use super::feed::Feed;
use super::leaves::{Leaf, Leaves};
use super::plan::{Below, DEEPEST, PRIORITIES, Plan};
use crate::Classify;
use forebay_core::{Backlog, Bank, Context, Discipline, Packet, Rate, Time, Verdict, Wake};
use std::any::Any;
use std::num::NonZero;
use std::sync::Arc;

/// Stands for no class, or no feed.
const NONE: u32 = u32::MAX;

/// A tree of classes with leaves. Data that every packet needs is close together, apart from data
/// that is needed rarely: with thousands of leaves, memory takes most of the time.
pub struct Tree {
    classify: Box<dyn Classify>,
    /// A bank for classifiers, which see no queues here.
    nothing: Bank,
    overhead: u32,
    classes: Vec<Class>,
    /// For each class.
    buckets: Vec<Buckets>,
    /// Its shares in rates that trees on other cores have, too.
    shares: Vec<Share>,
    /// The place of each class on its level's agenda.
    places: Vec<u32>,
    leaves: Leaves,
    /// Bytes left of each leaf's turn, leaf by leaf, for each level that has classes.
    deficits: Vec<i32>,
    /// The position of a level among those that have classes.
    columns: [usize; DEEPEST],
    /// Number of levels that have classes.
    width: usize,
    inner: Vec<Inner>,
    feeds: Vec<Feed>,
    levels: [Level; DEEPEST],
    /// The time until which all leaves that may send hold their packets back. Zero if not known.
    held_back: Time,
}

struct Class {
    parent: u32,
    /// Its number among its parent's children.
    place: u32,
    /// The index of the leaf, or of the rest of an inner class.
    index: u32,
    mode: Mode,
    level: u8,
    /// A bit for each priority that has packets below.
    active: u8,
}

/// The rest of a class that has children.
struct Inner {
    first: u32,
    /// Its feed for each priority. None if no leaf below has this priority.
    feeds: [u32; PRIORITIES],
}

/// The classes of one level.
struct Level {
    /// The row for each priority. None if no leaf below has this priority.
    rows: [u32; PRIORITIES],
    /// A bit for each priority whose row is not empty.
    active: u8,
    agenda: Agenda,
    /// Time of the next look at the agenda, in ns; no later than its first entry.
    next: i64,
}

/// The priorities of the bits in `mask`, from the first on.
fn priorities(mut mask: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let priority = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (priority < PRIORITIES).then_some(priority)
    })
}

/// `now` in ns, as the buckets store it.
#[inline]
fn nanos(now: Time) -> i64 {
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

impl Tree {
    /// The tree of `plan`, empty.
    pub fn new(plan: Plan) -> Self {
        let Plan { classify, overhead, classes, leaves } = plan;
        let mut used = vec![0_u8; classes.len()];
        for leaf in &leaves {
            let mut at = Some(leaf.class);
            while let Some(class) = at {
                used[class] |= 1 << leaf.priority;
                at = classes[class].parent;
            }
        }
        let mut feeds = Vec::new();
        let mut feeds_for = |mask: u8, bound: usize| {
            let mut found = [NONE; PRIORITIES];
            for priority in priorities(mask) {
                found[priority] = feeds.len() as u32;
                feeds.push(Feed::new(bound));
            }
            found
        };
        let used_levels: [bool; DEEPEST] =
            std::array::from_fn(|level| classes.iter().any(|class| class.level == level));
        let below = |level: usize| used_levels[..level].iter().filter(|used| **used).count();
        let (columns, width) = (std::array::from_fn(below), below(DEEPEST));
        let levels = std::array::from_fn(|level| {
            let here = || (0..classes.len()).filter(|class| classes[*class].level == level);
            let mask = here().fold(0, |mask, class| mask | used[class]);
            let rows = feeds_for(mask, classes.len());
            Level { rows, active: 0, agenda: Agenda::new(here().count()), next: i64::MAX }
        });
        let mut inner = Vec::new();
        let row = classes.iter().zip(&used).map(|(class, mask)| Class {
            mode: Mode::Sends,
            level: class.level as u8,
            active: 0,
            parent: class.parent.map_or(NONE, |parent| parent as u32),
            place: class.place as u32,
            index: match class.below {
                Below::Leaf(leaf) => leaf as u32,
                Below::Classes(first, count) => {
                    inner.push(Inner { first: first as u32, feeds: feeds_for(*mask, count) });
                    inner.len() as u32 - 1
                }
            },
        });
        let row: Vec<Class> = row.collect();
        let buckets = classes.iter().map(|class| class.buckets).collect();
        let classes = row;
        Tree {
            nothing: Bank::new(classify.queues()),
            classify,
            overhead,
            buckets,
            shares: Vec::new(),
            places: vec![NOWHERE; classes.len()],
            classes,
            deficits: vec![0; leaves.len() * width],
            columns,
            width,
            leaves: Leaves::new(leaves),
            inner,
            feeds,
            levels,
            held_back: Time::ZERO,
        }
    }

    /// Whether `other` has the same classes with the same disciplines.
    pub fn has_shape_of(&self, other: &Tree) -> bool {
        let place = |class: &Class| (class.parent, class.place, class.index, class.level);
        let shares =
            |tree: &Tree| -> Vec<_> { tree.buckets.iter().map(|each| each.share).collect() };
        self.classes.iter().map(place).eq(other.classes.iter().map(place))
            && shares(self) == shares(other)
            && self.leaves.can_take_over(&other.leaves)
    }

    /// Makes the tree share the rates of some classes: each is named by the places from a class
    /// without a parent down to it, and has an account in which this is tree number `tree`. Returns
    /// false if there is no such class.
    pub fn share(&mut self, tree: usize, shared: &[(Vec<u32>, Arc<Account>)]) -> bool {
        for (path, account) in shared {
            let mut found = NONE;
            for place in path {
                let is_next = |class: &Class| class.parent == found && class.place == *place;
                match self.classes.iter().position(is_next) {
                    Some(class) => found = class as u32,
                    None => return false,
                }
            }
            let Some(buckets) = self.buckets.get_mut(found as usize) else { return false };
            let share = Share::new(account, tree, buckets.cost());
            self.shares.push(share);
            buckets.share = NonZero::new(self.shares.len() as u32);
        }
        true
    }

    /// A leaf begins to hold packets, or ends to, for the accounts above it.
    #[cold]
    fn weigh(&mut self, leaf: usize, begins: bool) {
        let Leaf { class, quantum, .. } = *self.leaves.at(leaf);
        let bytes = if begins { quantum.into() } else { -i64::from(quantum) };
        let mut at = class;
        while at != NONE {
            if let Some(share) = self.buckets[at as usize].share {
                self.shares[share.get() as usize - 1].weigh(bytes);
            }
            at = self.classes[at as usize].parent;
        }
    }

    /// The feed of class `parent` at `priority`.
    #[inline]
    fn feed_of(&mut self, parent: u32, priority: usize) -> &mut Feed {
        let inner = self.classes[parent as usize].index as usize;
        &mut self.feeds[self.inner[inner].feeds[priority] as usize]
    }

    /// The class at `at`, if it is in a row or a feed for the priorities in `mask`: there are such
    /// priorities, and it may send or borrow.
    #[inline]
    fn standing(&self, at: u32, mask: u8) -> Option<&Class> {
        let class = &self.classes[at as usize];
        let may = match class.mode {
            Mode::Cannot => false,
            Mode::Borrows => class.parent != NONE,
            Mode::Sends => true,
        };
        (may && mask != 0).then_some(class)
    }

    /// Puts a class, which has packets below and may send or borrow, into its row or feed.
    fn join(&mut self, mut at: u32) {
        let mut mask = self.classes[at as usize].active;
        loop {
            let Some(&Class { mode, parent, place, level, .. }) = self.standing(at, mask) else {
                return;
            };
            if mode == Mode::Sends {
                let level = &mut self.levels[usize::from(level)];
                level.active |= mask;
                for priority in priorities(mask) {
                    self.feeds[level.rows[priority] as usize].insert(at);
                }
                return;
            }
            for priority in priorities(mask) {
                let feed = self.feed_of(parent, priority);
                if !feed.is_empty() {
                    // Its parent is in its row or feed already.
                    mask &= !(1 << priority);
                }
                feed.insert(place);
            }
            self.classes[parent as usize].active |= mask;
            at = parent;
        }
    }

    /// Undoes [`Tree::join`] for a class whose mode has not changed since then.
    fn leave(&mut self, mut at: u32) {
        let mut mask = self.classes[at as usize].active;
        loop {
            let Some(&Class { mode, parent, place, level, .. }) = self.standing(at, mask) else {
                return;
            };
            if mode == Mode::Sends {
                let level = &mut self.levels[usize::from(level)];
                for priority in priorities(mask) {
                    let row = &mut self.feeds[level.rows[priority] as usize];
                    row.remove_and_pass(at);
                    if row.is_empty() {
                        level.active &= !(1 << priority);
                    }
                }
                return;
            }
            let mut emptied = 0;
            for priority in priorities(mask) {
                let feed = self.feed_of(parent, priority);
                feed.remove(place);
                if feed.is_empty() {
                    emptied |= 1 << priority;
                }
            }
            mask = emptied;
            self.classes[parent as usize].active &= !mask;
            at = parent;
        }
    }

    /// A leaf now holds packets.
    #[inline]
    fn activate(&mut self, leaf: usize) {
        let &Leaf { class, priority, .. } = self.leaves.at(leaf);
        let found = &mut self.classes[class as usize];
        if found.active == 0 {
            found.active = 1 << priority;
            self.join(class);
            if !self.shares.is_empty() {
                self.weigh(leaf, true);
            }
        }
    }

    /// A leaf is now empty.
    fn deactivate(&mut self, leaf: usize) {
        let class = self.leaves.at(leaf).class;
        if self.classes[class as usize].active != 0 {
            self.leave(class);
            self.classes[class as usize].active = 0;
            if !self.shares.is_empty() {
                self.weigh(leaf, false);
            }
        }
    }

    /// Sets the mode of a class by its buckets, and returns in how many nanoseconds this may
    /// change.
    #[inline]
    fn review(&mut self, at: u32, now: i64) -> i64 {
        let buckets = &self.buckets[at as usize];
        let (mut mode, mut rest) = buckets.mode(now);
        if let Some(share) = buckets.share {
            let wait = self.shares[share.get() as usize - 1].begins() - now;
            if wait > 0 {
                rest = if mode == Mode::Cannot { rest.max(wait) } else { wait };
                mode = Mode::Cannot;
            }
        }
        let class = &self.classes[at as usize];
        if mode != class.mode {
            if class.active != 0 {
                self.leave(at);
                self.classes[at as usize].mode = mode;
                self.join(at);
            } else {
                self.classes[at as usize].mode = mode;
            }
        }
        rest
    }

    /// `len` bytes of a leaf are sent, from the rate of its ancestor at `level`.
    fn charge(&mut self, leaf: usize, level: usize, len: u32, now: i64) {
        let mut at = self.leaves.at(leaf).class;
        while at != NONE {
            let class = &self.classes[at as usize];
            let (own, before, parent) = (usize::from(class.level), class.mode, class.parent);
            let buckets = &mut self.buckets[at as usize];
            buckets.charge(len, own < level, now);
            if let Some(share) = buckets.share {
                self.shares[share.get() as usize - 1].charge(len, now);
            }
            let rest = self.review(at, now);
            let mode = self.classes[at as usize].mode;
            if mode != before {
                if before != Mode::Sends {
                    self.levels[own].agenda.strike(at, &mut self.places);
                }
                if mode != Mode::Sends {
                    self.appoint(at, own, rest, now);
                }
            }
            at = parent;
        }
    }

    /// Adds a class of `level` to the agenda.
    fn appoint(&mut self, at: u32, level: usize, rest: i64, now: i64) {
        let (level, due) = (&mut self.levels[level], now.saturating_add(rest.max(1)));
        level.agenda.enter(at, due, &mut self.places);
        level.next = level.next.min(due);
    }

    /// Updates the classes of a level whose time has come.
    fn attend(&mut self, level: usize, now: i64) {
        loop {
            match self.levels[level].agenda.first() {
                Some((due, at)) if due <= now => {
                    self.levels[level].agenda.strike(at, &mut self.places);
                    let rest = self.review(at, now);
                    if self.classes[at as usize].mode != Mode::Sends {
                        self.appoint(at, level, rest, now);
                    }
                }
                first => {
                    self.levels[level].next = first.map_or(i64::MAX, |(due, _)| due);
                    return;
                }
            }
        }
    }

    /// The leaf whose turn it is in a row.
    #[inline]
    fn whose_turn(&mut self, row: u32, priority: usize) -> Option<usize> {
        if self.feeds[row as usize].is_empty() {
            return None;
        }
        // The feeds on the way down, each with the number of its first class.
        let mut way = [(row, 0); DEEPEST + 1];
        let mut depth = 0;
        loop {
            let (feed, first) = way[depth];
            let Some(member) = self.feeds[feed as usize].turn() else {
                self.feeds[feed as usize].rewind();
                if depth > 0 {
                    depth -= 1;
                    self.feeds[way[depth].0 as usize].advance();
                }
                continue;
            };
            let class = &self.classes[(first + member) as usize];
            if class.level == 0 {
                return Some(class.index as usize);
            }
            let inner = &self.inner[class.index as usize];
            depth += 1;
            way[depth] = (inner.feeds[priority], inner.first);
        }
    }

    /// The feed in which a leaf takes its turn at `level`.
    #[inline]
    fn own_feed(&mut self, leaf: usize, priority: usize, level: usize) -> &mut Feed {
        if level == 0 {
            return &mut self.feeds[self.levels[0].rows[priority] as usize];
        }
        let parent = self.classes[self.leaves.at(leaf).class as usize].parent;
        self.feed_of(parent, priority)
    }

    /// The next packet of `priority` that can be sent from the rates of classes of `level`.
    fn take(&mut self, priority: usize, level: usize, cx: &mut Context) -> Option<Packet> {
        let row = self.levels[level].rows[priority];
        let mut first = None;
        while let Some(number) = self.whose_turn(row, priority) {
            if self.leaves.packets(number) == 0 {
                self.deactivate(number);
                first = first.filter(|first| *first != number);
                continue;
            }
            if first == Some(number) {
                return None;
            }
            first.get_or_insert(number);
            let packet = self.leaves.dequeue(number, cx);
            let empty = self.leaves.packets(number) == 0;
            if let Some(packet) = packet {
                let len = packet.len + self.overhead;
                let deficit = &mut self.deficits[number * self.width + self.columns[level]];
                *deficit = deficit.saturating_sub(len as i32);
                if *deficit < 0 {
                    *deficit += self.leaves.at(number).quantum;
                    self.own_feed(number, priority, level).advance();
                }
                if empty {
                    self.deactivate(number);
                }
                self.charge(number, level, len, nanos(cx.now));
                return Some(packet);
            }
            if !empty {
                self.held_back = self.held_back.min(self.leaves.wake(number, cx.now));
                self.own_feed(number, priority, level).advance();
            }
        }
        None
    }
}

impl Discipline for Tree {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context) -> Verdict {
        self.classify.mark(&mut packet);
        let leaf = self.classify.classify(&packet, &self.nothing, cx);
        let verdict = self.leaves.enqueue(leaf, packet, cx);
        if self.leaves.packets(leaf) > 0 {
            self.activate(leaf);
        }
        self.held_back = Time::ZERO;
        verdict
    }

    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        if self.backlog().packets == 0 {
            return None;
        }
        let now = nanos(cx.now);
        self.held_back = Time::MAX;
        for level in 0..DEEPEST {
            if self.levels[level].next <= now {
                self.attend(level, now);
            }
            for priority in priorities(self.levels[level].active) {
                let packet = self.take(priority, level, cx);
                if packet.is_some() {
                    self.held_back = Time::ZERO;
                    return packet;
                }
            }
        }
        None
    }

    fn wake(&self, now: Time) -> Wake {
        if self.backlog().packets == 0 {
            return Wake::Idle;
        }
        let next = self.levels.iter().map(|level| level.next).min().unwrap_or(i64::MAX);
        let next = Time::from_nanos(next as u64);
        let may_send = self.levels.iter().any(|level| level.active != 0);
        let at = if may_send { next.min(self.held_back) } else { next };
        if at <= now { Wake::Ready } else { Wake::At(at) }
    }

    fn backlog(&self) -> Backlog {
        self.leaves.backlog()
    }

    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        self.classify.set_link_rate(rate);
        self.leaves.set_link_rate(now, rate);
        self.held_back = Time::ZERO;
    }

    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        let Some(fresh) = fresh.downcast_mut::<Tree>() else { return false };
        if !self.has_shape_of(fresh) || !(*self.classify).retune(now, &mut *fresh.classify) {
            return false;
        }
        self.overhead = fresh.overhead;
        self.buckets.iter_mut().zip(&fresh.buckets).for_each(|(own, new)| own.take_over(new));
        self.shares.iter_mut().zip(&fresh.shares).for_each(|(own, new)| own.take_over(new));
        let busy = |tree: &Tree, leaf: usize| {
            !tree.shares.is_empty() && tree.classes[tree.leaves.at(leaf).class as usize].active != 0
        };
        // Quanta may change.
        for leaf in 0..self.leaves.count() {
            if busy(self, leaf) {
                self.weigh(leaf, false);
            }
        }
        self.leaves.take_over(&fresh.leaves, now);
        for leaf in 0..self.leaves.count() {
            if busy(self, leaf) {
                self.weigh(leaf, true);
            }
        }
        self.held_back = Time::ZERO;
        true
    }

    fn fault(&self) -> Option<String> {
        self.leaves.fault()
    }

    fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        let count = |mode| self.classes.iter().filter(|class| class.mode == mode).count() as f64;
        out("borrowing_classes", count(Mode::Borrows));
        out("classes_at_ceil", count(Mode::Cannot));
        self.classify.probe(now, &self.nothing, out);
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.leaves.show(out);
    }
}
