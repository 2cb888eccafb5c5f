//! Files that are read again and again, because what is in them changes under a running server.
//!
//! A mounted Secret or ConfigMap changes by a symlink swap, which a watch on the file does not see, so the
//! files of one thing are read every few seconds and their bytes compared. Changed contents are offered to
//! whoever uses them; what is refused or cannot be read is told and counted once, the old contents stay in
//! force, and a later look heals. What the contents mean is no matter here: see `tls::reload`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs, io};

use anyhow::{Error, Result};
use thiserror::Error;
use tokio::time::MissedTickBehavior;

/// How often to look.
pub const POLL: Duration = Duration::from_secs(2);

/// Files that together are one thing, and what was in them when it was last put into force.
pub struct Watched<const N: usize> {
    name: &'static str,
    files: Arc<[PathBuf; N]>,
    contents: [Vec<u8>; N],
    /// What was refused last, so that it is told and counted once.
    refused: Option<Refused<N>>,
}

#[derive(PartialEq, Eq)]
enum Refused<const N: usize> {
    Contents([Vec<u8>; N]),
    Unreadable(PathBuf, io::ErrorKind),
}

/// What came of a look that found something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Changed contents are in force.
    Taken,
    /// They are refused, or cannot be read; the old ones stay.
    Refused,
    /// After that, the files hold again what is in force.
    Healed,
}

impl Look {
    /// Whether changed contents were taken, if there were any.
    #[must_use]
    pub fn taken(self) -> Option<bool> {
        match self {
            Self::Taken => Some(true),
            Self::Refused => Some(false),
            Self::Healed => None,
        }
    }
}

/// One of the files cannot be read.
#[derive(Debug, Error)]
#[error("cannot read {}", file.display())]
pub struct Unreadable {
    file: PathBuf,
    source: io::Error,
}

impl<const N: usize> Watched<N> {
    /// Reads the files for the first time. The log will call them by this name, such as "certificate".
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn read(name: &'static str, files: [PathBuf; N]) -> Result<Self, Unreadable> {
        Ok(Self {
            name,
            contents: read(&files)?,
            files: Arc::new(files),
            refused: None,
        })
    }

    /// What is in force: what was read first, or was taken last.
    #[must_use]
    pub fn contents(&self) -> &[Vec<u8>; N] {
        &self.contents
    }

    /// Looks forever. `take` puts changed contents into force, all or nothing; `count` learns what came of it.
    pub async fn run(
        mut self,
        poll: Duration,
        take: impl Fn(&[Vec<u8>; N]) -> Result<()>,
        count: impl Fn(Look),
    ) {
        let mut ticks = tokio::time::interval(poll);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let files = Arc::clone(&self.files);
            // It fails only when the runtime ends, and this with it.
            if let Ok(found) = tokio::task::spawn_blocking(move || read(&files)).await {
                self.compare(found, &take, &count);
            }
        }
    }

    fn has_refused(&self, contents: &[Vec<u8>; N]) -> bool {
        matches!(&self.refused, Some(Refused::Contents(refused)) if refused == contents)
    }

    /// One look: nothing new, contents that are taken, or some that are refused.
    fn compare(
        &mut self,
        found: Result<[Vec<u8>; N], Unreadable>,
        take: impl Fn(&[Vec<u8>; N]) -> Result<()>,
        count: impl Fn(Look),
    ) {
        let (refused, error) = match found {
            // What was wrong in between is over, and would be news if it came back.
            Ok(contents) if contents == self.contents => {
                if self.refused.take().is_some() {
                    count(Look::Healed);
                }
                return;
            }
            // It would be refused again.
            Ok(contents) if self.has_refused(&contents) => return,
            Ok(contents) => match take(&contents) {
                Ok(()) => {
                    count(Look::Taken);
                    self.contents = contents;
                    return self.refused = None;
                }
                Err(error) => (Refused::Contents(contents), error),
            },
            Err(error) => {
                let refused = Refused::Unreadable(error.file.clone(), error.source.kind());
                (refused, Error::from(error))
            }
        };
        if self.refused.as_ref() == Some(&refused) {
            return;
        }
        count(Look::Refused);
        tracing::warn!(
            files = ?self.files,
            "the changed {} is refused and the old one kept: {error:#}",
            self.name
        );
        self.refused = Some(refused);
    }
}

impl<const N: usize> fmt::Debug for Watched<N> {
    /// Without the contents: there may be a key in them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("name", &self.name)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

fn read<const N: usize>(files: &[PathBuf; N]) -> Result<[Vec<u8>; N], Unreadable> {
    let mut contents = [const { Vec::new() }; N];
    for (content, file) in contents.iter_mut().zip(files) {
        *content = read_file(file)?;
    }
    Ok(contents)
}

fn read_file(file: &Path) -> Result<Vec<u8>, Unreadable> {
    fs::read(file).map_err(|source| Unreadable {
        file: file.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use anyhow::bail;
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn takes_changed_contents() {
        let mut test = Test::new();
        test.write("b", "b");
        test.look();
        test.expect(&["b b"], &[Look::Taken]);
    }

    #[test]
    fn leaves_unchanged_contents_alone() {
        let mut test = Test::new();
        test.look();
        test.write("a", "a");
        test.look();
        test.expect(&[], &[]);
    }

    #[test]
    fn refuses_half_of_a_change_once_and_heals() {
        let mut test = Test::new();
        fs::write(&test.watched.files[0], "b").unwrap();
        test.look();
        test.look();
        test.expect(&[], &[Look::Refused]);
        assert_eq!(test.watched.contents(), &[b"a", b"a"]);

        fs::write(&test.watched.files[1], "b").unwrap();
        test.look();
        test.expect(&["b b"], &[Look::Refused, Look::Taken]);
    }

    #[test]
    fn counts_each_bad_content_once() {
        let mut test = Test::new();
        for bad in ["", "b", "c", "b"] {
            fs::write(&test.watched.files[0], bad).unwrap();
            test.look();
            test.look();
        }
        test.expect(&[], &[Look::Refused; 4]);
    }

    #[test]
    fn what_was_taken_before_can_come_back() {
        let mut test = Test::new();
        for next in ["b", "a", "b"] {
            test.write(next, next);
            test.look();
        }
        test.expect(&["b b", "a a", "b b"], &[Look::Taken; 3]);
    }

    #[test]
    fn a_missing_file_is_told_once_and_its_return_heals() {
        let mut test = Test::new();
        for _ in 0..2 {
            fs::remove_file(&test.watched.files[1]).unwrap();
            test.look();
            test.look();
            fs::write(&test.watched.files[1], "a").unwrap();
            test.look();
        }
        let both = [Look::Refused, Look::Healed];
        test.expect(&[], &[both, both].concat());
    }

    #[tokio::test]
    async fn looks_again_and_again_as_a_task_of_its_own() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let watched = Watched::read("thing", [file.path().to_owned()]).unwrap();
        let (sender, mut taken) = tokio::sync::mpsc::unbounded_channel();
        let take = move |[content]: &[Vec<u8>; 1]| Ok(sender.send(content.clone())?);
        tokio::spawn(watched.run(Duration::from_millis(1), take, |_| ()));
        for content in ["one", "two"] {
            let new = file.path().with_extension("new");
            fs::write(&new, content).unwrap();
            fs::rename(new, file.path()).unwrap();
            assert_eq!(taken.recv().await.unwrap(), content.as_bytes());
        }
    }

    #[test]
    fn a_first_look_that_fails_says_which_file() {
        let error = Watched::read("thing", ["no/such.file".into()]).unwrap_err();
        let error = format!("{:#}", Error::from(error));
        assert!(error.starts_with("cannot read no/such.file: "), "{error}");
        assert_eq!(error.matches("os error").count(), 1, "{error}");
    }

    /// Two files that are taken if there is the same in both.
    struct Test {
        _directory: TempDir,
        watched: Watched<2>,
        taken: RefCell<Vec<String>>,
        counted: RefCell<Vec<Look>>,
    }

    impl Test {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let files = ["one", "two"].map(|name| directory.path().join(name));
            for file in &files {
                fs::write(file, "a").unwrap();
            }
            Self {
                _directory: directory,
                watched: Watched::read("thing", files).unwrap(),
                taken: RefCell::default(),
                counted: RefCell::default(),
            }
        }

        fn write(&self, one: &str, two: &str) {
            fs::write(&self.watched.files[0], one).unwrap();
            fs::write(&self.watched.files[1], two).unwrap();
        }

        fn look(&mut self) {
            let take = |[one, two]: &[Vec<u8>; 2]| {
                if one != two {
                    bail!("they differ");
                }
                let text = [one, two].map(|content| String::from_utf8_lossy(content));
                self.taken.borrow_mut().push(text.join(" "));
                Ok(())
            };
            let found = read(&self.watched.files);
            let count = |look| self.counted.borrow_mut().push(look);
            self.watched.compare(found, take, count);
        }

        #[track_caller]
        fn expect(&self, taken: &[&str], counted: &[Look]) {
            assert_eq!(*self.taken.borrow(), taken);
            assert_eq!(*self.counted.borrow(), counted);
        }
    }
}
