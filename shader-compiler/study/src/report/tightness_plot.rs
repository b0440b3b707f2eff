//! SVG of [tightness measurements](super::tightness_tables), a panel for each material.
//!
//! The x-axis has half-angles, the y-axis the ratio of bound to true maximum on a logarithmic scale
//! that all panels share. Each kind of bound has a line through its medians and a band between its
//! quartiles.

use super::bar_chart::{open, text};
use super::tightness_tables::MaterialTightness;
use crate::tightness::list::HALF_ANGLES;
use std::fmt::Write;

/// Panels per row.
const COLUMNS: usize = 5;
const WIDTH: f64 = 180.0;
const HEIGHT: f64 = 150.0;
/// Space between panels and around the picture.
const MARGIN: f64 = 26.0;
/// Space left of the scale for its labels.
const SCALE: f64 = 48.0;
/// Space above the panels for title and legend.
const HEAD: f64 = 84.0;
/// Space above a row of panels for their titles.
const NAME: f64 = 30.0;
/// Space below a row of panels for half-angles.
const FOOT: f64 = 44.0;
/// Maximum height of the scale in powers of ten. Lines are clipped at the panel.
const MAX_DECADES: f64 = 4.0;

/// Draws the measurements as SVG.
pub fn draw(rows: &[MaterialTightness]) -> String {
    let columns = rows.len().clamp(1, COLUMNS);
    let lines = rows.len().div_ceil(COLUMNS);
    let width = SCALE + columns.max(3) as f64 * (WIDTH + MARGIN) + MARGIN;
    let height = HEAD + lines as f64 * (NAME + HEIGHT + FOOT);
    let decades = decades(rows);
    let mut svg = open(width, height);
    text(
        &mut svg,
        [MARGIN, 30.0],
        "start",
        16,
        "Upper bounds over true maxima, in boxes around cones",
    );
    text(
        &mut svg,
        [MARGIN, 48.0],
        "start",
        12,
        "medians, and bands between quartiles; ↑ no median is on the scale",
    );
    legend(&mut svg, rows);
    for (k, row) in rows.iter().enumerate() {
        let left = SCALE + MARGIN / 2.0 + (k % COLUMNS) as f64 * (WIDTH + MARGIN);
        let base = HEAD + (k / COLUMNS) as f64 * (NAME + HEIGHT + FOOT) + NAME + HEIGHT;
        let panel = Panel { left, base, decades };
        panel.axes(&mut svg, k % COLUMNS == 0);
        panel.curves(&mut svg, k, row);
        panel.off_scale(&mut svg, row);
        text(
            &mut svg,
            [left + WIDTH / 2.0, base - HEIGHT - 10.0],
            "middle",
            12,
            &row.material.title(),
        );
    }
    svg + "</svg>\n"
}

/// Height of the scale in powers of ten: enough for all third quartiles, up to [`MAX_DECADES`].
fn decades(rows: &[MaterialTightness]) -> f64 {
    let spreads = rows.iter().flat_map(|row| &row.cells).flat_map(|cell| &cell.spreads);
    let max =
        spreads.filter_map(|(_, spread)| Some(spread.as_ref()?.quartiles[2])).fold(1.0, f64::max);
    libm::log10(max).ceil().clamp(1.0, MAX_DECADES)
}

/// Line style of a kind of bound: colour, width and dashes. Naive and optimized bounds are equal, so
/// the naive line is wider and stays visible behind the other.
fn style(kind: &str) -> (&'static str, f64, &'static str) {
    match kind {
        "naive" => ("#b9bec4", 6.0, "none"),
        "optimized" => ("#e08a2e", 1.5, "none"),
        "related" => ("#2b5c8a", 1.5, "none"),
        "hand" => ("#222", 1.5, "4 3"),
        _ => ("#3f8f5b", 1.5, "6 2"),
    }
}

/// Names of the kinds of bounds, from the material that has the most of them.
fn names(rows: &[MaterialTightness]) -> Vec<&'static str> {
    let of = |row: &MaterialTightness| {
        row.cells[0].spreads.iter().map(|&(name, _)| name).collect::<Vec<_>>()
    };
    rows.iter().map(of).max_by_key(Vec::len).unwrap_or_default()
}

fn legend(svg: &mut String, rows: &[MaterialTightness]) {
    let mut x = MARGIN;
    for name in names(rows) {
        let (stroke, width, dashes) = style(name);
        let _ = writeln!(
            svg,
            "<line x1=\"{x}\" y1=\"66\" x2=\"{}\" y2=\"66\" stroke=\"{stroke}\" stroke-width=\"{width}\" stroke-dasharray=\"{dashes}\"/>",
            x + 28.0
        );
        text(svg, [x + 34.0, 70.0], "start", 12, name);
        x += 60.0 + 7.0 * name.len() as f64;
    }
}

/// Position and scale of a panel.
struct Panel {
    left: f64,
    base: f64,
    decades: f64,
}

impl Panel {
    fn x(&self, half_angle: f64) -> f64 {
        let [first, .., last] = HALF_ANGLES;
        let inset = 10.0;
        self.left
            + inset
            + libm::log(half_angle / first) / libm::log(last / first) * (WIDTH - 2.0 * inset)
    }

    /// Values beyond the scale get a position above the panel, where they are clipped.
    fn y(&self, ratio: f64) -> f64 {
        self.base - libm::log10(ratio).clamp(0.0, 2.0 * self.decades) / self.decades * HEIGHT
    }

    /// Draws grid lines at powers of ten, with labels if the panel is the first of its row, and ticks
    /// at half-angles.
    fn axes(&self, svg: &mut String, labelled: bool) {
        let Panel { left, base, decades } = *self;
        for power in 0..=decades as i32 {
            let y = base - f64::from(power) / decades * HEIGHT;
            let stroke = if power == 0 { "#222" } else { "#ddd" };
            let right = left + WIDTH;
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"{stroke}\"/>"
            );
            if labelled {
                text(
                    svg,
                    [left - 8.0, y + 4.0],
                    "end",
                    11,
                    &format!("{}", libm::pow(10.0, f64::from(power))),
                );
            }
        }
        for half_angle in HALF_ANGLES {
            let (x, end) = (self.x(half_angle), base + 4.0);
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{base}\" x2=\"{x:.1}\" y2=\"{end}\" stroke=\"#222\"/>"
            );
            text(svg, [x, base + 17.0], "middle", 11, &format!("{half_angle}°"));
        }
    }

    /// Draws the lines and bands of a material, clipped to the panel.
    fn curves(&self, svg: &mut String, index: usize, row: &MaterialTightness) {
        let (left, top) = (self.left, self.base - HEIGHT);
        let _ = writeln!(
            svg,
            "<clipPath id=\"panel{index}\"><rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{}\"/></clipPath>\n\
             <g clip-path=\"url(#panel{index})\">",
            HEIGHT + 4.0
        );
        for (kind, &(name, _)) in row.cells[0].spreads.iter().enumerate() {
            let quartiles: Vec<_> = row
                .cells
                .iter()
                .filter_map(|cell| {
                    Some((
                        self.x(cell.half_angle),
                        cell.spreads[kind].1?.quartiles.map(|ratio| self.y(ratio)),
                    ))
                })
                .collect();
            let point = |&(x, y): &(f64, f64)| format!("{x:.1},{y:.1}");
            let line =
                |k: usize| quartiles.iter().map(move |&(x, y)| (x, y[k])).collect::<Vec<_>>();
            let join =
                |points: &[(f64, f64)]| points.iter().map(point).collect::<Vec<_>>().join(" ");
            let (stroke, width, dashes) = style(name);
            let mut band = line(0);
            band.extend(line(2).into_iter().rev());
            let _ = writeln!(
                svg,
                "<polygon points=\"{}\" fill=\"{stroke}\" fill-opacity=\"0.15\"/>",
                join(&band)
            );
            let median = join(&line(1));
            let _ = writeln!(
                svg,
                "<polyline points=\"{median}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width}\" stroke-dasharray=\"{dashes}\" stroke-linejoin=\"round\"/>"
            );
        }
        svg.push_str("</g>\n");
    }

    /// Lists the kinds of bounds whose medians are all above the scale.
    fn off_scale(&self, svg: &mut String, row: &MaterialTightness) {
        let top = libm::pow(10.0, self.decades);
        let is_off_scale = |kind: usize| {
            let mut medians = row
                .cells
                .iter()
                .filter_map(|cell| Some(cell.spreads[kind].1?.quartiles[1]))
                .peekable();
            medians.peek().is_some() && medians.all(|median| median > top)
        };
        let names = row.cells[0]
            .spreads
            .iter()
            .enumerate()
            .filter(|&(kind, _)| is_off_scale(kind))
            .map(|(_, &(name, _))| name);
        let names: Vec<_> = names.collect();
        if !names.is_empty() {
            text(
                svg,
                [self.left + 4.0, self.base - HEIGHT + 13.0],
                "start",
                10,
                &format!("↑ {}", names.join(", ")),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tightness::list::LIST;
    use crate::tightness::{Cell, Spread};

    fn row(ratio: f64) -> MaterialTightness {
        let spread = Some(Spread { least: 1.0, quartiles: [1.0, ratio, ratio] });
        let cell = |half_angle| Cell {
            half_angle,
            used: 1,
            zero: 0,
            faint: 0,
            spreads: vec![("naive", spread), ("hand", None)],
        };
        MaterialTightness { material: LIST[0], cells: HALF_ANGLES.map(cell).into() }
    }

    #[test]
    fn scale_covers_finite_quartiles_up_to_the_limit() {
        for (ratio, expected) in
            [(1.0, 1.0), (9.0, 1.0), (11.0, 2.0), (9e3, 4.0), (1e30, 4.0), (f64::INFINITY, 4.0)]
        {
            assert_eq!(decades(&[row(ratio), row(1.0)]), expected, "{ratio}");
        }
        let panel = Panel { left: 0.0, base: HEIGHT, decades: 2.0 };
        assert_eq!([1.0, 10.0, 100.0].map(|ratio| panel.y(ratio)), [HEIGHT, HEIGHT / 2.0, 0.0]);
        assert!(panel.y(f64::INFINITY) < 0.0);
    }

    #[test]
    fn each_material_has_a_panel() {
        let svg = draw(&[row(3.0), row(f64::INFINITY)]);
        assert!(
            svg.starts_with("<svg ")
                && svg.ends_with("</svg>\n")
                && !svg.contains("NaN")
                && !svg.contains("inf")
        );
        assert_eq!((svg.matches(">diffuse<").count(), svg.matches("<polyline").count()), (2, 4));
        assert!(svg.contains(">hand<"));
        assert_eq!(svg.matches(">↑ naive<").count(), 1);
    }
}
