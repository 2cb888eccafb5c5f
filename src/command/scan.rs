//! `transom scan`: from a cluster to a report, and the exit code.
//!
//! Not here: how a cluster is read (`crate::cluster::list`), what is wrong with an object (`crate::scan`, which is
//! pure), and how that is written (`crate::check::output`).

use std::cell::RefCell;
use std::process::ExitCode;

use anyhow::Result;
use futures_util::{StreamExt, stream};
use kube::Client;

use super::report::progress::Progress;
use super::report::selection::Selection;
use super::report::settings::Settings;
use super::report::write;
use crate::check::output::{render, summary};
use crate::cli::{KubeArgs, ScanArgs};
use crate::cluster;
use crate::cluster::list::{self, Resource};
use crate::scan::known::{Knowledge, Known};
use crate::scan::{STAGES, Scan};
use crate::terminal::tell;

/// Looks at all that may be listed, whatever is wrong with the rest.
pub(super) fn run(args: ScanArgs) -> Result<ExitCode> {
    super::block_on(scan(args))
}

async fn scan(args: ScanArgs) -> Result<ExitCode> {
    let ScanArgs {
        kube,
        all_namespaces,
        namespace,
        selector,
        parallel,
        enforce,
        judge,
        report: args,
    } = args;
    let selection = Selection::new(&judge.select, &judge.ignore)?;
    let Settings {
        mut policy,
        file: config,
        origin,
        ..
    } = Settings::read(judge.config, judge.profile)?;
    args.spare(config.as_deref())?;
    if args.verbose {
        tell(&format!("configuration: {origin}\n"));
        tell(&selection.advice(&policy));
    }
    let KubeArgs {
        kubeconfig,
        context,
    } = kube;
    let (client, current) = cluster::client_of(kubeconfig.as_deref(), context).await?;
    let namespaces = match (all_namespaces, namespace.is_empty()) {
        (true, _) => Vec::new(),
        (false, true) => vec![current],
        (false, false) => namespace,
    };

    let mut known = Gathered::default();
    known.gather(&client, &namespaces).await?;
    let (mut facts, hosts) = known.knowledge.into_facts();
    if enforce {
        policy.enforce_everywhere();
        facts.enforce_everywhere();
    }
    let mut scan = Scan::new(policy, facts, hosts);
    for (kind, why) in known.lost {
        scan.oddity(kind.name(), why);
    }
    for name in known.missing {
        scan.problem("Namespace", Some(&name), "there is none of this name");
    }
    let progress = Progress::new(0, "objects", args.quiet);
    let scan = RefCell::new(scan);
    for kinds in STAGES {
        let places: Vec<_> = match namespaces.as_slice() {
            [] => vec![None],
            names => names.iter().map(|name| Some(name.as_str())).collect(),
        };
        let kinds = kinds.iter().filter(|kind| scan.borrow().wants(**kind));
        let lists: Vec<_> = kinds
            .flat_map(|kind| places.iter().map(|place| (*kind, *place)))
            .collect();
        let lists = stream::iter(lists);
        let read = lists.for_each_concurrent(parallel.get(), async |(kind, place)| {
            let resource = Resource::of(kind, place);
            let mut expected = 0;
            let done = list::pages(&client, &resource, selector.as_deref(), |page| {
                let all = page.len() + page.remaining();
                progress.foresee(all.saturating_sub(expected));
                expected = page.remaining().max(expected.saturating_sub(page.len()));
                scan.borrow_mut().page(kind, page);
                progress.advance(page.len());
            });
            if let Err(error) = done.await {
                let why = resource.trouble(&error);
                scan.borrow_mut().problem(kind.name(), place, why);
            }
        });
        read.await;
    }
    drop(progress);

    let mut report = scan.into_inner().report();
    for file in &mut report.files {
        file.findings.retain(|found| selection.has(found.rule));
    }
    report.files.retain(|file| !file.is_silent());
    let told = render(&report, args.output, &args.options());
    write::write(&told, args.output_file.as_deref())?;
    args.tell_unread(&report, true);
    if !args.quiet {
        tell(&format!("{}\n", summary(&report)));
    }
    Ok(args.exit_code(&report, args.fails(&report)))
}

/// What is known before the objects are read.
#[derive(Default)]
struct Gathered {
    knowledge: Knowledge,
    /// What may not be read, and what follows.
    lost: Vec<(Known, String)>,
    /// Namespaces that do not exist.
    missing: Vec<String>,
}

impl Gathered {
    /// Reads as much as may be read.
    ///
    /// # Errors
    /// Nobody answers, or the one who asks is not known.
    async fn gather(&mut self, client: &Client, namespaces: &[String]) -> Result<()> {
        for kind in Known::ALL {
            let done = match (kind, namespaces) {
                (Known::Namespace, names @ [_, ..]) => self.namespaces(client, names).await,
                _ => self.list(client, kind).await,
            };
            if let Err(error) = done {
                if list::is_hopeless(&error) {
                    return Err(list::hopeless(error));
                }
                let why = match &error {
                    kube::Error::Api(status) => status.message.trim().to_owned(),
                    error => error.to_string(),
                };
                self.lost
                    .push((kind, format!("cannot be read, so {}: {why}", kind.loss())));
            }
        }
        Ok(())
    }

    async fn list(&mut self, client: &Client, kind: Known) -> kube::Result<()> {
        let mut read = Ok(());
        let resource = Resource::known(kind);
        let pages = list::pages(client, &resource, None, |page| {
            if read.is_ok() {
                read = self.knowledge.add(kind, page);
            }
        });
        pages.await?;
        read.map_err(|error| kube::Error::Service(error.into()))
    }

    /// Those that are looked into, by name: it takes no right on the others.
    async fn namespaces(&mut self, client: &Client, names: &[String]) -> kube::Result<()> {
        for name in names {
            match list::one(client, &Resource::known(Known::Namespace), name).await? {
                Some(object) => self
                    .knowledge
                    .add_object(Known::Namespace, &object)
                    .map_err(|error| kube::Error::Service(error.into()))?,
                None => self.missing.push(name.clone()),
            }
        }
        Ok(())
    }
}
