"use strict";
// The sRGB curve, the colour maps of the difference and of ꟻLIP, and number formatting.

/** sRGB codes of linear values from 0 to 1. The error is at most 0.2 codes, plus rounding. */
const SRGB_STEPS = 16384;
const SRGB_CODES = Uint8ClampedArray.from({ length: SRGB_STEPS + 1 }, (_, i) => {
  const x = i / SRGB_STEPS;
  return 255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055);
});

/** The sRGB code of a finite linear value. */
function srgbCode(x) {
  return SRGB_CODES[x <= 0 ? 0 : x >= 1 ? SRGB_STEPS : (x * SRGB_STEPS + 0.5) | 0];
}

/** Colour of non-finite values: magenta, which is rare in images. */
const NOT_FINITE = [255, 0, 255];

/** The colour map magma (Smith and van der Walt 2015, CC0), as used for ꟻLIP, at 17 positions. */
const MAGMA = colourMap([
  "000004",
  "0a0822",
  "1d1147",
  "36106b",
  "51127c",
  "6a1c81",
  "832681",
  "9c2e7f",
  "b73779",
  "cf4070",
  "e55064",
  "f4695c",
  "fb8761",
  "fea571",
  "fec287",
  "fde0a1",
  "fcfdbf",
]);

/** From too dark (blue) through equal (black) to too bright (orange), symmetric in lightness. */
const DIVERGING = colourMap([
  "d2efff",
  "6cbcff",
  "2a7de0",
  "16428a",
  "0a0a0c",
  "7d2f12",
  "cc5c14",
  "ff9d4d",
  "ffe6c4",
]);

/** A colour map of 256 colours, interpolated linearly between the given ones. */
function colourMap(hex) {
  const stops = hex.map((h) => [0, 2, 4].map((i) => parseInt(h.slice(i, i + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const t = (i / 255) * (stops.length - 1);
    const below = Math.min(Math.floor(t), stops.length - 2);
    return stops[below].map((c, k) => Math.round(c + (t - below) * (stops[below + 1][k] - c)));
  });
}

/** The map's colour at t, clamped to [0, 1]. */
function colourAt(map, t) {
  return map[Math.max(0, Math.min(255, Math.round(t * 255)))];
}

/** The map as a CSS gradient. */
function gradient(map) {
  const stops = Array.from({ length: 17 }, (_, i) => `rgb(${colourAt(map, i / 16).join(" ")})`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** Rounds a positive x up to the next of …, 0.1, 0.2, 0.5, 1, 2, 5, … */
function roundUp(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return Number(
    ([1, 2, 5].find((m) => m * power >= x * (1 - 1e-9)) ?? 10) +
      "e" +
      Math.round(Math.log10(power)),
  );
}

/** Formats a number with a given number of significant digits. */
function formatNumber(x, digits = 4) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const magnitude = Math.abs(x);
  const rounded = Number(x.toPrecision(digits));
  const text =
    magnitude === 0 || (magnitude >= 1e-4 && magnitude < 1e6)
      ? String(rounded)
      : rounded.toExponential();
  return text.replace(/-/g, "−").replace("e+", "e");
}

/** Formats a number and its limit with enough digits to distinguish them. */
function formatWithLimit(x, limit) {
  const order = (a, b) => Math.sign(a - b);
  let digits = 4;
  while (
    digits < 17 &&
    order(Number(x.toPrecision(digits)), Number(limit.toPrecision(digits))) !== order(x, limit)
  )
    digits++;
  return [formatNumber(x, digits), formatNumber(limit, digits)];
}

/** Formats a duration in a suitable unit. */
function formatSeconds(seconds) {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toPrecision(3)} s`;
  const rounded = Math.round(seconds);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}
