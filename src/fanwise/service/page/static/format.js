// Numbers and times as people read them.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const FINE = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

export function number(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 1000 || Number.isInteger(value) ? WHOLE.format(value) : FINE.format(value);
}

export function signed(value) {
  return value > 0 ? `+${number(value)}` : value < 0 ? `−${number(-value)}` : "0";
}

export function percent(share) {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value === 0 || value >= 99.95) return `${WHOLE.format(value)} %`;
  return value < 0.01 ? "< 0.01 %" : `${new Intl.NumberFormat("en", { maximumSignificantDigits: value < 1 ? 2 : 3 }).format(value)} %`;
}

export function seconds(value) {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 90) return `${Math.round(value)} s`;
  if (value < 5400) return `${Math.round(value / 60)} min`;
  if (value < 36 * 3600) return `${(value / 3600).toFixed(1)} h`;
  return `${Math.round(value / 86400)} days`;
}

export function bytes(value) {
  if (value < 1000) return `${value} B`;
  if (value < 1e6) return `${(value / 1e3).toFixed(0)} kB`;
  return value < 1e9 ? `${(value / 1e6).toFixed(1)} MB` : `${(value / 1e9).toFixed(1)} GB`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const PRECISE = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export function clock(text) {
  return CLOCK.format(new Date(text));
}

export function moment(text) {
  const when = new Date(text);
  return `${DAY.format(when)}, ${PRECISE.format(when)}`;
}

export function span(window) {
  const start = new Date(window.start), end = new Date(window.end);
  const isLong = end - start > 86400e3;
  return isLong ? `${DAY.format(start)} – ${DAY.format(end)}`
    : `${DAY.format(start)}, ${CLOCK.format(start)} – ${CLOCK.format(end)}`;
}

export function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${Math.abs(count) === 1 ? one : many}`;
}
