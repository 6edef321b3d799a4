import gretty from './documents/gretty.js';
import heimdallr from './documents/heimdallr.js';
import kabu from './documents/kabu.js';
import oneToOne from './documents/one-to-one.js';
import reactivePlayground from './documents/reactive-playground.js';

// What the founding documents measured, on their machines and in their years. Only what they state is here.
const byNumber = { 1: heimdallr, 2: oneToOne, 3: kabu, 4: gretty, 5: reactivePlayground };

/**
 * By the name of our benchmark: the document's tables, and, where its cells are ours too, its figures under the keys of
 * our columns, to stand in our table.
 */
export const documents = Object.assign({}, ...Object.values(byNumber).map(({ benchmarks }) => benchmarks));

export const titleOf = (document) => `Document ${document}: ${byNumber[document].title}`;
