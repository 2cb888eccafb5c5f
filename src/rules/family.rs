//! The families of rules: what the first digit of a code says.

use super::{Rule, all, lifecycle, network, placement, resources, security, services, volumes};

/// Rules about one part of an object.
#[derive(Debug)]
pub struct Family {
    /// What its codes start with, `WIN3`.
    pub prefix: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    pub(super) rules: &'static [Rule],
}

impl Family {
    /// Its rules, sorted by code.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        all().filter(|rule| rule.code.starts_with(self.prefix))
    }

    /// The heading above its rules: `WIN3xx: volumes`.
    pub fn heading(&self) -> String {
        format!("{}xx: {}", self.prefix, self.title)
    }
}

impl Rule {
    /// The family that its code says.
    pub fn family(&self) -> Option<&'static Family> {
        let mut families = FAMILIES.iter();
        families.find(|family| self.code.starts_with(family.prefix))
    }
}

/// All families, in the order of their codes.
pub static FAMILIES: [Family; 7] = [
    Family {
        prefix: "WIN1",
        title: "security context",
        rules: security::RULES,
    },
    Family {
        prefix: "WIN2",
        title: "namespaces of the node, and network",
        rules: network::RULES,
    },
    Family {
        prefix: "WIN3",
        title: "volumes",
        rules: volumes::RULES,
    },
    Family {
        prefix: "WIN4",
        title: "resources",
        rules: resources::RULES,
    },
    Family {
        prefix: "WIN5",
        title: "lifecycle",
        rules: lifecycle::RULES,
    },
    Family {
        prefix: "WIN6",
        title: "operating system and build",
        rules: placement::RULES,
    },
    Family {
        prefix: "WIN7",
        title: "Services",
        rules: services::RULES,
    },
];
