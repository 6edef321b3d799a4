/** Figures that most benchmarks have, and the columns that show them. */

/** @param {import('../generator/histogram.js').Histogram} latency in ms */
export const latencyOf = (latency) => ({
  average: latency.mean,
  p50: latency.percentile(0.5),
  p99: latency.percentile(0.99),
  samples: latency.count,
});

export const latencyColumns = [
  { key: 'average', title: 'average ms', digits: 2 },
  { key: 'p99', title: 'p99 ms', digits: 2 },
];

export const usageColumns = [
  { key: 'server', title: 'server %', digits: 0 },
  { key: 'generatorCpu', title: 'generator %', digits: 0 },
];
