import { connect as connectTcp, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { detailOf } from "../stand-in/exchange.ts";

/** Thrown if no connection to a URL's host is possible. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
  readonly code = "UNREACHABLE";
}

/** Checks that the host of a URL accepts a connection, over TLS for https. Throws UnreachableError. */
export function reach(option: string, url: URL, timeoutMs: number): Promise<void> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isTls = url.protocol === "https:";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  return new Promise((resolve, reject) => {
    const refuse = (why: string) =>
      reject(new UnreachableError(`--${option}: ${host} port ${port} cannot be reached: ${why}.`));
    const socket = isTls
      ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }) })
      : connectTcp({ host, port });
    socket.setTimeout(timeoutMs, () => {
      refuse(`no connection within ${timeoutMs} ms`);
      socket.destroy();
    });
    socket.once("error", (error) => refuse(detailOf(error)));
    socket.once(isTls ? "secureConnect" : "connect", () => {
      resolve();
      socket.destroy();
    });
  });
}
