//! Which scenarios there are, in which size they run, and how they end.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    certificates, clock, configuration, connections, limits, logs, overload, pauses, restarts,
    soak, strangers,
};

/// Says `full` for the full form.
const VARIABLE: &str = "CHAOS";

/// How much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Seconds: the promise is kept at all.
    Short,
    /// Minutes: the figures of docs/reliability.md.
    Full,
}

impl Size {
    pub(crate) fn of<T>(self, short: T, full: T) -> T {
        match self {
            Self::Short => short,
            Self::Full => full,
        }
    }
}

type Scenario = (&'static str, fn(Size));

const SCENARIOS: &[Scenario] = &[
    ("certificates_are_swapped", certificates::swapped),
    ("configurations_are_swapped", configuration::swapped),
    ("replicas_are_restarted", restarts::rolling),
    ("requests_are_in_flight_at_the_end", restarts::in_flight),
    ("connections_are_half_open", connections::half_open),
    ("bodies_are_slow", strangers::slow_bodies),
    ("probes_are_half_open", strangers::half_open_probes),
    ("responses_are_not_read", strangers::unread),
    ("there_are_ten_times_too_many", overload::ten_times),
    ("the_program_stands_still", pauses::stopped),
    ("descriptors_run_out", limits::descriptors),
    ("memory_is_short", limits::memory),
    ("evaluations_are_large", limits::evaluations),
    ("nobody_takes_the_log", logs::unread),
    ("the_clock_jumps", clock::jumps),
    ("the_load_goes_on", soak::soak),
];

pub(crate) fn run() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They would disturb each other.
    arguments.test_threads = Some(1);
    let size = match std::env::var(VARIABLE).as_deref() {
        Ok("full") => Size::Full,
        _ => Size::Short,
    };
    raise_descriptors();
    let trial = |&(name, scenario): &Scenario| {
        Trial::test(name, move || {
            scenario(size);
            Ok(())
        })
    };
    let trials = SCENARIOS.iter().map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// As many connections as the operating system allows, in the programs that are started, too.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

/// Runs a scenario's own work.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.enable_all().build().unwrap().block_on(work)
}
