import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

const SAMPLES = fileURLToPath(new URL("../../../../docs/lenders/samples/", import.meta.url));
const run = promisify(execFile);

const LANGUAGES = [
  { language: "bash", file: "sample.sh", command: "bash" },
  { language: "js", file: "sample.mjs", command: process.execPath },
  { language: "python", file: "sample.py", command: "python3" },
] as const;

const OPERATION_IDS = Object.values(openApiDocument().paths)
  .flatMap((methods) => Object.values(methods as Record<string, { operationId?: string }>))
  .flatMap(({ operationId }) => operationId ?? []);

let service: TestService;
let env: NodeJS.ProcessEnv;
let folder: string;
/** The programs of the reference by operation and language, as a reader copies them. */
let programs: Map<string, string>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const lender = await aLender(service);
  await lender.importCases([aRow("LN-1001")]);
  const [[keyId, secret] = ["", ""]] = lender.secrets;
  env = { PATH: process.env["PATH"], BASE_URL: service.url, API_KEY_ID: keyId, HMAC_SECRET: secret };
  folder = await mkdtemp(join(tmpdir(), "reference-samples-"));
  afterFile(() => rm(folder, { recursive: true, force: true }));
  for (const name of ["bash/signing.sh", "node/signing.mjs", "python/signing.py"]) {
    await cp(join(SAMPLES, name), join(folder, name.replace(/.*\//, "")));
  }
  programs = await programsOfReference();
});

test("the reference has a program in each language for every operation", () => {
  expect([...programs.keys()].toSorted()).toEqual(
    OPERATION_IDS.flatMap((id) => LANGUAGES.map(({ language }) => `${id}-${language}`)).toSorted(),
  );
});

test.each(OPERATION_IDS)(
  "the programs of the reference for %s are signed correctly and get the same answer in each language",
  async (operationId) => {
    const statuses: number[] = [];
    for (const { language, file, command } of LANGUAGES) {
      const name = `${operationId}-${file}`;
      await writeFile(join(folder, name), withStatus(language, programs.get(`${operationId}-${language}`)!));
      const { stdout } = await run(command, [name], { cwd: folder, env });
      const [, status] = /(?:^|\n)(\d{3})(?:\n| |$)/.exec(stdout) ?? [];
      expect(status, `${language} printed: ${stdout}`).toBeDefined();
      statuses.push(Number(status));
    }
    const [first, ...others] = statuses;
    expect(others).toEqual([first, first]);
    // 401 would be a wrong signature, and 5xx a fault of the service.
    expect([200, 202, 404, 409, 422]).toContain(first);
  },
);

/** Makes the program of the shell print the status in a line of its own, as the other programs do. */
function withStatus(language: string, program: string): string {
  return language === "bash" ? program.replace("curl -sS ", String.raw`curl -sS -w '\n%{http_code}\n' `) : program;
}

async function programsOfReference(): Promise<Map<string, string>> {
  const overview = await textAt("/docs/reference");
  const pages = new Set([...overview.matchAll(/href="(\/docs\/reference\/\w+)/g)].map(([, path]) => path!));
  const found = new Map<string, string>();
  for (const page of pages) {
    const samples = (await textAt(page)).matchAll(
      /<div class="sample" id="(\w+)-(?:sample-)?(bash|js|python)".*?<code>(.*?)<\/code>/gs,
    );
    for (const [, operationId, language, html] of samples) found.set(`${operationId}-${language}`, plainText(html!));
  }
  return found;
}

async function textAt(path: string): Promise<string> {
  const answer = await fetch(service.url + path);
  expect(answer.status).toBe(200);
  return answer.text();
}

function plainText(html: string): string {
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'", amp: "&" };
  return html
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/&(lt|gt|quot|#39|#x27|amp);/g, (_, name: string) => entities[name]!);
}
