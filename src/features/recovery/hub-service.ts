import { serviceInHub } from '../hub-link.js';
import { Keeper } from './keeper/keeper.js';
import { codec } from './messages.js';

/** The keeper as a service of the hub. */
export const openHubService = serviceInHub((host) => new Keeper(host), codec(), codec());
