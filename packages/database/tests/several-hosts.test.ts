/** @module-tag own-server */
import { type Postgres, startPostgres, temporaryDataDir } from "@collections/postgres";
import { afterFile, until } from "@collections/testing";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Client } from "pg";
import { beforeAll, expect, test } from "vitest";
import { createDatabase, isUnavailable, migrate, query, statement, type Statement } from "../src/index.ts";

const port = statement("test.port", "select inet_server_port() as value");
const isReadOnly = statement("test.read-only", "select current_setting('transaction_read_only') as value");

let writable: Postgres;
let readOnly: Postgres;
let admin: Client;

beforeAll(async () => {
  const options = { temporary: true, durable: false };
  readOnly = await startPostgres({ dataDir: temporaryDataDir("collections-hosts-"), ...options });
  afterFile(() => readOnly.stop());
  writable = await startPostgres({ dataDir: temporaryDataDir("collections-hosts-"), ...options });
  afterFile(() => writable.stop());
  for (const { url } of [readOnly, writable]) {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query("create role app superuser login password 'app'");
    await client.end();
  }
  admin = new Client({ connectionString: readOnly.url, options: "-c default_transaction_read_only=off" });
  await admin.connect();
  afterFile(() => admin.end());
  await setReadOnly("on");
});

/** Changes whether the first server refuses writes. */
async function setReadOnly(value: "on" | "off"): Promise<void> {
  await admin.query(`alter system set default_transaction_read_only = ${value}`);
  await admin.query("select pg_reload_conf()");
  await until(async () => (await valueAt(at([readOnly.port]), isReadOnly)) === value);
}

/** Returns a URL of several ports of this machine. */
function at(ports: readonly number[], parameters = ""): string {
  return `postgres://app:app@${ports.map((one) => `127.0.0.1:${one}`).join()}/postgres?${parameters}`;
}

/** Returns the port of the server that a new connection reaches. */
async function portOf(url: string): Promise<number> {
  return Number(await valueAt(url, port));
}

async function valueAt(url: string, asked: Statement): Promise<unknown> {
  const database = await createDatabase({ url, schemas: [], poolMax: 1 });
  try {
    const [row] = await query<{ value: unknown }>(database.em(), asked, []);
    return row!.value;
  } finally {
    await database.close();
  }
}

/** Returns a port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return free;
}

/** Returns a port that accepts connections and never answers. */
async function silentPort(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(server, "listening");
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test("uses the first host that answers", async () => {
  expect(await portOf(at([readOnly.port, writable.port]))).toBe(readOnly.port);
  expect(await portOf(at([await closedPort(), writable.port]))).toBe(writable.port);
});

test("passes over a host that never answers", async () => {
  expect(await portOf(at([await silentPort(), writable.port], "connect_timeout=1"))).toBe(writable.port);
});

test("read-write passes over a server that refuses writes", async () => {
  const url = at([readOnly.port, writable.port], "target_session_attrs=read-write");
  expect(await portOf(url)).toBe(writable.port);
  expect(await portOf(at([readOnly.port, writable.port], "target_session_attrs=primary"))).toBe(readOnly.port);
});

test("migrates the writable server, and listens there", async () => {
  const url = at([readOnly.port, writable.port], "target_session_attrs=read-write");
  const schema = { name: "hosts", entities: [], migrations: [{ name: "0001", statements: ["create schema hosts"] }] };
  expect(await migrate({ url, schemas: [schema] })).toMatchObject({ applied: ["hosts/0001"] });
  const [one, other] = [await createDatabase({ url, schemas: [] }), await createDatabase({ url, schemas: [] })];
  afterFile(() => Promise.all([one.close(), other.close()]));
  const heard = new Promise((resolve) => {
    one.signals.on("trial", resolve);
  });
  one.signals.listen();
  // Repeat the signal until LISTEN has succeeded.
  const repeat = setInterval(() => other.signals.emit("trial", "here"), 100);
  expect(await heard).toBe("here");
  clearInterval(repeat);
});

test("names each host if none can be used", async () => {
  const closed = await closedPort();
  const url = at([closed, readOnly.port], "target_session_attrs=read-write");
  const error = await portOf(url).catch((thrown: unknown) => thrown as Error);
  expect(isUnavailable(error)).toBe(true);
  expect((error as Error).message).toMatch(
    new RegExp(
      `^No host of the URL can be used for target_session_attrs=read-write: 127\\.0\\.0\\.1:${closed} failed \\(.*ECONNREFUSED.*\\); 127\\.0\\.0\\.1:${readOnly.port} is read-only\\.$`,
    ),
  );
});

test("does not try a wrong password on the other hosts", async () => {
  const url = at([writable.port, readOnly.port]).replace("app:app", "app:wrong");
  await expect(portOf(url)).rejects.toMatchObject({
    message: expect.stringContaining("password authentication failed"),
  });
});

test("finds another host after the first one has become read-only", async () => {
  await setReadOnly("off");
  const url = at([readOnly.port, writable.port], "target_session_attrs=read-write&application_name=moved");
  expect(await portOf(url)).toBe(readOnly.port);
  await setReadOnly("on");
  expect(await portOf(url)).toBe(writable.port);
});

test("leaves a server that becomes read-only while its connections are open", async () => {
  await setReadOnly("off");
  const url = at([readOnly.port, writable.port], "target_session_attrs=read-write&application_name=leaving");
  const database = await createDatabase({ url, schemas: [], poolMax: 1 });
  afterFile(() => database.close());
  const reached = async () => (await query<{ value: number }>(database.em(), port, []))[0]!.value;
  expect(await reached()).toBe(readOnly.port);
  await setReadOnly("on");
  await expect.poll(reached).toBe(writable.port);
});

test("checks the only host of a URL too", async () => {
  const url = at([readOnly.port], "target_session_attrs=read-write");
  await expect(portOf(url)).rejects.toMatchObject({ code: "NO_USABLE_HOST" });
});
