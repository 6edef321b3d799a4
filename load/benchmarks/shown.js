/** A number as texts of benchmarks have it: 10,000. */
export const shown = (number) => number.toLocaleString('en-US');
