// The large figures, each with its course over two minutes, which begins at the left and then moves on.

import { bytes, count, ms, percent } from './format.js';
import { write } from './rows.js';

const KEPT = 60;
const WIDTH = 120;
const HEIGHT = 32;
/** A mark every half minute. */
const QUARTERS = [0, 0.25, 0.5, 0.75, 1];
const SVG = 'http://www.w3.org/2000/svg';

/** Each tile: the value that is drawn, the figure, what stands beside it, and from which value on it asks for attention. */
const tiles = {
  clients: {
    value: ({ clients }) => clients,
    text: count,
    note: ({ transports, rates }) =>
      [
        ...Object.entries(transports)
          .filter(([, number]) => number > 0)
          .map(([name, number]) => `${count(number)} ${name}`),
        `${count(rates.opened)} new/s`,
      ].join(' · '),
  },
  received: {
    value: ({ rates }) => rates.received,
    text: (value) => `${count(value)} /s`,
    note: ({ rates }) => `${count(rates.refused)} rejected/s`,
  },
  sent: {
    value: ({ rates }) => rates.sent + rates.deliveries,
    text: (value) => `${count(value)} /s`,
    note: ({ rates }) => `${count(rates.deliveries)} deliveries/s of ${count(rates.broadcasts)} broadcasts/s`,
  },
  roundTrip: {
    value: ({ latency }) => latency.roundTrip?.p50,
    text: ms,
    note: ({ latency }) =>
      [
        latency.roundTrip && `95%: ${ms(latency.roundTrip.p95)}`,
        latency.history !== undefined && `history: ${ms(latency.history)}`,
      ]
        .filter(Boolean)
        .join(' · ') || 'measured with every ping',
  },
  cpu: {
    value: ({ rates }) => rates.cpu,
    text: (value, { cores }) => percent(value / cores),
    note: ({ rates, cores }) => `${rates.cpu.toFixed(2)} of ${cores} cores`,
    alarm: (value, { workers }) => value > 0.9 * workers.length,
  },
  memory: {
    value: ({ memory }) => memory,
    text: bytes,
    note: ({ memory, memoryLimit }) => `${percent(memory / memoryLimit)} of ${bytes(memoryLimit)}`,
    alarm: (value, { memoryLimit }) => value > 0.85 * memoryLimit,
  },
  delay: {
    value: ({ latency }) => latency.eventLoop?.p99,
    text: ms,
    note: ({ latency }) => (latency.eventLoop ? `longest: ${ms(latency.eventLoop.max)}` : ''),
    alarm: (value) => value >= 250,
  },
  buffered: {
    value: ({ buffered }) => buffered,
    text: bytes,
    note: () => 'for slow clients',
  },
};

/** The tiles of the page. */
export class Tiles {
  #tiles = [];

  /** @param root the element with the tiles */
  constructor(root) {
    for (const tile of root.querySelectorAll('[data-tile]')) {
      const figure = tile.appendChild(document.createElement('p'));
      figure.className = 'figure';
      const note = tile.appendChild(document.createElement('p'));
      note.className = 'note';
      this.#tiles.push({ ...tiles[tile.dataset.tile], tile, figure, noteLine: note, course: new Course(tile) });
    }
  }

  update(overview) {
    for (const { value, text, note, alarm, tile, figure, noteLine, course } of this.#tiles) {
      const current = value(overview);
      write(figure, text(current, overview));
      write(noteLine, note(overview));
      tile.classList.toggle('alarm', current !== undefined && Boolean(alarm?.(current, overview)));
      course.add(current);
    }
  }
}

/** The course of one value, as a line over an area. */
class Course {
  #values = [];
  #area;
  #line;

  constructor(tile) {
    const view = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' };
    const svg = drawn(tile, 'svg', { class: 'course', ...view });
    this.#area = drawn(svg, 'path', { class: 'area' });
    this.#line = drawn(svg, 'path', { class: 'line' });
    const marks = QUARTERS.map((part) => `M${part * WIDTH} ${HEIGHT}v-3`).join('');
    drawn(svg, 'path', { class: 'axis', d: `${marks}M0 ${HEIGHT}h${WIDTH}` });
  }

  add(value) {
    this.#values.push(value ?? 0);
    if (this.#values.length > KEPT) this.#values.shift();
    const top = Math.max(...this.#values) * 1.15 || 1;
    const step = WIDTH / (KEPT - 1);
    const end = (this.#values.length - 1) * step;
    const points = this.#values.map(
      (one, index) => `${(index * step).toFixed(1)} ${(HEIGHT - 1 - (one / top) * (HEIGHT - 2)).toFixed(1)}`,
    );
    if (points.length < 2) return;
    this.#line.setAttribute('d', `M${points.join('L')}`);
    this.#area.setAttribute('d', `M0 ${HEIGHT}L${points.join('L')}L${end.toFixed(1)} ${HEIGHT}Z`);
  }
}

function drawn(parent, name, attributes) {
  const node = parent.appendChild(document.createElementNS(SVG, name));
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value);
  return node;
}
