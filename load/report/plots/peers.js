// The same colour for a peer in every plot. They differ in lightness too, and stand out from white and from black.
const colours = {
  gjallar: '#e8590c',
  'gjallar-portable': '#f2a65a',
  'socketio-ws': '#1c7ed6',
  'socketio-uws': '#9c6ade',
  uws: '#2b9348',
  gorilla: '#00a3a3',
  netty: '#d6336c',
  tungstenite: '#a9745b',
  'ws-cluster': '#b8860b',
};

const brands = { gjallar: colours.gjallar, socketio: colours['socketio-ws'] };
const other = '#868e96';

/** @param {string} peer its name; one that is a variant of a peer, such as a number of nodes, has that one's colour */
export const colourOf = (peer) => colours[peer] ?? brands[peer.split('-')[0]] ?? other;
