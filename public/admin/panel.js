// Tables: a row for each item, which stays while its item does.

import { ask } from './actions.js';
import { byId, element, syncRows, write } from './dom.js';

/**
 * Makes a panel with a table. A column has a label, a tooltip and a class, and `text`, which is written again with each item, or `make`,
 * which creates the nodes of a cell once.
 * @returns a function that shows items
 */
export function panel(id, title, keyOf, columns, update = () => {}) {
  const heads = columns.map(({ label, hidden, name, tip }) =>
    element(
      'th',
      { scope: 'col', class: name, title: tip },
      hidden ? element('span', { class: 'sr-only' }, label) : label,
    ),
  );
  const body = element('tbody');
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...heads)), body);
  const heading = element('h2', { id: `${id}-title` }, title);
  const scroll = { class: 'scroll', tabindex: '0', 'aria-labelledby': heading.id };
  byId(id).prepend(heading);
  (byId(id).querySelector('form') ?? heading).after(element('section', scroll, table));
  const cellOf = ({ name, make }, item, index) => {
    const cell = element(index === 0 ? 'th' : 'td', { class: name, scope: index === 0 && 'row' });
    if (make) cell.append(...make(item).filter(Boolean));
    return cell;
  };
  const make = (item) => element('tr', {}, ...columns.map((column, index) => cellOf(column, item, index)));
  return (items) =>
    syncRows(body, items, keyOf, make, (row, item) => {
      for (const [index, { text }] of columns.entries()) if (text) write(row.cells[index], text(item));
      update(row, item);
    });
}

/** @param tip explains the figure */
export const number = (label, text, name = '', tip) => ({ label, name: `number ${name}`.trim(), text, tip });
export const wide = (label, text, tip) => number(label, text, 'wide', tip);

/** @param label names the button without its row */
export function button(text, label, click) {
  return element('button', { type: 'button', class: 'small', 'aria-label': label, click }, text);
}

export const action = (text, target, name, body) => button(text, `${text} ${target}`, () => ask(name, body));

export const named = (label, make) => ({ label, name: 'name', make });
export const actions = (make) => ({ label: 'Action', hidden: true, name: 'action-cell', make });
