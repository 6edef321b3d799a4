// Latencies in buckets that grow by 2% each, from a microsecond to more than a quarter of an hour: constant memory,
// cheap to record, and histograms of several processes add up. Count, sum and maximum are exact.

const SMALLEST = 0.001;
const GROWTH = Math.log(1.02);
const BUCKETS = 1050;

export class Histogram {
  count = 0;
  sum = 0;
  max = 0;
  buckets = new Float64Array(BUCKETS);

  /** @param {number} ms */
  record(ms) {
    this.count++;
    this.sum += ms;
    if (ms > this.max) this.max = ms;
    const bucket = ms <= SMALLEST ? 0 : Math.ceil(Math.log(ms / SMALLEST) / GROWTH);
    this.buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
  }

  /** Forgets everything, so that the next window starts clean. */
  reset() {
    this.count = 0;
    this.sum = 0;
    this.max = 0;
    this.buckets.fill(0);
  }

  /** A form that can be sent to another process: only the buckets in use. */
  toJSON() {
    const used = [];
    for (let i = 0; i < BUCKETS; i++) if (this.buckets[i] > 0) used.push([i, this.buckets[i]]);
    return { count: this.count, sum: this.sum, max: this.max, used };
  }

  /** @param {ReturnType<Histogram['toJSON']>} other */
  add(other) {
    this.count += other.count;
    this.sum += other.sum;
    if (other.max > this.max) this.max = other.max;
    for (const [bucket, count] of other.used) this.buckets[bucket] += count;
  }

  get mean() {
    return this.count === 0 ? Number.NaN : this.sum / this.count;
  }

  /** The upper edge of the bucket below which the given share of all values lies, never more than the maximum. */
  percentile(share) {
    if (this.count === 0) return Number.NaN;
    let left = this.count * share;
    let bucket = -1;
    while (left > 0 && bucket < BUCKETS - 1) left -= this.buckets[++bucket];
    return Math.min(this.max, SMALLEST * Math.exp(bucket * GROWTH));
  }
}
