import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type ConnectionOptions, createSecureContext, type SecureVersion } from "node:tls";

/** How connections are encrypted, and how the server's certificate is checked. The files are PEM. */
export interface TlsSettings {
  readonly mode: "require" | "verify-ca" | "verify-full";
  /** The certificates of the CAs; `system` or undefined for those of Node. */
  readonly rootCert: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly minVersion: SecureVersion | undefined;
}

/** The value of `rootCert` for the public CAs that Node trusts. */
export const SYSTEM_CAS = "system";

/**
 * Returns the options of Node for one connection. The files are read again for each connection, so that renewed
 * certificates need no restart. `require` does not check the certificate, unless there is a `rootCert`: then it checks
 * the certificate but not the host name, as libpq does.
 */
export function tlsOptions({ mode, rootCert, cert, key, minVersion }: TlsSettings): ConnectionOptions {
  const ca = rootCert === undefined || rootCert === SYSTEM_CAS ? undefined : contentOf(rootCert);
  return {
    rejectUnauthorized: mode !== "require" || ca !== undefined,
    ...(mode !== "verify-full" && { checkServerIdentity: () => undefined }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert: contentOf(cert) }),
    ...(key !== undefined && { key: contentOf(key) }),
    ...(minVersion !== undefined && { minVersion }),
  };
}

/** Calls `reject` for each file that cannot be used. */
export function checkFiles(
  { rootCert, cert, key }: TlsSettings,
  reject: (parameter: "sslrootcert" | "sslcert" | "sslkey", problem: string) => void,
): void {
  const certificates = [
    ["sslrootcert", rootCert === SYSTEM_CAS ? undefined : rootCert],
    ["sslcert", cert],
  ] as const;
  for (const [parameter, path] of certificates) {
    if (path === undefined) continue;
    const problem = problemOf(() => new X509Certificate(contentOf(path)));
    if (problem !== undefined) reject(parameter, `expected a readable PEM file with a certificate (${problem})`);
  }
  if (cert === undefined || key === undefined) return;
  const problem = problemOf(() => createSecureContext({ cert: contentOf(cert), key: contentOf(key) }));
  if (problem !== undefined)
    reject("sslkey", `expected the PEM file of sslcert's key, without a passphrase (${problem})`);
}

function problemOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code ?? message;
  }
}

/** The content of each file when it was last read. */
const contents = new Map<string, Buffer>();

/** Reads a file. Returns its last content if it cannot be read now, for example because it is being replaced. */
function contentOf(path: string): Buffer {
  try {
    contents.set(path, readFileSync(path));
  } catch (error) {
    if (!contents.has(path)) throw error;
  }
  return contents.get(path)!;
}
