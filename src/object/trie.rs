//! The fields that anybody asks for, compiled once into a trie that the parse walks.
//!
//! Every room lists its fields as [`Demand`]s; nothing else is read from a review. Not here: the
//! walk itself (`object`), and what a value means (`os`, `rules`, `placement`).

use std::fmt;

use super::demand::{Anchor, Demand, Role, Shape, Spare};
use super::index::NameIndex;

/// A node of the [`Trie`]: one field, whatever object it is found in.
pub(crate) type FieldId = u16;

/// How a node is reached from its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// The root of a review or of an object: paths start here.
    Root,
    Name(&'static str),
    /// A name that may hold any character, such as an annotation's.
    Key(&'static str),
    /// An element of a list.
    Item,
    /// A key of a map that matches a prefix; its entry holds the key and has one child.
    Member,
    /// The value under a [`Edge::Member`].
    Value,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) edge: Edge,
    pub(crate) names: Vec<(&'static str, FieldId)>,
    index: NameIndex,
    pub(crate) members: Vec<(&'static str, FieldId)>,
    /// The first element of a list where it is asked for on its own.
    pub(crate) first: Option<FieldId>,
    /// Every (other) element of a list.
    pub(crate) item: Option<FieldId>,
    pub(crate) shape: Shape,
    pub(crate) role: Role,
    pub(crate) filter: Option<fn(&str) -> bool>,
    /// Whether to skip the field without a look, by what was read of its object before it.
    pub(crate) spare: Option<Spare>,
    pub(crate) checks: Vec<u16>,
    /// Nothing below is asked for: presence is all.
    pub(crate) leaf: bool,
}

impl Node {
    fn new(edge: Edge) -> Self {
        Self {
            edge,
            names: Vec::new(),
            index: NameIndex::default(),
            members: Vec::new(),
            first: None,
            item: None,
            shape: Shape::Any,
            role: Role::None,
            filter: None,
            spare: None,
            checks: Vec::new(),
            leaf: true,
        }
    }

    /// Which of the names this is.
    pub(crate) fn find(&self, key: &str) -> Option<usize> {
        let i = self.index.candidate(key)?;
        (self.names.get(i)?.0 == key).then_some(i)
    }
}

/// All fields that are read from a review. One pod subtrie serves object, oldObject and every
/// template; one container node serves the three container lists.
#[derive(Clone)]
pub(crate) struct Trie {
    pub(crate) nodes: Vec<Node>,
    pub(crate) review: FieldId,
}

impl fmt::Debug for Trie {
    /// Hundreds of nodes tell nobody anything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trie").finish_non_exhaustive()
    }
}

/// `seen` in the parse has one bit for each named field of a node.
const MAX_NAMES: usize = 64;

impl Trie {
    /// Compiles the demands. It runs once, over tables that are part of the program; a demand
    /// that makes no sense is a mistake in the table and panics, in every test.
    pub(crate) fn compile(demands: impl IntoIterator<Item = Demand>) -> Self {
        let mut builder = Builder::new();
        for demand in demands {
            builder.insert(demand);
        }
        builder.finish()
    }

    pub(crate) fn node(&self, field: FieldId) -> &Node {
        &self.nodes[usize::from(field)]
    }
}

struct Builder {
    nodes: Vec<Node>,
    review: FieldId,
    metadata: FieldId,
    spec: FieldId,
    container: FieldId,
    service: FieldId,
}

impl Builder {
    fn new() -> Self {
        let mut builder = Self {
            nodes: Vec::with_capacity(256),
            review: 0,
            metadata: 0,
            spec: 0,
            container: 0,
            service: 0,
        };
        builder.review = builder.add(Edge::Root);
        builder.metadata = builder.add(Edge::Name("metadata"));
        builder.spec = builder.add(Edge::Name("spec"));
        builder.container = builder.add(Edge::Item);
        builder.service = builder.add(Edge::Name("spec"));
        for (field, role) in [
            (builder.metadata, Role::Metadata),
            (builder.spec, Role::Spec),
            (builder.container, Role::Container),
            (builder.service, Role::Spec),
        ] {
            let node = builder.node(field);
            (node.role, node.shape, node.leaf) = (role, Shape::Map, false);
        }
        for list in ["containers", "initContainers", "ephemeralContainers"] {
            let id = builder.child(builder.spec, Edge::Name(list));
            let item = builder.container;
            let node = builder.node(id);
            (node.item, node.shape, node.leaf) = (Some(item), Shape::List, false);
        }
        builder
    }

    fn add(&mut self, edge: Edge) -> FieldId {
        self.nodes.push(Node::new(edge));
        // A table of 65,536 fields would be another program.
        (self.nodes.len() - 1) as FieldId
    }

    fn node(&mut self, field: FieldId) -> &mut Node {
        &mut self.nodes[usize::from(field)]
    }

    fn insert(&mut self, demand: Demand) {
        let mut at = match demand.anchor {
            Anchor::Review => self.review,
            Anchor::Metadata => self.metadata,
            Anchor::Spec => self.spec,
            Anchor::Container => self.container,
            Anchor::Service => self.service,
        };
        let mut path = demand.path;
        while !path.is_empty() {
            at = self.step(at, &mut path);
        }
        let node = self.node(at);
        if demand.role != Role::None {
            assert!(
                node.role == Role::None || node.role == demand.role,
                "{}: two roles for one field",
                demand.path
            );
            node.role = demand.role;
        }
        let first_demand = node.checks.is_empty() && node.filter.is_none() && node.leaf;
        match (demand.filter, first_demand && node.shape == Shape::Any) {
            (Some(filter), true) => node.filter = Some(filter),
            (Some(_), false) => {}
            (None, _) => node.filter = None,
        }
        if node.leaf && matches!(node.shape, Shape::Any | Shape::Presence) {
            node.shape = demand.shape;
        }
        assert!(
            matches!(demand.shape, Shape::Any | Shape::Presence) || demand.shape == node.shape,
            "{}: two shapes for one field",
            demand.path
        );
        node.checks.extend(demand.check);
        node.spare = node.spare.or(demand.spare);
    }

    /// Takes one step off `path` and goes there, making the node if it is new.
    fn step(&mut self, at: FieldId, path: &mut &'static str) -> FieldId {
        if let Some(rest) = path.strip_prefix('{') {
            let Some((key, rest)) = rest.split_once('}') else {
                panic!("{path}: a key ends with }}");
            };
            *path = rest.strip_prefix('.').unwrap_or(rest);
            self.shape(at, Shape::Map);
            return match key.strip_suffix('*') {
                Some(prefix) => self.member(at, prefix),
                None => self.child(at, Edge::Key(key)),
            };
        }
        if let Some(rest) = path.strip_prefix("[*]") {
            *path = rest.strip_prefix('.').unwrap_or(rest);
            return self.item(at);
        }
        if let Some(rest) = path.strip_prefix("[0]") {
            *path = rest.strip_prefix('.').unwrap_or(rest);
            return self.first(at);
        }
        let end = path.find(['.', '[', '{']).unwrap_or(path.len());
        let (name, rest) = path.split_at(end);
        *path = rest.strip_prefix('.').unwrap_or(rest);
        self.shape(at, Shape::Map);
        self.child(at, Edge::Name(name))
    }

    fn shape(&mut self, at: FieldId, shape: Shape) {
        let node = self.node(at);
        assert!(
            matches!(node.shape, Shape::Any | Shape::Presence) || node.shape == shape,
            "{:?}: both {shape:?} and {:?}",
            node.edge,
            node.shape
        );
        (node.shape, node.leaf) = (shape, false);
    }

    fn child(&mut self, at: FieldId, edge: Edge) -> FieldId {
        let (Edge::Name(name) | Edge::Key(name)) = edge else {
            panic!("{edge:?} has no name");
        };
        if let Some((_, id)) = self.node(at).names.iter().find(|(n, _)| *n == name) {
            return *id;
        }
        let id = self.add(edge);
        self.node(at).names.push((name, id));
        id
    }

    fn member(&mut self, at: FieldId, prefix: &'static str) -> FieldId {
        let known = self.node(at).members.iter().find(|(p, _)| *p == prefix);
        let member = match known {
            Some((_, id)) => *id,
            None => {
                let id = self.add(Edge::Member);
                self.node(at).members.push((prefix, id));
                id
            }
        };
        match self.node(member).item {
            Some(value) => value,
            None => {
                let value = self.add(Edge::Value);
                self.node(member).item = Some(value);
                value
            }
        }
    }

    fn item(&mut self, at: FieldId) -> FieldId {
        self.shape(at, Shape::List);
        if let Some(id) = self.node(at).item {
            return id;
        }
        let id = self.add(Edge::Item);
        self.node(at).item = Some(id);
        id
    }

    fn first(&mut self, at: FieldId) -> FieldId {
        self.shape(at, Shape::List);
        if let Some(id) = self.node(at).first {
            return id;
        }
        let id = self.add(Edge::Item);
        self.node(at).first = Some(id);
        id
    }

    /// Joins the subtries: templates under the object, what is asked of every element under the
    /// first one.
    fn finish(mut self) -> Trie {
        for at in 0..self.nodes.len() {
            let (Some(first), Some(item)) = (self.nodes[at].first, self.nodes[at].item) else {
                continue;
            };
            let item = self.node(item).clone();
            assert!(item.leaf, "[0] and [*] side by side are for scalars");
            let first = self.node(first);
            first.role = item.role;
            first.checks.extend(item.checks);
        }

        // Findings in two lists are the same only if their elements are.
        for at in 0..self.nodes.len() {
            let node = &self.nodes[at];
            let is_opaque =
                node.shape == Shape::List && node.item.is_none() && node.first.is_none();
            if is_opaque && !node.checks.is_empty() {
                // Fewer fields than 65,536.
                let item = self.item(at as FieldId);
                self.node(item).shape = Shape::Presence;
            }
        }

        // A pod: metadata and spec. A template is one; so is what a CronJob's jobTemplate holds.
        let pod = |builder: &mut Self, edge, role| {
            let (metadata, spec) = (builder.metadata, builder.spec);
            let id = builder.add(edge);
            let node = builder.node(id);
            node.names = vec![("metadata", metadata), ("spec", spec)];
            (node.role, node.shape, node.leaf) = (role, Shape::Map, false);
            id
        };
        let template = pod(&mut self, Edge::Name("template"), Role::Template);
        let job_spec = self.add(Edge::Name("spec"));
        let node = self.node(job_spec);
        node.names = vec![("template", template)];
        (node.role, node.shape, node.leaf) = (Role::Spec, Shape::Map, false);
        let job_template = self.add(Edge::Name("jobTemplate"));
        let node = self.node(job_template);
        node.names = vec![("spec", job_spec)];
        (node.role, node.shape, node.leaf) = (Role::JobTemplate, Shape::Map, false);

        // The object's spec is a pod's, a workload's, a CronJob's or a Service's: `kind` may come
        // after it.
        let mut object_spec = self.node(self.spec).clone();
        let service = self.node(self.service).names.clone();
        object_spec.names.extend(service);
        object_spec.names.push(("template", template));
        object_spec.names.push(("jobTemplate", job_template));
        self.nodes.push(object_spec);
        let object_spec = (self.nodes.len() - 1) as FieldId;

        let request = self.child(self.review, Edge::Name("request"));
        for (name, role) in [("object", Role::Object), ("oldObject", Role::OldObject)] {
            let object = pod(&mut self, Edge::Root, role);
            let node = self.node(object);
            node.names[1].1 = object_spec;
            node.names.push(("template", template));
            self.node(request).names.push((name, object));
        }
        for node in &mut self.nodes {
            let names: Vec<_> = node.names.iter().map(|(name, _)| *name).collect();
            node.index = NameIndex::new(&names);
            assert!(
                node.names.len() <= MAX_NAMES,
                "{:?}: more than {MAX_NAMES} names",
                node.edge
            );
        }
        Trie {
            nodes: self.nodes,
            review: self.review,
        }
    }
}
