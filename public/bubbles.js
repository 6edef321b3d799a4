// Builds the elements of messages: bubbles, times, days, and who joined or left.
import { element } from './dom.js';
import { linkified } from './links.js';
import { avatar, nameNode, painted } from './view.js';

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const dayName = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const fullDate = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' });

const itemStates = { waiting: 'Waiting for the connection', sending: 'Sending…', sent: '', failed: 'Not sent' };

const DELETED = 'This message was deleted.';

/** A message of an entry of the list. `actions`: see MessageList. */
export function messageNode({ message, own, namesake }, names, actions) {
  const { from, to, text, at, deleted } = message;
  const time = element('time', { datetime: new Date(at).toISOString(), title: fullDate.format(at) }, clock.format(at));
  const sender = own ? element('bdi', { class: 'sender sr-only' }, 'You') : nameNode(from, names, 'sender');
  const heading = element('p', { class: 'heading' }, sender, ' ', time);
  // Another client with the name of this one.
  if (namesake) sender.after(element('span', { title: 'Another client with your name' }, '(2)'));
  if (to && own) heading.prepend(element('span', {}, 'only to ', nameNode(to, names, '')));
  else if (to)
    heading.append(
      element('span', {}, 'only to you'),
      button('Reply', () => actions.reply(from)),
    );
  const content = element('p', { class: 'text', dir: 'auto' }, ...linkified(text));
  const bubble = element('div', { class: 'bubble' }, heading, content);
  const node = painted(element('li', { class: `message ${own ? 'own' : ''} ${to ? 'direct' : ''}` }, bubble), from);
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

/** A message that is not sent yet, with the buttons that its state allows. `actions`: see MessageList. */
export function outgoingNode(item, actions) {
  const failed = item.state === 'failed';
  const status = failed ? `${itemStates.failed}: ${item.problem}` : itemStates[item.state];
  const node = element(
    'li',
    { class: `message own outgoing ${item.to ? 'direct' : ''}`, 'data-state': item.state },
    element('div', { class: 'bubble' }, element('p', { class: 'text', dir: 'auto' }, item.text)),
  );
  if (status) node.append(element('p', { class: 'item-status' }, status));
  if (failed) {
    const again = item.final
      ? button('Edit', () => actions.edit(item.id))
      : button('Try again', () => actions.retry(item.id));
    const discard = button('Discard', () => actions.take(item.id));
    node.append(element('p', { class: 'item-actions' }, again, discard));
  }
  return node;
}

function button(label, click) {
  return element('button', { type: 'button', class: 'quiet', click }, label);
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
  const text = (what) => {
    const users = [...changes].filter(([, change]) => change === what).map(([user]) => names.get(user) ?? user);
    return users.length > 0 && `${nameList(users)} ${what}`;
  };
  return ['joined', 'left'].map(text).filter(Boolean).join(' · ');
}

function nameList(names) {
  if (names.length > 4) return `${names.slice(0, 3).join(', ')} and ${names.length - 3} others`;
  if (names.length === 1) return names[0];
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
