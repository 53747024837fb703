//! Playing: ticks, and frames for the tabs.

use crate::host::{Host, Stop};
use crate::stage::Stage;
use crate::tab::{Message, Tab};
use serde_json::json;

/// Packets of a queue, and packets under way, that a frame shows at most.
const MOST_PACKETS: usize = 400;

/// The message that shows a text, beside `field` if it is one's.
fn said(level: &str, text: &str, field: Option<&str>) -> String {
    json!({ "type": "said", "level": level, "text": text, "field": field }).to_string()
}

impl<H: Host + Clone + 'static> Stage<H> {
    /// A tab with a new `id` wants to see it.
    ///
    /// # Errors
    /// The host ends.
    pub fn connect(&mut self, id: u32) -> Result<(), Stop> {
        self.tabs.push(Tab { id, waits_for: None, version: None, known: Vec::new() });
        let shown = self.description().map(|text| self.tell(Some(id), text));
        let begun = shown.and_then(|()| {
            let begins = std::mem::take(&mut self.begins);
            if begins { self.play() } else { Ok(()) }
        });
        self.tell_wrong(Some(id), begun, None)
    }

    /// A tab has gone; without any, it does not play on.
    pub fn disconnect(&mut self, id: u32) {
        self.tabs.retain(|tab| tab.id != id);
    }

    /// A tab has drawn a frame.
    pub fn acknowledge(&mut self, id: u32, frame: u64) {
        for tab in &mut self.tabs {
            if tab.id == id && tab.waits_for == Some(frame) {
                tab.waits_for = None;
            }
        }
    }

    /// The messages since the last call, in order.
    pub fn messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.said)
    }

    pub(crate) fn tell(&mut self, to: Option<u32>, text: String) {
        self.said.push(Message { to, text });
    }

    /// Tells what was wrong, unless the host ends.
    pub(crate) fn tell_wrong(
        &mut self,
        to: Option<u32>,
        done: Result<(), Stop>,
        field: Option<&str>,
    ) -> Result<(), Stop> {
        if let Err(Stop::Refused(words)) = done {
            self.tell(to, said("error", &words, field));
            return Ok(());
        }
        done
    }

    /// Real time in s until the next tick; None while it does not play. `now` is the present time
    /// from any origin, here and in the other functions.
    pub fn wait(&mut self, now: f64) -> Option<f64> {
        if self.plays() {
            return Some(self.pace.until_next(now));
        }
        self.pace.rest();
        None
    }

    fn plays(&self) -> bool {
        self.playing && !self.tabs.is_empty()
    }

    /// Goes on by a tick, if one is due. [`Stage::show`] must follow, with the time at its end.
    ///
    /// # Errors
    /// The host ends.
    pub fn turn(&mut self, now: f64) -> Result<(), Stop> {
        if self.wait(now).is_none_or(|wait| wait > 0.0) {
            return Ok(());
        }
        let ticked = self.tick(now);
        self.tell_wrong(None, ticked, None)
    }

    fn tick(&mut self, now: f64) -> Result<(), Stop> {
        let (from, end) = self.lanes[0].times()?;
        let stop = self.pause_at.map_or(end, |at| at.min(end));
        let goal = (from + self.pace.span(now, self.speed)).min(stop);
        self.or_back(|stage| stage.lanes.iter_mut().try_for_each(|lane| lane.advance(goal)))?;
        self.ticked = Some(goal.saturating_sub(from));
        self.version += 1;
        if goal >= stop {
            self.halt();
        }
        Ok(())
    }

    /// Sends a frame to each tab that waits for one.
    ///
    /// # Errors
    /// The host ends.
    pub fn show(&mut self, now: f64) -> Result<(), Stop> {
        if let Some(span) = self.ticked.take()
            && self.playing
        {
            self.pace.went(now, span);
            if self.pace.is_slow(now, self.speed)
                && let Some((speed, actual)) = self.speed.zip(self.pace.actual)
            {
                let words = format!(
                    "This is as fast as it goes: {} simulated seconds a second, not {speed}.",
                    three_digits(actual)
                );
                self.tell(None, said("warning", &words, Some("speed")));
            }
        }
        let shown = self.frames();
        self.tell_wrong(None, shown, None)
    }

    fn frames(&mut self) -> Result<(), Stop> {
        let waits = |tab: &Tab, version| tab.waits_for.is_none() && tab.version != Some(version);
        if !self.tabs.iter().any(|tab| waits(tab, self.version)) {
            return Ok(());
        }
        let pictures = self.lanes.iter().map(|lane| Ok(lane.run()?.world.picture(MOST_PACKETS)));
        let pictures = pictures.collect::<Result<Vec<String>, Stop>>()?;
        for place in 0..self.tabs.len() {
            if waits(&self.tabs[place], self.version) {
                self.frames += 1;
                let frame = self.frame(place, &pictures)?;
                let tab = &mut self.tabs[place];
                (tab.version, tab.waits_for) = (Some(self.version), Some(self.frames));
                let id = tab.id;
                self.tell(Some(id), frame);
            }
        }
        Ok(())
    }

    /// A frame, with the points of the series that the tab does not have.
    fn frame(&mut self, place: usize, pictures: &[String]) -> Result<String, Stop> {
        let tab = &mut self.tabs[place];
        tab.known.resize(self.lanes.len(), 0);
        let mut lanes = Vec::with_capacity(self.lanes.len());
        for (number, (lane, picture)) in self.lanes.iter().zip(pictures).enumerate() {
            let first = tab.known[number];
            let (there, points) = lane.run()?.world.points(first);
            tab.known[number] = there;
            lanes.push(format!(
                "{{\"id\":{number},{picture},\"first\":{first},\"points\":{points}}}"
            ));
        }
        let (now, end) = self.lanes[0].times()?;
        let actual = if self.playing { self.pace.actual } else { None };
        let mut head = json!({
            "type": "frame",
            "number": self.frames,
            "now_ns": now,
            "playing": self.playing,
            "speed": self.speed,
            "actual": actual,
            "complete": now >= end,
        })
        .to_string();
        head.pop();
        Ok(format!("{head},\"lanes\":[{}]}}", lanes.join(",")))
    }
}

/// A number with three significant digits.
fn three_digits(value: f64) -> String {
    let mut places = 0;
    let mut scaled = value.abs();
    while scaled < 100.0 && places < 6 {
        (scaled, places) = (scaled * 10.0, places + 1);
    }
    let text = format!("{value:.places$}");
    if places == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}
