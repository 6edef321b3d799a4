import { describe } from '@jest/globals';
import { helpTests } from './demo/help.js';
import { liveTests } from './demo/live.js';
import { readingTests } from './demo/reading.js';
import { refusalTests } from './demo/refusals.js';
import { talkingTests } from './demo/talking.js';
import { Demo } from './support/demo.js';

const API_KEY = 'a-key-of-the-test';

/** What is written on the page is the users', so its tests share a server and a browser. */
const demo = new Demo({ WORKERS: '1', API_KEY });

describe('the demo page', () => talkingTests(demo));
describe('reading on the demo page', () => readingTests(demo));
describe('the page about own clients', () => helpTests(demo, API_KEY));
describe('the page about slow clients', () => liveTests(demo));
describe('what the demo page says when the server refuses', () => refusalTests(demo));
