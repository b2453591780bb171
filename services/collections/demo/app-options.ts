import { once } from "node:events";
import { createServer } from "node:net";
import { parseArgs } from "node:util";

/** The port of the app unless `--port` names another one. Browsers keep the app's data for each port. */
export const DEFAULT_PORT = 4_300;

/** The demo cannot start with these options. The message says what to do. */
export class DemoOptionError extends Error {
  override readonly name = "DemoOptionError";
}

/** Reads the options of `pnpm demo:app`. Throws DemoOptionError. */
export function readOptions(argv: readonly string[]): { port: number } {
  let text: string | undefined;
  try {
    // pnpm passes on the "--" of `pnpm demo:app -- --port 4301`.
    const args = argv.filter((argument) => argument !== "--");
    text = parseArgs({ args, options: { port: { type: "string" } } }).values.port;
  } catch (error) {
    throw new DemoOptionError(`${(error as Error).message}. The only option is --port <number>.`, { cause: error });
  }
  if (text === undefined) return { port: DEFAULT_PORT };
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (port <= 65_535) return { port };
  throw new DemoOptionError(`--port ${text} is not a port. Expected a number from 0 to 65535; 0 takes a free port.`);
}

/** Throws DemoOptionError if the demo cannot listen on the port, before anything else is started. */
export async function checkPort(port: number): Promise<void> {
  const probe = createServer();
  try {
    const listening = once(probe, "listening");
    probe.listen(port, "127.0.0.1");
    await listening;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === "EADDRINUSE"
        ? `Port ${port} is in use, maybe by another pnpm demo:app`
        : `The demo cannot listen on port ${port} (${code})`;
    const advice = `Stop that program, or choose another port: pnpm demo:app --port ${port === 65_535 ? 4_301 : port + 1}`;
    throw new DemoOptionError(`${why}. ${advice}`, { cause: error });
  }
  probe.close();
  await once(probe, "close");
}
