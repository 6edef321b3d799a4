// Builds the elements of messages: bubbles, times and days.
import { element } from './dom.js';
import { linkified } from './links.js';
import { avatar, nameNode, painted } from './view.js';

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const dayName = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const fullDate = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' });

/** A message of an entry of the list. */
export function messageNode({ message, own, namesake }, names) {
  const { from, to, text, at } = message;
  const time = element('time', { datetime: new Date(at).toISOString(), title: fullDate.format(at) }, clock.format(at));
  const sender = own ? element('bdi', { class: 'sender sr-only' }, 'You') : nameNode(from, names, 'sender');
  const heading = element('p', { class: 'heading' }, sender, ' ', time);
  // Another client with the name of this one.
  if (namesake)
    sender.after(' ', element('span', { class: 'shared', title: 'Another client with your name' }, 'not you'));
  if (to) heading.append(element('span', { class: 'sr-only' }, own ? `only to ${names.get(to) ?? to}` : 'only to you'));
  const content = element('p', { class: 'text', dir: 'auto' }, ...linkified(text));
  const bubble = element('div', { class: 'bubble' }, heading, content);
  const node = painted(element('li', { class: `message ${own ? 'own' : ''} ${to ? 'direct' : ''}` }, bubble), from);
  if (!own) node.prepend(avatar(from, names.get(from)));
  return node;
}

/** Shows another user's message under the name that `names` has for it now. */
export function renameSender(node, { from }, names) {
  node.querySelector('.sender').replaceWith(nameNode(from, names, 'sender'));
  node.querySelector('.avatar').replaceWith(avatar(from, names.get(from)));
}

/** A message that is not sent yet, with the buttons that its state allows. `actions`: see MessageList. */
export function outgoingNode(item, actions) {
  const failed = item.state === 'failed';
  const status = { waiting: 'Waiting for the connection', failed: `Not sent: ${item.problem}` }[item.state];
  const node = element(
    'li',
    { class: `message own outgoing ${item.to ? 'direct' : ''}`, 'data-state': item.state },
    element('div', { class: 'bubble' }, element('p', { class: 'text', dir: 'auto' }, item.text)),
  );
  if (status) node.append(element('p', { class: 'item-status' }, status));
  if (failed) {
    const again = item.final
      ? button('Edit', () => actions.edit(item))
      : button('Try again', () => actions.retry(item));
    const discard = button('Discard', () => actions.take(item));
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
  return dayOf(at) === dayOf(Date.now()) ? 'Today' : dayName.format(at);
}
