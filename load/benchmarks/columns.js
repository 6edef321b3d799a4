/** The figures of benchmarks that tables show: their titles, and the digits behind the point if it is not one. */
const known = {
  acknowledged: ['acknowledged/s', 0],
  average: ['average ms', 2],
  brokerPerMessage: ['broker µs/message'],
  bytesPerClient: ['bytes/client', 0],
  bytesPerDelivery: ['bytes/delivery', 0],
  bytesPerJoin: ['bytes/join', 0],
  bytesPerRound: ['bytes/round', 0],
  clients: ['clients', 0],
  completed: ['messages', 0],
  cpuPerConnect: ['CPU µs/connect'],
  cpuPerConnection: ['CPU µs/s per connection', 2],
  cpuPerDelivery: ['CPU µs/delivery', 2],
  cpuPerHeartbeat: ['CPU µs/heartbeat'],
  cpuPerJoin: ['CPU µs/join', 0],
  cpuPerMessage: ['CPU µs/message'],
  cpuPerPage: ['CPU µs/page', 0],
  cpuPerRequest: ['CPU µs/request'],
  cpuPerRound: ['CPU ms/round', 2],
  cuts: ['cuts', 0],
  delivered: ['delivered %', 2],
  deployMs: ['deploy ms', 0],
  dropped: ['dropped', 0],
  deliveries: ['deliveries/s', 0],
  expected: ['expected', 0],
  generatorCpu: ['generator %', 0],
  heapPerFurther: ['heap bytes/client', 0],
  highestRss: ['highest RSS MiB', 0],
  joins: ['joins/s', 0],
  kernelPerClient: ['kernel bytes/client', 0],
  late: ['late', 0],
  lost: ['lost', 0],
  longest: ['longest ms', 0],
  messages: ['messages/s', 0],
  neverBack: ['never back', 0],
  offlineP50: ['offline p50 ms', 0],
  offlineP95: ['offline p95 ms', 0],
  p50: ['p50 ms', 2],
  p95: ['p95 ms', 2],
  p99: ['p99 ms', 2],
  perSecond: ['messages/s', 0],
  published: ['rounds/s'],
  reachAll: ['all reached in ms', 0],
  reached: ['reached', 0],
  recovered: ['recovered', 0],
  redisCpu: ['Redis %', 0],
  refused: ['refused', 0],
  repeated: ['repeated', 0],
  rss: ['RSS MiB', 0],
  rssPerClient: ['RSS bytes/client', 0],
  rssPerFurther: ['RSS, last 8,000', 0],
  rssTotal: ['RSS MiB'],
  seconds: ['connected in s', 0],
  server: ['server %', 0],
  serverPerClient: ['process bytes/client', 0],
  slowClosed: ['closed', 0],
  slowDeliveries: ['to the slow/s', 0],
  slowest: ['worst p99', 2],
  stalest: ['slow: age p99', 0],
  staleness: ['slow: age ms', 0],
};

/**
 * Columns of a table, from the keys of their figures. Behind × those follow whose ratios to another peer say something.
 * @param {string} keys
 * @param {Record<string, string>} [titles] where one is another than usual
 * @returns {{ key: string, title: string, digits?: number, ratio: boolean }[]}
 */
export const columns = (keys, titles = {}) =>
  keys.split(' ').map((text) => {
    const key = text.replace('×', '');
    const [title, digits] = known[key];
    return { key, title: titles[key] ?? title, digits, ratio: text.startsWith('×') };
  });

/** A number as texts of benchmarks have it: 10,000. */
export const shown = (number) => number.toLocaleString('en-US');

/** @param {import('../generator/histogram.js').Histogram} latency in ms */
export const quantiles = (latency) => ({ p50: latency.percentile(0.5), p95: latency.percentile(0.95) });

/** @param {import('../generator/histogram.js').Histogram} latency in ms */
export const latencyOf = (latency) => ({
  average: latency.mean,
  p99: latency.percentile(0.99),
});
