//! Who may set the labels of a namespace, which decide what Transom does there: SECURITY.md, tried.

use crate::blocks::blocks;
use crate::cluster::Cluster;
use crate::eventually;

tests![labels_of_a_namespace_are_for_who_the_cluster_lets_set_them];

const SECURITY: &str = include_str!("../../SECURITY.md");

fn labels_of_a_namespace_are_for_who_the_cluster_lets_set_them(cluster: &Cluster) {
    let namespace = cluster.namespace("tenant", &[("transom.dev/os", "windows")]);
    let label = |label: &str, group: &str| {
        let group = format!("--as-group={group}");
        let label = [
            "label",
            "namespace",
            "tenant",
            "--overwrite",
            label,
            "--as=jane",
            &group,
        ];
        namespace.kubectl(&label)
    };
    let admin = [
        "create",
        "rolebinding",
        "admin",
        "--clusterrole=admin",
        "--user=jane",
    ];
    namespace.ok(&admin);
    let told = label("transom.dev/mode=off", "tenants");
    assert!(told.stderr.contains("(Forbidden)"), "{told}");

    namespace.create(
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: labels}
rules:
- {apiGroups: [''], resources: [namespaces], verbs: [get, patch]}
",
    );
    let role = [
        "create",
        "rolebinding",
        "labels",
        "--role=labels",
        "--user=jane",
    ];
    namespace.ok(&role);
    eventually("the right counts", || {
        label("transom.dev/mode=warn", "tenants")
            .succeeded()
            .then_some(())
    });

    let policy = blocks(SECURITY, "yaml").concat();
    namespace.create(&policy);
    let words = "set by the platform team";
    let mut mode = ["off", "warn"].into_iter().cycle();
    eventually("the policy counts", || {
        let told = label(
            &format!("transom.dev/mode={}", mode.next().unwrap()),
            "tenants",
        );
        told.stderr.contains(words).then_some(())
    });
    for refused in [
        "transom.dev/mode=audit",
        "transom.dev/linux-guard=true",
        "transom.dev/os-",
    ] {
        let told = label(refused, "tenants");
        assert!(told.stderr.contains(words), "{refused}: {told}");
        let told = label(refused, "platform");
        assert!(told.succeeded(), "{refused}: {told}");
    }
    let told = label("team=shop", "tenants");
    assert!(told.succeeded(), "{told}");
    for kind in [
        "validatingadmissionpolicybinding",
        "validatingadmissionpolicy",
    ] {
        namespace.ok(&["delete", kind, "transom-labels"]);
    }
}
