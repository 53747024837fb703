//! Directed links: the table of a link and its reverse, checked.

use super::grammar::{LinkTable, PoliceTable, RemarkTable};
use crate::course::{Course, Draw, Schedule, Steps};
use crate::engine::{Capture, LinkSpec};
use crate::trace;
use forebay_core::config::{read, require};
use forebay_core::{
    Bytes, Capacity, ConfigError, Discipline, Duration, Ecn, Limit, Rate, Registry, Rng, Setting,
    Time,
};
use forebay_disciplines::Disciplines;
use forebay_middlebox::Middlebox;
use forebay_middlebox::marker::{TokenBucket, TokenBucketParams};
use forebay_shaper::Variation;
use forebay_shaper::link::check_mtu;
use serde_json::{Map, Value, json};
use std::path::Path;

/// One direction of a link, and its place in the file.
#[derive(Debug, Clone)]
pub struct DirectedLink {
    /// Path of its table.
    pub path: String,
    /// Path of the table for the fields of this link only. The table may not exist yet.
    pub place: String,
    /// Path at which its queue is written, or would be.
    pub queue_path: String,
    /// The table, with all defaults filled in.
    pub table: LinkTable,
}

/// Both directions of the link in `table`, read at `path`.
pub fn directions(
    table: &Map<String, Value>,
    path: &str,
) -> Result<[DirectedLink; 2], ConfigError> {
    refuse_moved(table).map_err(|error| error.within(path))?;
    let forward: LinkTable =
        read(&Value::Object(table.clone())).map_err(|error| error.within(path))?;
    let mut back = table.clone();
    let own = ["queue", "box", "pcap", "reverse", "loss", "police", "reorder", "remark"];
    for field in own {
        back.remove(field);
    }
    let own = forward.reverse.clone().unwrap_or_default();
    let reverse_path = format!("{path}.reverse");
    refuse_moved(&own).map_err(|error| error.within(&reverse_path))?;
    for field in ["name", "from", "to", "reverse"] {
        require(!own.contains_key(field), field, || {
            "cannot be set for the reverse direction".into()
        })
        .map_err(|error| error.within(&reverse_path))?;
    }
    back.insert("name".into(), format!("{}-reverse", forward.name).into());
    back.insert("from".into(), forward.to.clone().into());
    back.insert("to".into(), forward.from.clone().into());
    back.extend(own);
    let back: LinkTable =
        read(&Value::Object(back)).map_err(|error| error.within(&reverse_path))?;
    let forward = DirectedLink::new(path.to_owned(), LinkTable { reverse: None, ..forward });
    let back = DirectedLink::new(reverse_path, back);
    forward.check()?;
    back.check()?;
    Ok([forward, back])
}

/// Fields of earlier versions: the field, the one inside it, the field that has the value now, as a course
/// of this form, and the field beside the value.
const MOVED: [(&str, Option<&str>, &str, &str, &str); 6] = [
    ("steps", None, "rate", "steps", "period"),
    ("delays", None, "delay", "steps", "period"),
    ("losses", None, "loss", "steps", "period"),
    ("trace", None, "rate", "trace", "quantum"),
    ("draw", Some("rates"), "rate", "draw", "every"),
    ("draw", Some("delays"), "delay", "draw", "every"),
];

/// Refuses fields of earlier versions. The error says how to write them now.
fn refuse_moved(table: &Map<String, Value>) -> Result<(), ConfigError> {
    for (field, value) in table.iter().filter(|(_, value)| !value.is_null()) {
        let rows = MOVED.iter().filter(|(old, ..)| old == field);
        let moved = rows.filter_map(|&(_, inner, now, form, beside)| {
            let (value, beside_it) = match inner {
                Some(inner) => (value.get(inner)?, value.get(beside)),
                None => (value, table.get(beside)),
            };
            let course = [(form, Some(value)), (beside, beside_it)];
            let course = course.into_iter().filter_map(|(field, value)| Some((field, value?)));
            let course = course.map(|(field, value)| (field.to_owned(), value.clone()));
            Some(format!("`{now} = {}`", inline(&Value::Object(course.collect()))))
        });
        let moved: Vec<_> = moved.collect();
        require(MOVED.iter().all(|(old, ..)| old != field), field, || {
            format!("is no field of a link any more; write {}", moved.join(" and "))
        })?;
    }
    Ok(())
}

/// `value` as TOML writes it in a line.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name} = {}", inline(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

/// A box, and its kind.
pub type NamedBox = (String, Box<dyn Middlebox>);

impl DirectedLink {
    fn new(path: String, table: LinkTable) -> Self {
        DirectedLink { place: path.clone(), queue_path: format!("{path}.queue"), path, table }
    }

    /// Checks what several fields say together.
    fn check(&self) -> Result<(), ConfigError> {
        let table = &self.table;
        let check = || {
            require(table.from != table.to, "to", || {
                format!("must differ from `from`, both are \"{}\"", table.to)
            })?;
            let rate = table.rate.as_ref();
            rate.ok_or_else(|| ConfigError::new("rate", "is missing"))?
                .check("rate", check_rate)?;
            if let Some(Course::Steps(Steps { steps, .. })) = rate {
                require(steps.iter().any(|(_, rate)| rate.bps() > 0), "rate.steps", some_rate)?;
            }
            table.delay.check("delay", any)?;
            table.loss.check("loss", check_share)?;
            check_mtu(table.mtu, 65_535)?;
            require(table.cost > 0, "cost", || "must be 1 or more".into())?;
            if let Some(PoliceTable { rate, burst }) = &table.police {
                require(rate.bps() > 0, "police.rate", || "must be greater than 0".into())?;
                require(burst.0 >= table.mtu.0, "police.burst", || {
                    format!("must be at least the mtu of {}, got \"{burst}\"", table.mtu)
                })?;
            }
            if let Some(reorder) = &table.reorder {
                check_share(reorder.share, "reorder.share")?;
                require(reorder.delay > Duration::ZERO, "reorder.delay", || {
                    "must be greater than 0, such as \"10ms\"".into()
                })?;
            }
            let idle = table.remark.is_some_and(|remark| remark == RemarkTable::default());
            require(!idle, "remark", || {
                "must name a codepoint, such as `{ ect1 = \"not-ect\" }`".into()
            })
        };
        check().map_err(|error: ConfigError| error.within(&self.path))
    }

    /// The box in front of the link, and its kind.
    pub fn middlebox(
        &self,
        base: &Path,
        boxes: &Registry<dyn Middlebox>,
    ) -> Result<Option<NamedBox>, ConfigError> {
        let Some(block) = &self.table.middlebox else { return Ok(None) };
        let setting = Some(self.setting(base)?);
        let built = boxes.choose(block).and_then(|(entry, params)| {
            Ok(entry.build(&params, &setting)?.map(|built| (entry.name.to_string(), built)))
        });
        built.map_err(|error| error.within(&format!("{}.box", self.path)))
    }

    /// Its queue with every default filled in, if it has one.
    pub fn queue(
        &self,
        base: &Path,
        disciplines: &Disciplines,
    ) -> Result<Option<Value>, ConfigError> {
        let Some(queue) = &self.table.queue else { return Ok(None) };
        let queue = disciplines.effective(queue, &self.setting(base)?);
        queue.map(Some).map_err(|error| error.within(&self.queue_path))
    }

    /// The kind of its queue, and the queue. Without one it has unlimited room.
    pub(super) fn discipline(
        &self,
        base: &Path,
        disciplines: &Disciplines,
    ) -> Result<(String, Box<dyn Discipline>), ConfigError> {
        let block = self.table.queue.clone().unwrap_or_else(unlimited);
        let kind = block.get("kind").and_then(Value::as_str).unwrap_or("combination").to_owned();
        let built = disciplines.build(&block, &self.setting(base)?);
        Ok((kind, built.map_err(|error| error.within(&self.queue_path))?))
    }

    /// The properties of the link that its discipline may know.
    pub fn setting(&self, base: &Path) -> Result<Setting, ConfigError> {
        let rate = match self.rate() {
            Course::Draw(Draw { draw, .. }) => {
                // The mean of all values, which does not depend on the draws.
                let sum: u128 = draw.iter().map(|rate| u128::from(rate.bps())).sum();
                Rate::from_bps((sum / draw.len() as u128) as u64)
            }
            // No other course is random.
            _ => match self.capacity(&mut Rng::named(0, ""), Duration::ZERO, base)? {
                Capacity::Steps { steps, .. } => {
                    steps.iter().map(|(_, rate)| *rate).max().unwrap_or_default()
                }
                capacity => capacity.rate(Time::ZERO),
            },
        };
        Ok(self.table.setting(rate))
    }

    /// Its rate.
    pub fn rate(&self) -> &Course<Rate> {
        self.table.rate.as_ref().expect("the table has been checked")
    }

    fn capacity(
        &self,
        rng: &mut Rng,
        span: Duration,
        base: &Path,
    ) -> Result<Capacity, ConfigError> {
        let field = format!("{}.rate", self.path);
        if let Course::Trace(trace) = self.rate() {
            let text = trace.read(base, &field)?;
            if !trace::has_steps(&text) {
                require(trace.period.is_none(), &format!("{field}.period"), || {
                    "is for a file of times and rates; this one has opportunities to send".into()
                })?;
                return trace.in_file(base, &field, trace::read_trace(&text, trace.quantum()));
            }
        }
        Ok(match self.rate().schedule(rng, span, base, &field, check_rate)? {
            Schedule::Constant(rate) => Capacity::constant(rate),
            Schedule::Steps { steps, period } => {
                require(steps.iter().any(|(_, rate)| rate.bps() > 0), &field, some_rate)?;
                Capacity::steps(steps, period)
            }
        })
    }

    /// Whether rate and delay are constant, and it loses nothing on the wire.
    pub fn is_steady(&self) -> bool {
        let steady = self.rate().constant().is_some() && self.table.delay.constant().is_some();
        steady && self.table.loss.constant() == Some(0.0)
    }

    /// What the link does in a run of length `span`, with random values drawn from `seed`.
    pub(super) fn variation(
        &self,
        (seed, span): (u64, Duration),
        base: &Path,
    ) -> Result<Variation, ConfigError> {
        let table = &self.table;
        let mut rng = Rng::named(seed, &format!("link/{}/draw", table.name));
        let field = |name: &str| format!("{}.{name}", self.path);
        let capacity = self.capacity(&mut rng, span, base)?;
        let delay = table.delay.schedule(&mut rng, span, base, &field("delay"), any)?;
        let loss = table.loss.schedule(&mut rng, span, base, &field("loss"), check_share)?;
        Ok(Variation { capacity, delay, loss, seed })
    }

    /// The properties of the link in a run of length `span`, with random values drawn from `seed`.
    pub(super) fn spec(
        &self,
        (number, ends): (u32, (u32, u32)),
        run: (u64, Duration),
        base: &Path,
        disciplines: &Disciplines,
    ) -> Result<LinkSpec, ConfigError> {
        let table = &self.table;
        let Variation { capacity, delay, loss, .. } = self.variation(run, base)?;
        let create = |file| Capture::create(&base.join(file));
        let capture = table.pcap.as_ref().map(create).transpose();
        let (kind, discipline) = self.discipline(base, disciplines)?;
        Ok(LinkSpec {
            name: table.name.clone(),
            number,
            ends,
            kind,
            discipline,
            capacity,
            overhead: table.overhead.0,
            delay,
            loss,
            policer: table.police.map(policer).transpose()?,
            reorder: table.reorder.map(|table| (table.share, table.delay)),
            remark: table.remark.map(remarked),
            capture: capture.map_err(|error| error.within(&format!("{}.pcap", self.path)))?,
        })
    }
}

/// The queue of a link that has none: it has unlimited room.
pub fn unlimited() -> Value {
    json!({ "kind": "fifo", "limit": Limit::Packets(u32::MAX) })
}

fn policer(PoliceTable { rate, burst }: PoliceTable) -> Result<TokenBucket, ConfigError> {
    TokenBucket::new(&TokenBucketParams {
        rate,
        burst: Some(burst),
        excess_burst: Bytes::default(),
    })
}

/// The new value of each codepoint, by its two bits.
fn remarked(RemarkTable { not_ect, ect0, ect1, ce }: RemarkTable) -> [Ecn; 4] {
    let mut becomes = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    for (codepoint, given) in
        [(Ecn::NotEct, not_ect), (Ecn::Ect0, ect0), (Ecn::Ect1, ect1), (Ecn::Ce, ce)]
    {
        becomes[codepoint as usize] = given.unwrap_or(codepoint);
    }
    becomes
}

/// Checks a rate. In steps, zero is an outage.
fn check_rate(rate: Rate, field: &str) -> Result<(), ConfigError> {
    let is_outage = field.ends_with(".steps");
    require(rate.bps() > 0 || is_outage, field, || "must be greater than 0".into())
}

fn some_rate() -> String {
    "must hold a rate greater than 0".into()
}

fn any(_: Duration, _: &str) -> Result<(), ConfigError> {
    Ok(())
}

fn check_share(share: f64, field: &str) -> Result<(), ConfigError> {
    require((0.0..=1.0).contains(&share), field, || format!("must be 0 to 1, got {share}"))
}
