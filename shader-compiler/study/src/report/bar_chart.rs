//! Draws a [figure](super::figure) as SVG: a panel of stacked bars for each shader and choice of
//! interval inputs. All panels share a scale.

use super::figure::{Figure, PARTS, Panel};
use super::notation;
use std::fmt::Write;

/// Number of panels per row.
const PANELS_PER_ROW: usize = 4;
/// Height of the scale.
const PLOT_HEIGHT: f64 = 240.0;
const BAR_WIDTH: f64 = 40.0;
const BAR_GAP: f64 = 16.0;
const PANEL_WIDTH: f64 = 4.0 * (BAR_WIDTH + BAR_GAP) + BAR_GAP;
/// Space between panels and around the figure.
const MARGIN: f64 = 24.0;
/// Space to the left of the scale for its labels.
const AXIS_WIDTH: f64 = 56.0;
/// Space above the panels for title and legend.
const HEADER_HEIGHT: f64 = 96.0;
/// Space below a row of bars for their labels.
const FOOTER_HEIGHT: f64 = 76.0;
/// Space above a row of panels for their titles.
const PANEL_TITLE_HEIGHT: f64 = 34.0;
/// Fills of the parts, which differ in lightness as well as hue. NaN is hatched, as in the paper.
const FILLS: [&str; 4] = ["#2b5c8a", "#e08a2e", "url(#hatch)", "#b9bec4"];
/// Labels of the stages below the bars, in two lines.
const LABELS: [[&str; 2]; 4] =
    [["naive", ""], ["+ bounds", "analysis"], ["+ NaN", "tracking"], ["+ signs", "of zero"]];

/// Draws the figure as SVG.
pub fn draw(figure: &Figure) -> String {
    let panels = &figure.panels;
    let columns = panels.len().clamp(1, PANELS_PER_ROW);
    let rows = panels.len().div_ceil(PANELS_PER_ROW).max(1);
    let width = AXIS_WIDTH + columns as f64 * (PANEL_WIDTH + MARGIN) + MARGIN;
    let height = HEADER_HEIGHT + rows as f64 * (PANEL_TITLE_HEIGHT + PLOT_HEIGHT + FOOTER_HEIGHT);
    let longest = figure.max_instructions();
    let step = tick_spacing(longest);
    let scale = Scale { max: longest.div_ceil(step).max(1) * step, step };
    let mut svg = start_svg(width, height);
    svg.push_str(
        "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <rect width=\"6\" height=\"6\" fill=\"#fff\"/><rect width=\"2.5\" height=\"6\" fill=\"#b23a48\"/></pattern></defs>\n",
    );
    text(&mut svg, [MARGIN, 30.0], "start", 16, &format!("Instructions of {}", figure.subject()));
    text(&mut svg, [MARGIN, 48.0], "start", 12, &figure.setup.title());
    legend(&mut svg, figure);
    for (k, panel) in panels.iter().enumerate() {
        let left = AXIS_WIDTH + MARGIN / 2.0 + (k % PANELS_PER_ROW) as f64 * (PANEL_WIDTH + MARGIN);
        let base = HEADER_HEIGHT
            + (k / PANELS_PER_ROW) as f64 * (PANEL_TITLE_HEIGHT + PLOT_HEIGHT + FOOTER_HEIGHT)
            + PANEL_TITLE_HEIGHT
            + PLOT_HEIGHT;
        scale.draw(&mut svg, left, base, k % PANELS_PER_ROW == 0);
        draw_panel(&mut svg, panel, left, base, &scale);
    }
    svg + "</svg>\n"
}

/// Starts an SVG image of this size with a white background.
pub(super) fn start_svg(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    )
}

/// The scale that all panels share.
struct Scale {
    max: usize,
    step: usize,
}

impl Scale {
    /// Returns the length of a bar.
    fn length(&self, instructions: usize) -> f64 {
        instructions as f64 / self.max as f64 * PLOT_HEIGHT
    }

    /// Draws grid lines across a panel, with labels if the panel is the first of its row.
    fn draw(&self, svg: &mut String, left: f64, base: f64, labelled: bool) {
        for tick in (0..=self.max).step_by(self.step) {
            let y = base - self.length(tick);
            let stroke = if tick == 0 { "#222" } else { "#ddd" };
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"{stroke}\"/>",
                left + PANEL_WIDTH
            );
            if labelled {
                text(svg, [left - 8.0, y + 4.0], "end", 12, &tick.to_string());
            }
        }
        if labelled {
            let (x, y) = (18.0, base - PLOT_HEIGHT / 2.0);
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">machine instructions</text>"
            );
        }
    }
}

/// Returns the tick spacing: a round number of instructions that yields about five ticks.
fn tick_spacing(longest: usize) -> usize {
    let rough = longest.div_ceil(5).max(1);
    let power = 10usize.pow(rough.ilog10());
    [1, 2, 5, 10].map(|k| k * power).into_iter().find(|&step| step >= rough).unwrap_or(10 * power)
}

/// Draws the legend of the parts.
fn legend(svg: &mut String, figure: &Figure) {
    let mut x = MARGIN;
    for (_, (fill, part)) in
        FILLS.iter().zip(PARTS).enumerate().filter(|&(k, _)| figure.has_part(k))
    {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"66\" width=\"14\" height=\"14\" fill=\"{fill}\" stroke=\"#222\" stroke-width=\"0.5\"/>"
        );
        text(svg, [x + 20.0, 77.5], "start", 12, part);
        x += 40.0 + 7.0 * part.len() as f64;
    }
}

/// Draws the bars, title and labels of a panel.
fn draw_panel(svg: &mut String, panel: &Panel, left: f64, base: f64, scale: &Scale) {
    let middle = left + PANEL_WIDTH / 2.0;
    text(
        svg,
        [middle, base - PLOT_HEIGHT - 14.0],
        "middle",
        14,
        &format!("{}: {}", panel.shader, notation(panel.inputs)),
    );
    for (k, bar) in panel.bars.iter().enumerate() {
        let x = left + BAR_GAP + k as f64 * (BAR_WIDTH + BAR_GAP);
        let mut y = base;
        for (part, fill) in bar.stack().into_iter().zip(FILLS) {
            let height = scale.length(part);
            y -= height;
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y:.1}\" width=\"{BAR_WIDTH}\" height=\"{height:.1}\" fill=\"{fill}\" stroke=\"#222\" stroke-width=\"0.5\"/>"
            );
        }
        let middle = x + BAR_WIDTH / 2.0;
        text(svg, [middle, y - 4.0], "middle", 11, &bar.total().to_string());
        for (line, label) in LABELS[k].iter().enumerate() {
            text(svg, [middle, base + 16.0 + 14.0 * line as f64], "middle", 11, label);
        }
    }
}

/// Adds text; `anchor` is the SVG `text-anchor` at the position.
pub(super) fn text(svg: &mut String, [x, y]: [f64; 2], anchor: &str, size: u32, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tick_spacing_is_a_round_number() {
        for (longest, expected) in
            [(1, 1), (9, 2), (12, 5), (50, 10), (51, 20), (430, 100), (999, 200), (4000, 1000)]
        {
            assert_eq!(tick_spacing(longest), expected, "{longest}");
        }
    }
}
