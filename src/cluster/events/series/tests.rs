//! Time goes by as the tests say.

use super::*;
use crate::review::Owner;

fn notice(uid: &str, note: &str) -> Notice {
    Notice {
        owner: Owner {
            api_version: "apps/v1".to_owned(),
            kind: "ReplicaSet".to_owned(),
            name: "web".to_owned(),
            uid: uid.to_owned(),
        },
        namespace: "shop".to_owned(),
        denied: true,
        note: note.to_owned(),
    }
}

struct Clock {
    series: Series,
    now: Instant,
}

impl Clock {
    fn new() -> Self {
        Self {
            series: Series::default(),
            now: Instant::now(),
        }
    }

    fn add(&mut self, uid: &str, note: &str) -> bool {
        let notice = notice(uid, note);
        self.series.add(notice, Timestamp::UNIX_EPOCH, self.now)
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// Writes whatever is due: the name of the event before, the count and the note.
    fn write(&mut self) -> Vec<(Option<String>, u64, String)> {
        let mut all = Vec::new();
        while let Some(write) = self.series.due(self.now) {
            let name = write
                .event
                .clone()
                .unwrap_or_else(|| write.notice.note.clone());
            self.series.done(&write, Outcome::Written(name), self.now);
            all.push((write.event, write.count, write.notice.note));
        }
        all
    }

    fn fail(&mut self, outcome: Outcome) -> bool {
        let write = self.series.due(self.now).unwrap();
        self.series.done(&write, outcome, self.now)
    }
}

fn new(count: u64, note: &str) -> (Option<String>, u64, String) {
    (None, count, note.to_owned())
}

fn again(count: u64, note: &str) -> (Option<String>, u64, String) {
    (Some(note.to_owned()), count, note.to_owned())
}

#[test]
fn what_comes_again_is_counted_and_written_from_time_to_time() {
    let mut clock = Clock::new();
    assert_eq!(clock.series.next(), None);
    assert!(clock.add("a", "bad"));
    assert_eq!(clock.series.next(), Some(clock.now));
    assert_eq!(clock.write(), [new(1, "bad")]);
    assert_eq!(clock.series.next(), None);
    for _ in 0..29 {
        clock.pass(1);
        assert!(clock.add("a", "bad"));
        assert_eq!(clock.write(), []);
    }
    assert_eq!(
        clock.series.next(),
        Some(clock.now + Duration::from_secs(1))
    );
    clock.pass(1);
    assert_eq!(clock.write(), [again(30, "bad")]);
    clock.pass(599);
    assert_eq!(clock.write(), []);
    assert!(clock.add("a", "bad"));
    assert_eq!(clock.write(), [again(31, "bad")]);
    // After so long a silence it is another event.
    clock.pass(601);
    assert!(clock.add("a", "bad"));
    assert_eq!(clock.write(), [new(1, "bad")]);
}

#[test]
fn what_is_told_anew_is_another_event_of_the_newest_state() {
    let mut clock = Clock::new();
    assert!(clock.add("a", "one"));
    assert_eq!(clock.write(), [new(1, "one")]);
    assert!(clock.add("a", "one"));
    assert!(clock.add("a", "two"));
    assert!(clock.add("a", "two"));
    assert_eq!(clock.write(), [], "an owner is not told all the time");
    clock.pass(30);
    assert_eq!(clock.write(), [new(2, "two")]);
}

#[test]
fn all_owners_together_are_told_no_faster_than_tokens_come() {
    let mut clock = Clock::new();
    for owner in 0..50 {
        assert!(clock.add(&owner.to_string(), "bad"));
    }
    assert_eq!(clock.write().len(), 20);
    assert_eq!(clock.write().len(), 0);
    assert_eq!(clock.series.next(), Some(clock.now + REFILL));
    clock.pass(1);
    assert_eq!(clock.write().len(), 1);
    clock.pass(7);
    assert_eq!(clock.write().len(), 7);
    clock.pass(3600);
    assert_eq!(clock.write().len(), 20, "a full bucket does not get fuller");
    clock.pass(1);
    assert_eq!(clock.write().len(), 1);
    clock.pass(1);
    assert_eq!(clock.write().len(), 1);
    assert_eq!(clock.write(), []);
}

#[test]
fn there_is_room_for_so_many_owners() {
    let mut clock = Clock::new();
    for owner in 0..OWNERS {
        assert!(clock.add(&owner.to_string(), "bad"));
    }
    assert!(!clock.add("one more", "bad"));
    assert!(clock.add("1", "bad"), "one that is known");
    let mut written = clock.write().len();
    while written < OWNERS {
        clock.pass(1);
        written += clock.write().len();
    }
    clock.pass(600);
    assert!(clock.add("one more", "bad"), "those of old are forgotten");
    assert_eq!(clock.series.owners.len(), 1);
}

#[test]
fn a_write_that_fails_is_tried_again_but_not_for_ever() {
    let mut clock = Clock::new();
    assert!(clock.add("a", "bad"));
    assert!(!clock.fail(Outcome::Failed));
    assert!(clock.series.due(clock.now).is_none());
    clock.pass(2);
    assert!(!clock.fail(Outcome::Failed));
    clock.pass(4);
    assert!(clock.fail(Outcome::Failed), "given up");
    assert_eq!(clock.series.next(), None);
    // What comes next is another chance, after a while.
    assert!(clock.add("a", "bad"));
    assert_eq!(clock.write(), []);
    clock.pass(30);
    assert_eq!(clock.write(), [new(2, "bad")]);

    assert!(clock.add("b", "bad"));
    assert!(
        clock.fail(Outcome::Refused),
        "there is no use in trying again"
    );
    assert_eq!(clock.series.next(), None);
}

#[test]
fn an_event_that_was_deleted_is_made_again() {
    let mut clock = Clock::new();
    assert!(clock.add("a", "bad"));
    assert_eq!(clock.write(), [new(1, "bad")]);
    assert!(clock.add("a", "bad"));
    clock.pass(30);
    assert!(!clock.fail(Outcome::Lost));
    assert_eq!(clock.write(), [new(2, "bad")]);
}
