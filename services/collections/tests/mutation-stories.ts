import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { transaction } from "@collections/database";
import { createFieldPartner, issueAccessToken } from "@collections/field-partners";
import type { DoorStage } from "./door-stage.ts";
import { aFieldPartner, aRow, type TestService } from "./fixture.ts";
import { AppClient } from "./graphql-client.ts";
import type { startSmsGateway } from "./sms-gateway.ts";

/** Where the requests of a story come from: a service with a worker, and a field partner at a lender's doors. */
export interface StoryPlace {
  readonly service: TestService;
  readonly gateway: Awaited<ReturnType<typeof startSmsGateway>>;
  readonly stage: DoorStage;
}

/** A request without its idempotency key, and who sends it. */
export interface Wish {
  readonly app: AppClient;
  readonly input: object;
}

/** A request that is done when it is sent for the first time. `other` is something else to send under its key. */
export interface DoableWish extends Wish {
  other(answer: Answer): Wish | Promise<Wish>;
}

/** A request that is refused, but would be done after `mend`. */
export interface RefusedWish extends Wish {
  readonly code: string;
  mend?(): Promise<unknown>;
}

/** What may become of a mutation whose request is sent again. */
export interface MutationStory {
  /** A table that it writes while it works. */
  readonly writes: string;
  wish(place: StoryPlace): Promise<DoableWish>;
  /** None where nothing but a conflict is refused. */
  readonly refused?: (place: StoryPlace) => Promise<RefusedWish>;
  /** The result's type when the same request comes after a week. */
  readonly afterAWeek: string;
  /** What a repeat is told instead of the first answer, in `errors`. */
  readonly repeatIs?: "UNAUTHENTICATED";
  /** Nobody is signed in whom the key could belong to, so that it belongs to everybody. */
  readonly isKeyOfAll?: boolean;
}

export type Answer = any; // oxlint-disable-line typescript/no-explicit-any -- each mutation answers with a type of its own

const now = () => new Date().toISOString();
const PAYMENT = { amount: { minor: "250000", currency: "INR" }, channels: [] };
let peopleMade = 0;

/** Every mutation that the schema has; a test fails on one that is missing. */
export const MUTATION_STORIES: Readonly<Record<string, MutationStory>> = {
  requestOtp: {
    writes: "field_partners.otp",
    async wish({ service }) {
      const app = new AppClient(service.url);
      return { app, input: { phone: aPhone() }, other: () => ({ app, input: { phone: aPhone() } }) };
    },
    refused: async ({ service }) => ({
      app: new AppClient(service.url),
      input: { phone: "9800000001" },
      code: "INVALID_PHONE",
    }),
    afterAWeek: "RequestOtpPayload",
    isKeyOfAll: true,
  },

  verifyOtp: {
    writes: "field_partners.session",
    async wish(place) {
      const { app, otpId, code } = await aCode(place);
      const other = { otpId, code: anotherThan(code) };
      return { app, input: { otpId, code, deviceName: "Redmi" }, other: () => ({ app, input: other }) };
    },
    async refused(place) {
      const { app, otpId, code } = await aCode(place);
      return { app, input: { otpId, code: anotherThan(code) }, code: "OTP_WRONG" };
    },
    afterAWeek: "OtpExpired",
  },

  refreshSession: {
    writes: "field_partners.token_pair",
    async wish(place) {
      const { app, otpId, code } = await aCode(place);
      const { tokens } = await app.mutate("verifyOtp", { otpId, code }, "tokens { refreshToken }");
      const next = (answer: Answer) => ({ app, input: { refreshToken: answer.tokens.refreshToken } });
      return { app, input: tokens, other: next };
    },
    refused: async ({ service }) => ({
      app: new AppClient(service.url),
      input: { refreshToken: `fpr_${"A".repeat(43)}` },
      code: "SESSION_ENDED",
    }),
    afterAWeek: "SessionEnded",
  },

  signOut: {
    writes: "field_partners.session",
    async wish({ service }) {
      const { app, another } = await twoSessions(service);
      return { app, input: {}, other: () => ({ app: another, input: {} }) };
    },
    afterAWeek: "UNAUTHENTICATED",
    repeatIs: "UNAUTHENTICATED",
  },

  endSession: {
    writes: "field_partners.session",
    async wish({ service }) {
      const { app, another } = await twoSessions(service);
      const input = { sessionId: await sessionOf(another) };
      return { app, input, other: async () => ({ app, input: { sessionId: await sessionOf(app) } }) };
    },
    async refused({ service, stage: { app } }) {
      const theirs = await twoSessions(service);
      return { app, input: { sessionId: await sessionOf(theirs.app) }, code: "SESSION_NOT_FOUND" };
    },
    afterAWeek: "EndSessionPayload",
  },

  revealContact: {
    writes: "field_partners.audit_entry",
    async wish({ stage }) {
      const [{ caseId }, another] = [await stage.visit(), await stage.visit()];
      return {
        app: stage.app,
        input: { caseId },
        other: () => ({ app: stage.app, input: { caseId: another.caseId } }),
      };
    },
    // Afterwards a repeat is not the stored result alone: it shows the contact only while it may be seen.
    refused: async ({ stage, service }) => {
      const { caseId } = await stage.visit();
      const { accessToken } = await aFieldPartner(service);
      return { app: new AppClient(service.url, accessToken), input: { caseId }, code: "CASE_NOT_FOUND" };
    },
    afterAWeek: "RevealContactPayload",
  },

  startVisit: {
    writes: "cases.visit",
    async wish({ stage: { app, visit } }) {
      const { caseId } = await visit();
      const input = { caseId, visitId: randomUUID(), occurredAt: now() };
      return { app, input, other: () => ({ app, input: { ...input, latitude: 18.5, longitude: 73.8 } }) };
    },
    async refused({ stage }) {
      const { caseId, loan } = await stage.visit();
      await act(stage, loan, "hold");
      const input = { caseId, visitId: randomUUID(), occurredAt: now() };
      return { app: stage.app, input, code: "CASE_NOT_WORKABLE", mend: () => act(stage, loan, "release") };
    },
    afterAWeek: "StartVisitPayload",
  },

  completeVisit: {
    writes: "cases.visit",
    async wish({ stage: { app, visit } }) {
      const { visitId } = await visit();
      const input = { visitId, disposition: "NOT_AT_HOME", occurredAt: now() };
      return { app, input, other: () => ({ app, input: { ...input, note: "Nobody there." } }) };
    },
    async refused({ stage: { app, visit } }) {
      const { visitId } = await visit();
      await app.mutate("completeVisit", { visitId, disposition: "OTHER", occurredAt: now() }, "visit { visitId }");
      const input = { visitId, disposition: "REFUSED_TO_PAY", occurredAt: now() };
      return { app, input, code: "VISIT_ALREADY_COMPLETED" };
    },
    afterAWeek: "CompleteVisitPayload",
  },

  requestPaymentLink: {
    writes: "payment_links.payment_link",
    async wish({ stage: { app, visit } }) {
      const input = { ...PAYMENT, visitId: (await visit()).visitId };
      return { app, input, other: () => ({ app, input: { ...input, channels: ["EMAIL"] } }) };
    },
    async refused({ stage }) {
      const { visitId, loan } = await stage.visit();
      const input = { visitId, amount: { minor: "600000", currency: "INR" } };
      const mend = () => stage.lender.importCases([aRow(loan, { outstandingAmount: 9000 })]);
      return { app: stage.app, input, code: "AMOUNT_NOT_ALLOWED", mend };
    },
    afterAWeek: "RequestPaymentLinkPayload",
  },

  resendPaymentLink: {
    writes: "payment_links.link_delivery",
    async wish({ stage }) {
      const input = { paymentLinkId: await aMintedLink(stage), channels: ["EMAIL"] };
      return { app: stage.app, input, other: () => ({ app: stage.app, input: { ...input, channels: ["WHATSAPP"] } }) };
    },
    async refused({ stage }) {
      const { visitId, loan } = await stage.visit();
      const paymentLinkId = await aMintedLink(stage, visitId);
      await act(stage, loan, "hold");
      return {
        app: stage.app,
        input: { paymentLinkId },
        code: "CASE_NOT_WORKABLE",
        mend: () => act(stage, loan, "release"),
      };
    },
    afterAWeek: "ResendPaymentLinkPayload",
  },
};

function aPhone(): string {
  peopleMade += 1;
  return `+9196${String(10_000_000 + peopleMade)}`;
}

function anotherThan(code: string): string {
  return code === "000000" ? "000001" : "000000";
}

async function aCode({ service, gateway }: StoryPlace): Promise<{ app: AppClient; otpId: string; code: string }> {
  const phone = aPhone();
  await transaction(service.app.database.em(), (tx) => createFieldPartner(tx, { displayName: "Asha Rao", phone }));
  const app = new AppClient(service.url);
  const { otpId } = await app.mutate("requestOtp", { phone }, "otpId");
  const { code } = await gateway.next(otpId as string);
  return { app, otpId, code: code! };
}

/** One person, signed in on two phones. */
async function twoSessions(service: TestService): Promise<{ app: AppClient; another: AppClient }> {
  const { id, accessToken } = await aFieldPartner(service);
  const second = await transaction(service.app.database.em(), (tx) => issueAccessToken(tx, id));
  return { app: new AppClient(service.url, accessToken), another: new AppClient(service.url, second.accessToken) };
}

async function sessionOf(app: AppClient): Promise<string> {
  const { data } = await app.ask("{ sessions { id isCurrent } }");
  return data!["sessions"].find(({ isCurrent }: { isCurrent: boolean }) => isCurrent).id;
}

async function aMintedLink(stage: DoorStage, visitId?: string): Promise<string> {
  const { paymentLink } = await stage.request(visitId ?? (await stage.visit()).visitId, { channels: [] });
  while ((await stage.link(paymentLink.id)).status !== "MINTED") await pause(5);
  return paymentLink.id;
}

async function act({ lender }: DoorStage, loan: string, action: "hold" | "release"): Promise<void> {
  await lender.importCases([aRow(loan, { action, reason: "dispute" })]);
}
