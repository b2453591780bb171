import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { breakingChanges, type Document } from "./fixtures/openapi-changes.ts";

const current = JSON.parse(JSON.stringify(openApiDocument())) as Document;

// oxlint-disable-next-line typescript/no-explicit-any -- each test edits the document in a way that its type forbids
type Json = Record<string, any>;

/** Returns a copy of the current OpenAPI document to which `change` was applied. */
function changed(change: (document: Json) => void): Document {
  const copy = structuredClone(current) as unknown as Json;
  change(copy);
  return copy as unknown as Document;
}

const CONFIRM = "/api/v1/partner/cases/{loan}/payments/confirm";
const confirm = ({ paths }: Json): Json => paths[CONFIRM].post;
const request = ({ components }: Json): Json => components.schemas.PaymentConfirmation;
/** The list of codes of a confirmation's problems with this status, which are all of one kind. */
const codesOf = (it: Json, status: string): string[] =>
  confirm(it).responses[status].content["application/problem+json"].schema.allOf[1].properties.code.enum;
const booking = ({ components }: Json): Json => components.schemas.Booking;
const event = ({ components }: Json): Json => components.schemas.PaymentCollectedEvent;

describe("a breaking change of the OpenAPI document is reported:", () => {
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
      "a parameter becomes required",
      (it) => (it.paths["/api/v1/partner/cases"].post.parameters[0].required = true),
      "the parameter dryRun is required now",
    ],
    [
      "a required parameter is added",
      (it) => confirm(it).parameters.push({ name: "mood", in: "query", required: true, schema: {} }),
      "the parameter mood is required now",
    ],
    [
      "a parameter gets a lower maximum",
      (it) => (it.paths["/api/v1/partner/webhooks/deliveries"].get.parameters.at(-1).schema.maximum = 100),
      "the parameter limit now has maximum 100",
    ],
    [
      "a body becomes required",
      (it) => (it.paths["/api/v1/partner/webhooks/test"].post.requestBody.required = true),
      "the body is required now",
    ],
    [
      "a required body is added",
      (it) => (it.paths["/api/v1/partner/health"].get.requestBody = { required: true, content: {} }),
      "the body is required now",
    ],
    ["a body is removed", (it) => delete confirm(it).requestBody, "the body was removed"],
    [
      "a media type is removed",
      (it) => delete confirm(it).requestBody.content["application/json"],
      "the body: application/json was removed",
    ],
    ["a field of a request is removed", (it) => delete request(it).properties.linkId, "the body.linkId was removed"],
    [
      "a field of a request becomes required",
      (it) => request(it).required.push("linkId"),
      "the body.linkId is required now",
    ],
    [
      "a required field is added",
      (it) => {
        request(it).properties.mood = { type: "string" };
        request(it).required.push("mood");
      },
      "the body.mood is required now",
    ],
    [
      "a field changes its type",
      (it) => (request(it).properties.amount.type = "string"),
      "the body.amount no longer accepts number",
    ],
    [
      "a field no longer accepts null",
      (it) => (request(it).properties.linkId.type = "string"),
      "the body.linkId no longer accepts null",
    ],
    [
      "a number becomes an integer",
      (it) => (request(it).properties.amount.type = "integer"),
      "the body.amount no longer accepts number",
    ],
    [
      "a text gets a lower maximum length",
      (it) => (request(it).properties.reference.maxLength = 64),
      "the body.reference now has maxLength 64",
    ],
    [
      "a text gets a higher minimum length",
      (it) => (request(it).properties.reference.minLength = 2),
      "the body.reference now has minLength 2",
    ],
    [
      "a text gets a pattern",
      (it) => (request(it).properties.mode.pattern = "^[a-z]$"),
      'the body.mode now has pattern "^[a-z]$"',
    ],
    [
      "a text gets a list of values",
      (it) => (request(it).properties.mode.enum = ["upi"]),
      "the body.mode now accepts only listed values",
    ],
    [
      "a value of a list is removed",
      (it) => it.components.schemas.ControlRow.properties.action.enum.pop(),
      '.action no longer accepts "release"',
    ],
    [
      "a kind of row is removed",
      (it) => it.components.schemas.ImportRequest.properties.rows.items.anyOf.pop(),
      "no longer accepts ControlRow",
    ],
    [
      "additional fields become forbidden",
      (it) => (request(it).additionalProperties = false),
      "the body no longer accepts additional fields",
    ],
    ["a status is removed", (it) => delete confirm(it).responses["200"], "200 was removed"],
    [
      "a header is removed",
      (it) => delete confirm(it).responses["429"].headers["Retry-After"],
      "the header Retry-After was removed",
    ],
    [
      "a header becomes optional",
      (it) => (it.components.headers.ETag.required = false),
      "200: the header ETag may be absent now",
    ],
    ["a field of an answer is removed", (it) => delete booking(it).properties.sequence, "200.sequence was removed"],
    ["a field of an answer becomes optional", (it) => booking(it).required.shift(), "200.success may be absent now"],
    [
      "a field of an answer becomes nullable",
      (it) => (booking(it).properties.sequence.type = ["integer", "null"]),
      "200.sequence may be null now",
    ],
    [
      "a field of an answer changes its type",
      (it) => (booking(it).properties.sequence.type = "string"),
      "200.sequence may be string now",
    ],
    [
      "an integer of an answer becomes a number",
      (it) => (booking(it).properties.sequence.type = "number"),
      "200.sequence may be number now",
    ],
    [
      "a field of an answer changes its format",
      (it) => (booking(it).properties.recordedAt.format = "date"),
      '200.recordedAt no longer has format "date-time"',
    ],
    [
      "a list of an answer gets a higher maximum length",
      (it) => (it.components.schemas.CaseState.properties.payments.maxItems = 60),
      "200.payments no longer has maxItems 50",
    ],
    [
      "a value of an answer is removed",
      (it) => booking(it).properties.attribution.enum.pop(),
      '200.attribution can no longer be "none"',
    ],
    [
      "a field of an answer loses its list of values",
      (it) => delete booking(it).properties.attribution.enum,
      "200.attribution may be any value now",
    ],
    [
      "a problem code is removed",
      (it) => codesOf(it, "404").splice(0, 1, "X"),
      '404.code can no longer be "LOAN_NOT_FOUND"',
    ],
    [
      "a kind of row result is removed",
      (it) => it.components.schemas.ImportResult.properties.results.items.anyOf.pop(),
      "200.results[] can no longer be RejectedRow",
    ],
    [
      "a nested field of an answer is removed",
      (it) => delete it.components.schemas.FieldPartner.properties.id,
      "200.assignedFieldPartner.id was removed",
    ],
    [
      "a field of an event is removed",
      (it) => delete event(it).properties.data.properties.linkId,
      "webhook POST payment.collected.data.linkId was removed",
    ],
    [
      "a header of an event becomes optional",
      (it) => (it.webhooks.ping.post.parameters[0].required = false),
      "webhook POST ping: X-Service-Event may be absent now",
    ],
    [
      "a header of an event is removed",
      (it) => it.webhooks.ping.post.parameters.shift(),
      "webhook POST ping: X-Service-Event was removed",
    ],
    [
      "the answer of a mint endpoint gets a required field",
      (it) => {
        it.components.schemas.MintAnswer.properties.mood = { type: "string" };
        it.components.schemas.MintAnswer.required.push("mood");
      },
      "webhook POST mint-link: 2XX.mood is required now",
    ],
    [
      "an endpoint becomes signed",
      (it) => (it.paths["/api/v1/partner/debug/signature"].post.security = [{ KeyId: [], Signature: [] }]),
      "KeyId is no longer enough to authenticate",
    ],
    [
      "the header of the signature changes",
      (it) => (it.components.securitySchemes.Signature.name = "X-Signature"),
      "the security scheme Signature has changed",
    ],
  ])("%s", (_, change, sentence) => {
    const found = breakingChanges(current, changed(change));
    expect(found.filter((one) => one.endsWith(sentence))).not.toEqual([]);
  });
});

describe("a compatible change of the OpenAPI document is allowed:", () => {
  test.each<[string, (document: Json) => void]>([
    ["no change", () => {}],
    ["a new path", (it) => (it.paths["/api/v1/partner/mood"] = it.paths["/api/v1/partner/health"])],
    ["a new webhook", ({ webhooks }) => (webhooks["case.lost"] = webhooks["case.held"])],
    [
      "a new optional parameter",
      (it) => confirm(it).parameters.push({ name: "mood", in: "query", schema: { type: "string" } }),
    ],
    ["a new optional field of a request", (it) => (request(it).properties.mood = { type: "string" })],
    ["a field of a request that becomes optional", (it) => request(it).required.pop()],
    ["a higher maximum length of a request's text", (it) => (request(it).properties.reference.maxLength = 256)],
    ["a field of a request that becomes nullable", (it) => (request(it).properties.mode.type = ["string", "null"])],
    [
      "a new value of a list in a request",
      (it) => it.components.schemas.ReplayRequest.properties.state.enum.push("waiting"),
    ],
    ["a new field of an answer", (it) => (booking(it).properties.mood = { type: "string" })],
    [
      "a new required field of an answer",
      (it) => {
        booking(it).properties.mood = { type: "string" };
        booking(it).required.push("mood");
      },
    ],
    ["a new value of a list in an answer", (it) => booking(it).properties.attribution.enum.push("guessed")],
    [
      "a field of an answer that is no longer nullable",
      (it) => (it.components.schemas.CaseState.properties.bucket.type = "string"),
    ],
    ["a new problem code", (it) => codesOf(it, "404").push("MOOD_NOT_FOUND")],
    [
      "a new kind of problem",
      (it) => {
        it.components.schemas.MoodProblem = it.components.schemas.SizeProblem;
        confirm(it).responses["401"].content["application/problem+json"].schema.oneOf.push({
          $ref: "#/components/schemas/MoodProblem",
        });
      },
    ],
    ["a new status of a problem", (it) => (confirm(it).responses["402"] = confirm(it).responses["404"])],
    [
      "a new header of an answer",
      (it) => (confirm(it).responses["200"].headers.ETag = { $ref: "#/components/headers/ETag" }),
    ],
    ["another description", (it) => (booking(it).properties.sequence.description = "Another sentence.")],
    ["an endpoint that no longer needs a signature", (it) => (confirm(it).security = [{ KeyId: [] }])],
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
