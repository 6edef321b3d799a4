/** All types of envelopes and of frames. The names on the right say what the body is. */
export const types = {
  // Links between the processes of a machine: nothing
  hello: 0,
  welcome: 1,

  // Hub
  /** Workers of the sender's machine are there: numbers. */
  here: 8,
  /** Workers of the sender's machine are gone: numbers. */
  gone: 9,
  /** The state of the hub: JSON. */
  status: 10,
  /** For or from a service of the hub: what the service says. */
  service: 11,

  // Frames of hubs and emitters, see `hub/hub-frame.ts`
  greeting: 16,
  frame: 17,
  /** A frame of the receiver's series is missing. Its series is that of the receiver. */
  reset: 18,
  /** The sender ends. */
  bye: 19,
  emitted: 20,

  // Rooms of the worker or machine that it comes from: numbers
  /** Rooms that the sender has members of from now on: since when on the receiver's clock, and their keys. */
  added: 24,
  /** Rooms that the sender has no members of any more. */
  removed: 25,
  /** All rooms that the sender has members of. */
  rooms: 26,
  /** Asks for a pong with the same number, once all envelopes before it are handled. */
  ping: 27,
  pong: 28,

  // Between the servers of an application
  /** A broadcast that is already encoded for clients, see `wire/broadcast.ts`. */
  broadcast: 32,
  // The others have values, see `wire/message.ts`.
  /** The sender has the namespace, and asks who else has it. */
  greet: 33,
  greeted: 34,
  /** The sender has the namespace no longer. */
  leave: 35,
  socketsJoin: 36,
  socketsLeave: 37,
  disconnectSockets: 38,
  fetchSockets: 39,
  fetchedSockets: 40,
  serverSideEmit: 41,
  serverSideAnswer: 42,
  /** A broadcast whose clients answer. */
  question: 43,
  /** How many clients have got it. */
  clientCount: 44,
  clientAnswer: 45,

  // Relay, see `relay/messages.ts`
  /** receiver → owner: RelayedRequest, then the body */
  request: 64,
  /** receiver → owner: RelayedRequest */
  upgrade: 65,
  /** receiver → owner: the client disconnected before it was answered */
  abort: 66,
  /** owner → receiver: RelayedResponse, then the body */
  response: 67,
  /** owner → receiver: cut the connection off */
  destroy: 68,
  /** owner → receiver: ResponseHeaders of the 101 */
  accept: 69,
  /** owner → receiver: a WebSocket message for the client */
  text: 70,
  binary: 71,
  compressedText: 72,
  compressedBinary: 73,
  /** owner → receiver: close the connection gracefully */
  end: 74,
  /** receiver → owner: a WebSocket message from the client */
  clientText: 75,
  clientBinary: 76,
  /** receiver → owner: RelayedClose */
  closed: 77,
  /** receiver → owner: RelayedProgress */
  progress: 78,
  /** owner → receiver: a MovingSession as a structured clone: the session moves to the worker that its WebSocket is on */
  move: 79,
  /** new owner → old owner: the session's id; no more requests for it are expected */
  noMoreRequests: 80,
  /** receiver → owner: the receiver is stopping, so answer the request now */
  answerNow: 81,
  /** receiver → owner: more than `maxBackpressure` bytes wait for the client */
  overflow: 82,
  /** receiver → owner: the response to a POST is written */
  written: 83,
  /** owner → receiver: dismiss the client, which should reconnect */
  dismiss: 84,
  /** replaced worker → its successor: a session on polling that the application knows, which goes on there */
  handOver: 85,
  /** successor → replaced worker: RelayedArrival */
  arrived: 86,
  /** replaced worker → its successor: sessions that are about to go on there, as a structured clone */
  prepare: 87,
  /** successor → replaced worker: the number of the preparation; what is sent to these clients alone comes there, too */
  prepared: 88,
} as const;

/** Whether an envelope is about the rooms of the worker or machine that it comes from. */
export const isOfInterest = (type: number): boolean => type >= types.added && type <= types.pong;

/** Whether an application has sent it. */
export const isOfApplication = (type: number): boolean => type >= types.broadcast && type < types.request;

/** Whether it is for the relay. */
export const isRelayed = (type: number): boolean => type >= types.request;
