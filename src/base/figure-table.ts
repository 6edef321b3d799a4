/**
 * Every figure that gjallar reports, in one list: docs/operations/metrics.md, the alerts and the dashboard of `deploy/` use
 * these names. The primary adds up what the workers report.
 */
export interface FigureKind {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /**
   * How the values of several workers, and of several parts of one, become one: their sum, the largest or the smallest one.
   * `worker` keeps one for each worker, and `longest` the largest one that each worker has reported since the last scrape.
   */
  readonly rule: 'sum' | 'max' | 'min' | 'worker' | 'longest';
  readonly help: string;
  /** Without the label `worker` of figures of each worker. A histogram has one, to which its values add `le`. */
  readonly labels: readonly string[];
}

type Make = (help: string, ...labels: string[]) => FigureKind;
const counter: Make = (help, ...labels) => ({ type: 'counter', rule: 'sum', help, labels });
const gauge: Make = (help, ...labels) => ({ type: 'gauge', rule: 'sum', help, labels });
const largest: Make = (help, ...labels) => ({ type: 'gauge', rule: 'max', help, labels });
/** 1 while something works in all workers. */
const up: Make = (help, ...labels) => ({ type: 'gauge', rule: 'min', help, labels });
const ofEach = (kind: FigureKind): FigureKind => ({ ...kind, rule: 'worker' });
const longest: Make = (help) => ({ type: 'gauge', rule: 'longest', help, labels: [] });

const list = {
  gjallar_build_info: largest(
    'Always 1; the labels name the versions of gjallar and Node.js, and the sockets: native or portable.',
    ...['version', 'node', 'sockets'],
  ),
  gjallar_worker_up: gauge(
    'Whether the worker answers within a second; 0 means that it is stuck or overloaded.',
    'worker',
  ),
  gjallar_worker_deaths_total: counter('Workers that have died since the start of the server.'),
  gjallar_reloads_total: counter(
    'Reloads since the start of the server, by outcome. An aborted one has kept the old workers.',
    'outcome',
  ),
  gjallar_problem: largest(
    'Always 1: something that is down or degraded at present, with the code and the text of /readyz and of the log.',
    ...['code', 'text'],
  ),

  process_cpu_seconds_total: ofEach(counter('CPU time of all threads of the worker, user and system.')),
  process_open_fds: ofEach(gauge('Open file descriptors of the worker.')),
  process_max_fds: ofEach(gauge('Maximum number of open file descriptors of the worker.')),
  process_resident_memory_bytes: ofEach(gauge('Resident memory of the worker.')),
  nodejs_heap_size_used_bytes: ofEach(gauge('JavaScript heap in use.')),
  nodejs_external_memory_bytes: ofEach(gauge('Memory outside the heap that belongs to JavaScript objects.')),
  nodejs_eventloop_lag_p99_seconds: longest('Delay of timers since the last scrape, 99th percentile.'),
  nodejs_eventloop_lag_max_seconds: longest('Delay of timers since the last scrape, maximum.'),
  gjallar_event_loop_busy_seconds_total: ofEach(
    counter('Time for which the event loop was busy. A rate of 1 means that the worker is saturated.'),
  ),
  gjallar_gc_seconds_total: counter('Time spent in garbage collection, by kind.', 'kind'),
  gjallar_log_lines_dropped_total: counter(
    'Lines of the log that were lost because it could not be written, or not fast enough.',
  ),
  gjallar_unhandled_errors_total: counter(
    'Exceptions and rejections that no handler caught, and failures in the background.',
  ),

  gjallar_clients: gauge(
    'Connected clients, by transport: polling, websocket, or plain for plain WebSockets.',
    'transport',
  ),
  gjallar_namespace_sockets: gauge(
    'Sockets of Socket.IO, by namespace. Those with names over 128 characters, and those after the first 100 of a worker, count together.',
    'namespace',
  ),
  gjallar_connections_opened_total: counter('Connections opened.', 'kind'),
  gjallar_connections_closed_total: counter(
    'Connections closed, by reason: that of Socket.IO, or the close code of a plain WebSocket.',
    ...['kind', 'reason'],
  ),
  gjallar_clients_refused_total: counter('Rejected clients and requests, over all interfaces, by error code.', 'code'),
  gjallar_messages_received_total: counter(
    'Messages received from clients, including the acknowledgements and connects of Socket.IO.',
    'kind',
  ),
  gjallar_messages_over_limit_total: counter('Messages from clients beyond RATE_LIMIT.'),
  gjallar_messages_sent_total: counter('Messages sent to single clients, including replies.'),
  gjallar_broadcasts_total: counter(
    'Messages sent to rooms of all workers. The worker that sends a message counts it, once. Messages that a history keeps count as its calls.',
  ),
  gjallar_calls_dropped_total: counter('Broadcasts and the like that named more rooms than maxRoomsPerCall.'),
  gjallar_deliveries_total: counter('Deliveries of broadcasts: one per member that a topic reaches.'),
  gjallar_floods_total: counter(
    'Clients disconnected because they sent more in one turn of the event loop than the worker can handle.',
    'kind',
  ),
  gjallar_connections_open: gauge('Open connections on the port, HTTP and WebSockets.'),
  gjallar_connections_turned_away_total: counter(
    'Connections closed at once because the worker was about to run out of file descriptors.',
  ),
  gjallar_buffered_bytes: gauge('Bytes that wait for slow clients, all together.'),
  gjallar_incoming_bytes: gauge(
    'Memory of what came in and waits: incomplete packets and bodies, and messages not handled yet.',
  ),
  gjallar_buffered_closed_total: counter(
    'What MAX_BUFFERED has ended: clients for which too many bytes waited (out), and incomplete packets and bodies (in).',
    'direction',
  ),
  gjallar_load_level: largest(
    'What gives way: 0 nothing, 1 volatile messages, 2 new clients, 3 new messages too. The highest of the workers.',
  ),

  gjallar_bus_up: up('Whether the bus of all workers is up.', 'bus'),
  gjallar_bus_messages_total: counter('Messages to other workers that were sent in frames.'),
  gjallar_bus_frames_total: counter('Frames that carried them: one for each destination and window.'),
  gjallar_bus_gaps_total: counter(
    'How often frames of another worker were missing or did not continue, or it or its rooms were heard of late, so that messages may be missing.',
  ),
  gjallar_bus_outages_total: counter('Outages of the bus, counted by each worker.'),
  gjallar_bus_unsent_total: counter(
    'Messages to other workers that were dropped because the bus was down or too slow.',
  ),
  gjallar_bus_pending_bytes: gauge('Bytes sent to the bus that it has not confirmed yet.'),
  gjallar_bus_malformed_total: counter(
    'Messages from other workers and machines that were dropped because they were malformed, by source.',
    'source',
  ),
  gjallar_mesh_pending_bytes: gauge(
    'Bytes that other workers of this machine have not read yet. They grow when a worker is stuck.',
  ),
  gjallar_relay_up: up('Whether all workers can pass requests on to other machines.'),
  gjallar_relayed_requests_total: counter(
    'Requests and WebSockets passed on to the worker with their session, by where it is: worker (of this machine) or machine.',
    'to',
  ),
  gjallar_relayed_connections: gauge(
    'Requests and WebSockets whose session is on another worker, by where it is: worker or machine.',
    'to',
  ),
  gjallar_relay_moved_sessions_total: counter(
    'Sessions that moved because their WebSocket reached another worker, by where they were: worker or machine.',
    'from',
  ),

  gjallar_recovery_kept: largest(
    'What the machine keeps for connection state recovery: packets, or sessions of disconnected clients.',
    'kind',
  ),
  gjallar_recovery_dropped_total: {
    ...counter('Packets and sessions that the machine dropped before their time because a bound was reached.', 'kind'),
    // Every worker reports those of the machine.
    rule: 'max',
  },
  gjallar_recovery_attempts_total: counter(
    'Clients that tried to recover their session, by result. All but "recovered" got a new session.',
    'result',
  ),

  gjallar_state_bytes: largest('Bytes of the keys and values in state rooms, of the worker with the most.'),
  gjallar_state_fullness_ratio: largest('Share of maxKeys or maxBytes that is in use, in the fullest state room.'),
  gjallar_state_members: gauge('Members of state rooms.'),
  gjallar_state_members_behind_long: gauge(
    'Members of state rooms without a pace that have been behind for more than 30 s.',
  ),
  gjallar_state_changes_total: counter('Changes in state rooms, counted by each worker that has the room.'),
  gjallar_state_unstored: gauge('Keys in state rooms that workers have changed, and that are not in Redis yet.'),
  gjallar_state_store_up: up('1 if state rooms with store: "redis" can be stored in Redis, 0 if not.'),
  gjallar_state_store_losses_total: counter('How often a state room found that Redis had lost what it had.'),

  gjallar_chat_messages_total: counter('Messages posted over any interface; with a history, only stored ones.', 'kind'),
  gjallar_chat_failures_total: counter('Failed events of clients, by error code.', 'code'),
  gjallar_history_seconds: {
    type: 'histogram',
    rule: 'sum',
    help: 'How long the history took to keep messages (append) or to read a page (read).',
    labels: ['call'],
  },
  gjallar_history_failures_total: counter('Calls of the history that failed, by the code of the error.', 'code'),
  gjallar_history_bytes: largest('Bytes of messages that DATA_DIR holds. Not with Redis.'),
  gjallar_history_trimmed_total: counter(
    'Messages that were removed: older than HISTORY_TTL (age), or beyond HISTORY_MAX_BYTES (size).',
    'reason',
  ),
  gjallar_history_incomplete_total: counter(
    'Pages that lack messages after the position of the reader: lost, or trimmed.',
    'reason',
  ),
  gjallar_history_losses_total: counter(
    'How often a worker has found that the history lacks messages of a conversation that it had delivered.',
  ),
  gjallar_archive_lag_seconds: largest('Age of the oldest message that waits to be archived.'),
  gjallar_archive_messages_total: counter('Messages that were written to the archive.'),
  gjallar_durable_up: up('1 if messages of durable rooms can be stored and read, 0 if not.'),
} as const satisfies Record<string, FigureKind>;

export type FigureName = keyof typeof list;

/** By name, in the order of the metrics. */
export const figureKinds: Readonly<Record<FigureName, FigureKind>> = list;
