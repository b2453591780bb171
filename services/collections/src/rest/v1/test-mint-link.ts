import { AmountLiteral } from "@collections/money";
import type { MintFaultCode } from "@collections/payment-links";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import { idOfRequest } from "../caller/same-request.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { countAnswer, keysOf, successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { SignedEndpoint } from "../endpoint/endpoint.ts";
import { fieldFaults, unknownFieldWarnings, type Warning } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";
import { LOAN_CHARACTERS, text } from "../reading/wire-types.ts";
import { headersAnswer } from "./delivery.ts";
import { CASE_ID, KEY_ID } from "./examples.ts";
import { couldBeLoan, loanNotFound } from "./loan-in-path.ts";

const AMOUNT_KEYS = new Set(["amount"]);

/** The body of a test of the mint endpoint (contract: POST mint-link/test). */
const mintLinkTestBody = z.object({
  loan: text(LOAN_CHARACTERS).meta({ description: "The number of a loan that you have imported." }),
  amount: z
    .instanceof(AmountLiteral, { error: "takes a JSON number in major units, such as 2500 or 2500.5, not a string" })
    .meta({ type: "number", exclusiveMinimum: 0 })
    .nullish()
    .meta({ description: "The amount of the link, in major units of the case's currency. Default: 1." }),
});

const MINT_FAULTS = {
  timeout: true,
  non_2xx: true,
  refused: true,
  bad_answer: true,
  bad_url: true,
  connect: true,
  dns: true,
  tls: true,
  blocked_address: true,
} satisfies Record<MintFaultCode, true>;

const mintLinkFaultAnswer = z
  .object({
    code: z
      .enum(keysOf(MINT_FAULTS))
      .meta({ description: "The `reason` that the event `payment_link.unavailable` would have." }),
    detail: z.string().meta({ description: "The observation, in words: the `detail` of that event." }),
    cause: z.string().meta({ description: "The meaning of the failure." }),
    remedy: z.string().meta({ description: "The remedy." }),
  })
  .meta({ description: "The reason why a test minted no link, and the remedy." });

/** The answer to a test of the mint endpoint. */
const mintLinkTestAnswer = z
  .object({
    success: successAnswer,
    minted: z
      .boolean()
      .meta({ description: "Whether your mint endpoint answered with a link that the service accepts." }),
    durationMs: countAnswer("The duration of the call, in milliseconds."),
    link: z
      .object({
        linkId: z.string().meta({ description: "The `linkId` in your answer." }),
        url: z.string().meta({ description: "The `url` in your answer, in canonical form." }),
      })
      .nullable()
      .meta({ description: "The minted link, or null. The service does not store it." }),
    request: z
      .object({
        url: z.string().meta({ description: "The registered mint URL." }),
        headers: headersAnswer.meta({
          description: "The headers of the mint call. `***` replaces the value of your registered header.",
        }),
        body: z.string().meta({ description: "The exact body that was sent." }),
      })
      .meta({ description: "The request that was sent." }),
    response: z
      .object({
        status: z.int().meta({ description: "The HTTP status of your mint endpoint's answer." }),
        headers: headersAnswer.meta({ description: "The headers of the answer, with their names in lower case." }),
        body: z.string().meta({ description: "The first 2 KB of the answer's body." }),
      })
      .nullable()
      .meta({ description: "The answer of your mint endpoint; null if it did not answer." }),
    error: mintLinkFaultAnswer.nullable(),
    warnings: warningsAnswer,
  })
  .meta({ description: "The result of a test call to your mint endpoint." });

const TEST_ID = "3f1c0d6a-9b7e-8d2c-aa3f-5e6b7c8d9e0f";

const mintLinkTestExample = {
  success: true,
  minted: true,
  durationMs: 84,
  link: { linkId: "plink_4c1", url: "https://pay.acme.example/l/4c1" },
  request: {
    url: "https://acme.example/mint-link",
    headers: {
      accept: "application/json",
      "x-mint-token": "***",
      "content-type": "application/json",
      "accept-encoding": "identity",
      "idempotency-key": `test_${TEST_ID}`,
      "x-service-key-id": KEY_ID,
      "x-service-timestamp": "1796275321120",
      "x-service-signature": "0d0b8e1f6f0c6c4b5fa0ac1e9d2f4b7a6c3e8d5f1a2b3c4d5e6f708192a3b4c5",
    },
    body: JSON.stringify({
      sourceLoanNumber: "LN-2040",
      caseId: CASE_ID,
      visitId: `vis_${TEST_ID.replaceAll("-", "")}`,
      amount: 1,
      currency: "INR",
      borrowerName: "Ravi Kumar",
      borrowerPhone: "+919800000001",
      description: "Payment for loan LN-2040",
    }),
  },
  response: {
    status: 200,
    headers: { "content-type": "application/json" },
    body: '{"success":true,"link":{"linkId":"plink_4c1","url":"https://pay.acme.example/l/4c1"}}',
  },
  error: null,
};

/** Calls the lender's mint endpoint as a test (contract: Partner endpoints). */
export const testMintLink: SignedEndpoint = {
  name: "mint-link-test",
  method: "POST",
  path: "/api/v1/partner/mint-link/test",
  operation: {
    id: "testMintLink",
    tag: "Deliveries",
    summary: "Call your mint endpoint as a test",
    description: [
      "The service calls your mint endpoint once, as if a field partner had requested a link, and answers 200 as soon as the",
      "result is known, even if no link was minted. The call has the borrower's data of the loan's current case. Its",
      "`Idempotency-Key` begins with `test_`, and its `visitId` belongs to no visit. The service stores no link, sends nothing",
      "to the borrower, changes no case and sends no event. A link that your endpoint minted exists on your side: cancel it.",
      "",
      "The call is not retried. If you send the same bytes again, signature included, your endpoint is called again with the",
      "same `Idempotency-Key`.",
    ].join("\n"),
    request: {
      schemas: { MintLinkTest: mintLinkTestBody },
      required: true,
      examples: { "A link of 1 rupee": { loan: "LN-2040", amount: 1 } },
    },
    answers: {
      200: {
        description: "The result of the call.",
        schemas: { MintLinkTestResult: mintLinkTestAnswer, MintLinkFault: mintLinkFaultAnswer },
        examples: { "A minted link": mintLinkTestExample },
      },
    },
    problems: [
      "LOAN_NOT_FOUND",
      "MINT_URL_NOT_CONFIGURED",
      "REQUIRED",
      "WRONG_TYPE",
      "TOO_LONG",
      "INVALID_TEXT",
      "AMOUNT_PRECISION",
      "AMOUNT_OUT_OF_RANGE",
    ],
  },
  handle: callMintEndpoint,
};

async function callMintEndpoint(request: SignedRequest, { testMintLink: test }: App): Promise<Answer> {
  const { loan, amount, warnings } = readBody(request);
  if (!couldBeLoan(loan)) throw loanNotFound();
  const outcome = await test({ lenderId: request.lender.id, loan, amount: amount ?? null, id: idOfRequest(request) });
  switch (outcome.kind) {
    case "tested": {
      const { link, durationMs, ...tested } = outcome.tested;
      const body = { success: true, minted: link !== null, durationMs: Math.round(durationMs), link, ...tested };
      return { status: 200, body: { ...body, ...(warnings.length > 0 && { warnings }) } };
    }
    case "not_configured":
      throw new Problem("MINT_URL_NOT_CONFIGURED", outcome.detail);
    case "abandoned":
      throw new Problem(
        "SERVICE_UNAVAILABLE",
        "The call was broken off because this process is shutting down; repeat it.",
      );
    case "refused":
      if (outcome.code === "LOAN_NOT_FOUND") throw new Problem(outcome.code, outcome.detail);
      throw validationProblem([{ code: outcome.code, pointer: "/amount", detail: outcome.detail }]);
  }
}

function readBody(request: SignedRequest): z.infer<typeof mintLinkTestBody> & { warnings: Warning[] } {
  const body = jsonObject(request, AMOUNT_KEYS);
  const parsed = mintLinkTestBody.safeParse(body);
  const warnings = unknownFieldWarnings(body, Object.keys(mintLinkTestBody.shape));
  if (!parsed.success)
    throw validationProblem(fieldFaults(parsed.error, body), warnings.length > 0 ? { warnings } : {});
  return { ...parsed.data, warnings };
}
