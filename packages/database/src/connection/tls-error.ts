import { sqlState } from "../sql/sql-state.ts";
import type { ServerHost } from "./connection-url.ts";
import type { TlsSettings } from "./tls-settings.ts";

/** The TLS of a connection failed, or the server demands it. The message says what to do. */
export class DatabaseTlsError extends Error {
  override readonly name = "DatabaseTlsError";
  readonly code = "DATABASE_TLS";
}

/** Codes of Node and OpenSSL for certificates that are not accepted, and for handshakes that fail. */
const UNTRUSTED = /^(UNABLE_TO_(GET_ISSUER|VERIFY)|SELF_SIGNED|DEPTH_ZERO|CERT_(UNTRUSTED|SIGNATURE)|INVALID_CA)/;
const HANDSHAKE = /^(ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|ERROR_IN_|PATH_LENGTH|INVALID_PURPOSE|UNSPECIFIED$)/;
/** The SQLSTATE with which PostgreSQL or pgbouncer refuses a client in plain text, and the reason. */
const PLAIN_TEXT_REFUSED = /^28... .*no encryption\W*$|^08P01 SSL required$/;

/** Returns an error that says in one line what is wrong with TLS, or the same error if it has another reason. */
export function explainTls(error: Error, { host, port }: ServerHost, tls: TlsSettings | undefined): Error {
  const sentence = explanation(error, `${host}:${port}`, tls);
  return sentence === undefined ? error : new DatabaseTlsError(sentence, { cause: error });
}

function explanation(error: Error, server: string, tls: TlsSettings | undefined): string | undefined {
  const { code = "" } = error as NodeJS.ErrnoException;
  const reason = error.message.replaceAll(/\s+/g, " ").trim();
  if (tls === undefined) {
    if (!PLAIN_TEXT_REFUSED.test(`${sqlState(error)} ${reason}`)) return undefined;
    return `PostgreSQL at ${server} refuses connections without TLS (${reason}): add sslmode=verify-full and sslrootcert to the URL.`;
  }
  if (reason === "The server does not support SSL connections") {
    return `PostgreSQL at ${server} has no TLS, but the URL has sslmode=${tls.mode}: set ssl = on in PostgreSQL.`;
  }
  const certificate = `The certificate of PostgreSQL at ${server}`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return `${certificate} is for another host (${reason}): use a host name of the certificate in the URL, or sslmode=verify-ca.`;
  }
  if (UNTRUSTED.test(code)) {
    return `${certificate} is not trusted (${reason}): set sslrootcert to the file with the certificate of its CA.`;
  }
  if (code === "CERT_HAS_EXPIRED") return `${certificate} has expired: renew it.`;
  if (HANDSHAKE.test(code)) return `The TLS connection to PostgreSQL at ${server} failed: ${reason} (${code}).`;
  return undefined;
}
