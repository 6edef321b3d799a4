// Keeps the rows of a table or list in step with the data, without replacing them: focus and selection stay.

/**
 * @param parent the element with the rows
 * @param items the data, in order
 * @param keyOf names the row of an item
 * @param make creates the row of a new item
 * @param update writes an item into its row
 */
export function syncRows(parent, items, keyOf, make, update) {
  const known = new Map([...parent.children].map((row) => [row.dataset.key, row]));
  const focused = parent.contains(document.activeElement) ? document.activeElement : undefined;
  const wanted = steady(
    parent,
    items.map((item) => [String(keyOf(item)), item]),
    known,
  );
  const keys = new Set(wanted.map(([key]) => key));
  for (const [key, row] of known) if (!keys.has(key)) row.remove();
  for (const [index, [key, item]] of wanted.entries()) {
    const row = known.get(key) ?? make(item);
    row.dataset.key = key;
    if (parent.children[index] !== row) parent.insertBefore(row, parent.children[index] ?? null);
    update(row, item);
  }
  if (focused?.isConnected && document.activeElement !== focused) focused.focus();
}

/** While the pointer or the focus is on a row, rows do not change places: a click must not hit another one. */
function steady(parent, wanted, known) {
  if (!parent.matches(':hover, :focus-within')) return wanted;
  const order = [...known.keys()];
  const placeOf = ([key]) => (known.has(key) ? order.indexOf(key) : order.length);
  return [...wanted].sort((one, other) => placeOf(one) - placeOf(other));
}

/** An element with text and children. Texts of users are never parsed as HTML. */
export function element(name, { className, text, ...properties } = {}, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

/** Sets a text only if it has changed, so that a selection stays. */
export function write(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** A table row of these cells: `{ name, className }` each. The first one is its header. */
export function rowOf(cells) {
  const row = element('tr');
  for (const [index, { name, className }] of cells.entries()) {
    const cell = element(index === 0 ? 'th' : 'td', { className });
    if (index === 0) cell.scope = 'row';
    cell.dataset.cell = name;
    row.append(cell);
  }
  return row;
}

export function cell(row, name) {
  return row.querySelector(`[data-cell="${name}"]`);
}
