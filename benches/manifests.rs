//! `check` over 10,000 manifests of 2 kB as a multiple of only parsing their YAML, on one thread
//! and on all. In each round all of them have their turn; medians of the rounds. Prints the table
//! of docs/performance.md. Reading files and printing is not in it.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use transom::check::{Options, check};
use transom::yaml;

const MANIFESTS: usize = 10_000;

/// A workload of about 2 kB, as a chart renders it. Of ten one is for Linux, one carries no pod, one
/// is a DaemonSet that is repaired; most of the others have a finding, a third has one more.
fn manifest(i: usize) -> String {
    let kind = match i % 10 {
        0 => "DaemonSet",
        1 => "StatefulSet",
        2 => "ConfigMap",
        _ => "Deployment",
    };
    let os = if i % 10 == 3 { "linux" } else { "windows" };
    let security = match i % 10 {
        0 => "allowPrivilegeEscalation: false",
        4 => "windowsOptions: {runAsUserName: ContainerUser}",
        _ => "runAsUser: 1000",
    };
    let mount = if i.is_multiple_of(3) {
        "\n          subPath: app.config"
    } else {
        ""
    };
    let env: String = (0..12)
        .map(|n| format!("        - name: SETTING_{n}\n          value: \"value {n} of {i}\"\n"))
        .collect();
    format!(
        r#"# Source: shop/templates/workload-{i}.yaml
apiVersion: {api}
kind: {kind}
metadata:
  name: release-{i}
  namespace: team-{team}
  labels:
    helm.sh/chart: shop-1.4.{i}
    app.kubernetes.io/name: shop
    app.kubernetes.io/instance: release-{i}
    app.kubernetes.io/managed-by: Helm
spec:
  selector:
    matchLabels:
      app.kubernetes.io/instance: release-{i}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: shop
        app.kubernetes.io/instance: release-{i}
      annotations:
        checksum/config: 3b1f0c9d5a7e{i:08}
    spec:
      serviceAccountName: release-{i}
      nodeSelector:
        kubernetes.io/os: {os}
      containers:
      - name: shop
        image: "registry.example/shop/service-{i}:1.16.0"
        imagePullPolicy: IfNotPresent
        securityContext:
          {security}
        ports:
        - name: http
          containerPort: 8080
          protocol: TCP
        livenessProbe:
          httpGet: {{path: /healthz, port: http}}
          initialDelaySeconds: 10
        resources:
          requests: {{cpu: 250m, memory: 512Mi}}
          limits: {{cpu: "1", memory: 1Gi}}
        env:
{env}        volumeMounts:
        - name: settings
          mountPath: C:\app\config{mount}
      volumes:
      - name: settings
        configMap:
          name: release-{i}
"#,
        api = if kind == "ConfigMap" { "v1" } else { "apps/v1" },
        team = i % 17,
    )
}

/// Everything once, on so many threads that take one after the other.
fn seconds(all: &[String], threads: usize, work: &(dyn Fn(&str) + Sync)) -> f64 {
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some(text) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(black_box(text));
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(take);
        }
        take();
    });
    start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let rounds = std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok());
    let rounds: usize = rounds.unwrap_or(21);
    let all: Vec<String> = (0..MANIFESTS).map(manifest).collect();
    let bytes: usize = all.iter().map(String::len).sum();
    let options = Options::default();
    let reports = all
        .iter()
        .map(|text| check("a.yaml", text.as_bytes(), &options));
    let findings: usize = reports.map(|report| report.findings.len()).sum();

    let parse = |text: &str| _ = black_box(yaml::documents(text));
    let whole = |text: &str| _ = black_box(check("a.yaml", text.as_bytes(), &options));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut threads = vec![1, cpus];
    threads.dedup();
    let mut times = vec![(Vec::new(), Vec::new()); threads.len()];
    for _ in 0..rounds {
        for (threads, (parsed, checked)) in threads.iter().zip(&mut times) {
            parsed.push(seconds(&all, *threads, &parse));
            checked.push(seconds(&all, *threads, &whole));
        }
    }
    let kilobytes = bytes as f64 / MANIFESTS as f64 / 1e3;
    let mut out = format!(
        "{MANIFESTS} manifests of {kilobytes:.1} kB, {findings} findings, {rounds} rounds\n\n\
         | threads | parse ms | check ms | check ÷ parse | manifests a second | MB a second |\n\
         |---:|---:|---:|---:|---:|---:|\n"
    );
    for (threads, (parsed, checked)) in threads.iter().zip(times) {
        let ratios = checked
            .iter()
            .zip(&parsed)
            .map(|(check, parse)| check / parse);
        let ratio = median(ratios.collect());
        let (parsed, checked) = (median(parsed), median(checked));
        let (rate, volume) = (MANIFESTS as f64 / checked, bytes as f64 / checked / 1e6);
        out.push_str(&format!(
            "| {threads} | {:.0} | {:.0} | {ratio:.2} | {rate:.0} | {volume:.0} |\n",
            parsed * 1e3,
            checked * 1e3,
        ));
    }
    #[expect(clippy::print_stdout)] // it is what the program is for
    {
        println!("{out}");
    }
}
