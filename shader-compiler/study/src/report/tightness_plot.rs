//! Draws [tightness measurements](super::tightness_tables) as SVG, with a panel for each material.
//!
//! The x-axis shows half-angles, the y-axis the ratio of bound to true maximum, on a logarithmic
//! scale that all panels share. Each kind of bound has a line through its medians and a band
//! between its quartiles.

use super::bar_chart::{start_svg, text};
use super::tightness_tables::MaterialTightness;
use crate::tightness::materials::HALF_ANGLES;
use std::fmt::Write;

/// Number of panels per row.
const PANELS_PER_ROW: usize = 5;
const PANEL_WIDTH: f64 = 180.0;
const PLOT_HEIGHT: f64 = 150.0;
/// Space between panels and around the figure.
const MARGIN: f64 = 26.0;
/// Space to the left of the scale for its labels.
const AXIS_WIDTH: f64 = 48.0;
/// Space above the panels for title and legend.
const HEADER_HEIGHT: f64 = 84.0;
/// Space above a row of panels for their titles.
const PANEL_TITLE_HEIGHT: f64 = 30.0;
/// Space below a row of panels for half-angles.
const FOOTER_HEIGHT: f64 = 44.0;
/// Maximum height of the scale in powers of ten. Lines are clipped to the panel.
const MAX_DECADES: f64 = 4.0;

/// Draws the measurements as SVG.
pub fn draw(rows: &[MaterialTightness]) -> String {
    let columns = rows.len().clamp(1, PANELS_PER_ROW);
    let panel_rows = rows.len().div_ceil(PANELS_PER_ROW);
    let width = AXIS_WIDTH + columns.max(3) as f64 * (PANEL_WIDTH + MARGIN) + MARGIN;
    let height =
        HEADER_HEIGHT + panel_rows as f64 * (PANEL_TITLE_HEIGHT + PLOT_HEIGHT + FOOTER_HEIGHT);
    let decades = decades(rows);
    let mut svg = start_svg(width, height);
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
        "medians, and bands between quartiles; ↑: all medians are above the scale",
    );
    legend(&mut svg, rows);
    for (k, row) in rows.iter().enumerate() {
        let left = AXIS_WIDTH + MARGIN / 2.0 + (k % PANELS_PER_ROW) as f64 * (PANEL_WIDTH + MARGIN);
        let base = HEADER_HEIGHT
            + (k / PANELS_PER_ROW) as f64 * (PANEL_TITLE_HEIGHT + PLOT_HEIGHT + FOOTER_HEIGHT)
            + PANEL_TITLE_HEIGHT
            + PLOT_HEIGHT;
        let panel = Panel { left, base, decades };
        panel.axes(&mut svg, k % PANELS_PER_ROW == 0);
        panel.curves(&mut svg, k, row);
        panel.off_scale(&mut svg, row);
        text(
            &mut svg,
            [left + PANEL_WIDTH / 2.0, base - PLOT_HEIGHT - 10.0],
            "middle",
            12,
            &row.material.title(),
        );
    }
    svg + "</svg>\n"
}

/// Returns the height of the scale in powers of ten: enough for all third quartiles, up to
/// [`MAX_DECADES`].
fn decades(rows: &[MaterialTightness]) -> f64 {
    let distributions = rows.iter().flat_map(|row| &row.cones).flat_map(|cone| &cone.distributions);
    let max = distributions
        .filter_map(|(_, distribution)| Some(distribution.as_ref()?.quartiles[2]))
        .fold(1.0, f64::max);
    libm::log10(max).ceil().clamp(1.0, MAX_DECADES)
}

/// Returns the line style of a kind of bound: colour, width and dashes. Naive and optimized bounds
/// are equal; the naive line is wider, so that it is visible behind the other.
fn style(kind: &str) -> (&'static str, f64, &'static str) {
    match kind {
        "naive" => ("#b9bec4", 6.0, "none"),
        "optimized" => ("#e08a2e", 1.5, "none"),
        "related" => ("#2b5c8a", 1.5, "none"),
        "hand" => ("#222", 1.5, "4 3"),
        _ => ("#3f8f5b", 1.5, "6 2"),
    }
}

/// Returns the names of the kinds of bounds, from the material with the most kinds.
fn names(rows: &[MaterialTightness]) -> Vec<&'static str> {
    let names_of = |row: &MaterialTightness| {
        row.cones[0].distributions.iter().map(|&(name, _)| name).collect::<Vec<_>>()
    };
    rows.iter().map(names_of).max_by_key(Vec::len).unwrap_or_default()
}

/// Draws the legend of the kinds of bounds.
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
    /// Returns the x coordinate of a half-angle.
    fn x(&self, half_angle: f64) -> f64 {
        let [first, .., last] = HALF_ANGLES;
        let inset = 10.0;
        self.left
            + inset
            + libm::log(half_angle / first) / libm::log(last / first) * (PANEL_WIDTH - 2.0 * inset)
    }

    /// Returns the y coordinate of a ratio. Ratios above the scale lie above the panel, where they
    /// are clipped.
    fn y(&self, ratio: f64) -> f64 {
        self.base - libm::log10(ratio).clamp(0.0, 2.0 * self.decades) / self.decades * PLOT_HEIGHT
    }

    /// Draws grid lines at powers of ten, with labels if the panel is the first of its row, and
    /// ticks at half-angles.
    fn axes(&self, svg: &mut String, labelled: bool) {
        let Panel { left, base, decades } = *self;
        for power in 0..=decades as i32 {
            let y = base - f64::from(power) / decades * PLOT_HEIGHT;
            let stroke = if power == 0 { "#222" } else { "#ddd" };
            let right = left + PANEL_WIDTH;
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
        let (left, top) = (self.left, self.base - PLOT_HEIGHT);
        let _ = writeln!(
            svg,
            "<clipPath id=\"panel{index}\"><rect x=\"{left}\" y=\"{top}\" width=\"{PANEL_WIDTH}\" height=\"{}\"/></clipPath>\n\
             <g clip-path=\"url(#panel{index})\">",
            PLOT_HEIGHT + 4.0
        );
        for (kind, &(name, _)) in row.cones[0].distributions.iter().enumerate() {
            let quartiles: Vec<_> = row
                .cones
                .iter()
                .filter_map(|cone| {
                    Some((
                        self.x(cone.half_angle),
                        cone.distributions[kind].1?.quartiles.map(|ratio| self.y(ratio)),
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

    /// Lists the kinds of bounds with all medians above the scale.
    fn off_scale(&self, svg: &mut String, row: &MaterialTightness) {
        let top = libm::pow(10.0, self.decades);
        let is_off_scale = |kind: usize| {
            let mut medians = row
                .cones
                .iter()
                .filter_map(|cone| Some(cone.distributions[kind].1?.quartiles[1]))
                .peekable();
            medians.peek().is_some() && medians.all(|median| median > top)
        };
        let names = row.cones[0]
            .distributions
            .iter()
            .enumerate()
            .filter(|&(kind, _)| is_off_scale(kind))
            .map(|(_, &(name, _))| name);
        let names: Vec<_> = names.collect();
        if !names.is_empty() {
            text(
                svg,
                [self.left + 4.0, self.base - PLOT_HEIGHT + 13.0],
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
    use crate::tightness::materials::MATERIALS;
    use crate::tightness::{ConeTightness, RatioDistribution};

    fn row(ratio: f64) -> MaterialTightness {
        let distribution = Some(RatioDistribution { min: 1.0, quartiles: [1.0, ratio, ratio] });
        let cone = |half_angle| ConeTightness {
            half_angle,
            measured: 1,
            zero: 0,
            faint: 0,
            distributions: vec![("naive", distribution), ("hand", None)],
        };
        MaterialTightness { material: MATERIALS[0], cones: HALF_ANGLES.map(cone).into() }
    }

    #[test]
    fn scale_covers_finite_quartiles_up_to_the_limit() {
        for (ratio, expected) in
            [(1.0, 1.0), (9.0, 1.0), (11.0, 2.0), (9e3, 4.0), (1e30, 4.0), (f64::INFINITY, 4.0)]
        {
            assert_eq!(decades(&[row(ratio), row(1.0)]), expected, "{ratio}");
        }
        let panel = Panel { left: 0.0, base: PLOT_HEIGHT, decades: 2.0 };
        assert_eq!(
            [1.0, 10.0, 100.0].map(|ratio| panel.y(ratio)),
            [PLOT_HEIGHT, PLOT_HEIGHT / 2.0, 0.0]
        );
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
