//! The reviews that are measured: recordings, and larger ones made of a recording.

use std::path::Path;

use serde_json::{Value, json};
use transom::decision::Endpoint;

#[allow(dead_code)] // each target uses a part of it
pub(crate) struct Body {
    pub(crate) name: &'static str,
    pub(crate) endpoint: Endpoint,
    /// One body, or many that are asked in rotation.
    pub(crate) json: Vec<Vec<u8>>,
}

impl Body {
    fn one(name: &'static str, endpoint: Endpoint, json: Vec<u8>) -> Self {
        let json = vec![json];
        Self {
            name,
            endpoint,
            json,
        }
    }

    #[allow(dead_code)] // as above
    pub(crate) fn bytes(&self) -> usize {
        self.json.iter().map(Vec::len).sum()
    }
}

fn directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/admissionreviews")
}

fn recording(name: &str) -> Vec<u8> {
    std::fs::read(directory().join(format!("{name}.json"))).unwrap()
}

/// A pod review changed by `edit`.
fn made(edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let json = recording("pod-create-win-nodeselector.validating");
    let mut review: Value = serde_json::from_slice(&json).unwrap();
    edit(&mut review["request"]["object"]);
    serde_json::to_vec(&review).unwrap()
}

fn containers(object: &mut Value, count: usize, image: &str, env: usize) {
    let template = object["spec"]["containers"][0].clone();
    let list = (0..count).map(|i| {
        let mut container = template.clone();
        container["name"] = json!(format!("c{i}"));
        container["image"] = json!(image);
        if env > 0 {
            let env = (0..env).map(|j| json!({"name": format!("SETTING_{j}"), "value": format!("value of setting {j} of container {i}")}));
            container["env"] = env.collect();
        }
        container
    });
    object["spec"]["containers"] = list.collect();
}

fn pad(object: &mut Value, bytes: usize) {
    let annotations = &mut object["metadata"]["annotations"];
    let line = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\n".repeat(30);
    for i in 0..bytes / 1_200 + 1 {
        annotations[format!("example.com/note-{i}")] = json!(line);
    }
}

/// As many containers as fit in this many bytes.
pub(crate) fn crowd(bytes: usize) -> Vec<u8> {
    made(|object| {
        containers(
            object,
            bytes / 690,
            "registry.example/team/application:1.2.3",
            3,
        )
    })
}

/// A pod review of about so many bytes: a container for each 4.5 kB, with as many environment variables as fit.
#[allow(dead_code)] // each target uses a part of it
pub(crate) fn sized(bytes: usize) -> Vec<u8> {
    let count = (bytes / 4_500).max(1);
    let with = |env| {
        made(|object| {
            let image = "registry.example/team/application:1.2.3";
            containers(object, count, image, env);
        })
    };
    let each = (with(20).len() - with(10).len()) / 10;
    let rest = bytes.saturating_sub(with(10).len());
    with(10 + rest / each)
}

pub(crate) fn all() -> Vec<Body> {
    use Endpoint::{Mutate, Validate};
    let mut recordings: Vec<_> = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    recordings.sort();
    let rotation = |end: &str| {
        let files = recordings
            .iter()
            .filter(|path| path.to_str().unwrap().contains(end));
        files
            .map(|path| std::fs::read(path).unwrap())
            .collect::<Vec<_>>()
    };
    vec![
        Body::one(
            "allowed pod",
            Validate,
            recording("pod-create-win-nodeselector.validating"),
        ),
        Body::one(
            "patched pod",
            Mutate,
            recording("pod-create-win-nodeselector.mutating"),
        ),
        Body::one(
            "Linux pod",
            Mutate,
            recording("pod-create-linux-plain.mutating"),
        ),
        Body::one(
            "denied Deployment",
            Validate,
            recording("deployment-create-win-deploy-linuxfields.validating"),
        ),
        Body::one(
            "UPDATE of a pod",
            Validate,
            recording("pod-update-win-nodeselector-4.validating"),
        ),
        Body::one(
            "6 containers",
            Validate,
            made(|object| containers(object, 6, "registry.example/app:1", 48)),
        ),
        Body::one("padded", Validate, made(|object| pad(object, 96_000))),
        Body::one("146 containers", Validate, crowd(100_000)),
        Body::one("1 MB of containers", Validate, crowd(1_000_000)),
        Body {
            name: "all mutating recordings",
            endpoint: Mutate,
            json: rotation(".mutating"),
        },
        Body {
            name: "all validating recordings",
            endpoint: Validate,
            json: rotation(".validating"),
        },
    ]
}

#[allow(dead_code)] // as above
pub(crate) fn of(name: &str) -> Body {
    all().into_iter().find(|body| body.name == name).unwrap()
}
