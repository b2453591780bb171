import { randomUUID } from "node:crypto";
import { aFieldPartner, aLender, aRow, assign, type TestService } from "./fixture.ts";
import { AppClient, type Selected } from "./graphql-client.ts";

/** A field partner at the doors of a lender's borrowers. */
export interface DoorStage {
  readonly lender: Awaited<ReturnType<typeof aLender>>;
  readonly fieldPartnerId: string;
  readonly app: AppClient;
  /** A visit on a new case of ₹5,000, just begun; `fields` adds to the case's import row. */
  visit(fields?: object): Promise<DoorVisit>;
  /** A link of ₹2,500, or what the result of the mutation is instead. */
  request(visitId: string, input?: object): Promise<Selected>;
  /** A field of `paymentLink(id)`. */
  link(id: string, selection?: string): Promise<Selected>;
}

export interface DoorVisit {
  readonly loan: string;
  readonly caseId: string;
  readonly visitId: string;
}

const LINK = "id status url deliveries { channel status failureCode }";
let loansMade = 0;

export async function doorStage(
  service: TestService,
  lenderInput: Parameters<typeof aLender>[1] = {},
): Promise<DoorStage> {
  // A production delivers no link of 127.0.0.1 to a borrower.
  const twinOptions = service.app.config.isSandbox ? {} : { publicUrl: "https://pay.acme.example" };
  const lender = await aLender(service, lenderInput, twinOptions);
  const { id: fieldPartnerId, accessToken } = await aFieldPartner(service);
  const app = new AppClient(service.url, accessToken);
  return {
    lender,
    fieldPartnerId,
    app,
    async visit(fields = {}) {
      loansMade += 1;
      const loan = `DOOR-${loansMade}`;
      await lender.importCases([aRow(loan, fields as Record<string, unknown>)]);
      await assign(service, lender.code, loan, fieldPartnerId);
      const { data } = await app.ask("{ cases(first: 100) { edges { node { id loanTail } } } }");
      const tail = loan.slice(-4);
      const cases: { node: { id: string; loanTail: string } }[] = data!["cases"].edges;
      const caseId = cases.find(({ node }) => node.loanTail === tail)!.node.id;
      const visitId = randomUUID();
      await app.mutate("startVisit", { visitId, caseId, occurredAt: new Date().toISOString() }, "visit { visitId }");
      return { loan, caseId, visitId };
    },
    request(visitId, input = {}) {
      const amount = { minor: "250000", currency: "INR" };
      return app.mutate("requestPaymentLink", { visitId, amount, ...input }, `paymentLink { ${LINK} }`);
    },
    async link(id, selection = LINK) {
      const { data } = await app.ask(`query ($id: ID!) { paymentLink(id: $id) { ${selection} } }`, { id });
      return data!["paymentLink"];
    },
  };
}
