// What the pages share to build elements. Texts of users are never parsed as HTML.

export function byId(id) {
  return document.getElementById(id);
}

/** An element with attributes, listeners (functions) and children. An attribute that is undefined or false is left out. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Sets a text only if it has changed, so that a selection stays, and a live region does not repeat itself. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/**
 * Keeps the rows of a table or list in step with the items, without replacing them: focus and selection stay. While the
 * pointer or the focus is on a row, rows do not change places: a click must not hit another one.
 * @param keyOf names the row of an item
 * @param make creates the row of a new item
 * @param update writes an item into its row
 */
export function syncRows(parent, items, keyOf, make, update = () => {}) {
  const known = new Map([...parent.children].map((row) => [row.dataset.key, row]));
  const focused = parent.contains(document.activeElement) ? document.activeElement : undefined;
  const wanted = items.map((item) => [String(keyOf(item)), item]);
  if (parent.matches(':hover, :focus-within')) {
    const order = [...known.keys()];
    const placeOf = ([key]) => (known.has(key) ? order.indexOf(key) : order.length);
    wanted.sort((one, other) => placeOf(one) - placeOf(other));
  }
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
