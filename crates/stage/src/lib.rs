//! A scenario that is watched live: disciplines side by side, in lanes, at the same simulated instant.
//!
//! A [`Stage`] is told the time and what tabs ask for, and answers with messages for them. It has no
//! thread, clock or connection; the server of `forebay explore` and the module of the web page bring
//! these. What is asked for is in [`Command`]; `page/messages.d.ts` declares the answers.

mod describe;
mod fields;
mod host;
mod joining;
mod lane;
mod message;
mod pace;
mod play;
mod queue;
mod run;
mod stage;
mod story;
mod tab;
mod vocabulary;
mod written;

pub use host::{Alone, Host, Stop, with_run};
pub use message::{Command, Queue};
pub use queue::labelled;
pub use run::Run;
pub use stage::{File, Stage};
pub use story::Story;
pub use tab::{Message, Tab};
pub use vocabulary::Vocabulary;
pub use written::{Written, plugins};
