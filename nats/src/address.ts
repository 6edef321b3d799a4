/** A server of NATS. */
export interface NatsHost {
  /** Without the brackets of an IPv6 address. */
  hostname: string;
  port: number;
}

/** What the parts of a URL mean. */
export interface NatsLogin {
  hosts: NatsHost[];
  /** Whether the connection must be encrypted. It also is if the server requires or offers that. */
  isSecure: boolean;
  user?: string;
  pass?: string;
  token?: string;
}

const DEFAULT_PORT = 4222;

/**
 * Reads the URLs of NATS_URL: `nats://` or `tls://`, `[user:password@]` or `[token@]`, host and port.
 * @returns undefined if one is malformed, or if they differ in more than the host
 */
export function readNatsUrls(list: string): NatsLogin | undefined {
  const logins = list.split(',').map((url) => readNatsUrl(url.trim()));
  const [first] = logins;
  if (!first) return undefined;
  const hosts: NatsHost[] = [];
  for (const login of logins) {
    if (!login || signature(login) !== signature(first)) return undefined;
    hosts.push(...login.hosts);
  }
  return { ...first, hosts };
}

const signature = ({ hosts: _, ...login }: NatsLogin): string => JSON.stringify(login);

function readNatsUrl(text: string): NatsLogin | undefined {
  if (!/^(nats|tls):\/\//.test(text) || !URL.canParse(text)) return undefined;
  // The host of a URL with an unknown scheme is not normalised.
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  if (!hostname || (pathname !== '' && pathname !== '/') || search || hash) return undefined;
  const host = { hostname: hostname.replace(/^\[|\]$/g, ''), port: port ? Number(port) : DEFAULT_PORT };
  try {
    const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
    const login = { hosts: [host], isSecure: protocol === 'tls:' };
    if (!user) return pass ? undefined : login;
    return pass ? { ...login, user, pass } : { ...login, token: user };
  } catch {
    return undefined;
  }
}

/** The host and the port, as the client library and messages write them. */
export function hostAndPort({ hostname, port }: NatsHost): string {
  return hostname.includes(':') ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

/** The subject of a channel. Rights are given by the parts of a subject, so `gjallar.>` includes all of them. */
export const subjectOf = (channel: string): string => channel.replaceAll(':', '.');
