//! `--profile`, and whether it was the flag or the variable that said so.

use clap::builder::PossibleValue;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum, value_parser};

use crate::config::ProfileName;

/// The profile of the command line, which wins over the configuration file's.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProfileArg {
    /// The profile, if one is given.
    pub name: Option<ProfileName>,
    /// What gave it: `--profile` or `TRANSOM_PROFILE`.
    pub from: Option<&'static str>,
}

const FLAG: &str = "profile";
const VARIABLE: &str = "TRANSOM_PROFILE";

impl Args for ProfileArg {
    fn augment_args(command: Command) -> Command {
        command.arg(
            Arg::new(FLAG)
                .long(FLAG)
                .env(VARIABLE)
                .value_name("PROFILE")
                .value_parser(value_parser!(ProfileName))
                .help("Which default actions the rules have; wins over the configuration file"),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

// By hand, as derived code does not say where a value comes from.
impl FromArgMatches for ProfileArg {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let from = match matches.value_source(FLAG) {
            Some(ValueSource::CommandLine) => Some("--profile"),
            Some(ValueSource::EnvVariable) => Some(VARIABLE),
            _ => None,
        };
        Ok(Self {
            name: matches.get_one(FLAG).copied(),
            from,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ValueEnum for ProfileName {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Current, Self::Kep116]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = |name, help| Some(PossibleValue::new(name).help(help));
        match self {
            Self::Current => value("current", "What is true of supported releases"),
            Self::Kep116 => value("kep-116", "KEP-116 to the letter; stricter in places"),
        }
    }
}
