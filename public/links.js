// Finds the links in a message. A message is text from another user, so only http and https become links.
import { element } from './dom.js';

/** An address ends before a mark that ends a sentence, and has both brackets or none, as in …/Heimdall_(god). */
const ADDRESS = /\bhttps?:\/\/(?:\([^\s<>"()]*\)|[^\s<>"()])*(?:\([^\s<>"()]*\)|[^\s<>"().,;:!?'*_\]}»”’])/giu;

/** The text as nodes to append: strings, and an anchor for each address. */
export function linkified(text) {
  const nodes = [];
  let end = 0;
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    const attributes = { href: address, target: '_blank', rel: 'noopener noreferrer nofollow' };
    nodes.push(text.slice(end, index), element('a', attributes, address));
    end = index + address.length;
  }
  return [...nodes, text.slice(end)];
}
