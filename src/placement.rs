//! What a Windows pod is still missing to land on a Windows node: node selector and tolerations
//! (KEP-116, "Windows node support").
//!
//! Not here: `spec.os` and repairs, which go together (`patch`), and how a patch is written.

mod learn;

use serde_json::Value as Json;

use crate::facts::Taint;
use crate::field::write_token;
use crate::object::demand::Role;
use crate::object::{At, Tape};
use crate::os::selection::Hosts;
use crate::os::{Build, Os};
use crate::workload::Pod;

pub(crate) use learn::Learning;

/// What the configuration says of placement.
#[derive(Clone, Debug)]
pub(crate) struct PlacementPolicy {
    /// What Windows pods get, by the configured key.
    pub(crate) windows: Selector,
    /// What the Linux guard adds: by the key that every kubelet sets.
    pub(crate) linux: Selector,
    pub(crate) tolerations: Vec<Toleration>,
    /// `None`: nothing is learnt from the nodes' taints.
    pub(crate) learning: Option<Learning>,
    /// Patch `spec.os` in, where a namespace does not say otherwise.
    pub(crate) set_pod_os: bool,
    /// Take out fields that the API server refuses beside os=windows.
    pub(crate) repair: bool,
}

/// A node selector for one operating system, in the forms that a patch needs.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    pub(crate) key: String,
    pub(crate) os: Os,
    /// The JSON Pointer to the key, below a spec.
    pub(crate) pointer: String,
    /// All of it, as JSON.
    pub(crate) json: String,
}

impl Selector {
    /// `key` is a label key, so nothing in it needs an escape in JSON.
    pub(crate) fn new(key: &str, os: Os) -> Self {
        let mut pointer = "/nodeSelector/".to_owned();
        // Writing to memory does not fail.
        let _ = write_token(key, &mut pointer);
        Self {
            key: key.to_owned(),
            os,
            pointer,
            json: format!("{{\"{key}\":\"{}\"}}", os.name()),
        }
    }
}

/// A toleration that Windows pods get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toleration {
    pub(crate) key: String,
    pub(crate) operator: Operator,
    /// Empty for [`Operator::Exists`].
    pub(crate) value: String,
    /// Empty: every effect.
    pub(crate) effect: String,
    /// Only for pods that can run on nodes of these builds, or whose build is unknown; empty: for all.
    pub(crate) builds: Vec<Build>,
    /// As it is added.
    pub(crate) json: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    Exists,
}

impl Operator {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Equal => "Equal",
            Self::Exists => "Exists",
        }
    }
}

impl Toleration {
    /// `effect` is that of a taint, or empty.
    pub(crate) fn new(
        key: String,
        operator: Operator,
        value: String,
        effect: &str,
        builds: Vec<Build>,
    ) -> Self {
        Self {
            json: json([
                ("key", &key),
                ("operator", operator.name()),
                ("value", &value),
                ("effect", effect),
            ]),
            key,
            operator,
            value,
            effect: effect.to_owned(),
            builds,
        }
    }

    /// Of this taint and of no other.
    pub(crate) fn of_taint(taint: &Taint) -> Self {
        let Taint { key, value, effect } = taint.clone();
        Self::new(key, Operator::Equal, value, &effect, Vec::new())
    }

    /// The taint that it is for, as kubectl writes it.
    pub(crate) fn taint(&self) -> String {
        let separator = if self.value.is_empty() { "" } else { "=" };
        let Self {
            key, value, effect, ..
        } = self;
        format!("{key}{separator}{value}:{effect}")
    }

    /// Whether it is for nodes of one of these builds, or of any.
    fn is_for(&self, is_wanted: impl Fn(Build) -> bool) -> bool {
        self.builds.is_empty() || self.builds.iter().any(|own| is_wanted(*own))
    }

    /// Whether it tolerates all that the other one does, on whatever build.
    fn covers(&self, other: &Self) -> bool {
        let values = self.operator == Operator::Exists
            || other.operator == Operator::Equal && self.value == other.value;
        values && self.key == other.key && (self.effect.is_empty() || self.effect == other.effect)
    }
}

/// The toleration as it is added: in the order of the API, without the fields that are empty.
fn json(fields: [(&str, &str); 4]) -> String {
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let fields = fields.map(|(name, value)| format!("\"{name}\":{}", Json::from(value)));
    let fields: Vec<_> = fields.collect();
    format!("{{{}}}", fields.join(","))
}

impl PlacementPolicy {
    /// Whether the node selector lacks the OS label.
    pub(crate) fn misses_selector(&self, pod: &Pod<'_, '_>) -> bool {
        pod.selector(&self.windows.key).is_none()
    }

    /// The configured tolerations, by their place in the list, that the pod does not have in one
    /// form or another.
    pub(crate) fn missing_tolerations(&self, pod: &Pod<'_, '_>) -> impl Iterator<Item = usize> {
        self.tolerations_for(pod)
            .filter(|(_, toleration)| !is_tolerated(pod, toleration))
            .map(|(i, _)| i)
    }

    /// Those of `shared` that are learnt, by their place in that list, and that neither the pod nor a
    /// configured toleration has.
    pub(crate) fn missing_learnt(
        &self,
        pod: &Pod<'_, '_>,
        shared: &[Toleration],
    ) -> impl Iterator<Item = usize> {
        let configured: Vec<_> = self.tolerations_for(pod).map(|(_, own)| own).collect();
        let learned = shared
            .iter()
            .enumerate()
            .filter(|(_, toleration)| self.learns(toleration));
        learned
            .filter(move |(_, toleration)| {
                let is_configured = configured.iter().any(|own| own.covers(toleration));
                !is_configured && !is_tolerated(pod, toleration)
            })
            .map(|(i, _)| i)
    }

    /// Whether this toleration, of a taint that all Windows nodes share, is added to pods.
    pub(crate) fn learns(&self, toleration: &Toleration) -> bool {
        let learning = self.learning.as_ref();
        learning.is_some_and(|learning| learning.takes(&toleration.key, &toleration.value))
    }

    /// Whether a Windows pod that can run on a node of this build is given what tolerates this taint of
    /// it. `shared` is what all Windows nodes are tainted with.
    pub(crate) fn tolerates(
        &self,
        taint: &Taint,
        build: Option<&str>,
        shared: &[Toleration],
    ) -> bool {
        let wanted = Toleration::of_taint(taint);
        let build = build.and_then(Build::parse);
        let is_own = |own: Build| build.is_none_or(|build| own == build);
        let own = self.tolerations.iter().filter(|own| own.is_for(is_own));
        let learnt = shared.iter().filter(|learnt| self.learns(learnt));
        own.chain(learnt).any(|given| given.covers(&wanted))
    }

    /// The configured tolerations for the nodes that a pod can run on, with their places in the list.
    fn tolerations_for(&self, pod: &Pod<'_, '_>) -> impl Iterator<Item = (usize, &Toleration)> {
        let by_build = self.tolerations.iter().any(|t| !t.builds.is_empty());
        let hosts = by_build.then(|| Hosts::of(pod)).flatten();
        let all = self.tolerations.iter().enumerate();
        all.filter(move |(_, toleration)| match &hosts {
            Some(hosts) => toleration.is_for(|build| hosts.contain(build)),
            None => true,
        })
    }
}

/// Whether one of the pod's tolerations covers everything that this one does.
fn is_tolerated(pod: &Pod<'_, '_>, wanted: &Toleration) -> bool {
    let Some(tolerations) = pod.tolerations else {
        return false;
    };
    pod.tape
        .children(tolerations)
        .any(|has| covers(pod.tape, has, wanted))
}

fn covers(tape: &Tape<'_>, has: At, wanted: &Toleration) -> bool {
    let (mut key, mut operator, mut value, mut effect) = ("", "", "", "");
    for field in tape.children(has) {
        let text = tape.text(field).unwrap_or_default();
        match tape.role(field) {
            Role::Key => key = text,
            Role::Operator => operator = text,
            Role::Value => value = text,
            Role::Effect => effect = text,
            _ => {}
        }
    }
    if !effect.is_empty() && effect != wanted.effect {
        return false;
    }
    match operator {
        // Without a key, Exists tolerates every taint.
        "Exists" => key.is_empty() || key == wanted.key,
        "Equal" | "" => {
            wanted.operator == Operator::Equal && key == wanted.key && value == wanted.value
        }
        _ => false,
    }
}
