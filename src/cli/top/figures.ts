/** Figures as text: short enough for a column, with their unit. */

const DASH = '–';

/** A count or a rate. */
export function count(value: number | undefined): string {
  if (value === undefined) return DASH;
  if (value >= 999_500) return `${(value / 1e6).toPrecision(3)}M`;
  if (value >= 9999.5) return `${(value / 1e3).toPrecision(3)}k`;
  if (value >= 100 || Number.isInteger(value)) return String(Math.round(value));
  return value < 0.05 ? '0' : value.toFixed(1);
}

export function bytes(value: number | undefined): string {
  if (value === undefined) return DASH;
  if (value >= 2 ** 30) return `${(value / 2 ** 30).toFixed(1)}G`;
  if (value >= 2 ** 20) return `${Math.round(value / 2 ** 20)}M`;
  return value >= 2 ** 10 ? `${Math.round(value / 2 ** 10)}K` : `${value}B`;
}

export function ms(value: number | undefined): string {
  if (value === undefined) return DASH;
  if (value >= 9950) return `${Math.round(value / 1000)}s`;
  return value >= 10 ? `${Math.round(value)}ms` : `${value.toFixed(1)}ms`;
}

export function percent(share: number | undefined): string {
  return share === undefined ? DASH : `${Math.round(share * 100)}%`;
}

/** A time span in its two largest units. */
export function span(seconds: number | undefined): string {
  if (seconds === undefined) return DASH;
  if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)}d ${Math.floor((seconds % 86_400) / 3600)}h`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)}h ${Math.floor((seconds % 3600) / 60)}m`;
  return seconds >= 60 ? `${Math.floor(seconds / 60)}m ${Math.floor(seconds % 60)}s` : `${Math.floor(seconds)}s`;
}
