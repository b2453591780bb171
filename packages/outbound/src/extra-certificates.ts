import { readFile } from "node:fs/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { versionOf } from "./dns-servers.ts";

/** The certificates of a file, which new connections of this process trust. */
export interface ExtraCertificates {
  /** Reads the file again. Rejects if the file cannot be read or has no certificate. Returns how many it has. */
  reload(): Promise<number>;
  /** Reads the file again if it has changed since the last reading. Returns undefined if it has not. */
  reloadIfChanged(): Promise<number | undefined>;
}

/** A file has no certificate in PEM. */
export class NoCertificateError extends Error {
  override readonly name = "NoCertificateError";
  readonly code = "NO_CERTIFICATE";

  constructor(file: string) {
    super(`${file} has no certificate in PEM: it has to contain -----BEGIN CERTIFICATE-----`);
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads the certificates of `NODE_EXTRA_CA_CERTS` again while the process runs. Node reads them once, when it starts.
 *
 * @example
 * const certificates = createExtraCertificates("/etc/ssl/private-ca.pem");
 * process.on("SIGHUP", () => void certificates.reload());
 */
export function createExtraCertificates(file: string): ExtraCertificates {
  let extra = getCACertificates("extra");
  let version = versionOf(file);

  async function reload(): Promise<number> {
    version = versionOf(file);
    await version;
    const newest: string[] = (await readFile(file, "latin1")).match(PEM) ?? [];
    if (newest.length === 0) throw new NoCertificateError(file);
    const bundled = new Set(getCACertificates("bundled").map(trimmed));
    const gone = new Set(extra.map(trimmed).filter((certificate) => !bundled.has(certificate)));
    const others = getCACertificates("default").filter((certificate) => !gone.has(trimmed(certificate)));
    setDefaultCACertificates([...others, ...newest]);
    extra = newest;
    return newest.length;
  }

  return {
    reload,
    async reloadIfChanged() {
      return (await version) === (await versionOf(file)) ? undefined : reload();
    },
  };
}

/** Node's texts of certificates may differ in their line ends. */
function trimmed(certificate: string): string {
  return certificate.replaceAll(/\s/g, "");
}
