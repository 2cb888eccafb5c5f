//! Every kind that carries pods, by what kubectl does with an object in its life.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::common::pod_spec_mut;
use crate::eventually;
use crate::kubectl::Namespace;
use crate::transom::{Options, Transom};
use crate::workloads::every_kind;

tests![
    every_kind_is_refused_at_the_path_of_its_field,
    every_kind_is_applied_again_changed_and_deleted,
];

fn objects(os: &str) -> Vec<Value> {
    every_kind(os)["items"].as_array().unwrap().clone()
}

fn every_kind_is_refused_at_the_path_of_its_field(cluster: &Cluster) {
    let transom = Transom::install(cluster, "paths", &Options::default());
    let namespace = transom.namespace("paths", &[]);
    let mut told = String::new();
    for mut object in objects("windows") {
        pod_spec_mut(&mut object)["hostPID"] = json!(true);
        let one = namespace.apply("object.yaml", &object.to_string());
        assert!(!one.succeeded(), "{one}");
        write!(told, "{}", one.stderr).unwrap();
    }
    insta::assert_snapshot!("paths", told);
    let nothing = namespace.ok(&["get", "all,podtemplates", "-o", "name"]);
    assert_eq!(nothing, "");
}

fn every_kind_is_applied_again_changed_and_deleted(cluster: &Cluster) {
    let transom = Transom::install(cluster, "kinds", &Options::default());
    let namespace = transom.namespace("kinds", &[]);
    for mut object in objects("windows") {
        object["metadata"]["finalizers"] = json!(["e2e.transom.dev/wait"]);
        namespace.file("object.yaml", &object.to_string());
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        let name = object["metadata"]["name"].as_str().unwrap();
        let name = format!("{kind}/{name}");
        let dry = namespace.ok(&["apply", "--dry-run=server", "-f", "object.yaml"]);
        assert!(dry.ends_with(" created (server dry run)\n"), "{dry}");

        // Applied again there is nothing to do, whatever we have added.
        namespace.ok(&["apply", "-f", "object.yaml"]);
        let again = namespace.ok(&["apply", "-f", "object.yaml"]);
        assert!(again.ends_with(" unchanged\n"), "{again}");
        let diff = namespace.kubectl(&["diff", "-f", "object.yaml"]);
        assert_eq!((diff.code, diff.stdout.as_str()), (Some(0), ""), "{diff}");
        delete(&namespace, &name);

        namespace.ok(&["apply", "--server-side", "-f", "object.yaml"]);
        let spec = || {
            let mut object = namespace.get(&[&name]);
            let spec = pod_spec_mut(&mut object);
            // Given by the scheduler meanwhile.
            spec.as_object_mut().unwrap().remove("nodeName");
            spec.take()
        };
        let before = spec();
        namespace.ok(&["apply", "--server-side", "-f", "object.yaml"]);
        let diff = namespace.kubectl(&["diff", "--server-side", "-f", "object.yaml"]);
        assert_eq!((diff.code, diff.stdout.as_str()), (Some(0), ""), "{diff}");
        namespace.ok(&["annotate", &name, "e2e.transom.dev/note=one"]);
        let editor = "sed -i s/note:.one/note:\\ two/";
        let edited = namespace.edit(&["edit", &name], editor);
        assert!(edited.succeeded(), "{edited}");
        let note = &namespace.get(&[&name])["metadata"]["annotations"]["e2e.transom.dev/note"];
        assert_eq!(note, "two");
        assert_eq!(spec(), before, "{name}");
        delete(&namespace, &name);
    }
}

/// Deletes an object, which waits for its finalizer, and then takes that away.
fn delete(namespace: &Namespace<'_>, name: &str) {
    namespace.ok(&["delete", name, "--wait=false"]);
    let waiting = namespace.get(&[name]);
    assert!(waiting["metadata"]["deletionTimestamp"].is_string());
    let patch = r#"{"metadata":{"finalizers":null}}"#;
    namespace.ok(&["patch", name, "--type=merge", "-p", patch]);
    eventually("the object is deleted", || {
        let list = namespace.ok(&["get", name, "--ignore-not-found", "-o", "name"]);
        list.is_empty().then_some(())
    });
}
