//! `transom doctor`: asks the cluster, has it examined, says what came of it, and the exit code.
//!
//! What is asked, and how, is `ask`; what is thought of the answers is `crate::doctor`, which is pure.

mod ask;

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::{DoctorArgs, DoctorFormat, FailOnStatus, KubeArgs};
use crate::cluster;
use crate::doctor::{self, Line, Status};
use crate::terminal::{self, print, tell};
use ask::Asker;

/// Something is not in order.
const FOUND: u8 = 1;

pub(super) fn run(args: DoctorArgs) -> Result<ExitCode> {
    super::block_on(examine(args))
}

async fn examine(args: DoctorArgs) -> Result<ExitCode> {
    let DoctorArgs {
        kube,
        webhook_configuration,
        connect_to,
        config,
        fail_on,
        output,
        quiet,
    } = args;
    let KubeArgs {
        kubeconfig,
        context,
    } = kube;
    let config = config.map(|file| ask::configured(&file)).transpose()?;
    let (client, _) = cluster::client_of(kubeconfig.as_deref(), context).await?;
    let asker = Asker { client, connect_to };
    let cluster = asker.ask(webhook_configuration, config).await?;
    let mut lines = doctor::examine(&cluster);
    let summary = summary(&lines);
    let worst = lines.iter().map(|line| line.status).max();
    if quiet {
        lines.retain(|line| line.status > Status::Ok);
    }
    print(&match output {
        DoctorFormat::Text => doctor::text(&lines, terminal::width()),
        DoctorFormat::Json => doctor::json(&lines),
    })?;
    if !quiet {
        tell(&summary);
    }
    let least = match fail_on {
        FailOnStatus::Fail => Status::Fail,
        FailOnStatus::Warn => Status::Warn,
    };
    Ok(match worst >= Some(least) {
        true => ExitCode::from(FOUND),
        false => ExitCode::SUCCESS,
    })
}

/// `12 ok, 2 warn, 1 fail, 1 skip`, without what there is none of.
fn summary(lines: &[Line]) -> String {
    let all = [Status::Ok, Status::Warn, Status::Fail, Status::Skip];
    let counts = all.into_iter().filter_map(|status| {
        let number = lines.iter().filter(|line| line.status == status).count();
        (number > 0).then(|| format!("{number} {}", status.name()))
    });
    format!("{}\n", counts.collect::<Vec<_>>().join(", "))
}
