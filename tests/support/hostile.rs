//! AdmissionReviews that take as much memory as their bytes can: the same few bytes again and again, wherever a reader
//! might keep something for each of them.
//!
//! Used by the tests that bound memory and responses.

use transom::workload::Kind;

/// A place of an AdmissionReview, filled with what takes the most memory there.
pub(crate) struct Padding {
    pub(crate) name: String,
    unit: String,
    put: fn(&str) -> Parts,
}

/// The parts of an object and of its request that differ. Each is the inside of a JSON object.
pub(crate) struct Parts {
    metadata: String,
    spec: String,
    request: String,
    user: String,
}

const CONTAINERS: &str = r#""containers":[{"name":"a"}]"#;
const SELECTOR: &str = r#""hostPID":true,"nodeSelector":{"kubernetes.io/os":"windows"}"#;
const OWNERS: &str = r#"{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a","uid":"a","controller":true},{"apiVersion":"apps/v1","kind":"Deployment","name":"a","uid":"a","controller":true},{"apiVersion":"batch/v1","kind":"CronJob","name":"a","uid":"a","controller":true}"#;

impl Default for Parts {
    fn default() -> Self {
        Self {
            metadata: format!(r#""annotations":{{"a":"b"}},"ownerReferences":[{OWNERS}]"#),
            spec: format!("{SELECTOR},{CONTAINERS}"),
            request: String::new(),
            user: String::new(),
        }
    }
}

fn metadata(metadata: String) -> Parts {
    Parts {
        metadata,
        ..Parts::default()
    }
}

fn spec(spec: &str) -> Parts {
    Parts {
        spec: format!("{SELECTOR},{spec}"),
        ..Parts::default()
    }
}

/// Every finding that a container can have, and only some of them, in few bytes.
const FINDINGS: &[&str] = &[
    r#"{"securityContext":{"runAsUser":1}}"#,
    r#"{"securityContext":{"runAsUser":1,"runAsGroup":1,"privileged":true,"procMount":"","seLinuxOptions":{},"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":true,"capabilities":{"add":["A"]}}}"#,
    r#"{"image":"a:1809"}"#,
    r#"{"image":"a:1903"}"#,
    r#"{"resources":{"limits":{"hugepages-":1}}}"#,
    r#"{"lifecycle":{"stopSignal":"A"}}"#,
    r#"{"volumeMounts":[{"subPath":"a","mountPropagation":"A"}]}"#,
    r#"{"command":["/a"]}"#,
];

/// Every place, with each unit that may be costly there.
pub(crate) fn paddings() -> Vec<Padding> {
    /// Elements of lists that are read.
    const ANY: &[&str] = &["{}", r#"{"":0}"#, r#""""#, r#""\n""#, "null"];
    /// Elements of lists that are not.
    const NESTED: &[&str] = &[r#"{"":0}"#, "[{}]"];
    const MEMBERS: &[&str] = &[r#""":{"":0}"#, r#""":"""#, r#""a\n":"\n""#];
    const IGNORES: &[&str] = &[
        r#""transom.dev/ignore.WIN101":"a""#,
        r#""transom.dev/ignore.":"""#,
        r#""container.apparmor.security.beta.kubernetes.io/":"a""#,
    ];
    type Row = (
        &'static str,
        &'static [&'static [&'static str]],
        fn(&str) -> Parts,
    );
    let rows: &[Row] = &[
        ("containers", &[ANY, FINDINGS], |p| {
            spec(&format!(r#""containers":[{p}]"#))
        }),
        ("ephemeralContainers", &[&["{}", r#"{"name":""}"#]], |p| {
            spec(&format!(r#"{CONTAINERS},"ephemeralContainers":[{p}]"#))
        }),
        (
            "env",
            &[NESTED, &[r#"{"name":"a"}"#, r#"{"name":"","value":""}"#]],
            |p| spec(&format!(r#""containers":[{{"env":[{p}]}}]"#)),
        ),
        (
            "args",
            &[ANY, &[r#""C:\\""#, r#""a.exe""#, r#""/a""#]],
            |p| spec(&format!(r#""containers":[{{"args":[{p}]}}]"#)),
        ),
        (
            "volumes",
            &[ANY, &[r#"{"nfs":{}}"#, r#"{"hostPath":{"path":"/a"}}"#]],
            |p| spec(&format!(r#"{CONTAINERS},"volumes":[{p}]"#)),
        ),
        ("tolerations", &[ANY, &[r#"{"key":"a"}"#]], |p| {
            spec(&format!(r#"{CONTAINERS},"tolerations":[{p}]"#))
        }),
        (
            "terms",
            &[
                ANY,
                &[
                    r#"{"matchExpressions":[{"key":"kubernetes.io/os","operator":"In","values":[""]}]}"#,
                ],
            ],
            |p| {
                spec(&format!(
                    r#"{CONTAINERS},"affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{p}]}}}}}}"#
                ))
            },
        ),
        ("values", &[&[r#""""#, r#""\n""#, "0"]], |p| {
            spec(&format!(
                r#"{CONTAINERS},"affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"kubernetes.io/os","operator":"In","values":[{p}]}}]}}]}}}}}}"#
            ))
        }),
        ("nodeSelector", &[MEMBERS], |p| Parts {
            spec: format!(
                r#""hostPID":true,"nodeSelector":{{"kubernetes.io/os":"windows",{p}}},{CONTAINERS}"#
            ),
            ..Parts::default()
        }),
        ("sysctls", &[NESTED], |p| {
            spec(&format!(
                r#"{CONTAINERS},"securityContext":{{"sysctls":[{p}]}}"#
            ))
        }),
        ("a field that is not read", &[NESTED], |p| {
            spec(&format!(r#"{CONTAINERS},"x":[{p}]"#))
        }),
        ("annotations", &[MEMBERS, IGNORES], |p| {
            metadata(format!(
                r#""annotations":{{{p}}},"ownerReferences":[{OWNERS}]"#
            ))
        }),
        (
            "ownerReferences",
            &[ANY, &[r#"{"controller":true}"#]],
            |p| metadata(format!(r#""ownerReferences":[{OWNERS},{p}]"#)),
        ),
        ("an ownerReference", &[MEMBERS, &[r#""x":[{}]"#]], |p| {
            let (first, rest) = OWNERS.split_once('}').unwrap();
            metadata(format!(r#""ownerReferences":[{first},{p}}}{rest}]"#))
        }),
        ("managedFields", &[NESTED], |p| {
            metadata(format!(
                r#""managedFields":[{p}],"ownerReferences":[{OWNERS}]"#
            ))
        }),
        ("the request", &[NESTED], |p| Parts {
            request: format!(r#","x":[{p}]"#),
            ..Parts::default()
        }),
        ("options", &[MEMBERS], |p| Parts {
            request: format!(r#","options":{{{p}}}"#),
            ..Parts::default()
        }),
        ("extra", &[MEMBERS, &[r#""a":[]"#]], |p| Parts {
            user: format!(r#","extra":{{{p}}}"#),
            ..Parts::default()
        }),
        ("groups", &[ANY], |p| Parts {
            user: format!(r#","groups":[{p}]"#),
            ..Parts::default()
        }),
    ];
    let mut all = Vec::new();
    for (place, units, put) in rows {
        for unit in units.iter().flat_map(|units| units.iter()) {
            all.push(Padding {
                name: format!("{unit} in {place}"),
                unit: (*unit).to_owned(),
                put: *put,
            });
        }
    }
    // One long string, which is copied where it has escapes.
    all.push(Padding {
        name: "one string".to_owned(),
        unit: String::new(),
        put: |p| {
            spec(&format!(
                r#""containers":[{{"image":"{}"}}]"#,
                r"\n".repeat(p.len() / 2)
            ))
        },
    });
    all
}

impl Padding {
    /// An AdmissionReview of about so many bytes, with the padding in the object, and for an UPDATE in the old one too.
    pub(crate) fn review(&self, kind: Kind, operation: &str, bytes: usize) -> String {
        let is_update = operation != "CREATE";
        let bytes = if is_update { bytes / 2 } else { bytes };
        let parts = (self.put)(&repeated(&self.unit, bytes));
        let object = parts.object(kind);
        // Not the same, so that a difference is there to be found, at the end.
        let old = match is_update {
            true => format!(r#"{},"old":0}}"#, &object[..object.len() - 1]),
            false => "null".to_owned(),
        };
        let (operation, sub_resource) = operation.split_once('/').unwrap_or((operation, ""));
        let Parts { request, user, .. } = parts;
        let (group, kind) = (kind.group(), kind.name());
        format!(
            r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u","kind":{{"group":"{group}","version":"v1","kind":"{kind}"}},"subResource":"{sub_resource}","name":"a","namespace":"a","operation":"{operation}","userInfo":{{"username":"system:kube-controller-manager"{user}}},"object":{object},"oldObject":{old}{request}}}}}"#
        )
    }
}

impl Parts {
    fn object(&self, kind: Kind) -> String {
        let Self { metadata, spec, .. } = self;
        let pod = format!(r#"{{"metadata":{{"name":"a",{metadata}}},"spec":{{{spec}}}}}"#);
        match kind {
            Kind::Pod | Kind::Service => pod,
            Kind::PodTemplate => format!(r#"{{"metadata":{{{metadata}}},"template":{pod}}}"#),
            Kind::CronJob => format!(
                r#"{{"metadata":{{{metadata}}},"spec":{{"jobTemplate":{{"spec":{{"template":{pod}}}}}}}}}"#
            ),
            _ => format!(r#"{{"metadata":{{{metadata}}},"spec":{{"template":{pod}}}}}"#),
        }
    }
}

/// A unit as often as it fits, with commas.
fn repeated(unit: &str, bytes: usize) -> String {
    if unit.is_empty() {
        return " ".repeat(bytes);
    }
    let mut all = String::with_capacity(bytes);
    all.push_str(unit);
    while all.len() + 1 + unit.len() <= bytes {
        all.push(',');
        all.push_str(unit);
    }
    all
}
