// Charts by Bokeh, from its wheel: loaded after the first numbers are on the screen.

import { find, make } from "./dom.js";

let loading = null;
const drawn = new Set();

// Fetches the library beside the first requests, so that it is there when it is wanted.
export function fetchEarly() {
  const source = document.documentElement.dataset.charts;
  if (source) document.head.append(make("link", { rel: "preload", as: "script", href: source, fetchpriority: "low" }));
}

export function load() {
  loading ??= new Promise((done, fail) => {
    const source = document.documentElement.dataset.charts;
    if (!source) {
      fail(new Error("Charts need the package bokeh on the service's machine: pip install 'fanwise[serve]'."));
      return;
    }
    // The library makes style elements of its own; the policy lets in what has the page's nonce.
    const { nonce } = find("styles");
    const create = document.createElement.bind(document);
    document.createElement = (name, options) => {
      const element = create(name, options);
      if (String(name).toLowerCase() === "style") element.nonce = nonce;
      return element;
    };
    const script = make("script", { src: source });
    script.addEventListener("load", () => { globalThis.Bokeh.set_log_level("off"); done(globalThis.Bokeh); });
    script.addEventListener("error", () => { loading = null; fail(new Error("The chart library cannot be loaded.")); });
    document.head.append(script);
  });
  return loading;
}

export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Bokeh shows moments in UTC: shift them so that it shows the time of this place.
export const localTime = (text) => {
  const when = new Date(text);
  return when.getTime() - when.getTimezoneOffset() * 60000;
};

export function redrawAll() {
  for (const chart of drawn) chart.draw();
}

// series: [{name, field, color, dash, kind: "line" | "bars" | "dots", width}]
export class Chart {
  constructor(place, { series, height = 190, isTime = true, label, from = 0, span = null, xLabel = null }) {
    Object.assign(this, { place, series, height, isTime, label, from, span, xLabel });
    this.data = {};
    drawn.add(this);
  }

  set(data, at = null) {
    this.data = data;
    if (at !== null) this.at = at;
    if (!this.plot) return this.draw();
    this.source.data = data;
    if (this.mark && at !== null) this.mark.location = at;
    return Promise.resolve();
  }

  async draw() {
    const Bokeh = await load();
    const model = (name) => Bokeh.Models.get(name);
    const text = color("soft"), font = { text_font: "system-ui, sans-serif", text_font_size: "12px", text_color: text };
    const prefixed = (prefix, values) => Object.fromEntries(Object.entries(values).map(([key, value]) => [`${prefix}_${key}`, value]));
    this.source = new (model("ColumnDataSource"))({ data: this.data });
    const plot = this.plot = new (model("Plot"))({
      x_range: new (model("DataRange1d"))({ range_padding: this.isTime ? 0.01 : 0.02 }),
      y_range: new (model("DataRange1d"))({ start: this.from, range_padding: 0.08, only_visible: true }),
      height: this.height, sizing_mode: "stretch_width", toolbar_location: null, outline_line_color: null,
      background_fill_color: null, border_fill_color: null, min_border_left: 62, min_border_right: 12,
    });
    const axis = { axis_line_color: color("line"), major_tick_line_color: color("line"), minor_tick_line_color: null,
      ...prefixed("major_label", font), ...prefixed("axis_label", { ...font, text_font_style: "normal" }) };
    const below = new (model(this.isTime ? "DatetimeAxis" : "LinearAxis"))({ ...axis, axis_label: this.xLabel });
    const left = new (model("LinearAxis"))({ ...axis, axis_label: this.label });
    const short = () => new (model("NumeralTickFormatter"))({ format: "0,0.[0]a" });
    left.formatter = short();
    left.ticker = new (model("BasicTicker"))({ desired_num_ticks: 4 });
    if (!this.isTime) below.formatter = short();
    plot.add_layout(below, "below");
    plot.add_layout(left, "left");
    plot.add_layout(new (model("Grid"))({ axis: left, dimension: 1, grid_line_color: color("line"), grid_line_alpha: 0.6 }));
    const renderers = this.series.map((one) => this.glyph(model, one));
    plot.renderers = [...plot.renderers, ...renderers];
    if (this.span !== null) {
      this.mark = new (model("Span"))({ dimension: "height", location: this.at ?? 0, line_color: color("soft"), line_dash: [2, 3] });
      plot.add_layout(this.mark);
    }
    plot.add_tools(new (model("HoverTool"))({
      mode: "vline", line_policy: "nearest", point_policy: "follow_mouse", renderers: renderers.slice(0, 1),
      tooltips: [[this.isTime ? "until" : this.xLabel ?? "x", this.isTime ? "@x{%d %b %H:%M}" : "@x{0,0}"],
        ...this.series.map((one) => [one.name, `@${one.field}{0,0.[00]}`])],
      formatters: this.isTime ? { "@x": "datetime" } : {},
    }));
    const { Document } = Bokeh.require("document");
    const document_ = new Document();
    document_.add_root(plot);
    this.place.replaceChildren();
    await Bokeh.embed.add_document_standalone(document_, this.place);
  }

  glyph(model, one) {
    const x = { field: "x" }, y = { field: one.field }, stroke = color(one.color);
    const kinds = {
      line: () => new (model("Line"))({ x, y, line_color: stroke, line_width: one.width ?? 2, line_dash: one.dash ?? [] }),
      bars: () => new (model("VBar"))({ x, top: y, width: { field: "width" }, fill_color: stroke, line_color: null, fill_alpha: 0.85 }),
      dots: () => new (model("Scatter"))({ x, y, marker: { value: one.marker ?? "circle" }, size: { value: one.size ?? 5 }, fill_color: stroke, line_color: stroke }),
    };
    return new (model("GlyphRenderer"))({ data_source: this.source, glyph: kinds[one.kind ?? "line"]() });
  }
}

// Names of the lines with what they look like: by shape as well as by colour.
export function legend(series) {
  return make("ul", { class: "legend" }, series.map((one) => make("li", {},
    make("span", { class: `key ${one.kind ?? "line"} ${one.dash ? "dashed" : ""} of-${one.color}`, "aria-hidden": "true" }), one.name)));
}
