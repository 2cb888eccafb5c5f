//! What is read of a review: the envelope, and whatever the rooms of the core ask for.

use crate::object::demand::Anchor::{Review, Service};
use crate::object::demand::{Demand, Role, Shape};
use crate::object::trie::Trie;
use crate::rules::{self, RuleId};
use crate::{os, workload};

/// The fields of the envelope.
const FIELDS: &[Demand] = &[
    Demand::text(Review, "apiVersion", Role::ApiVersion),
    Demand::text(Review, "kind", Role::Kind),
    Demand::map(Review, "request", Role::Request),
    Demand::text(Review, "request.uid", Role::Uid),
    Demand::map(Review, "request.kind", Role::GroupKind),
    Demand::text(Review, "request.kind.group", Role::Group),
    Demand::text(Review, "request.kind.kind", Role::Kind),
    Demand::text(Review, "request.subResource", Role::SubResource),
    Demand::text(Review, "request.name", Role::Name),
    Demand::text(Review, "request.namespace", Role::Namespace),
    Demand::text(Review, "request.operation", Role::Operation),
    Demand::map(Review, "request.userInfo", Role::UserInfo),
    Demand::text(Review, "request.userInfo.username", Role::Username),
    Demand::bool(Review, "request.dryRun", Role::DryRun),
];

/// Who is exempt by group is looked for only where a group is exempt.
const GROUPS: &[Demand] = &[
    Demand::list(Review, "request.userInfo.groups", Role::Groups),
    Demand::text(Review, "request.userInfo.groups[*]", Role::None),
];

/// Which pods a Service is for is looked at only where Services are judged.
const SERVICE: &[Demand] = &[
    Demand::map(Service, "selector", Role::ServiceSelector),
    // A workload's selector is at the same place, and of another form.
    Demand::new(Service, "selector{*}", Role::None, Shape::Any),
];

/// Everything that any room asks for under a policy: what its rules do not look at is not read.
pub(crate) fn trie(is_silent: impl Fn(RuleId) -> bool, groups: bool, services: bool) -> Trie {
    let groups = if groups { GROUPS } else { &[] };
    let services = if services { SERVICE } else { &[] };
    let os = [os::FIELDS, os::affinity::FIELDS];
    let fields = [FIELDS, groups, services, workload::FIELDS];
    let fields = fields.into_iter().chain(os);
    let fields = fields.flatten().copied();
    Trie::compile(fields.chain(rules::demands(is_silent)))
}
