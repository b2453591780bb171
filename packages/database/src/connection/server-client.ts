import { Client, type ClientConfig, Pool, type PoolConfig } from "pg";
import { clientConfig, settingsOf, socketOf } from "./client-config.ts";
import { searchOf } from "./host-search.ts";
import { explainTls } from "./tls-error.ts";

/** Closes the connection of a client at once. `end` would wait for a server that may have gone silent. */
export function destroyClient(client: Client): void {
  socketOf(client).destroy();
}

/**
 * Calls `leave` after the server has become read-only, which PostgreSQL reports with the answer to the next statement.
 * That statement is still answered.
 */
function onReadOnly(client: Client, leave: () => void): void {
  type Reported = { readonly parameterName: string; readonly parameterValue: string };
  type Reporting = { readonly connection: { on(event: "parameterStatus", report: (status: Reported) => void): void } };
  (client as unknown as Reporting).connection.on("parameterStatus", ({ parameterName, parameterValue }) => {
    if (parameterName === "default_transaction_read_only" && parameterValue === "on") setImmediate(leave);
  });
}

type ConnectCallback = (error: Error | null, client?: Client) => void;

/**
 * Makes a client that obeys the whole URL: TLS, hosts, names, options and limits. This function and `clientClass` make
 * every connection of this package.
 */
export function newClient(url: string, config: ClientConfig): Client {
  return new (clientClass(url))(config);
}

/** Makes a pool of the clients of `clientClass`. */
export function newPool(config: PoolConfig & { readonly Client: typeof Client }): Pool {
  return new Pool(config);
}

/** Returns the class of the clients of a URL, for the option `Client` of a pool. */
export function clientClass(url: string): typeof Client {
  const settings = settingsOf(url);
  const search = searchOf(url, settings);
  class ServerClient extends Client {
    #hasEnded = false;

    constructor(config: ClientConfig) {
      super(clientConfig(settings, settings.hosts[0]!, config));
      if (settings.targetSession === "read-write") onReadOnly(this, () => socketOf(this).destroy());
    }

    override connect(): Promise<this>;
    override connect(callback: ConnectCallback): void;
    override connect(callback?: ConnectCallback): Promise<this> | undefined {
      if (!callback) {
        return new Promise((resolve, reject) => {
          this.connect((error) => (error ? reject(error) : resolve(this)));
        });
      }
      if (search) void this.#connectToUsable(search.find(), callback);
      else this.#connectNow(callback);
      return undefined;
    }

    async #connectToUsable(found: Promise<{ host: string; port: number }>, callback: ConnectCallback): Promise<void> {
      try {
        ({ host: this.host, port: this.port } = await found);
        // The client was ended, or its time limit has passed, during the search.
        if (this.#hasEnded || socketOf(this).destroyed) throw new Error("Connection terminated");
      } catch (error) {
        callback(error as Error);
        // A client whose connection fails emits this event too.
        process.nextTick(() => this.emit("end"));
        return;
      }
      this.#connectNow(callback);
    }

    #connectNow(callback: ConnectCallback): void {
      const onResult: ConnectCallback = (error, client) =>
        callback(error && explainTls(error, this, settings.tls), client);
      super.connect(onResult as (error: Error) => void);
    }

    override end(): Promise<void>;
    override end(callback: (error: Error) => void): void;
    override end(callback?: (error: Error) => void): Promise<void> | undefined {
      this.#hasEnded = true;
      if (!callback) return super.end();
      super.end(callback);
      return undefined;
    }
  }
  return ServerClient;
}
