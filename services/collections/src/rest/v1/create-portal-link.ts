import { transaction } from "@collections/database";
import { createPortalLink, InvalidOperatorError } from "@collections/operators";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import { consoleUrl, portalName, signInUrl } from "../../settings/console-url.ts";
import { idOfRequest } from "../caller/same-request.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { instantAnswer, successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { SignedEndpoint } from "../endpoint/endpoint.ts";
import { fieldFaults, unknownFieldWarnings, type Warning } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";
import { text } from "../reading/wire-types.ts";

const NAME_CHARACTERS = 50;

/** The person who gets the link (contract: POST portal-links). */
const portalLinkBody = z.object({
  name: text(NAME_CHARACTERS)
    .optional()
    .meta({ description: "The person's name, as the audit will show it; by default `Staff`." }),
});

const portalLinkAnswer = z
  .object({
    success: successAnswer,
    url: z.string().meta({ format: "uri", description: "The link. Open it in a browser, and press its button." }),
    expiresAt: instantAnswer("Until when the link can be used."),
    warnings: warningsAnswer,
  })
  .meta({ description: "A link that signs in to the portal once." });

const portalLinkExample = {
  success: true,
  url: "https://desk.example/console/sign-in/ppl_0vT3cQm1yqk6m8eY2wq5l0dFj7rKxZb4nU9aHs2tGo8",
  expiresAt: "2026-12-03T05:25:00.000Z",
};

/** Creates a link with which a person of the lender's staff signs in to the portal (contract: POST portal-links). */
export const createPortalLinkEndpoint: SignedEndpoint = {
  name: "portal-links",
  method: "POST",
  path: "/api/v1/partner/portal-links",
  operation: {
    id: "createPortalLink",
    tag: "Portal",
    summary: "Create a link with which your staff signs in to the portal",
    description: [
      "The portal shows your cases, deliveries and keys in a browser, imports files, and changes your settings and keys. The link",
      "signs in one person, once, within five minutes.",
      "Ask for it when the person has chosen to open the portal, and redirect their browser to it. Whoever opens it first can",
      "sign in, so neither store nor log it. The body is optional: without a body, sign an empty body. The same bytes sent again",
      "get the same link. Where the operator serves no console the answer is 403 `PORTAL_OFF`.",
    ].join("\n"),
    request: { schemas: { PortalPerson: portalLinkBody }, required: false, examples: { "A person": { name: "Ravi" } } },
    answers: {
      200: {
        description: "The link was created.",
        schemas: { PortalLink: portalLinkAnswer },
        examples: { "A link": portalLinkExample },
      },
    },
    problems: ["PORTAL_OFF", "REQUIRED", "WRONG_TYPE", "TOO_LONG", "INVALID_TEXT"],
  },
  handle: answerLink,
};

async function answerLink(request: SignedRequest, { config, database, portalSecretsOf }: App): Promise<Answer> {
  const { name: person, warnings } = request.body.length > 0 ? readBody(request) : { name: undefined, warnings: [] };
  if (!config.hasConsole) {
    throw new Problem("PORTAL_OFF", "This service has no portal: ask your operator to set CONSOLE=on.");
  }
  const { id: lenderId, code } = request.lender;
  const id = idOfRequest(request);
  const link = { lenderId, name: portalName(code, person), request: { id, secrets: portalSecretsOf(id) } };
  const { token, expiresAt } = await transaction(database.em(), (tx) => createPortalLink(tx, link, new Date())).catch(
    (error: unknown) => {
      if (!(error instanceof InvalidOperatorError)) throw error;
      throw validationProblem([{ code: "INVALID_TEXT", pointer: "/name", detail: error.message }], {});
    },
  );
  // Without PUBLIC_URL, in a sandbox, the portal is at the address to which the lender has sent the request.
  const url = signInUrl(consoleUrl(config, `http://${request.headers.host}${config.publicBasePath}`), token);
  return { status: 200, body: { success: true, url, expiresAt, ...(warnings.length > 0 && { warnings }) } };
}

function readBody(request: SignedRequest): z.infer<typeof portalLinkBody> & { warnings: Warning[] } {
  const body = jsonObject(request, new Set());
  const parsed = portalLinkBody.safeParse(body);
  const warnings = unknownFieldWarnings(body, Object.keys(portalLinkBody.shape));
  if (parsed.success) return { ...parsed.data, warnings };
  throw validationProblem(fieldFaults(parsed.error, body), warnings.length > 0 ? { warnings } : {});
}
