// Builds the elements of messages: bubbles, times, days, and who joined or left.
import { linkified } from './links.js';
import { avatar, element, nameNode, painted } from './view.js';

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const dayName = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const fullDate = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' });

const itemStates = { waiting: 'Waiting for the connection', sending: 'Sending…', sent: '', failed: 'Not sent' };

const DELETED = 'This message was deleted.';

export function messageNode({ from, text, at, deleted }, own, names) {
  const time = element('time', { datetime: new Date(at).toISOString(), title: fullDate.format(at) }, clock.format(at));
  const sender = own ? element('bdi', { class: 'sender sr-only' }, 'You') : nameNode(from, names, 'sender');
  const heading = element('p', { class: 'heading' }, sender, ' ', time);
  const content = element('p', { class: 'text', dir: 'auto' }, ...linkified(text));
  const bubble = element('div', { class: 'bubble' }, heading, content);
  const node = painted(element('li', { class: own ? 'message own' : 'message' }, bubble), from);
  if (!own) node.prepend(avatar(from, names.get(from)));
  if (deleted) showDeleted(node);
  return node;
}

/** Shows that a message was deleted. */
export function showDeleted(node) {
  node.querySelector('.text').replaceChildren(DELETED);
}

/** Shows another user's message under the name that `names` has for it now. */
export function renameSender(node, { from }, names) {
  node.querySelector('.sender').replaceWith(nameNode(from, names, 'sender'));
  node.querySelector('.avatar').replaceWith(avatar(from, names.get(from)));
}

/**
 * A message that is not sent yet, with the buttons that its state allows: `actions` has retry(id), edit(id) and
 * discard(id).
 */
export function outgoingNode(item, actions) {
  const failed = item.state === 'failed';
  const status = failed ? `${itemStates.failed}: ${item.problem}` : itemStates[item.state];
  const node = element(
    'li',
    { class: 'message own outgoing', 'data-state': item.state, 'data-id': String(item.id) },
    element('div', { class: 'bubble' }, element('p', { class: 'text', dir: 'auto' }, item.text)),
  );
  if (status) node.append(element('p', { class: 'item-status' }, status));
  if (failed) {
    const again = item.final
      ? button('Edit', () => actions.edit(item.id))
      : button('Try again', () => actions.retry(item.id));
    const discard = button('Discard', () => actions.discard(item.id));
    node.append(element('p', { class: 'item-actions' }, again, discard));
  }
  return node;
}

function button(label, action) {
  const node = element('button', { type: 'button', class: 'quiet' }, label);
  node.addEventListener('click', action);
  return node;
}

export function dayOf(at) {
  return new Date(at).toDateString();
}

export function dayLabel(at) {
  if (dayOf(at) === dayOf(Date.now())) return 'Today';
  const yesterday = new Date();
  yesterday.setDate(yesterday.getDate() - 1);
  return dayOf(at) === yesterday.toDateString() ? 'Yesterday' : dayName.format(at);
}

/** Formats who joined and who left, from a map of users to `joined` or `left`. */
export function presenceText(changes, names) {
  return ['joined', 'left']
    .map((what) => [
      [...changes].filter(([, change]) => change === what).map(([user]) => names.get(user) ?? user),
      what,
    ])
    .filter(([users]) => users.length > 0)
    .map(([users, what]) => `${nameList(users)} ${what}`)
    .join(' · ');
}

function nameList(names) {
  if (names.length > 4) return `${names.slice(0, 3).join(', ')} and ${names.length - 3} others`;
  if (names.length === 1) return names[0];
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
