"use strict";
// A plot of lines with logarithmic axes, as SVG. Its colours are attributes, so that a saved plot
// looks as on the page.

/** Colours of lines that people with colour blindness can tell apart (Okabe and Ito 2008). */
const LINE_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#4c9ed9", "#7a5195"];

/** Markers of lines, as paths around the origin. */
const MARKERS = [
  "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
  "M-4,-4h8v8h-8z",
  "M0,-5l5,9h-10z",
  "M0,-5l5,5l-5,5l-5,-5z",
];

/** Size of a plot, and the space around its axes. */
const PLOT = { width: 640, height: 380, left: 76, right: 20, top: 16, bottom: 52 };

/** Creates an SVG element. */
function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** A logarithmic axis from `from` to `to` in pixels that contains all values. */
class LogAxis {
  constructor(values, from, to) {
    const [low, high] = [Math.min(...values), Math.max(...values)].map(Math.log10);
    // At least one tick is within the axis.
    const margin = Math.max(0.06 * (high - low), 0.16);
    Object.assign(this, { low: low - margin, high: high + margin, from, to });
  }

  /** The position of a value in pixels. */
  at(value) {
    const t = (Math.log10(value) - this.low) / (this.high - this.low);
    return this.from + t * (this.to - this.from);
  }

  /** Values with ticks: powers of ten, and numbers between them if there are few. */
  ticks() {
    const decades = this.high - this.low;
    const steps = decades > 3 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    const ticks = [];
    for (let power = Math.floor(this.low); power <= this.high; power++)
      for (const step of steps) {
        const value = Number(`${step}e${power}`);
        if (Math.log10(value) >= this.low && Math.log10(value) <= this.high) ticks.push(value);
      }
    return ticks;
  }
}

/**
 * Draws series, each with a name and points [x, y] of positive numbers. `slope`, if given, is that of
 * a dotted line through the first point.
 */
function drawPlot(series, xLabel, yLabel, slope) {
  const points = series.flatMap((s) => s.points);
  const { width, height, left, right, top, bottom } = PLOT;
  const xAxis = new LogAxis(
    points.map(([x]) => x),
    left,
    width - right,
  );
  const yAxis = new LogAxis(
    points.map(([, y]) => y),
    height - bottom,
    top,
  );
  const label = `${yLabel} over ${xLabel}, logarithmic axes`;
  const svg = makeSvg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    class: "plot",
    role: "img",
    "aria-label": label,
    "font-family": "system-ui, sans-serif",
    "font-size": 13,
    fill: "currentColor",
  });
  const line = { stroke: "currentColor", "stroke-opacity": 0.15 };
  for (const x of xAxis.ticks()) {
    const at = xAxis.at(x);
    svg.append(makeSvg("path", { d: `M${at},${top}V${height - bottom}`, ...line }));
    const y = height - bottom + 18;
    svg.append(makeSvg("text", { x: at, y, "text-anchor": "middle" }, formatNumber(x)));
  }
  for (const y of yAxis.ticks()) {
    const at = yAxis.at(y);
    svg.append(makeSvg("path", { d: `M${left},${at}H${width - right}`, ...line }));
    svg.append(makeSvg("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, formatNumber(y)));
  }
  const middle = [(left + width - right) / 2, (top + height - bottom) / 2];
  svg.append(
    makeSvg("text", { x: middle[0], y: height - 10, "text-anchor": "middle" }, xLabel),
    makeSvg(
      "text",
      { transform: `translate(16,${middle[1]}) rotate(-90)`, "text-anchor": "middle" },
      yLabel,
    ),
  );
  if (slope !== undefined) svg.append(slopeGuide(series, xAxis, yAxis, slope));
  series.forEach(({ points }, i) => svg.append(plotLine(points, i, xAxis, yAxis)));
  return svg;
}

/** A dotted line with the given slope through the leftmost point. */
function slopeGuide(series, xAxis, yAxis, slope) {
  const firsts = series.map(({ points }) => points[0]);
  const [x, y] = firsts.reduce((left, point) => (point[0] < left[0] ? point : left));
  const end = 10 ** xAxis.high;
  const [from, to] = [x, end].map((at) => [xAxis.at(at), yAxis.at(y * (at / x) ** slope)]);
  // Within the axes.
  const lowest = yAxis.from;
  const share = to[1] > lowest ? (lowest - from[1]) / (to[1] - from[1]) : 1;
  const last = [0, 1].map((k) => from[k] + share * (to[k] - from[k]));
  return makeSvg("path", {
    d: `M${from}L${last}`,
    stroke: "currentColor",
    "stroke-opacity": 0.5,
    "stroke-dasharray": "2 4",
  });
}

/** A series: its line and markers. */
function plotLine(points, index, xAxis, yAxis) {
  const colour = LINE_COLOURS[index % LINE_COLOURS.length];
  const positions = points.map(([x, y]) => [xAxis.at(x), yAxis.at(y)]);
  const path = positions.map((at) => at.join(",")).join("L");
  return makeSvg(
    "g",
    { fill: colour },
    makeSvg("path", { d: `M${path}`, fill: "none", stroke: colour, "stroke-width": 2 }),
    ...positions.map((at) => makeSvg("path", { d: marker(index), transform: `translate(${at})` })),
  );
}

function marker(index) {
  return MARKERS[index % MARKERS.length];
}

/** The marker of a series, for legends. */
function makeMarker(index) {
  const colour = LINE_COLOURS[index % LINE_COLOURS.length];
  return makeSvg(
    "svg",
    { viewBox: "-8 -8 16 16", width: 16, height: 16, "aria-hidden": "true" },
    makeSvg("path", { d: "M-8,0H8", stroke: colour, "stroke-width": 2 }),
    makeSvg("path", { d: marker(index), fill: colour }),
  );
}
