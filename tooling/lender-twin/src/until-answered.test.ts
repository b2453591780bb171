import { afterAll, beforeAll, expect, test } from "vitest";
import { connectedPair, type SimulatedService } from "../tests/simulated-service.ts";
import type { LenderTwin } from "./twin.ts";
import { isReversed, NoFinalAnswerError, reverseUntilAnswered } from "./until-answered.ts";

const BODY = '{"reference":"pay_1","reversalReference":"rev_1","reversedAt":"2026-11-20T10:00:00Z","reason":"bounced"}';

let service: SimulatedService;
let twin: LenderTwin;

beforeAll(async () => {
  ({ service, twin } = await connectedPair());
});

afterAll(async () => {
  await twin.close();
  service.close();
});

test("a reversal is repeated with the same bytes after a lost answer and a 503, and a 409 counts as recorded", async () => {
  service.answers = (_request, attempt) => {
    if (attempt === 1) return "reset";
    return attempt === 2 ? { status: 503 } : { status: 409, body: { code: "DUPLICATE_REVERSAL", matches: true } };
  };
  const patience = { giveUpAfterMs: 300_000, signal: new AbortController().signal };
  const { answer, attempts } = await reverseUntilAnswered(twin, "LN-1", BODY, patience);
  expect([isReversed(answer), attempts]).toEqual([true, 3]);
  const sent = service.requests.map(({ target, rawBody }) => [target, rawBody]);
  expect(sent).toEqual(Array.from({ length: 3 }, () => ["/api/v1/partner/cases/LN-1/payments/reverse", BODY]));
});

test("a reversal that the service rejects is not repeated", async () => {
  service.answers = () => ({ status: 422, body: { code: "VALIDATION_FAILED", retryable: false } });
  const patience = { giveUpAfterMs: 300_000, signal: new AbortController().signal };
  const { answer, attempts } = await reverseUntilAnswered(twin, "LN-1", BODY, patience);
  expect([isReversed(answer), answer.status, attempts]).toEqual([false, 422, 1]);
});

test("a reversal without a final answer ends with an error that has the path and the last answer", async () => {
  service.answers = () => ({ status: 500, body: "out of order" });
  const reversing = reverseUntilAnswered(twin, "LN-1", BODY, {
    giveUpAfterMs: 50,
    signal: new AbortController().signal,
  });
  await expect(reversing).rejects.toThrow(NoFinalAnswerError);
  await expect(reversing).rejects.toThrow(/cases\/LN-1\/payments\/reverse got no final answer.*HTTP 500 out of order/);
});
