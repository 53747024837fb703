//! Directed links: the table of a link and its reverse, checked.

use super::grammar::{DrawTable, LinkTable, PoliceTable, RemarkTable, ReorderTable};
use crate::engine::{Capture, Course};
use crate::trace;
use forebay_core::config::{read, require};
use forebay_core::{
    Bytes, Capacity, ConfigError, Discipline, Duration, Ecn, Limit, Rate, Registry, Rng, Setting,
    Time, file,
};
use forebay_disciplines::Disciplines;
use forebay_middlebox::Middlebox;
use forebay_middlebox::marker::{TokenBucket, TokenBucketParams};
use forebay_shaper::link::check_mtu;
use serde_json::{Map, Value, json};
use std::path::Path;

/// One direction of a link, and its place in the file.
#[derive(Debug, Clone)]
pub struct DirectedLink {
    /// Path of its table.
    pub path: String,
    /// Path of the table for fields of this link alone. The table may not exist yet.
    pub place: String,
    /// Path at which its queue is written, or would be.
    pub queue_path: String,
    /// The table, with all defaults filled in.
    pub table: LinkTable,
}

/// A directed link, ready to become a queue or a wire.
pub struct Channel {
    pub(super) name: String,
    pub(super) capacity: Capacity,
    pub(super) overhead: u32,
    pub(super) delay: Course<Duration>,
    pub(super) loss: Course<f64>,
    pub(super) policer: Option<TokenBucket>,
    pub(super) reorder: Option<ReorderTable>,
    pub(super) remark: Option<[Ecn; 4]>,
    pub(super) queue: Option<Value>,
    pub(super) capture: Option<Capture>,
    setting: Setting,
    queue_path: String,
}

/// Fields that give the speed of a link.
const CAPACITY_FIELDS: [&str; 4] = ["rate", "steps", "trace", "draw"];

/// Both directions of the link in `table`, read at `path`.
///
/// # Errors
/// An unknown field or a value of the wrong form, with its path.
pub fn directions(
    table: &Map<String, Value>,
    path: &str,
) -> Result<[DirectedLink; 2], ConfigError> {
    let forward: LinkTable =
        read(&Value::Object(table.clone())).map_err(|error| error.within(path))?;
    let mut back = table.clone();
    let own = ["queue", "box", "pcap", "reverse", "loss", "losses", "police", "reorder", "remark"];
    for field in own {
        back.remove(field);
    }
    let own = forward.reverse.clone().unwrap_or_default();
    let reverse_path = format!("{path}.reverse");
    for field in ["name", "from", "to", "reverse"] {
        require(!own.contains_key(field), field, || {
            "cannot be set for the reverse direction".into()
        })
        .map_err(|error| error.within(&reverse_path))?;
    }
    back.insert("name".into(), format!("{}-reverse", forward.name).into());
    back.insert("from".into(), forward.to.clone().into());
    back.insert("to".into(), forward.from.clone().into());
    let back: LinkTable =
        read(&Value::Object(inherit(&back, &own))).map_err(|error| error.within(&reverse_path))?;
    let forward = DirectedLink::new(path.to_owned(), LinkTable { reverse: None, ..forward });
    let back = DirectedLink::new(reverse_path, back);
    forward.check()?;
    back.check()?;
    Ok([forward, back])
}

/// The table `own` over `all`. If `own` has a field that gives the speed of a link, no such field
/// is copied; the same is true for schedules of delays and losses.
pub fn inherit(all: &Map<String, Value>, own: &Map<String, Value>) -> Map<String, Value> {
    let mut table = all.clone();
    if CAPACITY_FIELDS.iter().any(|field| own.contains_key(*field)) {
        CAPACITY_FIELDS.iter().for_each(|field| drop(table.remove(*field)));
    }
    for [constant, schedule] in [["delay", "delays"], ["loss", "losses"]] {
        if own.contains_key(constant) || own.contains_key(schedule) {
            table.remove(schedule);
        }
    }
    table.extend(own.clone());
    table
}

/// The channels of `links`, with random values drawn from `seed` for `duration`.
///
/// # Errors
/// A file cannot be read or written. The error names its field.
pub fn channels(
    links: &[DirectedLink],
    seed: u64,
    duration: Duration,
    base: &Path,
) -> Result<Vec<Channel>, ConfigError> {
    links.iter().map(|link| link.channel(seed, duration, base)).collect()
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
            let drawn = table.draw.as_ref().is_some_and(|draw| !draw.rates.is_empty());
            let given = [table.rate.is_some(), table.steps.is_some(), table.trace.is_some(), drawn];
            let count = given.iter().filter(|given| **given).count();
            require(count == 1, "rate", || match count {
                0 => "is missing; give `rate`, or `steps`, `trace` or `draw.rates`".into(),
                _ => "give only one of `rate`, `steps`, `trace` and `draw.rates`".into(),
            })?;
            if let Some(rate) = table.rate {
                require(rate.bps() > 0, "rate", || "must be greater than 0".into())?;
            }
            if let Some(steps) = &table.steps {
                check_steps("steps", steps, table.period)?;
                require(steps.iter().any(|(_, rate)| rate.bps() > 0), "steps", || {
                    "must hold a rate greater than 0".into()
                })?;
            }
            if let Some(delays) = &table.delays {
                check_steps("delays", delays, table.period)?;
            }
            if let Some(draw) = &table.draw {
                check_draw(draw).map_err(|error| error.within("draw"))?;
            }
            let most = Bytes(1_000_000_000);
            require((1..=most.0).contains(&table.quantum.0), "quantum", || {
                format!("must be greater than 0 and at most {most}, got \"{}\"", table.quantum)
            })?;
            check_mtu(table.mtu, 65_535)?;
            require(table.cost > 0, "cost", || "must be 1 or more".into())?;
            check_share(table.loss, "loss")?;
            if let Some(losses) = &table.losses {
                check_steps("losses", losses, table.period)?;
                losses.iter().try_for_each(|(_, share)| check_share(*share, "losses"))?;
            }
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
    ///
    /// # Errors
    /// The box is wrong, with its path.
    pub fn controller(
        &self,
        boxes: &Registry<dyn Middlebox>,
    ) -> Result<Option<NamedBox>, ConfigError> {
        let Some(block) = &self.table.guard else { return Ok(None) };
        let built = boxes.choose(block).and_then(|(entry, params)| {
            Ok(entry.build(&params, &())?.map(|built| (entry.name.to_string(), built)))
        });
        built.map_err(|error| error.within(&format!("{}.box", self.path)))
    }

    /// Its queue with every default filled in, if it has one.
    ///
    /// # Errors
    /// The queue is wrong, with its path, or a trace cannot be read.
    pub fn queue(
        &self,
        base: &Path,
        disciplines: &Disciplines,
    ) -> Result<Option<Value>, ConfigError> {
        let Some(queue) = &self.table.queue else { return Ok(None) };
        let queue = disciplines.effective(queue, &self.setting(base)?);
        queue.map(Some).map_err(|error| error.within(&self.queue_path))
    }

    /// The kind of its queue, and the queue.
    ///
    /// # Errors
    /// The queue cannot be built.
    pub(super) fn discipline(
        &self,
        base: &Path,
        disciplines: &Disciplines,
    ) -> Result<(String, Box<dyn Discipline>), ConfigError> {
        let setting = self.setting(base)?;
        discipline(self.table.queue.as_ref(), &setting, &self.queue_path, disciplines)
    }

    /// What the discipline is told of this link.
    ///
    /// # Errors
    /// A trace cannot be read.
    pub fn setting(&self, base: &Path) -> Result<Setting, ConfigError> {
        let rate = match (&self.table.draw, &self.table.steps) {
            (Some(draw), _) if !draw.rates.is_empty() => {
                // The mean does not depend on the draw.
                let sum: u128 = draw.rates.iter().map(|rate| u128::from(rate.bps())).sum();
                Rate::from_bps((sum / draw.rates.len() as u128) as u64)
            }
            (_, Some(steps)) => steps.iter().map(|(_, rate)| *rate).max().unwrap_or_default(),
            // Nothing here is random.
            _ => self.capacity(&mut Rng::named(0, ""), Duration::ZERO, base)?.rate(Time::ZERO),
        };
        Ok(self.table.setting(rate))
    }

    fn capacity(
        &self,
        rng: &mut Rng,
        span: Duration,
        base: &Path,
    ) -> Result<Capacity, ConfigError> {
        let table = &self.table;
        if let Some(rate) = table.rate {
            return Ok(Capacity::constant(rate));
        }
        if let Some(steps) = &table.steps {
            let steps = steps.iter().map(|(at, rate)| (Time::ZERO + *at, *rate)).collect();
            return Ok(Capacity::steps(steps, table.period));
        }
        if let Some(file) = &table.trace {
            let path = base.join(file);
            let read = file::read_text(&path, trace::LARGEST).map_err(|error| error.to_string());
            return read.and_then(|text| trace::read_trace(&text, table.quantum.0 as u32)).map_err(
                |error| {
                    let message = format!("{}: {error}", path.display());
                    ConfigError::new(format!("{}.trace", self.path), message)
                },
            );
        }
        let draw = table.draw.as_ref().expect("one way to give the capacity is there");
        Ok(Capacity::steps(draws(draw.every, &draw.rates, span, rng), None))
    }

    fn channel(&self, seed: u64, span: Duration, base: &Path) -> Result<Channel, ConfigError> {
        let table = &self.table;
        let mut rng = Rng::named(seed, &format!("link/{}/draw", table.name));
        let capacity = self.capacity(&mut rng, span, base)?;
        let delay = match (&table.delays, &table.draw) {
            (Some(delays), _) => by_schedule(delays, table.period),
            (None, Some(draw)) if !draw.delays.is_empty() => Course::Steps {
                steps: draws(draw.every, &draw.delays, span, &mut rng),
                period: None,
            },
            _ => Course::Constant(table.delay),
        };
        let loss = match &table.losses {
            Some(losses) => by_schedule(losses, table.period),
            None => Course::Constant(table.loss),
        };
        let capture = match &table.pcap {
            None => None,
            Some(file) => Some(
                Capture::create(&base.join(file))
                    .map_err(|error| error.within(&format!("{}.pcap", self.path)))?,
            ),
        };
        Ok(Channel {
            name: table.name.clone(),
            capacity,
            overhead: table.overhead.0,
            delay,
            loss,
            policer: table.police.map(policer).transpose()?,
            reorder: table.reorder,
            remark: table.remark.map(remarked),
            queue: table.queue.clone(),
            capture,
            setting: self.setting(base)?,
            queue_path: self.queue_path.clone(),
        })
    }
}

impl Channel {
    /// The kind of the queue, and the queue.
    pub(super) fn discipline(
        &self,
        disciplines: &Disciplines,
    ) -> Result<(String, Box<dyn Discipline>), ConfigError> {
        discipline(self.queue.as_ref(), &self.setting, &self.queue_path, disciplines)
    }
}

/// The queue of a link that has none: it has unlimited room.
pub fn unlimited() -> Value {
    json!({ "kind": "fifo", "limit": Limit::Packets(u32::MAX) })
}

/// The kind of `queue`, which is at `path`, and the queue. Without one it has unlimited room.
fn discipline(
    queue: Option<&Value>,
    setting: &Setting,
    path: &str,
    disciplines: &Disciplines,
) -> Result<(String, Box<dyn Discipline>), ConfigError> {
    let block = queue.cloned().unwrap_or_else(unlimited);
    let kind = block.get("kind").and_then(Value::as_str).unwrap_or("combination").to_owned();
    let built = disciplines.build(&block, setting);
    Ok((kind, built.map_err(|error| error.within(path))?))
}

/// Values from `from`, drawn at regular intervals, for `span`.
fn draws<T: Copy>(every: Duration, from: &[T], span: Duration, rng: &mut Rng) -> Vec<(Time, T)> {
    let count = span.as_nanos() / every.as_nanos() + 1;
    let mut draw =
        |index| (Time::ZERO + every * index, from[rng.below(from.len() as u64) as usize]);
    (0..count).map(&mut draw).collect()
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

fn by_schedule<T: Copy>(steps: &[(Duration, T)], period: Option<Duration>) -> Course<T> {
    let steps = steps.iter().map(|(at, value)| (Time::ZERO + *at, *value)).collect();
    Course::Steps { steps, period }
}

fn check_share(share: f64, field: &str) -> Result<(), ConfigError> {
    require((0.0..=1.0).contains(&share), field, || format!("must be 0 to 1, got {share}"))
}

fn check_steps<T>(
    field: &str,
    steps: &[(Duration, T)],
    period: Option<Duration>,
) -> Result<(), ConfigError> {
    require(steps.first().is_some_and(|(at, _)| *at == Duration::ZERO), field, || {
        "must begin with a step at \"0s\"".into()
    })?;
    require(steps.is_sorted_by(|(a, _), (b, _)| a < b), field, || {
        "must be in order of time, no two at the same".into()
    })?;
    let last = steps.last().map_or(Duration::ZERO, |(at, _)| *at);
    require(period.is_none_or(|period| period > last), "period", || {
        format!("must be later than the last of `{field}`, at {last}")
    })
}

fn check_draw(draw: &DrawTable) -> Result<(), ConfigError> {
    require(draw.every > Duration::ZERO, "every", || "must be greater than 0".into())?;
    require(!draw.rates.is_empty() || !draw.delays.is_empty(), "rates", || {
        "give `rates` or `delays` to draw from".into()
    })?;
    require(draw.rates.iter().all(|rate| rate.bps() > 0), "rates", || {
        "must all be greater than 0".into()
    })
}
