//! One of the disciplines side by side: a run under way, and the scenario that it records.

use crate::host::{Host, Stop, with_run};
use crate::run::Run;
use crate::written::{Entry, Written};
use forebay_core::{ConfigError, Duration, Time};
use serde_json::Value;
use std::sync::Arc;

/// A discipline on the watched link.
pub(crate) struct Lane<H> {
    pub(crate) label: String,
    /// The scenario with all recorded changes.
    pub(crate) written: Written,
    link: Option<String>,
    grain_ns: u64,
    host: H,
    /// None after a call into a plug-in that did not return.
    run: Option<Run>,
}

impl<H: Host + Clone + 'static> Lane<H> {
    /// The run of the scenario at its beginning.
    pub(crate) fn open(
        label: String,
        written: Written,
        link: Option<&str>,
        grain_ns: u64,
        host: H,
    ) -> Result<Self, Stop> {
        let link = link.map(str::to_owned);
        let mut lane = Lane { label, written, link, grain_ns, host, run: None };
        lane.begin()?;
        Ok(lane)
    }

    fn begin(&mut self) -> Result<(), Stop> {
        let (written, host, link) = (self.written.clone(), self.host.clone(), self.link.clone());
        let grain = Duration::from_nanos(self.grain_ns);
        let open = move || {
            let registry = host.registry(&written.tree, &written.base)?;
            let mut run = Run::open(&written.tree, &written.base, &registry)?;
            run.watch(link.as_deref(), grain)?;
            Ok(run)
        };
        self.run = None;
        let run = self.host.guard(&self.written.plugins(), open);
        self.run = Some(run.map_err(|stop| self.written.named(stop))?);
        Ok(())
    }

    /// The run.
    pub(crate) fn run(&self) -> Result<&Run, Stop> {
        let lost = || Stop::Refused(format!("{}: the run cannot go on", self.label));
        self.run.as_ref().ok_or_else(lost)
    }

    /// The answer of `act` for the run, in which code of plug-ins may run.
    pub(crate) fn act<T: Send + 'static>(
        &mut self,
        act: impl FnOnce(&mut Run) -> Result<T, ConfigError> + Send + 'static,
    ) -> Result<T, Stop> {
        self.run()?;
        let Some(run) = self.run.take() else { unreachable!("there is one") };
        let done = with_run(&self.host, run, act).map_err(|stop| self.written.named(stop))?;
        self.run = Some(done.0);
        done.1.map_err(|error| self.written.named(error))
    }

    /// Whether there is no run, as its last step did not return.
    pub(crate) fn is_lost(&self) -> bool {
        self.run.is_none()
    }

    /// The present instant, and the end, in ns.
    pub(crate) fn times(&self) -> Result<(u64, u64), Stop> {
        Ok(self.run()?.times())
    }

    /// Goes on to an instant.
    pub(crate) fn advance(&mut self, until_ns: u64) -> Result<(), Stop> {
        self.go(move |run| Ok(run.advance(Time::from_nanos(until_ns))?.arrived))
    }

    /// Goes on to the next instant at which a packet joins or leaves the watched queue.
    pub(crate) fn advance_to_packet(&mut self) -> Result<(), Stop> {
        self.go(Run::advance_to_packet)
    }

    /// Goes on by slices of some milliseconds, until one is the last.
    fn go(
        &mut self,
        slice: impl Fn(&mut Run) -> Result<bool, ConfigError> + Copy + Send + 'static,
    ) -> Result<(), Stop> {
        while !self.act(slice)? {
            if self.host.has_ended() {
                return Err(Stop::Ended);
            }
        }
        Ok(())
    }

    /// Is at an instant: from the beginning if it is over.
    pub(crate) fn seek(&mut self, at_ns: u64) -> Result<(), Stop> {
        if at_ns < self.times()?.0 { self.restart(at_ns) } else { self.advance(at_ns) }
    }

    /// Runs the scenario from the beginning to an instant.
    pub(crate) fn restart(&mut self, at_ns: u64) -> Result<(), Stop> {
        self.begin()?;
        self.advance(at_ns)
    }

    /// The run's fingerprint, if it is complete.
    pub(crate) fn fingerprint(&self) -> Result<Option<String>, Stop> {
        let (now, end) = self.times()?;
        let digits = format!("{:016x}", self.run()?.world.counts().0);
        Ok((now >= end).then_some(digits))
    }

    /// Changes something from now on, which is `at_ns`, and records it; or nothing has changed.
    pub(crate) fn change(&mut self, at_ns: u64, entry: &Entry) -> Result<(), Stop> {
        let recorded = self.written.with_change(at_ns, entry)?;
        let (to, host) = (recorded.clone(), self.host.clone());
        self.act(move |run| {
            let registry = host.registry(&to.tree, &to.base)?;
            run.change(&to.tree, &to.base, &registry)
        })?;
        self.written = recorded;
        Ok(())
    }

    /// The scenario as it now is: the document, and what it means.
    pub(crate) fn present(&mut self) -> Result<(Arc<Value>, Value), Stop> {
        self.act(|run| {
            let made = run.scenario.changes_made(&run.world);
            let tree = Arc::new(run.scenario.tree_after(made).clone());
            Ok((tree, run.present().resolve()?))
        })
    }

    /// Names of all traffic entries, those that are still to join included.
    pub(crate) fn names(&self) -> Result<Vec<String>, Stop> {
        Ok(self.run()?.scenario.last().traffic_names())
    }
}

/// Does what takes long with all lanes at a time.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn each<H: Host>(
    lanes: &mut [Lane<H>],
    act: impl Fn(&mut Lane<H>) -> Result<(), Stop> + Sync,
) -> Result<(), Stop> {
    std::thread::scope(|scope| {
        let act = &act;
        let all: Vec<_> = lanes.iter_mut().map(|lane| scope.spawn(move || act(lane))).collect();
        let join = |each: std::thread::ScopedJoinHandle<_>| match each.join() {
            Ok(answer) => answer,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let answers: Vec<Result<(), Stop>> = all.into_iter().map(join).collect();
        answers.into_iter().collect()
    })
}

/// Does something with all lanes; there is one thread.
#[cfg(target_arch = "wasm32")]
pub(crate) fn each<H: Host>(
    lanes: &mut [Lane<H>],
    act: impl Fn(&mut Lane<H>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    lanes.iter_mut().try_for_each(act)
}
