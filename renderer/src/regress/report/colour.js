"use strict";
// Colours for numbers: the sRGB curve, the colour maps of the difference and of ꟻLIP, and how numbers are written.

/** Codes of linear values from 0 to 1; so fine that each is the nearest code, give or take a fifth of a code. */
const SRGB_STEPS = 16384;
const SRGB_CODES = Uint8ClampedArray.from({ length: SRGB_STEPS + 1 }, (_, i) => {
  const x = i / SRGB_STEPS;
  return 255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055);
});

/** The sRGB code of a linear value; the caller has seen to it that it is finite. */
function srgbCode(x) {
  return SRGB_CODES[x <= 0 ? 0 : x >= 1 ? SRGB_STEPS : (x * SRGB_STEPS + 0.5) | 0];
}

/** What is no number, or infinite, is shown in a colour that pictures rarely have. */
const NOT_FINITE = [255, 0, 255];

/** Magma (Smith and van der Walt 2015, CC0), which ꟻLIP's authors use, at 17 places. */
const MAGMA = colourMap([
  "000004", "0a0822", "1d1147", "36106b", "51127c", "6a1c81", "832681", "9c2e7f", "b73779", "cf4070", "e55064", "f4695c",
  "fb8761", "fea571", "fec287", "fde0a1", "fcfdbf",
]);

/** From too dark (blue) over equal (black) to too bright (orange); both sides have the same lightness. */
const DIVERGING = colourMap(["d2efff", "6cbcff", "2a7de0", "16428a", "0a0a0c", "7d2f12", "cc5c14", "ff9d4d", "ffe6c4"]);

/** A map is 256 colours, linear between those given. */
function colourMap(hex) {
  const stops = hex.map((h) => [0, 2, 4].map((i) => parseInt(h.slice(i, i + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const t = (i / 255) * (stops.length - 1);
    const below = Math.min(Math.floor(t), stops.length - 2);
    return stops[below].map((c, k) => Math.round(c + (t - below) * (stops[below + 1][k] - c)));
  });
}

/** The map's colour at t, from 0 to 1 and cut to that. */
function colourAt(map, t) {
  return map[Math.max(0, Math.min(255, Math.round(t * 255)))];
}

/** The map as the background of a scale. */
function gradient(map) {
  const stops = Array.from({ length: 17 }, (_, i) => `rgb(${colourAt(map, i / 16).join(" ")})`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** The least of …, 0.1, 0.2, 0.5, 1, 2, 5, … that is not below x, which is positive. */
function roundUp(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return Number(([1, 2, 5].find((m) => m * power >= x * (1 - 1e-9)) ?? 10) + "e" + Math.round(Math.log10(power)));
}

/** A number with as many digits as tell something, four unless told. */
function formatNumber(x, digits = 4) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  const rounded = Number(x.toPrecision(digits));
  const text = size === 0 || (size >= 1e-4 && size < 1e6) ? String(rounded) : rounded.toExponential();
  return text.replace(/-/g, "−").replace("e+", "e");
}

/** A number and its limit, with as many digits as tell which is larger. */
function formatWithLimit(x, limit) {
  const order = (a, b) => Math.sign(a - b);
  let digits = 4;
  while (digits < 17 && order(Number(x.toPrecision(digits)), Number(limit.toPrecision(digits))) !== order(x, limit)) digits++;
  return [formatNumber(x, digits), formatNumber(limit, digits)];
}

/** A duration, in the unit that suits it. */
function formatSeconds(seconds) {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toPrecision(3)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
