//! From the text of a configuration to its keys and values, with their places.
//!
//! Not here: what is made of the values (`policy`), and reading the file (the shell does).

use std::str::Utf8Error;

use serde::Deserialize;

use super::check::check;
use super::{Config, ConfigError, Problem};
use crate::yaml::{self, Place, Places, Spot};

/// A configuration, and where its keys are written. By default it has the defaults, written nowhere.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// What is written, and defaults for what is not.
    pub config: Config,
    places: Option<Places>,
}

impl Written {
    /// Reads a configuration file's text.
    ///
    /// # Errors
    /// Whatever is not understood to the letter: all unknown keys and values of the wrong type or
    /// of none of the words that are known, or the one place where the text is not YAML.
    pub fn read(yaml: &str) -> Result<Self, ConfigError> {
        let documents = yaml::documents(yaml).map_err(|flaw| one(flaw.into()))?;
        let mut documents = documents.into_iter();
        let Some(root) = documents.next() else {
            let problem =
                "it is empty; it starts with apiVersion: transom.dev/v1alpha1 and kind: Config";
            return Err(one(
                Problem::value("", problem).at(Place { line: 1, column: 1 })
            ));
        };
        let mut problems = check(&root);
        if let Some(second) = documents.next() {
            let problem = "a second YAML document; a configuration is one";
            problems.push(Problem::value("", problem).at(second.place));
        }
        if !problems.is_empty() {
            return Err(ConfigError::new(problems));
        }
        // The schema is that of the type: what it lets through can be read.
        let config = Config::deserialize(&root)
            .map_err(|error| one(Problem::value("", error.to_string()).at(root.place)))?;
        Ok(Self {
            config,
            places: Some(root.places()),
        })
    }

    /// Reads a configuration file's bytes.
    ///
    /// # Errors
    /// As [`Written::read`], and what is no UTF-8.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ConfigError> {
        str::from_utf8(bytes).map_or_else(|error| Err(not_text(bytes, error)), Self::read)
    }

    /// Where this path is written, if it is.
    pub fn place(&self, path: &str) -> Option<Spot> {
        self.places.as_ref()?.get(path)
    }

    /// With the places of what they are about.
    pub(crate) fn locate(&self, problems: Vec<Problem>) -> Vec<Problem> {
        let Some(places) = &self.places else {
            return problems;
        };
        let problems = problems.into_iter();
        problems.map(|problem| problem.located(places)).collect()
    }
}

fn one(problem: Problem) -> ConfigError {
    ConfigError::new(vec![problem])
}

fn not_text(bytes: &[u8], error: Utf8Error) -> ConfigError {
    let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
    let last = text.rsplit('\n').next().unwrap_or_default();
    let place = Place {
        line: text.matches('\n').count() + 1,
        column: last.chars().count() + 1,
    };
    one(Problem::value("", "this is not UTF-8 text").at(place))
}
