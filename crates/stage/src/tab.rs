//! Tabs, and what is told to them.

/// A message of the stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The tab that it is for; None: all.
    pub to: Option<u32>,
    /// A JSON object; `page/messages.d.ts` declares its fields.
    pub text: String,
}

/// A tab: frames are sent to it one at a time.
pub struct Tab {
    pub(crate) id: u32,
    /// The frame that it has to draw before it is sent the next one.
    pub(crate) waits_for: Option<u64>,
    /// What its last frame showed.
    pub(crate) version: Option<u64>,
    /// Of each lane: the points of its series that the tab has.
    pub(crate) known: Vec<usize>,
}
