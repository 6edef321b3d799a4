import { figures } from '../../against/figures.js';
import { readRatchet } from '../../against/ratchet.js';
import { ratio } from '../results/groups.js';
import { markdownTable } from './table.js';

/**
 * The best ratio to stock socket.io that each figure ever had, beside the ratio in these results.
 * @param {import('../results/groups.js').Group[]} groups
 * @param {Record<string, import('../../against/ratchet.js').Best>} [best]
 */
export function ratchetSection(groups, best = readRatchet()) {
  const rows = Object.entries(figures)
    .filter(([name]) => best[name])
    .map(([name, { about, benchmark, cell, key }]) => {
      const of = (peer) =>
        groups.find((group) => group.benchmark === benchmark && group.cell === cell && group.peer === peer);
      const [stock, now] = [of('socketio-ws'), of('gjallar')];
      const today = stock && now && ratio(now, stock, { key, title: '' });
      return [about, shown(best[name].ratio), `${best[name].commit}, ${best[name].date.slice(0, 10)}`, shown(today)];
    });
  if (rows.length === 0) return '';
  return `## Best ratios to stock socket.io

The lowest share of stock's cost that \`npm run bench -- --against\` ever measured, in at least five short rounds that alternate
between the two, and the share in the tables below, the median of full runs. As the two are measured in different ways, either
can be the lower one.

${markdownTable(['', 'best', 'commit', 'in these results'], rows, 1)}`;
}

const shown = (value) => (value === undefined ? '–' : value.toFixed(2));
