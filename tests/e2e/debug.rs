//! `kubectl debug`: of all its profiles, each puts what Windows refuses into a container.

use crate::WINDOWS_IMAGE;
use crate::cluster::Cluster;
use crate::transom::{Options, Transom};
use serde_json::json;

tests![kubectl_debug_works_with_every_profile,];

const PROFILES: [&str; 6] = [
    "legacy",
    "general",
    "baseline",
    "restricted",
    "netadmin",
    "sysadmin",
];

fn kubectl_debug_works_with_every_profile(cluster: &Cluster) {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"os": {"name": "windows"}, "containers": [{"name": "main", "image": WINDOWS_IMAGE}]},
    });
    let debug = |profile: &str| {
        let profile = format!("--profile={profile}");
        let container = format!("--container=debug{profile}").replace("--profile=", "-");
        ["debug", "web", "--image=debugger", &profile, &container].map(str::to_owned)
    };
    let without = cluster.namespace("debug-without", &[]);
    without.create(&pod.to_string());
    let refused = PROFILES.iter().filter(|profile| {
        let args = debug(profile);
        !without
            .kubectl(&args.each_ref().map(String::as_str))
            .succeeded()
    });
    let refused: Vec<_> = refused.copied().collect();
    assert_eq!(refused, ["general", "restricted", "netadmin", "sysadmin"]);

    let transom = Transom::install(cluster, "debug", &Options::default());
    let namespace = transom.namespace("debug", &[]);
    namespace.create(&pod.to_string());
    let mut told = String::new();
    for profile in PROFILES {
        let args = debug(profile);
        let one = namespace.kubectl(&args.each_ref().map(String::as_str));
        assert!(one.succeeded(), "{one}");
        // Our words: what kubectl says itself differs from version to version.
        let ours = one.stderr.lines().filter(|l| l.starts_with("Warning: "));
        told.push_str(&format!("{profile}\n"));
        ours.for_each(|line| told.push_str(&format!("  {line}\n")));
    }
    insta::assert_snapshot!("debug", told);
    let pod = namespace.get(&["pod", "web"]);
    let containers = pod["spec"]["ephemeralContainers"].as_array().unwrap();
    assert_eq!(containers.len(), PROFILES.len());
    // A copy is a new pod, which is held to the same as any other.
    let args = [
        "debug",
        "web",
        "--copy-to=copy",
        "--image=debugger",
        "--container=debug",
        "--profile=general",
    ];
    let refused = namespace.kubectl(&args);
    insta::assert_snapshot!("copy", refused);
    let for_windows = ["--share-processes=false", "--profile=baseline"];
    namespace.ok(&[&args[..], &for_windows].concat());
}
