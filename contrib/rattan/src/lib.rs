//! A cell of [Rattan](https://github.com/stack-rs/rattan) whose queue is any discipline of forebay.
//!
//! [`DisciplineCell`] is a link of a given rate with a queue in front of it, like Rattan's own
//! bandwidth cell. A packet leaves when its transmission ends. Times are Rattan's logical ones, so a
//! late turn of its scheduler changes neither the rate nor the times that the discipline sees.

mod port;

use async_trait::async_trait;
use forebay_core::{Bytes, Overhead, Rate};
use forebay_disciplines::Disciplines;
use port::{Port, Step};
use rattan_core::cells::{
    AtomicCellState, Cell, CellState, ControlInterface, Egress, Ingress, Packet,
};
use rattan_core::control::RattanNotify;
use rattan_core::core::CellFactory;
use rattan_core::error::Error;
use rattan_core::metal::timer::Timer;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::broadcast::Receiver;
use tokio::sync::{Notify, mpsc};

/// The configuration of a [`DisciplineCell`], and a change of one that runs.
///
/// A cell that is built needs `rate` and `queue`. In a change, a field that is missing stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct DisciplineCellConfig {
    /// The link's rate, such as "10Mbit"; above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Bytes that the link adds to every IP packet: "none" (default), "ppp", "ethernet" or a size.
    /// Rattan's `LinkLayer` is "ethernet".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Overhead>,
    /// Largest IP packet; 1500 B by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// The discipline, as scenarios and gates write it: `{ kind = "red", min_th = "30KB" }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Value>,
    /// Seed of the discipline's random numbers and of the hash of flows; 1 by default. It cannot be
    /// changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl DisciplineCellConfig {
    /// A link of `rate` with `queue`.
    pub fn new(rate: Rate, queue: Value) -> Self {
        DisciplineCellConfig { rate: Some(rate), queue: Some(queue), ..Self::default() }
    }

    /// What [`rattan_core::radix::RattanRadix::build_cell`] takes. The queue is one of `disciplines`.
    pub fn into_factory<P: Packet>(
        self,
        disciplines: Arc<Disciplines>,
    ) -> impl CellFactory<DisciplineCell<P>> {
        move |handle| {
            let _guard = handle.enter();
            DisciplineCell::new(self, &disciplines)
        }
    }
}

/// What a cell has done so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// IP packets that arrived.
    pub received: u64,
    /// Packets that are not IP, which do not wait.
    pub passed: u64,
    /// Packets that left the queue.
    pub sent: u64,
    /// Packets that were dropped, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Packets that were marked.
    pub marked: u64,
    /// Packets in the queue.
    pub waiting: u64,
    /// Mean time in the queue of the packets that left, ms, without their transmission.
    pub mean_delay_ms: f64,
    /// The longest such time, ms.
    pub max_delay_ms: f64,
}

/// A link whose queue is a discipline of forebay.
pub struct DisciplineCell<P: Packet> {
    ingress: Arc<DisciplineIngress<P>>,
    egress: DisciplineEgress<P>,
    control: Arc<DisciplineControl<P>>,
}

impl<P: Packet> DisciplineCell<P> {
    /// The cell that `config` describes. Call it within a runtime of tokio.
    ///
    /// # Errors
    /// A field of `config` is missing or wrong; the message begins with its path.
    pub fn new(
        config: DisciplineCellConfig,
        disciplines: &Arc<Disciplines>,
    ) -> Result<Self, Error> {
        let (sender, arrivals) = mpsc::unbounded_channel();
        let port = Arc::new(Mutex::new(Port::new(config, disciplines)?));
        let changed = Arc::new(Notify::new());
        let control = DisciplineControl { port: Arc::clone(&port), changed: Arc::clone(&changed) };
        let egress = DisciplineEgress {
            arrivals,
            next: None,
            port,
            changed,
            timer: Timer::new()?,
            state: AtomicCellState::new(CellState::Drop),
            notify_rx: None,
            started: false,
        };
        let ingress = Arc::new(DisciplineIngress { sender });
        Ok(DisciplineCell { ingress, egress, control: Arc::new(control) })
    }
}

impl<P: Packet + Sync> Cell<P> for DisciplineCell<P> {
    type IngressType = DisciplineIngress<P>;
    type EgressType = DisciplineEgress<P>;
    type ControlInterfaceType = DisciplineControl<P>;

    fn sender(&self) -> Arc<Self::IngressType> {
        Arc::clone(&self.ingress)
    }

    fn receiver(&mut self) -> &mut Self::EgressType {
        &mut self.egress
    }

    fn into_receiver(self) -> Self::EgressType {
        self.egress
    }

    fn control_interface(&self) -> Arc<Self::ControlInterfaceType> {
        Arc::clone(&self.control)
    }
}

/// Where packets enter a [`DisciplineCell`].
pub struct DisciplineIngress<P: Packet> {
    sender: mpsc::UnboundedSender<P>,
}

impl<P: Packet> Ingress<P> for DisciplineIngress<P> {
    fn enqueue(&self, packet: P) -> Result<(), Error> {
        self.sender.send(packet).map_err(|_| Error::ChannelError("the cell is gone".to_owned()))
    }
}

/// Where packets leave a [`DisciplineCell`].
pub struct DisciplineEgress<P: Packet> {
    arrivals: mpsc::UnboundedReceiver<P>,
    /// The first packet that has arrived, if it is not offered yet.
    next: Option<P>,
    port: Arc<Mutex<Port<P>>>,
    changed: Arc<Notify>,
    timer: Timer,
    state: AtomicCellState,
    notify_rx: Option<Receiver<RattanNotify>>,
    started: bool,
}

#[async_trait]
impl<P: Packet + Sync> Egress<P> for DisciplineEgress<P> {
    async fn dequeue(&mut self) -> Option<P> {
        rattan_core::wait_until_started!(self, Start);
        loop {
            if self.next.is_none()
                && let Ok(packet) = self.arrivals.try_recv()
            {
                self.next = Some(rattan_core::check_cell_state!(self.state, packet));
            }
            let step = held(&self.port).step(&mut self.next);
            let due = match step {
                Step::Send(packet) => return Some(packet),
                Step::Next => continue,
                Step::Wait(due) => due,
            };
            tokio::select! {
                biased;
                () = self.changed.notified() => {}
                packet = self.arrivals.recv(), if self.next.is_none() => {
                    self.next = Some(rattan_core::check_cell_state!(self.state, packet?));
                }
                _ = self.timer.sleep_until(due.unwrap_or_else(tokio::time::Instant::now)),
                    if due.is_some() => {}
            }
        }
    }

    fn change_state(&self, state: CellState) {
        self.state.store(state, Ordering::Release);
    }

    fn set_notify_receiver(&mut self, notify_rx: Receiver<RattanNotify>) {
        self.notify_rx = Some(notify_rx);
    }
}

/// Changes a [`DisciplineCell`] that runs, and tells what it has done.
pub struct DisciplineControl<P: Packet> {
    port: Arc<Mutex<Port<P>>>,
    changed: Arc<Notify>,
}

impl<P: Packet> DisciplineControl<P> {
    /// What the cell has done so far.
    pub fn status(&self) -> Status {
        held(&self.port).status()
    }
}

impl<P: Packet> ControlInterface for DisciplineControl<P> {
    type Config = DisciplineCellConfig;

    /// Changes the cell from now on. No packet is lost: those that wait leave first.
    fn set_config(&self, config: DisciplineCellConfig) -> Result<(), Error> {
        held(&self.port).change(config)?;
        self.changed.notify_one();
        Ok(())
    }
}

fn held<P: Packet>(port: &Mutex<Port<P>>) -> MutexGuard<'_, Port<P>> {
    port.lock().expect("nothing panics while it holds the port")
}
