//! The stage: disciplines side by side in simulated time, and what is asked of them.

use crate::describe;
use crate::host::{Host, Stop, refuse};
use crate::joining::{self, in_words};
use crate::lane::{Lane, each};
use crate::message::{Command, Number, Queue};
use crate::pace::Pace;
use crate::queue::{free, labelled};
use crate::story::Story;
use crate::tab::{Message, Tab};
use crate::vocabulary::Vocabulary;
use crate::written::{Entry, Written, link_of, list, text};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Points of the series that a run has, at most.
const POINTS: f64 = 3000.0;
/// In place of a discipline: the queues that the scenario has.
const TODAY: &str = "today";

/// What is played.
pub struct Stage<H> {
    pub(crate) host: H,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) stories: Arc<Vec<Story>>,
    pub(crate) scenario: Written,
    pub(crate) queues: Vec<Queue>,
    pub(crate) watched: Option<String>,
    pub(crate) grain_ns: u64,
    pub(crate) lanes: Vec<Lane<H>>,
    changes: Vec<Recorded>,
    next_change: u64,
    /// Paths of the fields that the tabs have been shown.
    changeable: BTreeSet<String>,
    /// Place in a story: its name and step. Null without one.
    story: Value,
    /// Whether it begins to play when the first tab comes.
    pub(crate) begins: bool,
    /// Whether nothing has been asked for yet, of a stage that does not begin to play by itself.
    waits: bool,
    pub(crate) tabs: Vec<Tab>,
    pub(crate) playing: bool,
    pub(crate) speed: Option<f64>,
    pub(crate) pause_at: Option<u64>,
    /// Changes when what a frame shows does.
    pub(crate) version: u64,
    pub(crate) frames: u64,
    pub(crate) pace: Pace,
    /// How far the last tick went, in ns, until its end is noticed.
    pub(crate) ticked: Option<u64>,
    pub(crate) said: Vec<Message>,
}

/// A change, and whom it concerns.
#[derive(Clone)]
struct Recorded {
    id: u64,
    /// None: all.
    lane: Option<usize>,
    at_ns: u64,
    entry: Entry,
    /// What its lane is called from then on, if it is called otherwise.
    label: Option<String>,
    /// What a page says of it.
    text: String,
}

/// The scenario of a lane, to be kept.
#[derive(Debug, Clone)]
pub struct File {
    /// The lane.
    pub lane: usize,
    /// A name without an ending: that of the scenario and the lane's label.
    pub stem: String,
    /// The scenario with its changes, as TOML.
    pub text: String,
    /// That of the run, if it is complete.
    pub fingerprint: Option<String>,
}

/// Lanes to be put side by side.
struct Plan {
    scenario: Written,
    changes: Vec<Recorded>,
    queues: Vec<Queue>,
    link: Option<String>,
}

impl<H: Host + Clone + 'static> Stage<H> {
    /// The stage at the beginning of a scenario, with `queues` side by side on `link`: the compared
    /// one, or the first, unless it is given.
    ///
    /// If it `plays`, it begins when the first tab has come; otherwise also the first story waits
    /// until somebody lets it play.
    ///
    /// # Errors
    /// The scenario cannot run, or a discipline cannot be put on the link.
    pub fn new(
        host: H,
        vocabulary: Arc<Vocabulary>,
        stories: Arc<Vec<Story>>,
        scenario: Written,
        queues: Vec<Queue>,
        link: Option<&str>,
        plays: bool,
    ) -> Result<Self, Stop> {
        let mut stage = Stage {
            host,
            vocabulary,
            stories,
            scenario: scenario.clone(),
            queues: Vec::new(),
            watched: None,
            grain_ns: 0,
            lanes: Vec::new(),
            changes: Vec::new(),
            next_change: 0,
            changeable: BTreeSet::new(),
            story: Value::Null,
            begins: plays,
            waits: !plays,
            tabs: Vec::new(),
            playing: false,
            speed: Some(1.0),
            pause_at: None,
            version: 0,
            frames: 0,
            pace: Pace::default(),
            ticked: None,
            said: Vec::new(),
        };
        let (scenario, changes) = stage.taken_over(&scenario)?;
        stage.begin(Plan { scenario, changes, queues, link: link.map(str::to_owned) }, 0)?;
        Ok(stage)
    }

    /// Label and recorded scenario of each lane.
    pub fn lanes(&self) -> impl Iterator<Item = (&str, &Written)> {
        self.lanes.iter().map(|lane| (lane.label.as_str(), &lane.written))
    }

    /// The present instant of each lane, in ns.
    pub fn instants(&self) -> Vec<u64> {
        let now = |lane: &Lane<H>| Some(lane.times().ok()?.0);
        self.lanes.iter().filter_map(now).collect()
    }

    /// The link whose queue is shown.
    pub fn watched(&self) -> Option<&str> {
        self.watched.as_deref()
    }

    /// The scenarios of all lanes, to be kept.
    ///
    /// # Errors
    /// A scenario cannot be written as TOML.
    pub fn files(&self) -> Result<Vec<File>, Stop> {
        let file = |(number, lane): (usize, &Lane<H>)| {
            let name = &lane.written.name;
            let name = name.strip_suffix(".toml").or(name.strip_suffix(".json")).unwrap_or(name);
            Ok(File {
                lane: number,
                stem: stem(&format!("{name} {}", lane.label)),
                text: lane.written.to_toml()?,
                fingerprint: lane.fingerprint()?,
            })
        };
        self.lanes.iter().enumerate().map(file).collect()
    }

    /// Puts other lanes side by side, at an instant. After an error nothing has changed.
    fn begin(&mut self, plan: Plan, at_ns: u64) -> Result<(), Stop> {
        let resolved = plan.scenario.resolved(&self.host)?;
        let watched = self.watch(&plan.scenario, &resolved, plan.link.as_deref())?;
        let grain_ns = grain(resolved["duration_s"].as_f64().unwrap_or_default());
        let bases = self.bases(&plan.scenario, &plan.queues, watched.as_deref())?;
        if bases.is_empty() {
            return refuse("there is no discipline to be shown; name one");
        }
        let mut lanes = Vec::with_capacity(bases.len());
        for (number, (label, base)) in bases.into_iter().enumerate() {
            let own = plan.changes.iter().filter(|each| each.lane.is_none_or(|it| it == number));
            let mut written = base;
            let mut label = label;
            for change in own {
                written = written.with_change(change.at_ns, &change.entry)?;
                label = change.label.clone().unwrap_or(label);
            }
            let label = free(label, |it| lanes.iter().any(|lane: &Lane<H>| lane.label == it));
            let host = self.host.anew();
            lanes.push(Lane::open(label, written, watched.as_deref(), grain_ns, host)?);
        }
        each(&mut lanes, |lane| lane.advance(at_ns))?;
        (self.scenario, self.queues, self.watched) = (plan.scenario, plan.queues, watched);
        (self.grain_ns, self.lanes, self.changes) = (grain_ns, lanes, plan.changes);
        // What the tabs know is of other lanes.
        self.tabs.iter_mut().for_each(|tab| tab.known.clear());
        Ok(())
    }

    /// The link whose queue is shown: the first if none is compared; None if there is none.
    fn watch(
        &self,
        scenario: &Written,
        resolved: &Value,
        link: Option<&str>,
    ) -> Result<Option<String>, Stop> {
        let Some(first) = list(&resolved["links"]).first() else { return Ok(None) };
        let given = link.map(str::to_owned);
        let compared =
            scenario.asked(&self.host, move |scenario| scenario.compared_link(given.as_deref()));
        match compared {
            Err(Stop::Refused(_)) if link.is_none() => Ok(Some(text(&first["name"]).to_owned())),
            other => other.map(Some),
        }
    }

    /// Label and scenario of each lane, without the changes of the stage.
    fn bases(
        &self,
        scenario: &Written,
        queues: &[Queue],
        watched: Option<&str>,
    ) -> Result<Vec<(String, Written)>, Stop> {
        let Some(watched) = watched else {
            return Ok(vec![(scenario.name.clone(), scenario.clone().bare())]);
        };
        let compared = list(&scenario.tree["compare"]["disciplines"]).iter().map(labelled);
        let known: HashMap<String, Map<String, Value>> = compared.collect::<Result<_, _>>()?;
        let mut bases: Vec<(String, Written)> = Vec::new();
        for queue in queues {
            let listed = queue.as_str().and_then(|name| known.get_key_value(name));
            let (label, base) = if queue == TODAY {
                (TODAY.to_owned(), scenario.clone())
            } else {
                let (label, table) = match listed {
                    Some((label, table)) => (label.clone(), table.clone()),
                    None => labelled(&self.vocabulary.with_box(queue))?,
                };
                (label, scenario.with_lane(&self.host, table, watched)?)
            };
            let label = free(label, |it| bases.iter().any(|(other, _)| other == it));
            bases.push((label, base.bare()));
        }
        Ok(bases)
    }

    /// The scenario without its changes, and these, which are the stage's from now on.
    fn taken_over(&mut self, scenario: &Written) -> Result<(Written, Vec<Recorded>), Stop> {
        let (plain, changes) = scenario.without_changes()?;
        let mut record = |(at_ns, entry)| {
            let id = self.next_change;
            self.next_change += 1;
            let text = in_words(&entry);
            Recorded { id, lane: None, at_ns, entry, label: None, text }
        };
        Ok((plain, changes.into_iter().map(&mut record).collect()))
    }

    /// Does what a tab asks for; what is wrong is told to it.
    ///
    /// # Errors
    /// The host ends.
    pub fn obey(&mut self, tab: u32, command: Command) -> Result<(), Stop> {
        let field = match &command {
            Command::Change { path, .. } => Some(path.clone()),
            _ => None,
        };
        let done = self.act(tab, command);
        self.tell_wrong(Some(tab), done, field.as_deref())
    }

    fn act(&mut self, tab: u32, command: Command) -> Result<(), Stop> {
        // Of a story that a page opens with, Space is to begin the first step.
        let waits = std::mem::take(&mut self.waits);
        match command {
            Command::Play {} => {
                self.pause_at = None;
                self.play()
            }
            Command::Pause {} => {
                self.halt();
                Ok(())
            }
            Command::Step {} => self.step(),
            Command::Speed { factor } => {
                self.speed = factor;
                self.pace.rest();
                self.version += 1;
                Ok(())
            }
            Command::Seek { at_ns } => self.seek(at_ns.0),
            Command::Reset {} => {
                self.halt();
                self.again(Vec::new(), 0)
            }
            Command::Lanes { queues } => self.with_lanes(queues, self.watched.clone()),
            Command::Watch { link } => self.with_lanes(self.queues.clone(), Some(link)),
            Command::Change { path, value, lane } => self.set(path, value, lane),
            Command::Queue { queue, lane } => self.exchange(&queue, lane),
            Command::Join { traffic } => self.join(traffic),
            Command::Leave { traffic } => {
                let resolved = self.lanes[0].present()?.1;
                let name = joining::entry(&resolved, traffic.0)?["name"].clone();
                self.record(Map::from_iter([("leave".to_owned(), name)]), None, None)
            }
            Command::Burst { packets, size, like } => {
                let (like, watched) = (like.map(|place| place.0), self.watched.as_deref());
                let burst = joining::burst(&mut self.lanes[0], (packets, size), like, watched)?;
                self.record(Map::from_iter([("join".to_owned(), burst.into())]), None, None)
            }
            Command::Forget { change } => self.forget(change.0),
            Command::Ask { lane, id } => self.tell_story(tab, lane, id.0),
            Command::Story { name, step } => self.go_to_step(&name, step.0, !waits),
            Command::Ack { number } => {
                self.acknowledge(tab, number.0);
                Ok(())
            }
            Command::Save {} => {
                let file = |file: File| {
                    let path = format!("{}.toml", file.stem);
                    let File { lane, text, fingerprint, .. } = file;
                    json!({ "lane": lane, "path": path, "text": text, "fingerprint": fingerprint })
                };
                let files: Vec<_> = self.files()?.into_iter().map(file).collect();
                self.tell(Some(tab), json!({ "type": "saved", "files": files }).to_string());
                Ok(())
            }
            Command::Compare { .. } | Command::Report {} => {
                refuse("comparisons and reports need `forebay explore`")
            }
            Command::Why { .. } => refuse("the answer to why needs `forebay explore`"),
        }
    }

    pub(crate) fn play(&mut self) -> Result<(), Stop> {
        let (now, end) = self.lanes[0].times()?;
        if now >= end {
            return refuse("the scenario is at its end; jump back to see it again");
        }
        self.playing = true;
        self.pace.rest();
        self.version += 1;
        Ok(())
    }

    pub(crate) fn halt(&mut self) {
        self.playing = false;
        self.pause_at = None;
        self.version += 1;
        self.pace.rest();
    }

    fn step(&mut self) -> Result<(), Stop> {
        self.halt();
        self.or_back(|stage| {
            let [first, others @ ..] = stage.lanes.as_mut_slice() else { return Ok(()) };
            first.advance_to_packet()?;
            let now = first.times()?.0;
            others.iter_mut().try_for_each(|lane| lane.advance(now))
        })
    }

    fn seek(&mut self, at_ns: u64) -> Result<(), Stop> {
        let (now, end) = self.lanes[0].times()?;
        let is_back = at_ns < now;
        self.or_back(|stage| each(&mut stage.lanes, |lane| lane.seek(at_ns.min(end))))?;
        // What the tabs know beyond may come to be something else.
        for tab in &mut self.tabs {
            for (known, lane) in tab.known.iter_mut().zip(&self.lanes) {
                *known = lane.run()?.world.points(*known).0.min(*known);
            }
        }
        self.pace.rest();
        self.version += 1;
        // What has been changed since then is to come again.
        if is_back || !self.changes.is_empty() {
            self.describe()?;
        }
        Ok(())
    }

    /// Does something with all lanes; if a run cannot go on, all are where they were.
    pub(crate) fn or_back(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let before = self.lanes[0].times()?.0;
        let done = act(self);
        if let Err(Stop::Refused(_)) = done {
            self.halt();
            each(&mut self.lanes, |lane| lane.restart(before))?;
        }
        done
    }

    /// Goes through it again to an instant, with other changes.
    fn again(&mut self, changes: Vec<Recorded>, at_ns: u64) -> Result<(), Stop> {
        let (scenario, queues) = (self.scenario.clone(), self.queues.clone());
        self.begin(Plan { scenario, changes, queues, link: self.watched.clone() }, at_ns)?;
        self.pace.rest();
        self.describe()
    }

    fn with_lanes(&mut self, queues: Vec<Queue>, link: Option<String>) -> Result<(), Stop> {
        let shared = self.changes.iter().filter(|each| each.lane.is_none());
        let changes = shared.cloned().collect();
        let now = self.lanes[0].times()?.0;
        self.begin(Plan { scenario: self.scenario.clone(), changes, queues, link }, now)?;
        self.story = Value::Null;
        self.pace.rest();
        self.describe()
    }

    fn set(&mut self, path: String, value: Value, lane: Option<Number>) -> Result<(), Stop> {
        // Whatever else a path might lead to is not the page's to change.
        if !self.changeable.contains(&path) {
            return refuse(format!(
                "\"{path}\" cannot be changed here; the fields that are shown can"
            ));
        }
        let fields = Map::from_iter([(path, value)]);
        self.record(Map::from_iter([("set".to_owned(), fields.into())]), lane, None)
    }

    fn join(&mut self, traffic: Entry) -> Result<(), Stop> {
        let traffic = joining::named(&self.lanes[0], traffic)?;
        self.record(Map::from_iter([("join".to_owned(), traffic.into())]), None, None)
    }

    /// Changes something now, in a lane or in all of them.
    fn record(
        &mut self,
        entry: Entry,
        lane: Option<Number>,
        label: Option<String>,
    ) -> Result<(), Stop> {
        let lane = lane.map(|number| self.place(number)).transpose()?;
        let chosen = lane.map_or(0..self.lanes.len(), |place| place..place + 1);
        let mut at_ns = 0;
        self.or_back(|stage| {
            for lane in &mut stage.lanes {
                at_ns = at_ns.max(lane.act(crate::Run::instant)?);
            }
            stage.lanes.iter_mut().try_for_each(|lane| lane.advance(at_ns))
        })?;
        let before: Vec<_> = self.lanes.iter().map(|lane| lane.written.clone()).collect();
        let mut change = || {
            let lanes = &mut self.lanes[chosen.clone()];
            lanes.iter_mut().try_for_each(|lane| lane.change(at_ns, &entry))?;
            // What happens at this instant happens now, so that another change has its own instant.
            self.lanes.iter_mut().try_for_each(|lane| lane.advance(at_ns))
        };
        if let Err(stop) = change() {
            if stop != Stop::Ended {
                self.restore(before, at_ns)?;
            }
            return Err(stop);
        }
        let words = in_words(&entry);
        let text = match (lane.map(|place| &self.lanes[place].label), &label) {
            (Some(before), Some(label)) => format!("{label} replaces {before}"),
            (Some(whose), None) => format!("{words}, {whose}"),
            _ => words,
        };
        for lane in &mut self.lanes[chosen] {
            lane.label = label.clone().unwrap_or_else(|| std::mem::take(&mut lane.label));
        }
        self.changes.push(Recorded { id: self.next_change, lane, at_ns, entry, label, text });
        self.changes.sort_by_key(|each| each.at_ns);
        self.next_change += 1;
        self.describe()
    }

    /// Brings lanes that have changed, or whose run is lost, back to what they were.
    fn restore(&mut self, before: Vec<Written>, at_ns: u64) -> Result<(), Stop> {
        for (lane, written) in self.lanes.iter_mut().zip(before) {
            if lane.written != written || lane.is_lost() {
                lane.written = written;
                lane.restart(at_ns)?;
            }
        }
        Ok(())
    }

    fn exchange(&mut self, queue: &Queue, number: Number) -> Result<(), Stop> {
        let place = self.place(number)?;
        let (label, table) = labelled(&self.vocabulary.with_box(queue))?;
        if table.contains_key("box") {
            return refuse(format!(
                "{label}: a box is there from the beginning; add {label} as a lane instead"
            ));
        }
        let others = self.lanes.iter().enumerate().filter(|(other, _)| *other != place);
        let label = free(label, |it| others.clone().any(|(_, lane)| lane.label == it));
        let resolved = self.lanes[place].present()?.1;
        let Some(link) = self.watched.as_deref().and_then(|name| link_of(&resolved, name)) else {
            return refuse("there is no link whose queue could be exchanged");
        };
        let fields = Map::from_iter([(text(&link["queue_path"]).to_owned(), table.into())]);
        let entry = Map::from_iter([("set".to_owned(), fields.into())]);
        self.record(entry, Some(number), Some(label))
    }

    fn forget(&mut self, change: u64) -> Result<(), Stop> {
        let mut left = self.changes.clone();
        left.retain(|each| each.id != change);
        if left.len() == self.changes.len() {
            return refuse(format!("there is no change {change}"));
        }
        let now = self.lanes[0].times()?.0;
        self.again(left, now)
    }

    /// The place of the lane with this number.
    fn place(&self, number: Number) -> Result<usize, Stop> {
        let place = usize::try_from(number.0).ok().filter(|place| *place < self.lanes.len());
        place.map_or_else(|| refuse(format!("there is no lane {}", number.0)), Ok)
    }

    fn tell_story(&mut self, tab: u32, lane: Number, packet: u64) -> Result<(), Stop> {
        let place = self.place(lane)?;
        let gone = || {
            json!({ "flow": 0, "class_id": 0, "bytes": 0, "kind": "data", "ended": true,
                    "id": packet, "steps": [] })
        };
        let mut story = self.lanes[place].run()?.world.story(packet).unwrap_or_else(gone);
        (story["type"], story["lane"]) = ("story_of".into(), place.into());
        self.tell(Some(tab), story.to_string());
        Ok(())
    }

    fn go_to_step(&mut self, name: &str, step: u64, plays: bool) -> Result<(), Stop> {
        let scene = Story::scene(&self.stories, name, step)?;
        let (scenario, changes) = self.taken_over(&scene.scenario)?;
        let plan = Plan { scenario, changes, queues: scene.lanes, link: Some(scene.link) };
        self.begin(plan, scene.at_ns)?;
        self.story = json!({ "name": name, "step": step });
        (self.speed, self.pause_at) = (Some(scene.speed), Some(scene.until_ns));
        self.describe()?;
        if plays { self.play() } else { Ok(()) }
    }

    /// The message `stage`.
    pub(crate) fn description(&mut self) -> Result<String, Stop> {
        let change = |each: &Recorded| {
            let at_s = each.at_ns as f64 / 1e9;
            json!({ "id": each.id, "at_s": at_s, "text": each.text })
        };
        let scene = describe::Scene {
            watched: self.watched.as_deref(),
            grain_ns: self.grain_ns,
            changes: self.changes.iter().map(change).collect(),
            stories: self.stories.iter().map(Story::shown).collect(),
            story: &self.story,
            vocabulary: &self.vocabulary,
        };
        let whole = describe::stage(&mut self.lanes, scene)?;
        self.changeable = describe::paths(&whole).map(str::to_owned).collect();
        Ok(whole.to_string())
    }

    /// What does not move has: tells everyone.
    fn describe(&mut self) -> Result<(), Stop> {
        self.version += 1;
        let text = self.description()?;
        self.tell(None, text);
        Ok(())
    }
}

/// Time between two points of the series in ns: 1, 2 or 5 ms, 10, 20 or 50 ms, and so on.
fn grain(duration_s: f64) -> u64 {
    let mut grain = 1_000_000;
    for (times, by) in [(2, 1), (5, 2), (2, 1)].into_iter().cycle() {
        if duration_s * 1e9 <= POINTS * grain as f64 {
            break;
        }
        grain = grain * times / by;
    }
    grain
}

/// Words as the name of a file: letters and digits, with a dash between words.
fn stem(words: &str) -> String {
    let parts = words.split(|letter: char| !letter.is_ascii_alphanumeric());
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_few_enough_and_at_round_times() {
        for (duration_s, grain_ms) in [
            (0.1, 1),
            (3.0, 1),
            (3.1, 2),
            (7.0, 5),
            (20.0, 10),
            (60.0, 20),
            (100.0, 50),
            (1e4, 5000),
        ] {
            assert_eq!(grain(duration_s), grain_ms * 1_000_000, "{duration_s} s");
        }
    }

    #[test]
    fn names_of_files_have_no_signs() {
        assert_eq!(stem("home uplink FQ-CoDel (2)"), "home-uplink-fq-codel-2");
        assert_eq!(stem("../../x fifo 300p"), "x-fifo-300p");
    }
}
