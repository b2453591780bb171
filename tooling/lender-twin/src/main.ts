import { parseArgs } from "node:util";
import { startLenderTwin } from "./twin.ts";

const USAGE = `A lender on this machine: mint endpoint, webhook receiver and pay page. It runs until it is interrupted.

node tooling/lender-twin/src/main.ts [options]

  --port <number>        the port to listen on; default: a free port
  --service-url <url>    the URL of the service, for example http://127.0.0.1:3000
  --key-id <id>          the lender's API key id, lk_...
  --secret <secret>      its secret, sk_...; default: the environment's LENDER_SECRET
  --public-url <url>     the first part of pay pages' URLs, behind a proxy with TLS; default: its own URL
  --mint-auth <header>   the header that the mint endpoint requires, "Name: value"; default: a random one
  --help                 show this text

Without key and secret it cannot verify requests of the service, and answers 401: register its URLs first, then restart
it with the same --port and --mint-auth and with the key that the registration returned.
`;

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\nSee --help.\n`);
  process.exitCode = 2;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: "string" },
      "service-url": { type: "string" },
      "public-url": { type: "string" },
      "key-id": { type: "string" },
      secret: { type: "string" },
      "mint-auth": { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return print(USAGE);

  const twin = await startLenderTwin({
    ...(values.port === undefined ? {} : { port: portOf(values.port) }),
    ...(values["public-url"] === undefined ? {} : { publicUrl: values["public-url"] }),
    ...(values["mint-auth"] === undefined ? {} : { mintAuth: headerOf(values["mint-auth"]) }),
    log: (line) => print(`${new Date().toISOString()} ${line}\n`),
  });
  const hmacSecret = values.secret ?? process.env["LENDER_SECRET"];
  twin.connect({
    ...(values["service-url"] === undefined ? {} : { serviceUrl: values["service-url"] }),
    ...(values["key-id"] === undefined ? {} : { apiKeyId: values["key-id"] }),
    ...(hmacSecret === undefined ? {} : { hmacSecret }),
  });
  print(`mint link URL   ${twin.mintUrl}\n`);
  print(`  auth header   ${twin.mintAuth.name}: ${twin.mintAuth.value}\n`);
  print(`callback URL    ${twin.callbackUrl}\n`);
  print(`pay pages       ${twin.payUrl("<linkId>")}\n`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void twin.close());
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new TypeError(`--port must be a number from 0 to 65535, got "${text}".`);
}

function headerOf(text: string): { name: string; value: string } {
  const [, name, value] = /^([\w-]+):\s*(.+)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { name, value };
  throw new TypeError(`--mint-auth takes "Name: value", got "${text}".`);
}

function print(text: string): void {
  process.stdout.write(text);
}
