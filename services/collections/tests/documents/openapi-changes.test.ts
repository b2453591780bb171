import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { breakingChanges, type Document } from "./fixtures/openapi-changes.ts";

const current = JSON.parse(JSON.stringify(openApiDocument())) as Document;

// oxlint-disable-next-line typescript/no-explicit-any -- each test edits the document in a way that its type forbids
type Json = Record<string, any>;

/** The document after a change. */
function changed(change: (document: Json) => void): Document {
  const copy = structuredClone(current) as unknown as Json;
  change(copy);
  return copy as unknown as Document;
}

const CONFIRM = "/api/v1/partner/cases/{loan}/payments/confirm";
const confirm = ({ paths }: Json): Json => paths[CONFIRM].post;
const request = ({ components }: Json): Json => components.schemas.PaymentConfirmation;
const booking = ({ components }: Json): Json => components.schemas.Booking;
const event = ({ components }: Json): Json => components.schemas.PaymentCollectedEvent;

describe("a change that breaks clients is found:", () => {
  test.each<[string, (document: Json) => void, string]>([
    ["a path is removed", ({ paths }) => delete paths[CONFIRM], `POST ${CONFIRM} was removed`],
    [
      "a method is removed",
      ({ paths }) => delete paths["/api/v1/partner/health"].get,
      "GET /api/v1/partner/health was removed",
    ],
    ["a webhook is removed", ({ webhooks }) => delete webhooks["case.held"], "webhook POST case.held was removed"],
    [
      "a parameter is removed",
      (it) => it.paths["/api/v1/partner/cases"].post.parameters.pop(),
      "the parameter atomic was removed",
    ],
    [
      "a parameter is required",
      (it) => (it.paths["/api/v1/partner/cases"].post.parameters[0].required = true),
      "the parameter dryRun is required now",
    ],
    [
      "there is a new required parameter",
      (it) => confirm(it).parameters.push({ name: "mood", in: "query", required: true, schema: {} }),
      "the parameter mood is required now",
    ],
    [
      "a parameter takes less",
      (it) => (it.paths["/api/v1/partner/webhooks/deliveries"].get.parameters.at(-1).schema.maximum = 100),
      "the parameter limit has maximum 100 only now",
    ],
    [
      "a body is required",
      (it) => (it.paths["/api/v1/partner/webhooks/test"].post.requestBody.required = true),
      "the body is required now",
    ],
    [
      "there is a body that is required",
      (it) => (it.paths["/api/v1/partner/health"].get.requestBody = { required: true, content: {} }),
      "the body is required now",
    ],
    ["a body is taken no more", (it) => delete confirm(it).requestBody, "the body was removed"],
    [
      "a media type is taken no more",
      (it) => delete confirm(it).requestBody.content["application/json"],
      "the body: application/json was removed",
    ],
    ["a field of a request is removed", (it) => delete request(it).properties.linkId, "the body.linkId was removed"],
    [
      "a field of a request is required",
      (it) => request(it).required.push("linkId"),
      "the body.linkId is required now",
    ],
    [
      "there is a new required field",
      (it) => {
        request(it).properties.mood = { type: "string" };
        request(it).required.push("mood");
      },
      "the body.mood is required now",
    ],
    [
      "a field takes another type",
      (it) => (request(it).properties.amount.type = "string"),
      "the body.amount takes no number any more",
    ],
    [
      "a field takes no null any more",
      (it) => (request(it).properties.linkId.type = "string"),
      "the body.linkId takes no null any more",
    ],
    [
      "a number is an integer now",
      (it) => (request(it).properties.amount.type = "integer"),
      "the body.amount takes no number any more",
    ],
    [
      "a text may not be as long",
      (it) => (request(it).properties.reference.maxLength = 64),
      "the body.reference has maxLength 64 only now",
    ],
    [
      "a text has to be longer",
      (it) => (request(it).properties.reference.minLength = 2),
      "the body.reference has minLength 2 only now",
    ],
    [
      "a text needs a form",
      (it) => (request(it).properties.mode.pattern = "^[a-z]$"),
      'the body.mode has pattern "^[a-z]$" only now',
    ],
    [
      "a text is of a list now",
      (it) => (request(it).properties.mode.enum = ["upi"]),
      "the body.mode takes listed values only",
    ],
    [
      "a value of a list is taken no more",
      (it) => it.components.schemas.ControlRow.properties.action.enum.pop(),
      '.action takes no "release" any more',
    ],
    [
      "a kind of row is taken no more",
      (it) => it.components.schemas.ImportRequest.properties.rows.items.anyOf.pop(),
      "takes no ControlRow any more",
    ],
    [
      "further fields are refused",
      (it) => (request(it).additionalProperties = false),
      "the body takes no further fields any more",
    ],
    ["a status is removed", (it) => delete confirm(it).responses["200"], "200 was removed"],
    [
      "a header is removed",
      (it) => delete confirm(it).responses["429"].headers["Retry-After"],
      "the header Retry-After was removed",
    ],
    [
      "a header may be absent",
      (it) => (it.components.headers.ETag.required = false),
      "200: the header ETag may be absent now",
    ],
    ["a field of an answer is removed", (it) => delete booking(it).properties.sequence, "200.sequence was removed"],
    ["a field of an answer may be absent", (it) => booking(it).required.shift(), "200.success may be absent now"],
    [
      "a field of an answer may be null",
      (it) => (booking(it).properties.sequence.type = ["integer", "null"]),
      "200.sequence may be null now",
    ],
    [
      "a field of an answer has another type",
      (it) => (booking(it).properties.sequence.type = "string"),
      "200.sequence may be string now",
    ],
    [
      "an integer may have decimals",
      (it) => (booking(it).properties.sequence.type = "number"),
      "200.sequence may be number now",
    ],
    [
      "an answer has another form",
      (it) => (booking(it).properties.recordedAt.format = "date"),
      '200.recordedAt has format "date-time" only before',
    ],
    [
      "an answer may be longer",
      (it) => (it.components.schemas.CaseState.properties.payments.maxItems = 60),
      "200.payments has maxItems 50 only before",
    ],
    [
      "a value of an answer is never said again",
      (it) => booking(it).properties.attribution.enum.pop(),
      '200.attribution is never "none" any more',
    ],
    [
      "a list of an answer is open now",
      (it) => delete booking(it).properties.attribution.enum,
      "200.attribution may be any value now",
    ],
    [
      "a code is never said again",
      (it) =>
        confirm(it).responses["404"].content["application/problem+json"].schema.properties.code.enum.splice(0, 1, "X"),
      '404.code is never "LOAN_NOT_FOUND" any more',
    ],
    [
      "a kind of row result is never said again",
      (it) => it.components.schemas.ImportResult.properties.results.items.anyOf.pop(),
      "200.results[] is never RejectedRow any more",
    ],
    [
      "a field deep in an answer is removed",
      (it) => delete it.components.schemas.FieldPartner.properties.id,
      "200.assignedFieldPartner.id was removed",
    ],
    [
      "a field of an event is removed",
      (it) => delete event(it).properties.data.properties.linkId,
      "webhook POST payment.collected.data.linkId was removed",
    ],
    [
      "a header of an event may be absent",
      (it) => (it.webhooks.ping.post.parameters[0].required = false),
      "webhook POST ping: X-Service-Event may be absent now",
    ],
    [
      "a header of an event is removed",
      (it) => it.webhooks.ping.post.parameters.shift(),
      "webhook POST ping: X-Service-Event was removed",
    ],
    [
      "a mint endpoint has to answer more",
      (it) => {
        it.components.schemas.MintAnswer.properties.mood = { type: "string" };
        it.components.schemas.MintAnswer.required.push("mood");
      },
      "webhook POST mint-link: 2XX.mood is required now",
    ],
    [
      "an endpoint has to be signed",
      (it) => (it.paths["/api/v1/partner/debug/signature"].post.security = [{ KeyId: [], Signature: [] }]),
      "KeyId is not enough any more",
    ],
    [
      "signing is another",
      (it) => (it.components.securitySchemes.Signature.name = "X-Signature"),
      "the security scheme Signature is another one now",
    ],
  ])("%s", (_, change, sentence) => {
    const found = breakingChanges(current, changed(change));
    expect(found.filter((one) => one.endsWith(sentence))).not.toEqual([]);
  });
});

describe("a change that only adds is fine:", () => {
  test.each<[string, (document: Json) => void]>([
    ["nothing at all", () => {}],
    ["a path", (it) => (it.paths["/api/v1/partner/mood"] = it.paths["/api/v1/partner/health"])],
    ["a webhook", ({ webhooks }) => (webhooks["case.lost"] = webhooks["case.held"])],
    ["a parameter", (it) => confirm(it).parameters.push({ name: "mood", in: "query", schema: { type: "string" } })],
    ["a field of a request", (it) => (request(it).properties.mood = { type: "string" })],
    ["a field that need not be sent any more", (it) => request(it).required.pop()],
    ["a wider text", (it) => (request(it).properties.reference.maxLength = 256)],
    ["null in a request", (it) => (request(it).properties.mode.type = ["string", "null"])],
    [
      "a value of a list in a request",
      (it) => it.components.schemas.ReplayRequest.properties.state.enum.push("waiting"),
    ],
    ["a field of an answer", (it) => (booking(it).properties.mood = { type: "string" })],
    [
      "a required field of an answer",
      (it) => {
        booking(it).properties.mood = { type: "string" };
        booking(it).required.push("mood");
      },
    ],
    ["a value of a list in an answer", (it) => booking(it).properties.attribution.enum.push("guessed")],
    [
      "an answer that is never null any more",
      (it) => (it.components.schemas.CaseState.properties.bucket.type = "string"),
    ],
    [
      "a code",
      (it) =>
        confirm(it).responses["404"].content["application/problem+json"].schema.properties.code.enum.push(
          "MOOD_NOT_FOUND",
        ),
    ],
    [
      "a kind of problem",
      (it) => {
        it.components.schemas.MoodProblem = it.components.schemas.SizeProblem;
        confirm(it).responses["401"].content["application/problem+json"].schema.oneOf.push({
          $ref: "#/components/schemas/MoodProblem",
        });
      },
    ],
    ["a status of a problem", (it) => (confirm(it).responses["402"] = confirm(it).responses["404"])],
    [
      "a header of an answer",
      (it) => (confirm(it).responses["200"].headers.ETag = { $ref: "#/components/headers/ETag" }),
    ],
    ["other words", (it) => (booking(it).properties.sequence.description = "Another sentence.")],
    ["an endpoint that need not be signed", (it) => (confirm(it).security = [{ KeyId: [] }])],
    [
      "a schema under another name",
      (it) => {
        it.components.schemas.Entry = it.components.schemas.Booking;
        confirm(it).responses["200"].content["application/json"].schema = { $ref: "#/components/schemas/Entry" };
      },
    ],
  ])("%s", (_, change) => {
    expect(breakingChanges(current, changed(change))).toEqual([]);
  });
});
