//! `transom rules`.

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::rules::Profile;

/// Flags of `transom rules`.
#[derive(Args, Debug)]
pub struct RulesArgs {
    /// Codes (WIN101), names (run-as-user) and beginnings of codes (WIN3); all rules without any
    #[arg(value_name = "RULE")]
    pub rules: Vec<String>,

    /// How the rules are printed
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub output: OutputFormat,

    /// Whose default actions the table shows [default: current]
    ///
    /// For the text only: JSON and Markdown have both.
    #[arg(long, value_name = "PROFILE", value_enum)]
    pub profile: Option<Profile>,
}

/// How rules are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people; in colours on a terminal, unless NO_COLOR is set
    #[default]
    Text,
    /// An array with an object a rule: code, name, family, brief, reason, remedy, note, references,
    /// fields [{path, when}], never, repairable, tiers [{when, actions: {current, kep-116}}],
    /// example {bad, good}; keys may be added, none is taken away
    Json,
    /// As in docs/rules.md
    Markdown,
}

impl ValueEnum for Profile {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Current => "What is true of supported Kubernetes and Windows Server releases",
            Self::Kep116 => "KEP-116 to the letter: Kubernetes 1.14, Windows Server 2019, Docker",
        };
        Some(PossibleValue::new(self.name()).help(help))
    }
}
