"use strict";
// What the pages share: elements, controls and the theme.

/** Creates an element. `role` and names with a dash are set as attributes, others as properties. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

/** Creates a button. */
function makeButton(label, text, action) {
  const button = make("button", { type: "button", title: label, "aria-label": label }, text);
  button.addEventListener("click", action);
  return button;
}

/**
 * Fills a field set with radio buttons, styled as a bar. A choice is a value followed by its label.
 */
function fillChoice(fieldset, name, choices, initial, onChoice) {
  for (const [value, ...label] of choices) {
    const input = make("input", { type: "radio", name, value, checked: value === initial });
    input.addEventListener("change", () => onChoice(value));
    fieldset.append(make("label", {}, input, make("span", {}, ...label)));
  }
  return fieldset;
}

/** Gap between images in CSS pixels, as in the style sheet. */
const GAP = 12;

/** Maximum exposure in stops. */
const MAX_STOPS = 10;

/** A slider for the exposure, which calls `onChange`, and a button that resets it. */
class ExposureControl {
  constructor(onChange) {
    this.onChange = onChange;
    this.input = make("input", { type: "range", min: -MAX_STOPS, max: MAX_STOPS, step: 0.25 });
    this.input.addEventListener("input", () => onChange(Number(this.input.value)));
    this.output = make("output", { className: "stops" });
    this.element = make(
      "div",
      {},
      make("label", {}, "Exposure ", this.input),
      this.output,
      makeButton("Reset exposure", "Reset", () => onChange(0)),
    );
  }

  /** Shows an exposure. */
  show(stops) {
    const text = `${stops > 0 ? "+" : stops < 0 ? "−" : ""}${Math.abs(stops)}`;
    this.output.value = `${text} EV`;
    this.input.value = stops;
    this.input.setAttribute("aria-valuetext", `${text} stops`);
  }
}

/** The nearest exposure that the control has. */
function clampStops(stops) {
  return Math.max(-MAX_STOPS, Math.min(MAX_STOPS, stops));
}

/** Buttons that zoom a stage, and the zoom. */
class ZoomControl {
  constructor(stage) {
    this.output = make("output", { className: "zoom" });
    this.element = make(
      "div",
      {},
      "Zoom ",
      makeButton("Zoom out", "−", () => stage.zoomBy(-2)),
      this.output,
      makeButton("Zoom in", "+", () => stage.zoomBy(2)),
      makeButton("Show the entire image", "Fit", () => stage.fit()),
    );
  }

  /** Shows the zoom of a stage. */
  show(stage) {
    this.output.value = `${formatNumber(stage.zoom, 2)}×`;
    stage.element.classList.toggle("zoomed", stage.zoomStep > 0);
  }
}

/** The theme, `light` or `dark`; by default the system's. Pages from disk may have no storage. */
const theme = {
  button: document.getElementById("theme"),
  load() {
    try {
      return localStorage.getItem("lightbound-theme");
    } catch {
      return null;
    }
  },
  save(name) {
    try {
      localStorage.setItem("lightbound-theme", name);
    } catch {
      // Without storage, the theme lasts until the page is closed.
    }
  },
  system: matchMedia("(prefers-color-scheme: dark)"),
  get current() {
    return document.documentElement.dataset.theme ?? (this.system.matches ? "dark" : "light");
  },
  show() {
    const other = this.current === "dark" ? "light" : "dark";
    this.button.replaceChildren(
      `${other === "dark" ? "☾" : "☀"} ${other === "dark" ? "Dark" : "Light"} `,
      make("kbd", {}, "T"),
    );
  },
  toggle() {
    document.documentElement.dataset.theme = this.current === "dark" ? "light" : "dark";
    this.save(this.current);
    this.show();
  },
  start() {
    const saved = this.load();
    if (saved === "light" || saved === "dark") document.documentElement.dataset.theme = saved;
    this.system.addEventListener("change", () => this.show());
    this.button.addEventListener("click", () => this.toggle());
    this.show();
  },
};

/** Calls the action of a pressed key, unless a text field, a list or a dialog has the focus. */
function listenToKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.target.matches("input[type=search], select")) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
