import { request } from '../../harness/connection.js';

// Sessions as they were recorded: what a client sent, and what each answer must be. $ROOM, $TOKEN and $KEY differ with each run.

const OK = (id) => new RegExp(`^43${id}\\[\\{"ok":true`);
const TEXT = 'grüße 😀';

const chat = [
  ['40/nowhere,{}', /^44\/nowhere,\{"message":"Invalid namespace"/],
  ['40{"token":"x.y.z"}', /^44\{.*"code":"TOKEN_INVALID"/],
  ['40{"token":"$TOKEN"}', /^40\{"sid":/],
  ['421["join","$ROOM"]', OK(1)],
  [`422["message",{"room":"$ROOM","text":"${TEXT}"}]`, OK(2)],
  ['423["history",{"room":"$ROOM","limit":10}]', new RegExp(`^433\\[\\{"ok":true.*"text":"${TEXT}"`)],
  ['424["who","$ROOM"]', OK(4)],
  ['425["direct",{"to":"nobody","text":"hello"}]', OK(5)],
  ['426["echo",{"a":[1,-0.5,"ü",null,true]}]', /^436\[\{"a":\[1,-0\.5,"ü",null,true\]\}\]$/],
  ['451-7["echo",{"_placeholder":true,"num":0}]'],
  ['bAQID', /^461-7\[\{"_placeholder":true,"num":0\}\]$/],
  ['428["message",{"room":"$ROOM elsewhere","text":"x"}]', /^438\[\{"ok":false,.*"code":"NOT_IN_ROOM"/],
  ['429["token","x.y.z"]', /^439\[\{"ok":false,.*"code":"TOKEN_INVALID"/],
  ['4210["leave","$ROOM"]', OK(10)],
];

const messages = '/api/rooms/$ROOM/messages';
const key = { Authorization: 'Bearer $KEY' };
const chunks = `POST ${messages} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $KEY\r\nTransfer-Encoding: chunked\r\n\r\n`;

/** Requests, each as it is on the wire. */
const http = [
  [request('GET', '/'), /^200 <!doctype html/i],
  [request('GET', '/healthz'), /^200 /],
  [request('GET', '/nothing.js'), /^404 /],
  [request('POST', messages, { ...key, 'Idempotency-Key': '$ROOM' }, '{"text":"a","from":"ann"}'), /^200 .*"ok":true/],
  [request('POST', messages, key, '{"messages":[{"text":"b"},{"text":"c"}]}'), /^200 .*"ok":true/],
  [request('POST', messages, { Authorization: 'Bearer wrong' }, '{"text":"a"}'), /^401 /],
  [request('POST', messages, key, '{"text":""}'), /^400 .*"code":"BAD_TEXT"/],
  [request('GET', `${messages}?after=0&limit=5`, key), /^200 .*"text":"a".*"text":"c"/],
  [request('PATCH', messages), /^405 .*"code":"METHOD_NOT_ALLOWED"/],
  [request('GET', '/socket.io/?EIO=4&transport=polling&sid=1.x'), /^400 .*"code":1/],
  [request('GET', '/socket.io/?EIO=4&transport=carrier'), /^400 .*"code":0/],
  [`${chunks}5\r\n{"tex\r\n7\r\nt":"d"}\r\n0\r\n\r\n`, /^200 .*"ok":true/],
].map(([bytes, want]) => [bytes.toString('latin1'), want]);

/** By name: over which wire (see play.js), and pairs of what is sent and what the answer must match. */
export const recordings = {
  websocket: { wire: 'websocket', steps: chat },
  polling: { wire: 'polling', steps: chat },
  upgrade: { wire: 'upgrade', steps: [['2probe', /^3probe$/], ['5'], ...chat.slice(2, 9)] },
  plain: { wire: 'plain', steps: [TEXT, 'x'.repeat(10_000), '{}'].map((text) => [text, new RegExp(`^${text}$`)]) },
  http: { wire: 'http', steps: http },
};
