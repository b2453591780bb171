import { afterFile } from "@collections/testing";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * What befalls one message on a wire: it never arrives; it arrives and its answer is lost; or something is done while
 * it waits, for example to the process that has sent it.
 */
export type Fault = "unsent" | "unanswered" | (() => Promise<unknown>);

/** A relay before a PostgreSQL, which counts what is sent to it. */
export interface FaultyWire {
  readonly port: number;
  /** Lets the fault befall the message of this number, counted from now on. */
  arm(number: number, fault: Fault): void;
  /** Counts no more. Says whether the fault has befallen a message. */
  disarm(): boolean;
}

/** What Citus sends on its own account, at its own times. */
const BACKGROUND = /dump_local_wait_edges|pg_prepared_xacts|citus_internal_local_blocked_processes/;

export async function aFaultyWire(databaseUrl: string): Promise<FaultyWire> {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let armed: { left: number; readonly fault: Fault } | undefined;
  let hasHappened = false;

  const relay = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => [near, far].forEach((end) => sockets.delete(end.destroy())));
    }
    far.on("data", (answer) => near.write(answer));
    near.on("data", (sent: Buffer) => {
      const fault = faultFor(sent);
      if (fault === undefined) return void far.write(sent);
      if (fault === "unsent") return void near.destroy();
      if (fault === "unanswered") {
        far.removeAllListeners("data").once("data", () => near.destroy());
        return void far.write(sent);
      }
      near.pause();
      void fault().then(() => {
        far.write(sent);
        near.resume();
      });
    });
  });

  function faultFor(sent: Buffer): Fault | undefined {
    if (!armed || BACKGROUND.test(sent.toString("latin1"))) return undefined;
    armed.left -= 1;
    if (armed.left > 0) return undefined;
    const { fault } = armed;
    armed = undefined;
    hasHappened = true;
    return fault;
  }

  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  return {
    port: (relay.address() as AddressInfo).port,
    arm(number, fault) {
      armed = { left: number, fault };
      hasHappened = false;
    },
    disarm() {
      armed = undefined;
      return hasHappened;
    },
  };
}
