/** What the server agrees to: no message depends on an earlier one, so that a broadcast is compressed once. */
export const DEFLATE = 'permessage-deflate; server_no_context_takeover; client_no_context_takeover';

/** Without a value, a client lets the server choose its window. Any window that a client may use can be read. */
const PARAMETER =
  /^(?:(?:server|client)_no_context_takeover|client_max_window_bits(?:="?(?:8|9|1[0-5])"?)?|server_max_window_bits="?15"?)$/;

/** Whether a client has offered a compression that the server can use. Source: RFC 7692, sections 5 and 7.1. */
export function acceptsDeflate(offers: string | undefined): boolean {
  if (!offers) return false;
  return offers.split(',').some((offer) => {
    const [name, ...parameters] = offer.split(';').map((part) => part.trim().replace(/\s*=\s*/, '='));
    const names = parameters.map((parameter) => parameter.split('=', 1)[0]);
    return (
      name === 'permessage-deflate' &&
      new Set(names).size === names.length &&
      parameters.every((parameter) => PARAMETER.test(parameter))
    );
  });
}
