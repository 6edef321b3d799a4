// Two panels of lines side by side, as SVG. An image on GitHub follows the reader's system setting, not the page: it brings its
// own background along.

const style = `<style>
svg { color: #1f2328; background: #ffffff; font: 12px system-ui, sans-serif }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3; background: #151b23 } }
text { fill: currentColor } .grid { stroke: currentColor; opacity: 0.15 } .title { font-weight: bold; font-size: 15px }
</style>`;

// The same color for a peer in every plot.
const colors = {
  gjallar: '#e8590c',
  'gjallar-portable': '#f2a65a',
  'socketio-ws': '#1c7ed6',
  'socketio-uws': '#9c6ade',
  uws: '#2b9348',
};
const colorOf = (peer) =>
  colors[peer] ?? colors[peer.startsWith('socketio') ? 'socketio-ws' : peer.split('-')[0]] ?? '#868e96';
const DASHES = ['none', '6 3', '2 2'];

const WIDTH = 330;
const HEIGHT = 260;
const LEFT = 60;
const TOP = 75;

/**
 * @typedef {{ peer: string, x: number, y: number, low?: number, high?: number, isHollow?: boolean }} Point
 * @param {{ title: string, subtitle: string, alt: string, x: string, isLogX: boolean,
 *   panels: { y: string, isLog: boolean, points: Point[] }[] }} plot `x` and `y` are titles of axes
 */
export function draw({ title, subtitle, alt, x, isLogX, panels }) {
  const peers = [...new Set(panels.flatMap(({ points }) => points.map(({ peer }) => peer)))];
  const strokes = peers.map((peer, i) => {
    const color = colorOf(peer);
    const variant = peers.slice(0, i).filter((other) => colorOf(other) === color).length;
    return { peer, color, dash: DASHES[variant % DASHES.length] };
  });
  const legend = strokes.map(({ peer, color, dash }, i) => {
    const at = LEFT + i * 150;
    return `<path d="M${at} 52h28" stroke="${color}" stroke-width="2.5" stroke-dasharray="${dash}"/><text x="${at + 34}" y="56">${peer}</text>`;
  });
  const drawn = panels.map((panel, i) => {
    const at = LEFT + i * (WIDTH + LEFT + 20);
    return `<g transform="translate(${at} ${TOP})">${panelOf({ ...panel, x, isLogX, strokes })}</g>`;
  });
  const width = panels.length * (WIDTH + LEFT + 20);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${TOP + HEIGHT + 50}" fill="none"><title>${alt}</title>${style}
<text class="title" x="${LEFT}" y="22">${title}</text><text x="${LEFT}" y="40">${subtitle}</text>
${[...legend, ...drawn].join('\n')}
</svg>
`;
}

function panelOf({ points, x, y, isLogX, isLog, strokes }) {
  const across = axis(
    points.map((point) => point.x),
    isLogX,
    WIDTH,
  );
  const up = axis(
    points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]),
    isLog,
    HEIGHT,
  );
  const height = (value) => rounded(HEIGHT - up.at(value));
  const grid = [
    ...across.ticks.map((tick) => {
      const at = rounded(across.at(tick));
      return `<path class="grid" d="M${at} 0v${HEIGHT}"/><text x="${at}" y="${HEIGHT + 16}" text-anchor="middle">${short(tick)}</text>`;
    }),
    ...up.ticks.map(
      (tick) =>
        `<path class="grid" d="M0 ${height(tick)}h${WIDTH}"/><text x="-6" y="${height(tick) + 4}" text-anchor="end">${short(tick)}</text>`,
    ),
    `<text x="${WIDTH / 2}" y="${HEIGHT + 36}" text-anchor="middle">${x}</text><text y="-8" text-anchor="start">${y}</text>`,
  ];
  const lines = strokes.map(({ peer, color, dash }) => {
    const own = points.filter((point) => point.peer === peer).sort((one, other) => one.x - other.x);
    if (own.length === 0) return '';
    const path = own.map((point) => `${rounded(across.at(point.x))} ${height(point.y)}`).join('L');
    const marks = own
      .filter(({ low }) => low !== undefined)
      .map(({ x: at, y: value, low, high, isHollow }) => {
        const place = rounded(across.at(at));
        return `<path d="M${place} ${height(low)}V${height(high)}" stroke="${color}"/><circle cx="${place}" cy="${height(value)}" r="3.5" stroke="${color}" fill="${isHollow ? 'none' : color}"/>`;
      });
    return `<path d="M${path}" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>${marks.join('')}`;
  });
  return [...grid, ...lines].join('\n');
}

/** The place of a value on an axis, and the lines of its grid: 1, 2 and 5 times the powers of ten, or each power alone. */
function axis(values, isLog, length) {
  const positive = values.filter((value) => value > 0 || !isLog);
  const [low, high] = [isLog ? Math.min(...positive) : 0, Math.max(...positive)];
  const powers = isLog && high / low > 200 ? [1] : [1, 2, 5];
  const all = Array.from({ length: 16 }, (_, i) => powers.map((times) => Number(`${times}e${i - 6}`))).flat();
  const step = all.find((tick) => high / tick <= 6) ?? high;
  const from = isLog ? (all.findLast((tick) => tick <= low) ?? low) : 0;
  const to = isLog ? (all.find((tick) => tick >= high && tick > from) ?? high) : Math.ceil(high / step) * step;
  const linear = Array.from({ length: Math.round(to / step) + 1 }, (_, i) => i * step);
  const ticks = isLog ? all.filter((tick) => tick >= from && tick <= to) : linear;
  const share = isLog ? (value) => Math.log(value / from) / Math.log(to / from) : (value) => value / to;
  return { ticks, at: (value) => share(value) * length };
}

const rounded = (value) => Number(value.toFixed(1));
const short = (value) =>
  value >= 1e6 ? `${value / 1e6}M` : value >= 1000 ? `${value / 1000}k` : String(Number(value.toPrecision(3)));
