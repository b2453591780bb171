import { randomUUID } from "node:crypto";
import { visitOfFieldPartner } from "@collections/cases";
import { transaction } from "@collections/database";
import { lockLinksOfCase, recordMinted } from "@collections/payment-links";
import { expect } from "vitest";
import { aFieldPartner, type aLender, aRow, assign, type TestService } from "./fixture.ts";
import { AppClient } from "./graphql-client.ts";

/** A field partner with an app, and with the cases that a test gives to them. */
export interface CaseHolder {
  readonly id: string;
  readonly accessToken: string;
  readonly app: AppClient;
  /** Cases of the lender, one for each import row: their global ids, in the order of the rows. */
  cases(lender: CaseLender, ...rows: Record<string, unknown>[]): Promise<string[]>;
  /** A visit on a case, and a link that the lender has minted: as a worker would record it. The link's global id. */
  mintedLink(caseId: string): Promise<string>;
}

export type CaseLender = Awaited<ReturnType<typeof aLender>>;

let loansMade = 0;

/** A new field partner, or somebody who has signed in before. */
export async function aCaseHolder(
  service: TestService,
  person?: { readonly id: string; readonly accessToken: string },
): Promise<CaseHolder> {
  const { id, accessToken } = person ?? (await aFieldPartner(service));
  const app = new AppClient(service.url, accessToken);
  return {
    id,
    accessToken,
    app,
    async cases(lender, ...rows) {
      const imported = (rows.length > 0 ? rows : [{}]).map((fields) => {
        loansMade += 1;
        return aRow(`LN-${loansMade}`, fields);
      });
      const { body } = await lender.importCases(imported);
      expect(body).toMatchObject({ success: true });
      for (const row of imported) await assign(service, lender.code, row["sourceLoanNumber"] as string, id);
      const results = body["results"] as { caseId: string }[];
      const { data } = await app.ask("{ cases(first: 100) { edges { node { id caseId } } } }");
      const nodes: { id: string; caseId: string }[] = data!["cases"].edges.map(({ node }: { node: object }) => node);
      return results.map(({ caseId }) => nodes.find((node) => node.caseId === caseId)!.id);
    },
    async mintedLink(caseId) {
      const visitId = randomUUID();
      await app.mutate("startVisit", { visitId, caseId, occurredAt: new Date() }, "visit { visitId }");
      const input = { visitId, amount: { minor: "100000", currency: "INR" }, channels: [] };
      const { paymentLink } = await app.mutate("requestPaymentLink", input, "paymentLink { id }");
      const linkId = Buffer.from(paymentLink.id, "base64url").toString().split(":")[1]!;
      await transaction(service.app.database.em(), async (tx) => {
        const { lenderId } = (await visitOfFieldPartner(tx, id, visitId))!;
        const minted = { linkId: `plink_${linkId}`, url: "https://pay.example/1" };
        recordMinted(tx, await lockLinksOfCase(tx, { lenderId, id: linkId }), minted, new Date());
      });
      return paymentLink.id as string;
    },
  };
}
