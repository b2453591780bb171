import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions, getCACertificates, type TLSSocket } from "node:tls";
import { type buildConnector, errors } from "undici";
import { errnoOf } from "./name-resolution.ts";
import { TlsError } from "./tls-failure.ts";

/** The time limit of an attempt to connect. The attempt may outlast the request that started it. */
const CONNECT_TIMEOUT_MS = 10_000;
/**
 * For a host with several addresses: how long one attempt to connect runs before an attempt with the next address starts
 * as well. Node's default of 250 ms is too short for distant hosts.
 */
const NEXT_ADDRESS_AFTER_MS = 1_000;
const TCP_KEEP_ALIVE_AFTER_MS = 60_000;
/** The number of hosts whose TLS session is kept, so that the next handshake is shorter. */
const MAX_SESSIONS = 100;

/** What happens with a socket, for a diagnosis of its errors. */
export interface SocketWatch {
  /** Called when undici reads the first bytes of an answer. */
  noteAnswer(): void;
}

/** A socket that is connected, over TLS for https. */
export interface OpenedSocket {
  readonly socket: Socket;
  readonly watch: SocketWatch;
}

/** Called with an open socket, or with the error of an attempt to connect. */
type OnOpened = (...outcome: [error: Error, opened: null] | [error: null, opened: OpenedSocket]) => void;

/** Opens sockets with undici's targets. */
export type OpenSocket = (target: buildConnector.Options, onOpened: OnOpened) => void;

/**
 * Makes a function that opens sockets, with TLS for https. Undici's own connector does the same, but does not show the
 * sockets whose handshake fails.
 */
export function createSocketOpener(lookup: LookupFunction, ca: string | undefined): OpenSocket {
  const sessions = new Map<string, Buffer>();
  const trusted = ca === undefined ? {} : { ca: [...getCACertificates("default"), ca] };
  return function open(target, onOpened) {
    const isTls = target.protocol === "https:";
    const address = {
      host: target.hostname,
      port: target.port === "" ? (isTls ? 443 : 80) : Number(target.port),
      lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    };
    const socket = isTls ? openTls({ ...address, ...trusted }, sessions) : connectTcp(address);
    const watch = watchSocket(socket, isTls);
    socket.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_AFTER_MS);
    const timer = setTimeout(() => {
      socket.destroy(new errors.ConnectTimeoutError(`no connection within ${CONNECT_TIMEOUT_MS} ms`));
    }, CONNECT_TIMEOUT_MS);
    let isOpen = false;
    socket.once(isTls ? "secureConnect" : "connect", () => {
      clearTimeout(timer);
      isOpen = true;
      watch.noteOpen();
      onOpened(null, { socket, watch });
    });
    socket.on("error", (error) => {
      clearTimeout(timer);
      if (!isOpen) onOpened(asTimeout(error), null);
    });
  };
}

type TlsAddress = ConnectionOptions & { host: string; port: number };

function openTls(address: TlsAddress, sessions: Map<string, Buffer>): TLSSocket {
  const { host, port } = address;
  const key = `${host}:${port}`;
  const session = sessions.get(key);
  const socket = connectTls({
    ...address,
    servername: isIP(host) === 0 ? host : "",
    // HTTP/2 is switched off, because it resends requests when a connection is lost. Only the caller may send a request
    // again.
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: true,
    ...(session && { session }),
  });
  socket.on("session", (newest) => {
    sessions.delete(key);
    sessions.set(key, newest);
    if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value!);
  });
  return socket;
}

/**
 * Turns errors of TLS into `TlsError`. If the server has asked for a client certificate and then fails before its first
 * answer, the missing certificate is the reason, whether the server sends an alert, closes or resets the connection.
 */
function watchSocket(socket: Socket, isTls: boolean): SocketWatch & { noteOpen(): void } {
  let isConnected = false;
  let isOpen = false;
  let hasAnswered = false;
  socket.once("connect", () => (isConnected = true));
  if (isTls) {
    const destroy = socket.destroy.bind(socket);
    socket.destroy = (error?: Error) => destroy(error && explained(error));
  }
  return {
    noteOpen: () => (isOpen = true),
    noteAnswer: () => (hasAnswered = true),
  };

  function explained(error: Error): Error {
    if (!isConnected || hasAnswered || isOurs(error)) return error;
    const asksForCertificate = hasAskedForCertificate(socket as TLSSocket);
    if (asksForCertificate) return new TlsError(error, { asksForCertificate });
    return isOpen || "syscall" in error ? error : new TlsError(error, { asksForCertificate });
  }
}

/** Returns whether undici or this package has ended the connection, and not the server. */
function isOurs(error: Error): boolean {
  return error instanceof errors.UndiciError && !(error instanceof errors.SocketError);
}

/**
 * Returns whether the server has sent a CertificateRequest. Node does not report it. But a client knows signature
 * algorithms of the server only from this message.
 */
function hasAskedForCertificate(socket: TLSSocket): boolean {
  const algorithms = socket.getSharedSigalgs() as string[] | null;
  return algorithms !== null && algorithms.length > 0;
}

/** If several addresses were tried and one of them did not answer in time, the error is a timeout. */
function asTimeout(error: Error): Error {
  const isLate = error instanceof AggregateError && error.errors.some((one) => errnoOf(one) === "ETIMEDOUT");
  return isLate ? new errors.ConnectTimeoutError(error.message) : error;
}
