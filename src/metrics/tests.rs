//! What is rendered.

use super::*;

#[test]
fn every_label_is_there_at_zero() {
    let text = Metrics::new().render();
    for stage in Stage::ALL {
        let line = format!("transom_errors_total{{stage=\"{}\"}} 0\n", stage.label());
        assert!(text.contains(&line), "{line} is missing in\n{text}");
    }
    assert!(text.contains("transom_certificate_reloads_total{result=\"success\"} 0\n"));
    assert!(text.contains("transom_certificate_reloads_total{result=\"failure\"} 0\n"));
    let version = env!("CARGO_PKG_VERSION");
    assert!(text.contains(&format!("transom_build_info{{version=\"{version}\"}} 1\n")));
}

#[test]
fn counts_what_it_is_told() {
    let metrics = Metrics::new();
    metrics.error(Stage::Panic);
    metrics.certificate_reload(false);
    metrics.certificate_expiry(1_900_000_000);
    let text = metrics.render();
    assert!(text.contains("transom_errors_total{stage=\"panic\"} 1\n"));
    assert!(text.contains("transom_certificate_reloads_total{result=\"failure\"} 1\n"));
    assert!(text.contains("transom_certificate_expiry_timestamp_seconds 1900000000\n"));
}
