import { ratio } from '../results/groups.js';
import { cellsOf } from './details.js';
import { markdownTable, times } from './table.js';

/** The first cost or latency of each benchmark, for every peer and cell. Of a rate, more would be better. */
export function comparison(groups, measured) {
  const compared = measured.flatMap(([name, { columns }]) => {
    const column = columns.find((each) => each.ratio && !each.title.endsWith('/s'));
    return column
      ? cellsOf(groups, name)
          .filter((cell) => of(cell, 'gjallar') && cell.length > 1)
          .map((cell) => ({ name, column, cell }))
      : [];
  });
  const every = new Set(compared.flatMap(({ cell }) => cell.map(({ peer }) => peer)));
  const peers = [...every].filter((peer) => peer !== 'gjallar');
  if (peers.length === 0) return '';
  const rows = compared.map(({ name, column, cell }) => [
    `${name}: ${cell[0].cell}`,
    ...peers.map((peer) => {
      const group = of(cell, peer);
      return group ? times(ratio(group, of(cell, 'gjallar'), column)) : '–';
    }),
    column.title,
  ]);
  return `## gjallar and other servers

Each server's cost divided by gjallar's. Above 1×, gjallar is cheaper. \`socketio-uws\` is \`attachApp\`, \`uws\` is
uWebSockets.js without Socket.IO, \`gorilla\` is Go, \`netty\` is Java and \`tungstenite\` is Rust. These ratios use unrounded
medians, so their last digit can differ from the first table.

${markdownTable(['', ...peers, 'of'], rows, 1)}`;
}

const of = (cell, name) => cell.find(({ peer }) => peer === name);
