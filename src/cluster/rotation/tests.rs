//! Each step from a state that is written down, at a time that is written down.

use std::convert::Infallible;

use super::*;

/// Due after two thirds: a CA that ends at 100 is replaced from 80 on.
const TIMES: Lifetimes = Lifetimes { ca: 60, leaf: 30 };

/// `A100` is a CA that ends at 100, `A100 B160` has a next one, `A100 - Z70` a former one.
fn contents(text: &str) -> Contents {
    let (signers, previous) = text.split_once('-').unwrap_or((text, ""));
    let mut signers = signers.split_whitespace();
    let authority = |text: &str| Authority::sketch(&text[..1], text[1..].parse().unwrap());
    let certificate = |text: &str| Certificate::sketch(&text[..1], text[1..].parse().unwrap());
    Contents {
        ca: authority(signers.next().unwrap()),
        next: signers.next().map(authority),
        previous: previous.split_whitespace().map(certificate).collect(),
    }
}

/// A state with all that is known; a new CA would be called N and live as long as it should.
fn ask(
    found: &str,
    flawed: bool,
    memory: &str,
    settled: bool,
    now: i64,
) -> Option<(Contents, Cause)> {
    let parse = |text: &str| (!text.is_empty()).then(|| contents(text));
    let (found, memory) = (parse(found), parse(memory));
    let known = Known {
        found: found.as_ref(),
        flawed,
        memory: memory.as_ref(),
        settled,
        now,
    };
    let make = || Ok::<_, Infallible>(Authority::sketch("N", now + TIMES.ca));
    step(known, TIMES, make).unwrap()
}

#[test]
fn each_state_has_its_step() {
    use Cause::*;
    // In the Secret, in memory, whether it has settled, the time → what to write.
    #[rustfmt::skip]
    let cases = [
        // Nothing there: the first replica makes it; whoever remembers writes that.
        ("", "", false, 0, Some(("N60", Created))),
        ("", "A100", false, 50, Some(("A100", Restored))),
        ("", "A100 B160 - Z90", false, 85, Some(("A100 B160 - Z90", Restored))),
        ("", "A100", false, 100, Some(("N160", Created))),
        ("A100", "", false, 100, Some(("N160", Created))),
        ("A100", "B130", false, 100, Some(("B130", Restored))),
        // A quiet life.
        ("A100", "", false, 41, None),
        ("A100", "A100", true, 79, None),
        // The rotation.
        ("A100", "A100", true, 80, Some(("A100 N140", Introduced))),
        ("A100 B140", "A100", false, 80, None),
        ("A100 B140", "A100 B140", false, 99, None),
        ("A100 B140", "A100 B140", true, 81, Some(("B140 - A100", Promoted))),
        ("B140 - A100", "A100 B140", true, 82, None),
        ("B140 - A100", "B140 - A100", true, 99, None),
        ("B140 - A100", "B140 - A100", true, 100, Some(("B140", Pruned))),
        ("B140 - Z70 A100", "B140 - A100", true, 82, Some(("B140 - A100", Pruned))),
        // Nobody was there to promote it in time.
        ("A100 B140", "", false, 100, Some(("B140 - A100", Promoted))),
        ("A100 B140", "", false, 140, Some(("N200", Created))),
        // One rotation at a time, and with one former CA still trusted.
        ("B140 - A121", "B140 - A121", true, 120, Some(("B140 N180 - A121", Introduced))),
        // Somebody has put another CA in: the leafs that are being shown stay trusted.
        ("X150", "A100", true, 50, Some(("X150 - A100", Remembered))),
        ("X150 - Z90", "A100 B140", true, 50, Some(("X150 - Z90 A100", Remembered))),
        ("X150", "A100", true, 100, None),
        ("X150 - A100", "A100", true, 50, None),
        // An old state, from a backup: it goes on from there.
        ("A100", "B140 - A100", true, 70, Some(("A100 - B140", Remembered))),
    ];
    for (found, memory, settled, now, want) in cases {
        let want = want.map(|(text, cause)| (contents(text), cause));
        let got = ask(found, false, memory, settled, now);
        assert_eq!(
            got, want,
            "{found:?} with {memory:?} in memory at {now}, settled: {settled}"
        );
    }
}

#[test]
fn a_ca_that_somebody_brought_is_kept_for_two_thirds_of_its_own_life() {
    let brought = |lifetime| Contents::of(Authority::sketch("X", 100).living(lifetime));
    for (lifetime, kept_until) in [(30, 90), (60, 80), (600, 80)] {
        for now in 1..100 {
            let known = Known {
                found: Some(&brought(lifetime)),
                flawed: false,
                memory: None,
                settled: true,
                now,
            };
            let make = || Ok::<_, Infallible>(Authority::sketch("N", now + TIMES.ca));
            let is_kept = step(known, TIMES, make).unwrap().is_none();
            assert_eq!(is_kept, now < kept_until, "{lifetime} at {now}");
        }
    }
}

#[test]
fn what_is_not_understood_beside_a_good_ca_is_written_over() {
    assert_eq!(
        ask("A100", true, "A100", true, 50),
        Some((contents("A100"), Cause::Restored))
    );
    let introduced = Some((contents("A100 N140"), Cause::Introduced));
    assert_eq!(ask("A100", true, "A100", true, 80), introduced);
}

#[test]
fn every_step_leads_to_one_that_asks_for_nothing() {
    let starts = ["", "A100", "A100 B140", "B140 - A100 Z10", "X150 - Z90"];
    for start in starts {
        for memory in starts {
            for settled in [false, true] {
                for now in (0..240).step_by(5) {
                    let mut found = start.to_owned();
                    let parse = |text: &str| (!text.is_empty()).then(|| contents(text));
                    let mut state = parse(&found);
                    let remembered = parse(memory);
                    for steps in 0.. {
                        assert!(steps < 6, "{start:?} {memory:?} {settled} {now}: {found}");
                        let known = Known {
                            found: state.as_ref(),
                            flawed: false,
                            memory: remembered.as_ref(),
                            settled,
                            now,
                        };
                        let make = || Ok::<_, Infallible>(Authority::sketch("N", now + TIMES.ca));
                        let Some((next, cause)) = step(known, TIMES, make).unwrap() else {
                            break;
                        };
                        found = format!("{cause:?} {next:?}");
                        state = Some(next);
                    }
                }
            }
        }
    }
}

/// Plays a year of a CA with two replicas that look at different times, and an API server that learns late:
/// at each moment, each replica shows a leaf that the API server trusts.
#[test]
fn at_no_time_a_leaf_is_shown_that_is_not_trusted() {
    for delays in [[1, 1], [2, 1], [3, 5], [7, 2]] {
        play(delays);
    }
}

fn play(delays: [i64; 2]) {
    let times = Lifetimes { ca: 600, leaf: 150 };
    let lag = times.settling() - 1;
    let mut secret: Option<Contents> = None;
    let mut configuration = (0, String::new());
    let mut believed = String::new();
    let mut replicas = [(); 2].map(|()| (None::<Contents>, None::<Leaf>, None::<(String, i64)>));
    let (mut made, mut served) = (0, 0);
    for now in 0..6000 {
        for ((memory, leaf, trusted), delay) in replicas.iter_mut().zip(delays) {
            if now % delay != 0 {
                continue;
            }
            let has_settled = |bundle: &str, trusted: &Option<(String, i64)>| {
                trusted
                    .as_ref()
                    .is_some_and(|(had, since)| had == bundle && now - since >= times.settling())
            };
            loop {
                let bundle = secret.as_ref().map(Contents::bundle).unwrap_or_default();
                let known = Known {
                    found: secret.as_ref(),
                    flawed: false,
                    memory: memory.as_ref(),
                    settled: has_settled(&bundle, trusted),
                    now,
                };
                let mut make = || {
                    made += 1;
                    Ok::<_, Infallible>(Authority::sketch(&format!("CA {made};"), now + times.ca))
                };
                match step(known, times, &mut make).unwrap() {
                    Some((contents, _)) => secret = Some(contents),
                    None => break,
                }
                *memory = secret.clone();
            }
            *memory = secret.clone();
            let held = secret.as_ref().unwrap();
            let bundle = held.bundle();
            if configuration.1 != bundle {
                configuration = (now, bundle.clone());
            }
            if trusted.as_ref().is_none_or(|(had, _)| *had != bundle) {
                *trusted = Some((bundle.clone(), now));
            }
            let settled = has_settled(&bundle, trusted);
            let ca = held.ca.certificate();
            if leaf_is_due(leaf.as_ref(), ca, settled, now, times) {
                *leaf = Some(Leaf {
                    issuer: ca.clone(),
                    not_before: now,
                    not_after: (now + times.leaf).min(ca.not_after()),
                });
            }
        }
        if now - configuration.0 >= lag {
            believed.clone_from(&configuration.1);
        }
        // The very first bundle is on its way.
        if believed.is_empty() {
            continue;
        }
        for (_, leaf, _) in &replicas {
            let leaf = leaf.as_ref().unwrap();
            assert!(
                believed.contains(leaf.issuer.pem()),
                "at {now}, {delays:?}: {leaf:?} of {believed}"
            );
            assert!(now < leaf.not_after, "at {now}, {delays:?}: {leaf:?}");
            served += 1;
        }
    }
    assert!(made > 10, "{made}");
    assert!(served > 11_000, "{served}");
}

#[test]
fn a_bundle_is_the_same_before_and_after_a_promotion() {
    assert_eq!(
        contents("A100 B140").bundle(),
        contents("B140 - A100").bundle()
    );
    assert_eq!(contents("B140 - B140 A100").bundle(), "AB");
}

#[test]
fn a_leaf_is_renewed_in_time_and_not_too_soon() {
    let (a, b) = (
        Certificate::sketch("A", 1000),
        Certificate::sketch("B", 1600),
    );
    let leaf = |issuer: &Certificate, not_after| Leaf {
        issuer: issuer.clone(),
        not_before: -10,
        not_after,
    };
    let of_a = leaf(&a, 130);
    let due = |leaf: Option<&Leaf>, ca, settled, now| leaf_is_due(leaf, ca, settled, now, TIMES);
    assert!(due(None, &a, false, 0));
    assert!(!due(Some(&of_a), &a, true, 119));
    assert!(due(Some(&of_a), &a, false, 120));
    // Of another CA: only when that is trusted, unless it makes no difference any more.
    assert!(!due(Some(&of_a), &b, false, 125));
    assert!(due(Some(&of_a), &b, true, 0));
    assert!(due(Some(&of_a), &b, false, 130));
    // The CA's own end bounds it.
    assert!(!due(Some(&leaf(&a, 1000)), &a, true, 995));
    // The clock was ahead when it was made, and has been set back.
    assert!(!due(Some(&of_a), &a, true, -10));
    assert!(due(Some(&of_a), &a, true, -11));
}

#[test]
fn short_lives_settle_and_poll_sooner() {
    let day = 24 * 60 * 60;
    assert_eq!(Lifetimes::DEFAULT.settling(), 60);
    assert_eq!(Lifetimes::DEFAULT.poll(), 60);
    let short = Lifetimes { ca: 30, leaf: 10 };
    assert_eq!((short.settling(), short.poll()), (2, 1));
    let days = Lifetimes {
        ca: 3 * day,
        leaf: day,
    };
    assert_eq!((days.settling(), days.poll()), (60, 60));
}
