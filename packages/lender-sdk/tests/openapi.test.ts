import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { CollectionsClient } from "../src/index.ts";
import { parseExact } from "../src/exact-json.ts";
import { KEY_ID, SECRET, startScriptedService } from "./scripted-service.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, object>>;
  readonly webhooks: Readonly<Record<string, object>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const OPENAPI = JSON.parse(await readFile(new URL("../../../docs/openapi.json", import.meta.url), "utf8")) as OpenApi;
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const SDK = fileURLToPath(new URL("../src/index.ts", import.meta.url));

/** The answers of the API: the name of the schema, the name of the SDK's type, and the fields that the SDK adds. */
const ANSWERS: readonly [schema: string, type: string, added?: string][] = [
  ["Health", "Health", "requestId"],
  ["ImportResult", "CaseImport", "requestId"],
  ["CaseState", "CaseSnapshot", "requestId etag"],
  ["Cases", "CasePage", "requestId"],
  ["ListedCase", "ListedCase"],
  ["Payments", "PaymentPage", "requestId"],
  ["ListedPayment", "ListedPayment"],
  ["Booking", "Booking", "requestId repeated reversals"],
  ["OriginalBooking", "OriginalBooking"],
  ["WebhookTestResult", "WebhookTest", "requestId"],
  ["MintLinkTestResult", "MintLinkTest", "requestId"],
  ["MintLinkFault", "MintLinkFault"],
  ["Deliveries", "DeliveryPage", "requestId"],
  ["Delivery", "Delivery"],
  ["DeliveryDetail", "DeliveryDetails", "requestId"],
  ["Attempt", "DeliveryAttempt"],
  ["AttemptError", "DeliveryFault"],
  ["ReplayedDelivery", "ReplayedDelivery", "requestId"],
  ["ReplayStarted", "StartedReplay", "requestId"],
  ["Replay", "Replay", "requestId"],
  ["SignatureDiagnosis", "SignatureDiagnosis", "requestId"],
  ["PortalLink", "PortalLink", "requestId"],
  ["PlayedScene", "PlayedScene", "requestId"],
  ["SceneEvent", "SceneEvent"],
  ["Reconciliation", "Reconciliation", "requestId"],
  ["MissingPayment", "MissingPayment"],
  ["UnreportedPayment", "UnreportedPayment"],
  ["DifferingPayment", "DifferingPayment"],
  ["PaymentOfOtherTime", "PaymentOfOtherTime"],
  ["RejectedPayment", "RejectedPayment"],
  ["ReportedPayment", "ReportedPayment"],
  ["BookedPayment", "ReconciledBooking"],
  ["FieldFault", "FieldFault"],
  ["Warning", "Warning"],
];
const REQUESTS: readonly [schema: string, type: string][] = [
  ["UpsertRow", "UpsertRow"],
  ["ControlRow", "OrderRow"],
  ["PaymentConfirmation", "CapturedPayment"],
  ["MintLinkTest", "MintToTest"],
  ["PortalPerson", "PortalPerson"],
  ["SignatureToDebug", "RequestToDebug"],
  ["PaymentToReconcile", "PaymentToReconcile"],
];

test("the SDK's types match the OpenAPI document, field by field and for every kind of event", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lender-sdk-openapi-"));
  const compilerOptions = { noEmit: true, singleThreaded: true, typeRoots: [join(ROOT, "node_modules/@types")] };
  const project = { extends: join(ROOT, "tsconfig.base.json"), compilerOptions, files: ["checks.ts"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(project));
  await writeFile(join(folder, "checks.ts"), checks());
  const { stdout } = await promisify(execFile)(process.execPath, [TSC, "-p", folder]).catch(
    (error: { stdout: string }) => error,
  );
  await rm(folder, { recursive: true });
  expect(stdout).toBe("");
});

test("the client calls every endpoint of the OpenAPI document", async () => {
  const service = await startScriptedService();
  service.answerWith({ status: 200, body: { success: true, results: [], deliveries: [], nextCursor: null } });
  const client = new CollectionsClient({ baseUrl: service.url, apiKeyId: KEY_ID, hmacSecret: SECRET });
  await client.health();
  await client.importCases([]);
  await client.getCase("{loan}");
  await client.confirmPayment("{loan}", { amount: "1", reference: "1", paidAt: "", mode: "upi" });
  await client.reversePayment("{loan}", { reference: "1", reversalReference: "1", reversedAt: "", reason: "other" });
  await client.listCases();
  await client.listPayments();
  await client.reconcile({ from: "", to: "", rows: [] });
  await client.listReconciliations();
  await client.getReconciliation("{runId}");
  await client.testWebhook();
  await client.testMintLink({ loan: "1", amount: "1" });
  await client.listDeliveries();
  await client.getDelivery("{eventId}");
  await client.replayDelivery("{eventId}");
  await client.replayDeliveries();
  await client.getReplay("{replayId}");
  await client.debugSignature({ method: "GET", path: "/", timestamp: "1", signature: "" });
  await client.createPortalLink();
  await client.playScene("{loan}", "visit");
  const called = service.seen.map(({ method, url }) => `${method} ${decodeURIComponent(url)}`);
  const known = Object.entries(OPENAPI.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(called.toSorted()).toEqual(known.toSorted());
});

/** Returns a program that compiles only if the SDK's types match the OpenAPI document. */
function checks(): string {
  const { schemas } = OPENAPI.components;
  const kinds = Object.keys(OPENAPI.webhooks).filter((kind) => kind !== "ping" && kind !== "mint-link");
  return [
    `import type * as Sdk from ${JSON.stringify(SDK)};`,
    ...Object.entries(schemas).map(([name, schema]) => `type ${name} = ${typeOf(schema)};`),
    "type Keys<T> = T extends unknown ? keyof T : never;",
    "type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;",
    "type Sent<T> = { [K in keyof T]: Exclude<T[K], Date> };",
    "declare function check<To>(from: To): void;",
    "declare function same<Is extends true>(is?: Is): void;",
    ...ANSWERS.flatMap(([schema, type, added]) => answerChecks(schema, `Sdk.${type}`, added?.split(" ") ?? [])),
    "check<Sdk.RowResult>({} as AcceptedRow | RejectedRow);",
    "same<Same<keyof Sdk.RowResult, Keys<AcceptedRow | RejectedRow>>>();",
    ...REQUESTS.flatMap(([schema, type]) => [
      `check<${schema}>({} as Sent<Sdk.${type}>);`,
      `same<Same<keyof Sdk.${type}, keyof ${schema}>>();`,
    ]),
    'same<Same<keyof Sdk.ReplayFilter | "ratePerSecond" | "dryRun", keyof ReplayRequest>>();',
    `same<Same<Sdk.EventKind, ${kinds.map((kind) => JSON.stringify(kind)).join(" | ")}>>();`,
    ...kinds.flatMap((kind) => eventChecks(kind, eventOf(kind))),
    "// @ts-expect-error If this compiles, the program checks nothing.",
    "same<Same<keyof Sdk.Health, keyof Booking>>();",
    "// @ts-expect-error An Attempt is no Delivery: the types of values are checked too, not only the names.",
    "check<Sdk.Delivery>({} as Attempt);",
  ].join("\n");
}

function answerChecks(schema: string, type: string, added: readonly string[]): string[] {
  const names = added.map((name) => JSON.stringify(name));
  // Every answer may have warnings. The OpenAPI document lists them only for the answers that can have one today.
  const keys = [`keyof ${schema}`, ...names].join(" | ");
  return [
    `check<Omit<${type}, ${names.join(" | ") || "never"}>>({} as ${schema});`,
    `same<Same<keyof ${type} | "warnings", ${keys} | "warnings">>();`,
  ];
}

function eventChecks(kind: string, schema: string): string[] {
  const data = `Sdk.EventData[${JSON.stringify(kind)}]`;
  return [
    `check<Sdk.LoanEvent<${data}>>({} as ${schema});`,
    `same<Same<keyof Sdk.LoanEvent, keyof ${schema}>>();`,
    `same<Same<keyof ${data}, keyof ${schema}["data"]>>();`,
  ];
}

/** Returns the name of a kind's schema: PaymentLinkCreatedEvent for `payment_link.created`. */
function eventOf(kind: string): string {
  const words = kind.split(/[._]/).map((word) => word[0]!.toUpperCase() + word.slice(1));
  return `${words.join("")}Event`;
}

/** Returns the type of the value that `parseExact` returns for this schema. */
function typeOf(schema: Schema, key = ""): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1)!;
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => typeOf(each, key)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const types = [schema.type ?? "unknown"].flat();
  return types.map((type) => typeNamed(type, schema, key)).join(" | ");
}

function typeNamed(type: string, schema: Schema, key: string): string {
  if (type === "array") return `readonly (${typeOf(schema.items ?? {})})[]`;
  if (type === "object") return objectType(schema);
  if (type !== "number" && type !== "integer") return type;
  return typeof (parseExact(`{${JSON.stringify(key)}:1}`) as Record<string, unknown>)[key];
}

function objectType({ properties, required = [], additionalProperties = {} }: Schema): string {
  if (properties === undefined) return `Readonly<Record<string, ${typeOf(additionalProperties)}>>`;
  const members = Object.entries(properties).map(
    ([key, schema]) => `${JSON.stringify(key)}${required.includes(key) ? "" : "?"}: ${typeOf(schema, key)}`,
  );
  return `{ ${members.join("; ")} }`;
}
