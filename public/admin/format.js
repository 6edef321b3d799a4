// Figures as text: short enough for a table, with their unit.

const DASH = '–';

/** A count or a rate, with three digits at most from 10,000 on. */
export function count(value) {
  if (value === undefined) return DASH;
  if (value >= 999_500) return `${(value / 1e6).toPrecision(3)} M`;
  if (value >= 9_999.5) return `${(value / 1e3).toPrecision(3)} k`;
  if (value >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en');
  return value < 0.05 ? '0' : value.toFixed(1);
}

export function bytes(value) {
  if (value === undefined) return DASH;
  if (value >= 2 ** 30) return `${(value / 2 ** 30).toPrecision(3)} GiB`;
  if (value >= 2 ** 20) return `${(value / 2 ** 20).toPrecision(3)} MiB`;
  return value >= 2 ** 10 ? `${(value / 2 ** 10).toPrecision(3)} KiB` : `${value} B`;
}

export function ms(value) {
  if (value === undefined) return DASH;
  if (value >= 9_950) return `${(value / 1000).toFixed(0)} s`;
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  return value >= 10 ? `${value.toFixed(0)} ms` : `${value.toFixed(1)} ms`;
}

export function percent(share) {
  return share === undefined ? DASH : `${Math.round(share * 100)}%`;
}

/** A time span in its two largest units. */
export function span(seconds) {
  if (seconds === undefined) return DASH;
  const [d, h, min] = [86_400, 3600, 60].map((unit) => Math.floor(seconds / unit));
  const parts = [`${d} d`, `${h % 24} h`, `${min % 60} min`, `${Math.floor(seconds % 60)} s`];
  const first = [d, h, min, 1].findIndex((value) => value > 0);
  return parts.slice(first, first + 2).join(' ');
}

export function ago(milliseconds) {
  const seconds = Math.max(0, milliseconds / 1000);
  if (seconds < 2) return 'now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min ago` : `${Math.floor(seconds / 3600)} h ago`;
}
