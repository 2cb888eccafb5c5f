//! Less than the program would like: of file descriptors, of memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tokio::io::AsyncWriteExt;
use transom::workload::Kind;

use crate::bodies;
use crate::client::{Authority, BOTH, admin, connect};
use crate::hostile::paddings;
use crate::load::{Answered, Call, Client, closed, paced};
use crate::proc;
use crate::program::transom;
use crate::replica::Replica;
use crate::scenario::{Size, block_on};

const DESCRIPTORS: usize = 64;

/// What the program may take in kilobytes. The limit of the chart is 384 MiB: the kernel has socket buffers in it, too.
const MEMORY: u64 = 256 * 1024;

/// More clients than descriptors: those that are in stay in, the others wait, and nobody spins.
pub(crate) fn descriptors(size: Size) {
    let time = Duration::from_secs(size.of(2, 30));
    block_on(async {
        let authority = Authority::new();
        let limit = format!("ulimit -n {DESCRIPTORS}");
        let replica = Replica::start_after(&authority, &limit, &[]);
        let address = replica.serve.address;
        let client = Arc::new(Client::new(authority.client(BOTH), &[address]));
        let calls: Arc<[Call]> = Arc::new([Call::learn_known(&client, "patched pod").await]);
        closed(&client, &calls, 8, Duration::from_millis(200))
            .await
            .must_be_right();
        let mut others = Vec::new();
        for _ in 0..3 * DESCRIPTORS {
            let tls = authority.client(BOTH);
            others.push(tokio::spawn(connect(address, "localhost", tls)));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let (began, before) = (Instant::now(), proc::cpu(replica.id()));
        let _ = replica.serve.log_so_far();
        // No more of them than there are connections already: one more would have to wait, too.
        let tally = paced(&client, &calls, 8, time, Duration::from_millis(100)).await;
        let cpu = proc::cpu(replica.id()) - before;
        let told = replica.serve.log_so_far();
        let told = told
            .iter()
            .filter(|line| line.contains("no connection can be accepted"))
            .count();
        let elapsed = began.elapsed();
        let probed = tokio::time::timeout(
            Duration::from_secs(5),
            admin(replica.serve.admin_address, "/livez"),
        );
        let probed = probed.await.is_ok_and(|told| told == "ok");
        println!(
            "{DESCRIPTORS} descriptors, {} more clients for {:.0} s: {} in use, {:.0} ms of CPU, told {told} times; \
             probes are {}",
            others.len(),
            elapsed.as_secs_f64(),
            proc::descriptors(replica.id()),
            cpu.as_secs_f64() * 1000.0,
            if probed { "answered" } else { "not answered" },
        );
        println!("{tally}");
        tally.must_be_right();
        assert!(probed, "a kubelet would restart it");
        // Two listeners that wait for half a second each time.
        assert!(told as f64 <= 4.0 * elapsed.as_secs_f64() + 2.0, "it spins");
        for other in &others {
            other.abort();
        }
        drop(others);
        let late = Client::new(authority.client(BOTH), &[address]);
        assert_eq!(
            late.call(&calls[0]).await,
            Ok(Answered::Right),
            "once there is room"
        );
        replica.end();
    });
}

/// As many large reviews as find room, and more, in the memory that the program may take.
pub(crate) fn memory(size: Size) {
    let (callers, seconds) = size.of((24, 2), (64, 60));
    let time = Duration::from_secs(seconds);
    block_on(async {
        let authority = Authority::new();
        let replica = Replica::start(&authority, &[]);
        let client = Arc::new(Client::new(
            authority.client(BOTH),
            &[replica.serve.address],
        ));
        let small = Call::learn_known(&client, "patched pod").await;
        let large = bodies::crowd(3_400_000);
        let calls: Arc<[Call]> = Arc::new([Call::learn(&client, "/validate", large).await]);
        let told = |name| proc::kilobytes(replica.id(), name).unwrap();
        let limit = Some((told("VmSize") + MEMORY) * 1024);
        let id = Pid::from_raw(replica.id().try_into().unwrap());
        let limit = Rlimit {
            current: limit,
            maximum: limit,
        };
        prlimit(id, Resource::As, limit).unwrap();
        let idle = told("VmRSS");
        let tally = closed(&client, &calls, callers, time).await;
        let (peak, after) = (told("VmHWM"), told("VmRSS"));
        println!("{callers} callers with reviews of 3.4 MB: {tally}");
        println!(
            "resident, in kB: idle {idle}, at most {peak}, then {after}; {MEMORY} are allowed"
        );
        assert_eq!(tally.failed(), 0, "{tally}");
        assert!(tally.right > 0 && peak < MEMORY);
        assert_eq!(
            client.call(&small).await,
            Ok(Answered::Right),
            "it serves on"
        );
        replica.end();
        half_sent(&authority, size).await;
    });
}

/// The bodies whose evaluation takes the most memory, from as many callers as a large node has cores, with a thread and
/// a heap for each core.
pub(crate) fn evaluations(size: Size) {
    const CORES: &str = "64";
    let (callers, seconds) = size.of((4, 1), (64, 30));
    let time = Duration::from_secs(seconds);
    let paddings = paddings();
    let body = |name: &str, kind, operation, bytes| {
        let padding = paddings.iter().find(|padding| padding.name == name);
        padding.unwrap().review(kind, operation, bytes).into_bytes()
    };
    let rounds = [
        (
            "6.9 MB",
            [
                body(r#"{"":0} in env"#, Kind::DaemonSet, "UPDATE", 6_900_000),
                body("one string", Kind::Pod, "CREATE", 6_900_000),
            ],
        ),
        (
            "100 kB and 7.5 kB",
            [
                body(r#"{"":0} in containers"#, Kind::Pod, "CREATE", 100_000),
                body("{} in containers", Kind::Pod, "CREATE", 7_500),
            ],
        ),
    ];
    block_on(async {
        let authority = Authority::new();
        for (what, bodies) in rounds {
            let replica = Replica::start_as(&authority, &[], |directory| {
                let mut program = transom(directory);
                program.env("TOKIO_WORKER_THREADS", CORES);
                program.env("MALLOC_ARENA_MAX", CORES);
                program
            });
            // The server answers 503 after 30 s, so the client waits longer.
            let client = Client::new(authority.client(BOTH), &[replica.serve.address]);
            let client = Arc::new(client.waiting(Duration::from_secs(60)));
            let mut calls = Vec::new();
            for body in bodies {
                calls.push(Call::learn(&client, "/mutate", body).await);
            }
            let calls: Arc<[Call]> = calls.into();
            let tally = closed(&client, &calls, callers, time).await;
            let peak = proc::kilobytes(replica.id(), "VmHWM").unwrap();
            println!("{callers} callers with bodies of {what}, {CORES} threads: {tally}");
            println!("resident: at most {peak} kB; {MEMORY} are allowed");
            assert_eq!(tally.failed(), 0, "{tally}");
            assert!(tally.right > 0 && peak < MEMORY);
            replica.end();
        }
    });
}

/// Clients that announce a large body, send a little of it, and go: in all less than the budget.
async fn half_sent(authority: &Authority, size: Size) {
    // Of whole huge pages, which a system may give unasked.
    const ANNOUNCED: usize = 6 * 1024 * 1024;
    const SENT: usize = 60_000;
    let (clients, times) = size.of((200, 2), (1_000, 10));
    let replica = Replica::start(authority, &[]);
    let mut request = format!(
        "POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {ANNOUNCED}\r\n\r\n"
    );
    request.extend(std::iter::repeat_n(' ', SENT));
    let told = |name| proc::kilobytes(replica.id(), name).unwrap();
    let idle = told("VmRSS");
    for _ in 0..times {
        let mut held = Vec::new();
        for _ in 0..clients {
            let tls = authority.client(BOTH);
            let mut stream = connect(replica.serve.address, "localhost", tls)
                .await
                .unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            held.push(stream);
        }
    }
    let peak = told("VmHWM");
    println!(
        "{times} times {clients} clients that announce {ANNOUNCED} bytes and send {SENT}: idle {idle}, at most {peak} kB"
    );
    assert!(peak < MEMORY);
    let client = Client::new(authority.client(BOTH), &[replica.serve.address]);
    Call::learn_known(&client, "patched pod").await;
    replica.end();
}
