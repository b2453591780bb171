/** The parts of a request target. */
export interface RequestTarget {
  /** The path with its percent-encoding and its query string, from the first slash. */
  readonly path: string;
  /** The host and port of a target that is a whole URL. */
  readonly host?: string;
}

/**
 * Reads the target of a request line. Some proxies send a whole URL there (`GET http://host/path HTTP/1.1`), which a
 * server must accept (RFC 9112, 3.2.2). Only the path of such a target is signed. contract: Signature
 *
 * @example
 * readRequestTarget("/hooks?from=us"); // { path: "/hooks?from=us" }
 * readRequestTarget("http://lender.example/hooks"); // { path: "/hooks", host: "lender.example" }
 */
export function readRequestTarget(target: string): RequestTarget {
  const [, authority, rest] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(target) ?? [];
  if (authority === undefined || rest === undefined) return { path: target };
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  return { path: rest.startsWith("/") ? rest : `/${rest}`, host };
}
