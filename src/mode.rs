//! How findings of a namespace are delivered: one evaluation, four ways.
//!
//! Not here: what each mode lets through (`decision`, `admit`, `message`).

/// How findings of a namespace are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Not at all.
    Off,
    /// In metrics and audit annotations; nothing is patched.
    Audit,
    /// As warnings; the patch places pods and does no more.
    Warn,
    /// As denials and warnings, with the full patch.
    #[default]
    Enforce,
}

impl Mode {
    /// All of them, in rising order.
    pub const ALL: [Self; 4] = [Self::Off, Self::Audit, Self::Warn, Self::Enforce];

    /// The mode of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Its name in the configuration and in the label `transom.dev/mode`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Audit => "audit",
            Self::Warn => "warn",
            Self::Enforce => "enforce",
        }
    }
}
