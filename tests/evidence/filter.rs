//! What a condition of the webhooks lets through by a CEL interpreter, and what should be let through.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::sync::Arc;

use cel::{Context, Env, Program, extensions};
use serde_json::{Value, json};
use transom::facts::Facts;
use transom::os::{Condition, Os};
use transom::policy::Policy;

use crate::common::{ask_with, create, detected, endpoint_of};

/// The expression of a condition under a policy, compiled.
pub(crate) struct Filter {
    program: Program,
    env: Arc<Env>,
}

impl Filter {
    pub(crate) fn new(condition: Condition, policy: &Policy) -> Self {
        let mut env = Env::stdlib();
        // `join`, which the API server has, too.
        env.add_extension(extensions::strings).unwrap();
        let program = env.compile(&policy.expression(condition)).unwrap();
        let env = Arc::new(env);
        Self { program, env }
    }

    pub(crate) fn lets_through(&self, object: &Value) -> bool {
        let resource = object["kind"].as_str().unwrap().to_lowercase() + "s";
        let mut context = Context::with_env(Arc::clone(&self.env));
        context.add_variable("object", object).unwrap();
        let request = json!({"resource": {"resource": resource}});
        context.add_variable("request", request).unwrap();
        match self.program.execute(&context) {
            Ok(cel::Value::Bool(yes)) => yes,
            other => panic!("{other:?} of {object:#}"),
        }
    }
}

/// Whether we would have anything to say of this object, by what stands in it.
pub(crate) fn matters(object: &Value, policy: &Policy) -> bool {
    let body = create(object);
    let (os, source) = detected(&body, policy, &Facts::default());
    let answers = ["a.mutating", "a.validating"]
        .map(|name| ask_with(endpoint_of(name), &body, policy, &Facts::default()));
    let silent = answers
        .iter()
        .all(|answer| answer.allowed && answer.patch.is_none() && answer.warnings().is_empty());
    // A hint has a source and no system.
    os == Some(Os::Windows) || (os.is_none() && source.is_some()) || !silent
}
