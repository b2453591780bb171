import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type DnsServers, SYSTEM_DNS_SERVERS, versionOf } from "./dns-servers.ts";
import { createDnsResolver, resolveBySystem } from "./name-resolution.ts";

const NO_ERROR = 0;
const SERVER_FAILED = 2;
const NO_SUCH_NAME = 3;
const A = 1;
const AAAA = 28;

type Zone = Record<number, { code: number; data?: number[] }>;

test("the DNS resolver finds IPv4 and IPv6 addresses of a name", async () => {
  await using dns = await openDnsServer({
    [A]: { code: NO_ERROR, data: [93, 184, 216, 34] },
    [AAAA]: { code: NO_ERROR, data: [0x26, 6, 0x47, 0, ...Array<number>(11).fill(0), 1] },
  });
  expect(await createDnsResolver(fixed(dns.address))("lender.example")).toEqual([
    { address: "93.184.216.34", family: 4 },
    { address: "2606:4700::1", family: 6 },
  ]);
});

test("the DNS resolver returns the IPv4 addresses if the query for IPv6 addresses fails", async () => {
  await using dns = await openDnsServer({
    [A]: { code: NO_ERROR, data: [93, 184, 216, 34] },
    [AAAA]: { code: SERVER_FAILED },
  });
  expect(await createDnsResolver(fixed(dns.address))("lender.example")).toEqual([
    { address: "93.184.216.34", family: 4 },
  ]);
});

test.each([
  ["ENOTFOUND", NO_SUCH_NAME],
  ["ENODATA", NO_ERROR],
  ["ESERVFAIL", SERVER_FAILED],
])("the DNS resolver rejects with %s if neither the IPv4 nor the IPv6 query finds an address", async (errno, code) => {
  await using dns = await openDnsServer({ [A]: { code }, [AAAA]: { code } });
  await expect(createDnsResolver(fixed(dns.address))("lender.example")).rejects.toMatchObject({ code: errno });
});

test("the DNS resolver rejects with ECONNREFUSED, not with ENOTFOUND, if no DNS server runs", async () => {
  const dns = await openDnsServer({});
  await dns[Symbol.asyncDispose]();
  await expect(createDnsResolver(fixed(dns.address))("lender.example")).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

test("resolveBySystem resolves localhost", async () => {
  expect((await resolveBySystem("localhost")).map(({ address }) => address)).toContain("127.0.0.1");
});

describe("DNS servers that change while the process runs", () => {
  const ZONE: Zone = { [A]: { code: NO_ERROR, data: [93, 184, 216, 34] }, [AAAA]: { code: NO_SUCH_NAME } };
  const ADDRESS = [{ address: "93.184.216.34", family: 4 }];

  test("are used by the next query after the file has changed", async () => {
    await using first = await openDnsServer({ [A]: { code: NO_SUCH_NAME }, [AAAA]: { code: NO_SUCH_NAME } });
    await using second = await openDnsServer(ZONE);
    await using file = await aFile(first.address);
    const resolve = createDnsResolver(file.servers);
    await expect(resolve("lender.example")).rejects.toMatchObject({ code: "ENOTFOUND" });
    await file.write(second.address);
    await expect.poll(() => resolve("lender.example").catch(() => undefined)).toEqual(ADDRESS);
  });

  test("are read again at once if no server answers", async () => {
    const gone = await openDnsServer({});
    await gone[Symbol.asyncDispose]();
    await using newest = await openDnsServer(ZONE);
    const lists = [[gone.address], [newest.address]];
    const resolve = createDnsResolver(serversOf(() => lists.shift() ?? [newest.address]));
    expect(await resolve("lender.example")).toEqual(ADDRESS);
  });

  test("are used by the next query if the same servers answer again", async () => {
    const gone = await openDnsServer({});
    await gone[Symbol.asyncDispose]();
    const resolve = createDnsResolver(fixed(gone.address));
    await expect(resolve("lender.example")).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await using _back = await openDnsServer(ZONE, gone.port);
    expect(await resolve("lender.example")).toEqual(ADDRESS);
  });
});

test("SYSTEM_DNS_SERVERS reads the servers of this machine", async () => {
  expect(SYSTEM_DNS_SERVERS.open({}).getServers().length).toBeGreaterThan(0);
  expect(await SYSTEM_DNS_SERVERS.version()).toEqual(await SYSTEM_DNS_SERVERS.version());
});

function fixed(...addresses: string[]): DnsServers {
  return serversOf(() => addresses);
}

function serversOf(read: () => string[], version = async () => "same"): DnsServers {
  return {
    open(options) {
      const resolver = new Resolver(options);
      resolver.setServers(read());
      return resolver;
    },
    version,
  };
}

/** Writes a file with the addresses of DNS servers, one per line, and reads them from there. */
async function aFile(...first: string[]) {
  const folder = await mkdtemp(join(tmpdir(), "resolv-"));
  const path = join(folder, "resolv.conf");
  const write = (...addresses: string[]) => writeFile(path, addresses.join("\n"));
  await write(...first);
  const servers = serversOf(
    () => readFileSync(path, "utf8").split("\n"),
    () => versionOf(path),
  );
  return { servers, write, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

/** Starts a DNS server on 127.0.0.1 that gives the same answer for every name. */
async function openDnsServer(zone: Zone, port = 0): Promise<AsyncDisposable & { address: string; port: number }> {
  const socket = createSocket("udp4");
  socket.on("message", (query, asker) => socket.send(answerTo(query, zone), asker.port, asker.address));
  socket.bind(port, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    port: socket.address().port,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, "close");
    },
  };
}

/** Makes a DNS answer that repeats the question. Its records refer to the name of the question, with a TTL of one minute. */
function answerTo(query: Buffer, zone: Zone): Buffer {
  const questionEnd = query.indexOf(0, 12) + 5;
  const type = query.readUInt16BE(questionEnd - 4);
  const { code, data } = zone[type] ?? { code: SERVER_FAILED, data: undefined };
  const head = Buffer.from(query.subarray(0, questionEnd));
  head.writeUInt16BE(0x81_80 | code, 2);
  head.writeUInt16BE(data === undefined ? 0 : 1, 6);
  head.writeUInt16BE(0, 10);
  if (data === undefined) return head;
  return Buffer.concat([head, Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length, ...data])]);
}
