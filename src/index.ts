export { Engine } from './engine/engine.js';
