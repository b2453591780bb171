import { createExtraCertificates } from "@collections/outbound";
import type { Logger } from "pino";

const LOOK_EVERY_MS = 60_000;

/**
 * Reads the file of `NODE_EXTRA_CA_CERTS` again on SIGHUP, and within a minute after a change. Without such a file,
 * SIGHUP does nothing.
 */
export function keepExtraCertificates(file: string | undefined, log: Logger): void {
  if (file === undefined || file === "") {
    process.on("SIGHUP", () =>
      log.info("SIGHUP: there is no file to read again, because NODE_EXTRA_CA_CERTS is not set"),
    );
    return;
  }
  const certificates = createExtraCertificates(file);
  process.on("SIGHUP", () => void report(certificates.reload()));
  setInterval(() => void report(certificates.reloadIfChanged()), LOOK_EVERY_MS).unref();

  async function report(reloading: Promise<number | undefined>): Promise<void> {
    try {
      const count = await reloading;
      if (count !== undefined)
        log.info({ file, certificates: count }, "the certificates of NODE_EXTRA_CA_CERTS were read again");
    } catch (error) {
      log.error(
        { file, error },
        "NODE_EXTRA_CA_CERTS cannot be read: the certificates that were read before stay in use",
      );
    }
  }
}
