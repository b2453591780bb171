import { createClientProject, type ClientProject } from "@collections/openapi";
import { afterFile } from "@collections/testing";
import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { operationIdOf } from "../fixtures/documented.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";

const LENDERS = new URL("../../../../docs/lenders/", import.meta.url);
const PAGE = await readFile(new URL("sdk.md", LENDERS), "utf8");
/** The manifests whose packages the test's project uses: of the generators, and of the repository for `@types/node`. */
const MANIFESTS = await Promise.all(
  ["tooling/openapi/package.json", "package.json"].map((file) =>
    readFile(new URL(`../../../../${file}`, import.meta.url), "utf8"),
  ),
);
/** The commands in the page that generate the clients. */
const COMMANDS = [...PAGE.matchAll(/^```bash generate\n([\s\S]*?)^```$/gm)].map(([, commands]) => commands!);
const CLIENTS = ["openapi-fetch", "hey-api"] as const;

/** Each operation of the document, with the codes of its problems. */
const OPERATIONS = Object.values(openApiDocument().paths)
  .flatMap((methods) => Object.values(methods) as { operationId: string; "x-problem-codes": string[] }[])
  .map(({ operationId, "x-problem-codes": codes }) => ({ operationId, codes }));

interface Served {
  readonly operation: string | undefined;
  readonly status: number;
}

let service: TestService;
let project: ClientProject;
/** The requests that this process has served, in the order of their answers. */
const served: Served[] = [];

beforeAll(async () => {
  service = await startTestService();
  recordRequests();
  project = await createClientProject(fileURLToPath(new URL("samples/generated/", LENDERS)));
  afterFile(() => project.remove());
  for (const commands of COMMANDS) await project.sh(commands, { BASE_URL: service.url });
  await project.write("codes.ts", codesProgram());
  await project.compile();
});

function recordRequests(): void {
  subscribe("http.server.response.finish", (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    const { pathname } = new URL((request as { originalUrl?: string }).originalUrl ?? request.url!, service.url);
    served.push({ operation: operationIdOf(request.method!, pathname), status: response.statusCode });
  });
}

/**
 * Returns a program that compiles only if the generated types of each operation's errors have exactly the codes that the
 * operation lists, and if an error has the members of one code only after its code was compared.
 */
function codesProgram(): string {
  const perOperation = OPERATIONS.map(({ operationId, codes }) => {
    const all = `{ ${codes.map((code) => `${code}: true`).join(", ")} }`;
    const heyError = `${operationId[0]!.toUpperCase()}${operationId.slice(1)}Error`;
    return `  ${operationId}: [
    ${all} satisfies Record<ErrorOf<"${operationId}">["code"], true>,
    ${all} satisfies Record<hey.${heyError}["code"], true>,
  ],`;
  });
  return `import type * as hey from "./collections-api/index.js";
import type { operations } from "./collections-api.js";

type ErrorOf<Id extends keyof operations> = {
  [Status in keyof operations[Id]["responses"]]: operations[Id]["responses"][Status] extends {
    content: { "application/problem+json": infer Error };
  }
    ? Error
    : never;
}[keyof operations[Id]["responses"]];

export const codes = {
${perOperation.join("\n")}
};

// @ts-expect-error -- only an error with the code DUPLICATE_CONFIRMATION has \`original\`
export type OriginalOfAnyError = ErrorOf<"confirmPayment">["original"];
// @ts-expect-error -- only an error with the code DUPLICATE_CONFIRMATION has \`original\`
export type OriginalOfAnyErrorOfHey = hey.ConfirmPaymentError["original"];
`;
}

describe.each(CLIENTS)("the client that the page generates for %s", (client) => {
  let reported: unknown;
  let answered: Served[];

  beforeAll(async () => {
    const lender = await aLender(service);
    const [[keyId, secret] = ["", ""]] = lender.secrets;
    served.splice(0);
    reported = await project.run(`${client}-calls`, {
      BASE_URL: service.url,
      API_KEY_ID: keyId,
      HMAC_SECRET: secret,
      LOAN: "MUM/2023 ü'1",
    });
    answered = served.splice(0);
  });

  test("makes every call of the OpenAPI document with success", () => {
    const succeeded = new Set(answered.filter(({ status }) => status < 300).map(({ operation }) => operation));
    const missing = OPERATIONS.filter(({ operationId }) => !succeeded.has(operationId));
    expect(missing.map(({ operationId }) => operationId)).toEqual([]);
  });

  test("tells errors apart by code, and reads the members that only this code has", () => {
    expect(reported).toEqual({
      DUPLICATE_CONFIRMATION: "UTR1",
      AMOUNT_OUT_OF_RANGE: "/amount",
      LOAN_NOT_FOUND: 404,
      BAD_SIGNATURE: 64,
    });
  });
});

test("the page installs only packages that this test uses", () => {
  const installed = [...PAGE.matchAll(/^npm install (?:--save-dev )?(.+)$/gm)].flatMap(([, names]) =>
    names!.split(" "),
  );
  const generators = installed.filter((name) => !name.startsWith("./collections-"));
  expect(generators.length).toBeGreaterThan(4);
  const used = new Set(MANIFESTS.flatMap(packagesOf));
  expect(generators.filter((name) => !used.has(name.replace(/(?<=.)@\d+$/, "")))).toEqual([]);
});

/** Returns the names of the packages that a manifest depends on. */
function packagesOf(manifest: string): string[] {
  const { dependencies, devDependencies } = JSON.parse(manifest) as Record<string, Record<string, string> | undefined>;
  return Object.keys({ ...dependencies, ...devDependencies });
}
