// The large figures, each with its course over the last minutes, which the server keeps.

import { byId, element, write } from './dom.js';
import { bytes, count, ms, percent } from './format.js';

const WIDTH = 120;
const HEIGHT = 32;
/** The server keeps five minutes. */
const MINUTES = 5;
const SVG = 'http://www.w3.org/2000/svg';

/** Each tile: its title, the figure as text, what stands below it, and from which value on it asks for attention. */
const tiles = {
  clients: {
    title: 'Clients',
    tip: 'Connected clients of this machine, by transport.',
    text: count,
    note: ({ transports, rates }) => {
      const used = Object.entries(transports).filter(([, number]) => number > 0);
      return [...used.map(([name, number]) => `${count(number)} ${name}`), `${count(rates.opened)} new/s`].join(' · ');
    },
  },
  received: {
    title: 'Messages in',
    tip: 'Messages that clients have sent, each second.',
    text: (value) => `${count(value)} /s`,
    note: ({ rates }) => `${count(rates.refused)} rejected/s`,
  },
  sent: {
    title: 'Messages out',
    tip: 'Messages to clients, each second: a message to a room counts once for each member.',
    text: (value) => `${count(value)} /s`,
    note: ({ rates }) => `${count(rates.broadcasts + rates.appends)} broadcasts/s`,
  },
  roundTrip: {
    title: 'Round trip',
    tip: 'Between a ping of the server and the answer of its client, median.',
    text: ms,
    note: ({ latency }) => (latency.roundTrip ? `95%: ${ms(latency.roundTrip.p95)}` : 'measured with every ping'),
  },
  cpu: {
    title: 'CPU',
    tip: 'Of all cores of this machine, by the workers and the primary.',
    text: (value, { cores }) => percent(value / cores),
    note: ({ rates, cores }) => `${rates.cpu.toFixed(2)} of ${cores} cores`,
    alarm: (value, { workers }) => value > 0.9 * workers.length,
  },
  memory: {
    title: 'Memory',
    tip: 'Of all processes of this server, and the limit of the machine or container.',
    text: bytes,
    note: ({ figures, memoryLimit }) => `${percent(figures.memory / memoryLimit)} of ${bytes(memoryLimit)}`,
    alarm: (value, { memoryLimit }) => value > 0.85 * memoryLimit,
  },
  delay: {
    title: 'Event-loop delay',
    tip: 'By how much timers of the busiest worker are late.',
    text: ms,
    note: ({ latency }) => (latency.eventLoop ? `longest: ${ms(latency.eventLoop.max)}` : ''),
    alarm: (value) => value >= 250,
  },
  buffered: {
    title: 'Waiting bytes',
    tip: 'What slow clients have not read yet, and the server keeps.',
    text: bytes,
    note: () => 'for slow clients',
  },
};

for (const [name, { title, tip }] of Object.entries(tiles)) {
  const parts = [
    element('h2', { title: tip }, title),
    element('p', { class: 'figure' }),
    element('p', { class: 'note' }),
  ];
  const view = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' };
  const course = drawn('svg', { class: 'course', ...view });
  const marks = Array.from({ length: MINUTES + 1 }, (_, at) => `M${(at / MINUTES) * WIDTH} ${HEIGHT}v-3`).join('');
  const axis = drawn('path', { class: 'axis', d: `${marks}M0 ${HEIGHT}h${WIDTH}` });
  course.append(drawn('path', { class: 'area' }), drawn('path', { class: 'line' }), axis);
  byId('tiles').append(element('article', { class: 'tile', 'data-tile': name }, ...parts, course));
}

export function showTiles(overview) {
  const { figures, history } = overview;
  for (const [name, { text, note, alarm }] of Object.entries(tiles)) {
    const tile = document.querySelector(`[data-tile="${name}"]`);
    const value = figures[name];
    write(tile.querySelector('.figure'), text(value, overview));
    write(tile.querySelector('.note'), note(overview));
    tile.classList.toggle('alarm', value !== undefined && Boolean(alarm?.(value, overview)));
    draw(tile, [...history.figures[name], value], WIDTH / ((MINUTES * 60_000) / history.intervalMs));
  }
}

/** Draws values from the right, the latest one first, as a line over an area. */
function draw(tile, values, step) {
  const top = Math.max(...values.map((value) => value ?? 0)) * 1.15 || 1;
  const begin = WIDTH - (values.length - 1) * step;
  const yOf = (value) => (HEIGHT - 1 - ((value ?? 0) / top) * (HEIGHT - 2)).toFixed(1);
  const points = values.map((value, index) => `${(begin + index * step).toFixed(1)} ${yOf(value)}`);
  if (points.length < 2) return;
  tile.querySelector('.line').setAttribute('d', `M${points.join('L')}`);
  tile
    .querySelector('.area')
    .setAttribute('d', `M${begin.toFixed(1)} ${HEIGHT}L${points.join('L')}L${WIDTH} ${HEIGHT}Z`);
}

function drawn(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value);
  return node;
}
