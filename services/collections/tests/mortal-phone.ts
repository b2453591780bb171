import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { AppClient, type GraphqlAnswer, type Selected } from "./graphql-client.ts";

/** A request as a phone keeps it until it is answered. */
export interface Queued {
  readonly mutation: keyof typeof SELECTIONS;
  readonly input: Readonly<Record<string, unknown>>;
}

/** A request that was answered. */
export interface Acknowledged extends Queued {
  readonly answer: Selected;
  /** Attempts that had no answer. */
  readonly lost: number;
}

const TOKENS = "tokens { accessToken refreshToken }";
const IS_HELD = "... on VisitNotFound { isHeld }";
/** What is asked of each result: nothing that goes on by itself afterwards. */
const SELECTIONS = {
  requestOtp: "... on RequestOtpPayload { otpId }",
  verifyOtp: `... on OtpWrong { triesLeft } ... on VerifyOtpPayload { ${TOKENS} }`,
  refreshSession: `... on RefreshSessionPayload { ${TOKENS} }`,
  signOut: "... on SignOutPayload { signedOut }",
  endSession: "",
  revealContact: "... on RevealContactPayload { contact { phone } }",
  startVisit: "... on StartVisitPayload { visit { visitId startedAt } }",
  completeVisit: `${IS_HELD} ... on CompleteVisitPayload { visit { visitId disposition } }`,
  requestPaymentLink: `${IS_HELD} ... on RequestPaymentLinkPayload { paymentLink { id } }`,
  resendPaymentLink: "... on ResendPaymentLinkPayload { paymentLink { id } }",
};

/** A new request under a new key. */
export function queued(mutation: Queued["mutation"], input: object): Queued {
  return { mutation, input: { ...input, idempotencyKey: randomUUID() } };
}

/** An app that keeps each request until it is answered, whatever happens to the service. */
export class MortalPhone {
  readonly done: Acknowledged[] = [];
  /** Requests that it has given up without an answer. */
  readonly abandoned: Queued[] = [];
  /** Answers that said nothing but that something went wrong. */
  readonly faults: GraphqlAnswer[] = [];
  accessToken: string | undefined;
  readonly #url: () => Promise<string>;
  readonly #onLost: (request: Queued) => Promise<void>;

  constructor(url: () => Promise<string>, onLost: (request: Queued) => Promise<void>) {
    this.#url = url;
    this.#onLost = onLost;
  }

  /** Sends it until there is an answer, and returns the result. */
  async send(request: Queued): Promise<Selected> {
    for (let lost = 0; ; lost += 1) {
      const answered = await this.attempt(request);
      if (!answered) continue;
      this.done.push({ ...request, answer: answered.result, lost });
      return answered.result;
    }
  }

  /** Sends it once, and then never again. */
  async sendOnce(request: Queued): Promise<void> {
    const answered = await this.attempt(request);
    if (answered) this.done.push({ ...request, answer: answered.result, lost: 0 });
    else this.abandoned.push(request);
  }

  /** The result, or the code of an error that is final; undefined when there is no answer. */
  async attempt({ mutation, input }: Queued): Promise<{ result: Selected } | undefined> {
    const title = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}`;
    const text = `mutation ($input: ${title}Input!) { result: ${mutation}(input: $input) {
      __typename ... on UserError { code } ${SELECTIONS[mutation]} } }`;
    const answer = await this.#post(text, { input });
    if (!answer) await this.#onLost({ mutation, input });
    const code = answer?.errors?.[0]?.extensions.code;
    if (code === "BAD_INPUT") throw new Error(JSON.stringify(answer));
    if (answer && code === "INTERNAL") this.faults.push(answer);
    if (!answer || code === "INTERNAL") {
      await pause(10 + Math.random() * 20);
      return undefined;
    }
    return { result: code === undefined ? answer.data!["result"] : { error: code } };
  }

  /** A query's data, asked until there is an answer. */
  async read(text: string, variables: object = {}): Promise<Selected> {
    for (;;) {
      const answer = await this.#post(text, variables);
      if (answer?.errors && answer.errors[0]!.extensions.code !== "INTERNAL") throw new Error(JSON.stringify(answer));
      if (answer && !answer.errors) return answer.data;
      await pause(20);
    }
  }

  async #post(text: string, variables: object): Promise<GraphqlAnswer | undefined> {
    try {
      return await new AppClient(await this.#url(), this.accessToken).ask(text, variables);
    } catch (error) {
      // What `fetch` throws when a connection breaks, and what the half of an answer is to a reader of JSON.
      if (error instanceof TypeError || error instanceof SyntaxError) return undefined;
      throw error;
    }
  }
}
