import { markdownTable, shown } from '../sections/table.js';
import { assumptions } from './assumptions.js';

export function costTable(costs) {
  const rows = costs.map(({ about, unit, from, value }) => [
    about,
    Number.isNaN(value) ? 'not measured' : unit === 'µs' ? `${shown(value * 1e6)} µs` : `${shown(value, 0)} ${unit}`,
    `\`${from}\``,
  ]);
  return markdownTable(['', 'cost', 'from'], rows, 1);
}

export function assumptionTable() {
  const rows = Object.entries(assumptions).flatMap(([group, tree]) =>
    'value' in tree
      ? [[tree.about, shown(tree.value, tree.value % 1 ? 3 : 0), `\`${group}\``]]
      : Object.entries(tree).map(([name, { value, about }]) => [
          about,
          value.toLocaleString('en-US', { maximumFractionDigits: 3 }),
          `\`${group}.${name}\``,
        ]),
  );
  return markdownTable(['', '', 'in `assumptions.js`'], rows, 1);
}
