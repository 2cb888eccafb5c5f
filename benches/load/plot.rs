//! The plot in the documentation: what the sizes of bodies do to throughput and latency.

use std::path::Path;

use plotters::prelude::SeriesLabelPosition::{LowerLeft, LowerRight};
use plotters::prelude::*;

use crate::measure::Closed;

/// How many connections the rows have that are drawn.
const CONNECTIONS: usize = 8;

const NULL: RGBColor = RGBColor(130, 130, 130);
const TRANSOM: RGBColor = RGBColor(0, 102, 204);

/// A line: what it is called, its colour, whether it is thick, and its figure of a row.
type Line = (&'static str, RGBColor, u32, fn(&Closed) -> f64);

const THROUGHPUT: [Line; 2] = [
    ("null", NULL, 2, |row| row.throughput.null),
    ("Transom", TRANSOM, 2, |row| row.throughput.transom),
];

const LATENCY: [Line; 4] = [
    ("null, median", NULL, 2, |row| row.latency[0].p50),
    ("null, 99 %", NULL, 1, |row| row.latency[0].p99),
    ("Transom, median", TRANSOM, 2, |row| row.latency[1].p50),
    ("Transom, 99 %", TRANSOM, 1, |row| row.latency[1].p99),
];

/// Draws the sizes.
pub(crate) fn write(rows: &[Closed], file: &Path) {
    let sizes = rows.iter().filter(|row| {
        // The others have a name.
        row.connections == CONNECTIONS && row.body.ends_with('B')
    });
    let sizes: Vec<_> = sizes.collect();
    let area = SVGBackend::new(file, (960, 400)).into_drawing_area();
    area.fill(&WHITE).unwrap();
    let (left, right) = area.split_horizontally(480);
    let (requests, milliseconds) = ("requests a second", "milliseconds to the answer");
    panel(&left, &sizes, requests, &THROUGHPUT, LowerLeft);
    panel(&right, &sizes, milliseconds, &LATENCY, LowerRight);
    area.present().unwrap();
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    rows: &[&Closed],
    title: &str,
    lines: &[Line],
    legend: SeriesLabelPosition,
) {
    let all = rows
        .iter()
        .flat_map(|row| lines.iter().map(|line| (line.3)(row)));
    let (least, most) = all.fold((f64::MAX, 0.0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    let title = format!("{title}, {CONNECTIONS} connections");
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(56)
        .build_cartesian_2d(
            (3.0..1_500.0).log_scale(),
            (least / 1.5..most * 1.5).log_scale(),
        )
        .unwrap();
    chart
        .configure_mesh()
        .x_desc("body, kB")
        .x_label_formatter(&|value| format!("{value}"))
        .y_label_formatter(&|value| format!("{value}"))
        .light_line_style(WHITE)
        .draw()
        .unwrap();
    for (name, colour, width, figure) in lines {
        let style = colour.stroke_width(*width);
        let points = rows.iter().map(|row| (row.kilobytes, figure(row)));
        let line = LineSeries::new(points, style).point_size(3);
        let line = chart.draw_series(line).unwrap();
        line.label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
    }
    chart
        .configure_series_labels()
        .position(legend)
        .background_style(WHITE.mix(0.8))
        .label_font(("sans-serif", 12))
        .draw()
        .unwrap();
}
