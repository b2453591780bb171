import { answerPage, madeOnce } from "@collections/web-pages";
import express, { type NextFunction, type Request, type RequestHandler, type Response, Router } from "express";
import type { ConsoleAccess, ConsoleOperator } from "./access.ts";
import type { ConsoleActs } from "./acts.ts";
import type { ConsoleDesk } from "./desk.ts";
import { FORM_TOKEN, formTokenOf, isFormOf, isFromOwnPage } from "./form-check.ts";
import { hiddenFields } from "./act-form.ts";
import { messagePage, needsSessionPage } from "./pages/message.ts";
import { consolePage, type PageContent, type PageFrame } from "./page.ts";
import type { ConsoleRoute, RouteAnswer } from "./route.ts";
import { CONSOLE_ROUTES } from "./routes.ts";
import { ATTEMPT_COOKIE, SESSION_COOKIE, setToken, tokenIn } from "./session-cookie.ts";
import { consoleStyles } from "./styles.ts";

/** The parts that the service gives to the console. */
export interface ConsoleOptions {
  /** The path prefix that a proxy in front of the service removes, or empty. */
  readonly publicBasePath: string;
  /** The origin of the console in browsers. Undefined in a sandbox without `PUBLIC_URL`: the origin of the request. */
  readonly publicUrl: string | undefined;
  readonly access: ConsoleAccess;
  /** Returns the reads for an operator. */
  readonly desk: (operator: ConsoleOperator) => ConsoleDesk;
  /** Returns the changes that an operator may ask for. The audit names the operator. */
  readonly acts: (operator: ConsoleOperator) => ConsoleActs;
  readonly log: { error(fields: object, message: string): void };
}

const MAX_FORM_BYTES = 16_384;

/**
 * Serves the operators' console below /console. Every page and form except the sign-in needs a session. The pages work
 * without scripts and load nothing from other hosts.
 */
export function consoleSite(options: ConsoleOptions): Router {
  const router = Router({ caseSensitive: true });
  const styles = madeOnce(consoleStyles);
  router.use("/console", (_, response, next) => {
    // With the policy of the other pages, no-referrer, browsers would send `Origin: null` with each form.
    response.set("Referrer-Policy", "same-origin");
    next();
  });
  router.get("/console/console.css", async (_, response) => {
    response
      .set("Cache-Control", "no-cache")
      .type("text/css")
      .send(await styles());
  });
  const form = express.text({ type: "application/x-www-form-urlencoded", limit: MAX_FORM_BYTES });
  for (const route of CONSOLE_ROUTES) {
    const path = `/console${route.path}`;
    if (route.method === "post") router.post(path, form, handlerOf(route, options));
    else router.get(path, handlerOf(route, options));
  }
  router.use("/console", unknownPath(options));
  router.use(async (error: unknown, _request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) return next(error);
    const { status = 503 } = error as { status?: number };
    if (status >= 500) options.log.error({ error }, "a page of the console failed");
    const text =
      status >= 500 ? "Try again in a moment. The log of the service has the cause." : "The request is invalid.";
    await show(response.status(status), messagePage("This page cannot be shown", text), frameOf(options));
  });
  return router;
}

/** Answers 404 to operators. Anybody else does not learn which paths exist. */
function unknownPath(options: ConsoleOptions): RequestHandler {
  return async (request, response) => {
    const { operator, sessionToken } = await sessionOf(request, options);
    if (!operator)
      return show(response.status(401), needsSessionPage(homeOf(options), options.access.provider), frameOf(options));
    await show(response.status(404), notFoundPage(request), frameOf(options, operator, sessionToken));
  };
}

function notFoundPage(request: Request): PageContent {
  return messagePage("Page not found", `There is nothing at ${request.originalUrl.split("?", 1)[0]}.`);
}

function handlerOf(route: ConsoleRoute, options: ConsoleOptions): RequestHandler {
  return async (request, response) => {
    const visit = {
      access: options.access,
      home: homeOf(options),
      params: request.params as Record<string, string>,
      query: new URL(request.originalUrl, "http://console").searchParams,
      form: new URLSearchParams(typeof request.body === "string" ? request.body : ""),
      attempt: tokenIn(request.headers.cookie, ATTEMPT_COOKIE) ?? "",
    };
    if (route.method === "post" && !isFromOwnPage(request.headers.origin, originOf(request, options))) {
      const text =
        "The form was not sent by a page of this console. Open the page again, and send the form from there.";
      return show(response.status(403), messagePage("Form refused", text), frameOf(options));
    }
    if (route.roles === "none") return send(response, await route.answer(visit), options, frameOf(options));
    const { operator, sessionToken } = await sessionOf(request, options);
    if (!operator)
      return show(response.status(401), needsSessionPage(homeOf(options), options.access.provider), frameOf(options));
    const frame = frameOf(options, operator, sessionToken);
    const isLenderStaff = operator.lenderCode !== null;
    if (isLenderStaff && !route.isForLenders) return show(response.status(404), notFoundPage(request), frame);
    if (!isLenderStaff && !route.roles.some((role) => operator.roles.includes(role))) {
      const text = `This page needs one of these roles: ${route.roles.join(", ")}. You have: ${operator.roles.join(", ")}.`;
      return show(response.status(403), messagePage("Not permitted", text), frame);
    }
    if (route.method === "post" && !isFormOf(sessionToken, visit.form.get(FORM_TOKEN))) {
      const text = "The form belongs to another session. Open the page again, and send the form from there.";
      return show(response.status(403), messagePage("Form refused", text), frame);
    }
    const parts = {
      desk: options.desk(operator),
      acts: options.acts(operator),
      hiddenFields: () => hiddenFields(sessionToken),
    };
    await send(response, await route.answer({ ...visit, ...parts, operator, sessionToken }), options, frame);
  };
}

async function sessionOf(
  request: Request,
  { access }: ConsoleOptions,
): Promise<{ operator: ConsoleOperator | undefined; sessionToken: string }> {
  const sessionToken = tokenIn(request.headers.cookie, SESSION_COOKIE) ?? "";
  return { operator: sessionToken === "" ? undefined : await access.operatorOfSession(sessionToken), sessionToken };
}

async function send(response: Response, answer: RouteAnswer, options: ConsoleOptions, frame: PageFrame): Promise<void> {
  const at = { home: homeOf(options), isSecure: options.publicUrl?.startsWith("https:") ?? false };
  if (answer.session) setToken(response, SESSION_COOKIE, answer.session, at);
  if (answer.attempt) setToken(response, ATTEMPT_COOKIE, answer.attempt, at);
  if ("page" in answer) return show(response.status(answer.status ?? 200), answer.page, frame);
  response.set("Cache-Control", "no-store").redirect(303, answer.redirectTo);
}

async function show(response: Response, content: PageContent, frame: PageFrame): Promise<void> {
  const text = await consolePage(content, frame);
  answerPage(response, text, "'none'", { "script-src": "'none'", "form-action": "'self'" }, "no-store");
}

function frameOf(options: ConsoleOptions, operator?: ConsoleOperator, sessionToken?: string): PageFrame {
  const home = homeOf(options);
  if (!operator || sessionToken === undefined) return { home };
  return { home, signedIn: { operator, formToken: formTokenOf(sessionToken) } };
}

function homeOf({ publicBasePath }: ConsoleOptions): string {
  return `${publicBasePath}/console`;
}

function originOf(request: Request, { publicUrl }: ConsoleOptions): string {
  return publicUrl ?? `${request.protocol}://${request.headers.host}`;
}
