import { isSaturated, spread } from '../results/groups.js';
import { colourOf } from './peers.js';

/**
 * One point for each group that counts and has the figure: its median, with the extremes as `low` and `high`.
 * @param {import('../results/groups.js').Group[]} groups
 * @param {string} key of the figure
 * @param {(group: import('../results/groups.js').Group) => object} where the rest of the point: its `x`, say
 */
export function points(groups, key, where) {
  return groups.flatMap((group) => {
    const figure = group.valid ? spread(group, key) : undefined;
    if (figure === undefined) return [];
    const { median: y, min: low, max: high } = figure;
    return [{ peer: group.peer, y, low, high, saturated: isSaturated(group), ...where(group) }];
  });
}

/** Said under a plot that has such points. */
export const SATURATED = 'hollow points: saturated, so the latency depends on the length of the run';

// No prefixes below a thousand: a tenth of a millisecond is 0.1, not 100m.
const LABEL = "format(datum.value, datum.value < 1000 ? '~g' : '~s')";

/**
 * A logarithmic axis: a line for each power of ten, and for 2 and 5 times each where there are few.
 * @param {string} title what it measures, with the unit
 * @param {number[]} values all that it has to show
 */
export function logAxis(title, values) {
  const positive = values.filter((value) => value > 0);
  const [low, high] = [Math.min(...positive), Math.max(...positive)];
  const steps = high / low > 200 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of steps) ticks.push(Number(`${step}e${power}`));
  }
  const [from, to] = [ticks.findLast((tick) => tick <= low), ticks.find((tick) => tick >= high)];
  return {
    type: 'quantitative',
    title,
    scale: { type: 'log', domain: [from, to === from ? from * 10 : to], nice: false },
    axis: { values: ticks, labelExpr: LABEL },
  };
}

/** An axis from zero. */
export const linearAxis = (title) => ({
  type: 'quantitative',
  title,
  scale: { zero: true, nice: true },
  axis: { labelExpr: LABEL, tickCount: 6 },
});

/** Everything that a logarithmic axis of these points has to show. */
export const heights = (values) => values.flatMap(({ y, low, high }) => [y, low, high]);

/**
 * The colours of all peers that a plot shows, in the order in which they were measured; variants of one peer have its
 * colour, and differ in their dashes.
 * @returns {{ color: object, strokeDash: object }} encodings of lines
 */
export function peerEncodings(values) {
  const domain = [...new Set(values.map(({ peer }) => peer))];
  const range = domain.map(colourOf);
  const variants = range.map((colour, i) => range.slice(0, i).filter((other) => other === colour).length);
  return encodings('peer', domain, range, variants);
}

/** How lines of a field's values are told apart. */
export function encodings(field, domain, range, variants) {
  const legend = { orient: 'top', title: null, symbolType: 'stroke', symbolSize: 400, columns: 5 };
  const dash = variants.map((variant) => DASHES[variant % DASHES.length]);
  return {
    color: { field, type: 'nominal', scale: { domain, range }, legend },
    strokeDash: { field, type: 'nominal', scale: { domain, range: dash }, legend },
  };
}

const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
];

const WIDTH = 330;
const HEIGHT = 260;

/**
 * Lines through medians, with a bar from minimum to maximum at each.
 * @param {{ values: object[], x: object, y: object, colours: ReturnType<typeof peerEncodings>, title?: string }} panel
 */
export function lines({ values, x, y, colours: { color, strokeDash }, title }) {
  return {
    title,
    width: WIDTH,
    height: HEIGHT,
    // Ours last, and so on top.
    data: { values: values.toSorted((a, b) => a.peer.startsWith('gjallar') - b.peer.startsWith('gjallar')) },
    encoding: { x: { field: 'x', ...x }, color },
    layer: [
      { mark: { type: 'line' }, encoding: { y: { field: 'y', ...y }, strokeDash } },
      { mark: { type: 'rule', strokeWidth: 1.5 }, encoding: { y: { field: 'low', ...y }, y2: { field: 'high' } } },
      {
        mark: { type: 'point', size: 45, opacity: 1 },
        encoding: {
          y: { field: 'y', ...y },
          fill: { condition: { test: 'datum.saturated', value: null }, ...color, legend: null },
        },
      },
    ],
  };
}

/** Lines alone, for what was read often in one run. */
export const curves = ({ values, x, y, colours: { color, strokeDash } }) => ({
  width: WIDTH,
  height: HEIGHT,
  data: { values },
  mark: { type: 'line' },
  encoding: { x: { field: 'x', ...x }, y: { field: 'y', ...y }, color, strokeDash },
});
