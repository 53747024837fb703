//! The AccECN option (RFC 9768, section 3.2.3).

/// DIVOPT: the option's fields count modulo 2^24.
pub(crate) const DIVOPT: u32 = 1 << 24;

/// Byte counters as the option carries them: the lowest 24 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccEcnOption {
    /// Payload bytes that arrived as ECT(0), plus 1 (EE0B).
    pub e0b: u32,
    /// Payload bytes that arrived marked (ECEB).
    pub ceb: u32,
    /// Payload bytes that arrived as ECT(1), plus 1 (EE1B).
    pub e1b: u32,
    /// 0 for the order ECT(0), CE, ECT(1) (kind 172), 1 for the reverse (kind 174).
    pub order: u8,
    /// Number of fields, 0 to 3. Fields that are left out have not changed.
    pub fields: u8,
}

impl AccEcnOption {
    /// Whether there is a field for marked bytes. It is the second in both orders.
    pub(crate) fn tells_ceb(&self) -> bool {
        self.fields >= 2
    }
}

/// The part of an AccECN option for which other fields have no room. The default means no option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OptionTail(
    /// The first eight bits are 0 if there is no option, otherwise 1, the number of fields, and
    /// four times the order. The other bits are e0b. It is one word, so that segments are copied in
    /// few parts.
    u32,
);

impl OptionTail {
    pub(crate) fn of(option: &AccEcnOption) -> Self {
        OptionTail(option.e0b << 8 | u32::from(1 + option.fields + 4 * option.order))
    }

    fn form(self) -> u8 {
        self.0 as u8
    }

    #[inline]
    pub(crate) fn is_present(self) -> bool {
        self.0 != 0
    }

    /// Kind, length, and three bytes for each field.
    pub(crate) fn wire_len(self) -> u32 {
        2 + 3 * u32::from((self.form() - 1) % 4)
    }

    pub(crate) fn read(self, e1b: u32, ceb: u32) -> AccEcnOption {
        AccEcnOption {
            e0b: self.0 >> 8,
            ceb: ceb % DIVOPT,
            e1b: e1b % DIVOPT,
            order: (self.form() - 1) / 4 % 2,
            fields: (self.form() - 1) % 4,
        }
    }
}
