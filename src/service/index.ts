/**
 * The chat service: one application on the host.
 *
 * It promises: a message that was confirmed is kept, and reaches each member once and in order. What a client sends is checked
 * before it is used, and each user does only what the token allows.
 *
 *   chat/           events, conversations, direct messages, history, state rooms, the demo page's part
 *   accounts/       tokens, and the rights that they grant
 *   api/            the HTTP API
 *
 * Begin with chat/application.ts, which is loaded by each worker, and chat/handlers, which has one function for an event.
 */
export { chatApplication } from './chat/application.js';
