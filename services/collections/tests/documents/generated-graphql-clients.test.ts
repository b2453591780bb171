import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type AppProject, createAppProject } from "@collections/graphql-clients";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { anAssignedCase } from "../fixtures/assigned-case.ts";
import { aFieldPartner, aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const PAGE = readFileSync(new URL("../../../../docs/field-app/codegen.md", import.meta.url), "utf8");
/** The commands and files of the page, in order. The text after a block's language names the library, or `all`, and the file. */
const BLOCKS = [...PAGE.matchAll(/^```\w+ (\w+)(?:\/(\S+))?\n([\s\S]*?)^```$/gm)].map(([, client, file, text]) => ({
  client,
  file,
  text: text!,
}));

describe.each(["urql", "apollo"])("the page about generated clients: %s", (library) => {
  let service: TestService;
  let app: AppClient;
  let caseId: string;
  let linkId: string;
  let project: AppProject;
  let lender: Awaited<ReturnType<typeof aLender>>;
  let printed = "";

  beforeAll(async () => {
    service = await startTestService();
    lender = await aLender(service);
    const { id, accessToken } = await aFieldPartner(service);
    app = new AppClient(service.url, accessToken);
    ({ caseId } = await anAssignedCase(service, lender, id, { borrowerName: "Ravi Kumar" }));
    project = await createAppProject();
    afterFile(() => project.remove());
    const env = { COLLECTIONS: ROOT, GRAPHQL_URL: `${service.url}/graphql`, ACCESS_TOKEN: accessToken };
    let paid: Promise<void> | undefined;
    const onOutput = (part: string) => {
      if (part.includes("link: MINTED")) paid ??= pay();
    };
    for (const { file, text } of BLOCKS.filter(({ client }) => client === library || client === "all")) {
      if (file === undefined) printed += await project.sh(text, env, onOutput);
      else await project.write(file, text);
    }
    await paid;
  });

  /** Pays the program's link as the borrower does. */
  async function pay(): Promise<void> {
    const { data } = await app.ask("query ($id: ID!) { case(id: $id) { activeLink { id } } }", { id: caseId });
    linkId = data!["case"].activeLink.id;
    await lender.pay([...lender.links.keys()].at(-1)!);
  }

  test("the program lists a case, starts a visit, requests a link and follows the link until it is paid", async () => {
    const lines = printed.split("\n").filter((line) => /^(?:case|visit|link): /.test(line));
    expect(lines.slice(0, 2)).toEqual(["case: Ravi Kumar owes ₹5,000.00", "visit: started"]);
    expect(lines.slice(2)).toContain("link: MINTED");
    expect(lines.at(-1)).toBe("link: PAID");
    const query = "query ($id: ID!) { case(id: $id) { status visits { edges { node { isMine } } } } }";
    const shown = (await app.ask(query, { id: caseId })).data!["case"];
    expect(shown).toEqual({ status: "COLLECTED", visits: { edges: [{ node: { isMine: true } }] } });
  });

  test("the service accepts the manifest of graphql-codegen, and executes each query of it by its documentId", async () => {
    const manifest = JSON.parse(await project.read("src/gql/persisted-documents.json")) as Record<string, string>;
    const only = await startTestService({
      hasWorker: false,
      settings: {
        DATABASE_URL: service.databaseUrl,
        PERSISTED_OPERATIONS: "only",
        PERSISTED_OPERATIONS_FILE: project.path("src/gql/persisted-documents.json"),
      },
    });
    const queries = Object.entries(manifest).filter(([, text]) => /(?:^|\} )query \w+/.test(text));
    expect(queries.length).toBeGreaterThan(7);
    for (const [documentId, text] of queries) {
      const variables = { id: text.includes("query OnePaymentLink") ? linkId : caseId, period: "TODAY" };
      const response = await fetch(app.url.replace(service.url, only.url), {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${app.accessToken}` },
        body: JSON.stringify({ documentId, variables }),
      });
      expect(await response.json(), text).not.toHaveProperty("errors");
    }
  });
});
