// Finds the links in a message. A message is text from another user, so only http and https become links.
import { element } from './dom.js';

const ADDRESS = /\bhttps?:\/\/[^\s<>"]+/giu;
/** Marks that end a sentence rather than the address before them. */
const CLOSING = /[.,;:!?'*_)\]}»”’]+$/u;

/** The text as nodes to append: strings, and an anchor for each address. */
export function linkified(text) {
  const nodes = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const address = withoutClosing(found);
    if (!isSafe(address)) continue;
    const attributes = { href: address, target: '_blank', rel: 'noopener noreferrer nofollow' };
    nodes.push(text.slice(end, index), element('a', attributes, address));
    end = index + address.length;
  }
  nodes.push(text.slice(end));
  return nodes;
}

/** Keeps the closing bracket of an address that has the opening one, as in …/Heimdall_(god). */
function withoutClosing(found) {
  const [marks = ''] = CLOSING.exec(found) ?? [];
  const address = found.slice(0, found.length - marks.length);
  return marks.startsWith(')') && address.includes('(') ? `${address})` : address;
}

function isSafe(address) {
  return URL.canParse(address) && ['http:', 'https:'].includes(new URL(address).protocol);
}
