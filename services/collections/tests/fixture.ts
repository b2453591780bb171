import { migrate, publicId, transaction } from "@collections/database";
import { createFieldPartner, issueAccessToken } from "@collections/field-partners";
import { assignCase, onboardLender } from "@collections/flows";
import { lenderByCode, type NewLender } from "@collections/lenders";
import { type LenderTwin, type LenderTwinOptions, startLenderTwin } from "@collections/lender-twin";
import { afterFile, directUrl, testDatabase } from "@collections/testing";
import { type App, createApp } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { type HttpServer, startHttpServer } from "../src/http-server.ts";
import { createLog } from "../src/log.ts";
import { schemas } from "../src/schemas.ts";
import { startWorker, type Worker } from "../src/worker.ts";
import { eventFaults, expectDocumented, holdAnswers, mintFaults } from "./documented.ts";

/** The service in this process, on a database of the test file's own and real sockets. */
export interface TestService {
  readonly url: string;
  readonly databaseUrl: string;
  readonly app: App;
  readonly server: HttpServer;
  readonly worker: Worker | undefined;
}

/** What a test may ask of the service: settings by their names in the environment; DATABASE_URL shares a database. */
export interface TestServiceOptions {
  settings?: Record<string, string>;
  /** False leaves events undelivered and links unminted. */
  works?: boolean;
}

let lendersMade = 0;
let peopleMade = 0;

/** Starts the service; it stops after the test file, which fails if an answer was not as the OpenAPI document says. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  holdAnswers();
  afterFile(expectDocumented);
  const databaseUrl = options.settings?.["DATABASE_URL"] ?? (await migratedDatabase());
  const app = await testApp(databaseUrl, options.settings);
  const server = await startHttpServer(app);
  app.database.signals.listen();
  const worker = options.works === false ? undefined : await startWorker(app);
  afterFile(async () => {
    await server.stop(1_000);
    await worker?.stop(2_000);
    await app.close();
  });
  return { url: server.url, databaseUrl, app, server, worker };
}

/** The parts of the service on a migrated database, with the settings of tests; the caller closes it. */
export async function testApp(databaseUrl: string, settings: Record<string, string> = {}): Promise<App> {
  const config = readConfig({
    PORT: "0",
    LOG_LEVEL: "silent",
    MASTER_KEY: "a".repeat(64),
    OUTBOUND_ALLOW: "127.0.0.1:*",
    WEBHOOK_LADDER: "0s,100ms,200ms",
    // Tests of other promises send more than a lender may.
    RATE_LIMITS: "off",
    ...settings,
    DATABASE_URL: databaseUrl,
    DATABASE_DIRECT_URL: directUrl(databaseUrl),
  });
  const given = {
    databaseUrl,
    databaseDirectUrl: directUrl(databaseUrl),
    databaseMigrationUrl: directUrl(databaseUrl),
    masterKey: config.masterKey ?? "",
    release: () => Promise.resolve(),
  };
  return createApp(config, given, createLog(config.logLevel));
}

async function migratedDatabase(): Promise<string> {
  const { url } = await testDatabase("service", async (at) => {
    await migrate({ url: at, schemas, jobs: true });
  });
  return url;
}

/** A lender on sockets of its own, registered and connected. */
export async function aLender(
  service: Pick<TestService, "app" | "url">,
  input: Partial<NewLender> = {},
  twinOptions: LenderTwinOptions = {},
): Promise<LenderTwin & { code: string }> {
  const twin = await startLenderTwin(twinOptions);
  afterFile(() => expectDocumented([...twin.deliveries.flatMap(eventFaults), ...twin.mints.flatMap(mintFaults)]));
  afterFile(() => twin.close());
  const { app, url } = service;
  const onboarding = { vault: app.vault, allow: app.config.outboundAllow, environment: app.config.environment };
  lendersMade += 1;
  const { lender, apiKeyId, hmacSecret } = await onboardLender(app.database.em(), onboarding, {
    code: `LENDER${lendersMade}`,
    name: "Acme Finance",
    currency: "INR",
    callbackUrl: twin.callbackUrl,
    mintLinkUrl: twin.mintUrl,
    mintAuthHeader: `${twin.mintAuth.name}: ${twin.mintAuth.value}`,
    commissionPercent: "2.5",
    fallbackUpiId: "acme@okbank",
    fallbackBank: { accountNumber: "50100012345678", ifsc: "HDFC0000123", accountName: "Acme Finance" },
    ...input,
  });
  twin.connect({ serviceUrl: url, apiKeyId, hmacSecret });
  return Object.assign(twin, { code: lender.code });
}

/** A person who visits borrowers, with a token for the app. */
export async function aFieldPartner({ app }: Pick<TestService, "app">): Promise<{ id: string; accessToken: string }> {
  peopleMade += 1;
  const phone = `+9198${String(10_000_000 + peopleMade)}`;
  return transaction(app.database.em(), async (tx) => {
    const { id } = await createFieldPartner(tx, { displayName: "Asha Rao", phone });
    const { accessToken } = await issueAccessToken(tx, id);
    return { id, accessToken };
  });
}

/** An import row with nothing but what is required, and whatever the test cares about. */
export function aRow(sourceLoanNumber: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    sourceLoanNumber,
    borrowerName: "Ravi Kumar",
    borrowerPhone: "+919800000001",
    outstandingAmount: 5000,
    ...fields,
  };
}

/** Gives a lender's case to a field partner, as an operator would. */
export async function assign(
  { app }: Pick<TestService, "app">,
  lenderCode: string,
  loan: string,
  fieldPartnerId: string,
): Promise<void> {
  const lender = await lenderByCode(app.database.em(), lenderCode);
  if (!lender) throw new Error(`No lender ${lenderCode}.`);
  const order = { lender, loan, reason: null, fieldPartnerId };
  const outcome = await assignCase(app.database.em(), order, app.config.environment);
  if (outcome.kind !== "done")
    throw new Error(`${publicId("fp", fieldPartnerId)} did not get ${loan}: ${outcome.kind}.`);
}
