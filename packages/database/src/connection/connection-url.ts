/** One PostgreSQL server of a URL. `host` is a name, an address, or the folder of a Unix socket, which begins with a slash. */
export interface ServerHost {
  readonly host: string;
  readonly port: number;
}

/** The parts of a `postgres://…` URL, decoded. A part that is missing or empty is undefined. */
export interface ConnectionUrl {
  /** In the order of the URL. `host` and `port` are undefined if the URL leaves them out. */
  readonly hosts: readonly Partial<ServerHost>[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  /** The parameters of the query that do not name a part of the address. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** The user information ends at the last `@` of the authority. */
const URL_FORM = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const HOST_FORM = /^(?:\[([\da-fA-F:.]+)\]|([^:[\]]*))(?::(\d{0,5}))?$/;
const MAX_PORT = 65_535;

/**
 * Splits a URL into its parts, as libpq does. Returns undefined if it is not a PostgreSQL URL. `URL` of Node and the
 * parser of `pg` accept only one host.
 */
export function splitUrl(url: string): ConnectionUrl | undefined {
  const match = URL_FORM.exec(url);
  if (!match) return undefined;
  const [, userInfo = "", authority = "", path = "", query = ""] = match;
  const parameters = new Map<string, string>();
  for (const pair of query.split("&").filter((text) => text !== "")) {
    const [name, value] = cut(pair, "=");
    parameters.set(decoded(name), decoded(value));
  }
  const [user, password] = cut(userInfo, ":").map(decoded);
  const hosts = hostsOf(parameters, authority);
  if (!hosts) return undefined;
  return {
    hosts,
    user: take(parameters, "user") || user || undefined,
    password: take(parameters, "password") || password || undefined,
    database: take(parameters, "dbname") || decoded(path) || undefined,
    parameters,
  };
}

/** Reads the hosts of the authority, or those of the parameters `host` and `port`, which replace them. */
function hostsOf(parameters: Map<string, string>, authority: string): Partial<ServerHost>[] | undefined {
  const names = take(parameters, "host")?.split(",");
  const ports = take(parameters, "port")?.split(",");
  const written = authority.split(",").map((text) => HOST_FORM.exec(text));
  if (written.some((match) => !match)) return undefined;
  const given = written.map((match) => ({ host: decoded(match![1] ?? match![2]!), port: match![3] }));
  const hosts = names ? names.map((host) => ({ host, port: undefined })) : given;
  // One port counts for all hosts.
  if (ports && ports.length > 1 && ports.length !== hosts.length) return undefined;
  const complete = hosts.map(({ host, port }, index) => ({ host, port: ports?.[index] ?? ports?.[0] ?? port }));
  if (complete.some(({ port }) => port && !isPort(port))) return undefined;
  return complete.map(({ host, port }) => ({ ...(host && { host }), ...(port && { port: Number(port) }) }));
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_PORT;
}

function take(parameters: Map<string, string>, name: string): string | undefined {
  const value = parameters.get(name);
  parameters.delete(name);
  return value;
}

/** Cuts a text at the first separator. The second part is empty if there is none. */
function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** Decodes %XX. A text with a % that does not begin such a code stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
