import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { answerPage, madeOnce } from "@collections/web-pages";
import express, { type NextFunction, type Request, type RequestHandler, type Response, Router } from "express";
import type { ConsoleAccess, ConsoleOperator } from "./access.ts";
import type { ConsoleActs } from "./acts.ts";
import type { ConsoleDesk } from "./desk.ts";
import { FORM_TOKEN, formTokenOf, isFormOf, isFromOwnPage } from "./form-check.ts";
import { hiddenFields } from "./act-form.ts";
import { refusedUploadPage } from "./pages/upload.ts";
import { messagePage, needsSessionPage } from "./pages/message.ts";
import { consolePage, type PageContent, type PageFrame } from "./page.ts";
import type { LongDownload } from "./reads/fees.ts";
import { type ReceivedForm, receivedForm } from "./received-form.ts";
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
  /** Whether scenes can be played. */
  readonly isSandbox: boolean;
  readonly access: ConsoleAccess;
  /** Returns the reads for an operator. */
  readonly desk: (operator: ConsoleOperator) => ConsoleDesk;
  /** Returns the changes that an operator may ask for. The audit names the operator. */
  readonly acts: (operator: ConsoleOperator) => ConsoleActs;
  /** Reads a body of at most `limitBytes`, with the limits of the service, or returns why the body is refused. */
  readonly receive: (
    request: Request,
    response: Response,
    limitBytes: number,
  ) => Promise<{ readonly body: Buffer } | { readonly status: number; readonly problem: string }>;
  readonly log: { error(fields: object, message: string): void };
}

const MAX_FORM_BYTES = 16_384;
/** A file of 16 MiB with the fields of its form. */
const MAX_UPLOAD_BYTES = 16 * 1_024 * 1_024 + 65_536;

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
    if (route.takesFile) router.post(path, handlerOf(route, options));
    else if (route.method === "post") router.post(path, form, handlerOf(route, options));
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
  return messagePage(
    "Page not found",
    `There is nothing at ${request.originalUrl.split("?", 1)[0]}. Choose a page in the menu.`,
  );
}

function handlerOf(route: ConsoleRoute, options: ConsoleOptions): RequestHandler {
  return async (request, response) => {
    const opened = {
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
    if (route.roles === "none") return send(response, await route.answer(opened), options, frameOf(options));
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
    const received = route.takesFile ? await receivedFile(request, response, options) : undefined;
    if (received && "page" in received) return show(response.status(received.status), received.page, frame);
    const visit = { ...opened, ...received, isSandbox: options.isSandbox };
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

/** Reads a form with a file, or returns the page that says why it is refused. */
async function receivedFile(
  request: Request,
  response: Response,
  { receive }: ConsoleOptions,
): Promise<ReceivedForm | { readonly page: PageContent; readonly status: number }> {
  const received = await receive(request, response, MAX_UPLOAD_BYTES);
  if ("body" in received) {
    const form = await receivedForm(request, received.body);
    const text = "The body of the request is no form. Open the page again, and send the form from there.";
    return form ?? { page: refusedUploadPage("Form refused", text), status: 400 };
  }
  const { status, problem } = received;
  if (status !== 413) return { page: refusedUploadPage("The file cannot be received now", problem), status };
  const text =
    "A file has 16 MiB at most. Divide it, or import it by the command case import or by the API. A workbook is smaller than the same rows as CSV.";
  return { page: refusedUploadPage("The file is too large", text), status };
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
  if ("download" in answer) {
    response.set("Cache-Control", "no-store").attachment(answer.download.fileName);
    return void response.type("text/csv; charset=utf-8").send(answer.download.text);
  }
  if ("longDownload" in answer) return sendInParts(response, answer.longDownload, options);
  response.set("Cache-Control", "no-store").redirect(303, answer.redirectTo);
}

/** Sends a file while it is made. An error before the first part is answered with a page; later the connection breaks. */
async function sendInParts(
  response: Response,
  { fileName, chunks }: LongDownload,
  { log }: ConsoleOptions,
): Promise<void> {
  const parts = chunks[Symbol.asyncIterator]();
  const first = await parts.next();
  response.set("Cache-Control", "no-store").attachment(fileName).type("text/csv; charset=utf-8");
  const rest = { [Symbol.asyncIterator]: () => parts };
  try {
    await pipeline(Readable.from(first.done ? [] : withFirst(first.value, rest)), response);
  } catch (error) {
    // The pipeline has closed the connection, so a browser reports the download as failed.
    const isLeft = (error as { code?: unknown }).code === "ERR_STREAM_PREMATURE_CLOSE";
    if (!isLeft) log.error({ error, fileName }, "a download of the console failed");
  }
}

async function* withFirst(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

async function show(response: Response, content: PageContent, frame: PageFrame): Promise<void> {
  const text = await consolePage(content, frame);
  if (content.reloadAfterSeconds !== undefined) response.set("Refresh", String(content.reloadAfterSeconds));
  answerPage(response, text, "'none'", { "script-src": "'none'", "form-action": "'self'" }, "no-store");
}

function frameOf(options: ConsoleOptions, operator?: ConsoleOperator, sessionToken?: string): PageFrame {
  const home = homeOf(options);
  if (!operator || sessionToken === undefined) return { home };
  return { home, signedIn: { operator, formToken: formTokenOf(sessionToken), isSandbox: options.isSandbox } };
}

function homeOf({ publicBasePath }: ConsoleOptions): string {
  return `${publicBasePath}/console`;
}

function originOf(request: Request, { publicUrl }: ConsoleOptions): string {
  return publicUrl ?? `${request.protocol}://${request.headers.host}`;
}
