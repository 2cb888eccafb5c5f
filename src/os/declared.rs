//! What an operator declares: annotations of objects and templates, labels of namespaces; and what
//! follows for Services, which have no other evidence but the pods that they select.

use std::collections::{BTreeMap, HashSet};

use super::system::Os;
use super::{Detection, Evidence, Source, evidence};
use crate::facts::{Facts, NamespaceFacts};
use crate::object::At;
use crate::object::demand::Role;
use crate::workload::Pod;

/// A Service is for the system of the pods that it selects, as far as anybody knows.
pub(crate) fn detect_service(
    service: &Pod<'_, '_>,
    name: &str,
    namespace: Option<&NamespaceFacts>,
    facts: &Facts,
) -> Detection {
    let evidence = annotated(service)
        .or_else(|| selected_pods(service, facts.windows_pods.get(name)?))
        .or_else(|| labelled(namespace));
    Detection {
        os: evidence.map(|evidence| evidence.os),
        evidence,
        ..Detection::default()
    }
}

/// The selector of a Service, if Windows pods match it.
fn selected_pods(
    service: &Pod<'_, '_>,
    windows_pods: &HashSet<BTreeMap<String, String>>,
) -> Option<Evidence> {
    let tape = service.tape;
    let at = tape.child(service.spec?, Role::ServiceSelector)?;
    tape.members(at).next()?;
    let selects = |labels: &BTreeMap<String, String>| {
        let mut wanted = tape.members(at);
        wanted.all(|(key, value)| labels.get(key).map(String::as_str) == tape.text(value))
    };
    let windows = windows_pods.iter().any(selects);
    evidence(
        Some(Os::Windows).filter(|_| windows),
        Source::SelectedPods,
        at,
    )
}

/// What the object, its template or its namespace says it is for.
pub(super) fn declared(pod: &Pod<'_, '_>, namespace: Option<&NamespaceFacts>) -> Option<Evidence> {
    annotated(pod).or_else(|| labelled(namespace))
}

/// The namespace's label.
fn labelled(namespace: Option<&NamespaceFacts>) -> Option<Evidence> {
    Some(Evidence {
        os: namespace?.os?,
        source: Source::Declared,
        at: None,
    })
}

/// The annotation of the pod or its template, then that of the object.
fn annotated(pod: &Pod<'_, '_>) -> Option<Evidence> {
    let on_object = || {
        let metadata = pod.tape.child(pod.object, Role::Metadata)?;
        let annotations = pod.tape.child(metadata, Role::Annotations)?;
        pod.tape.child(annotations, Role::TransomOs)
    };
    let said = |at: At| {
        let os = pod.tape.text(at).and_then(Os::parse);
        evidence(os, Source::Declared, at)
    };
    let annotation = pod.transom_os.and_then(said);
    annotation.or_else(|| said(on_object()?))
}
