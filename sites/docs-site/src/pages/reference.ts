import { byId, element, fill } from "@collections/web-pages/browser";
import { filledRequest, MissingValueError } from "./filled-request.ts";
import { signedHeaders } from "./sign-request.ts";

const keyId = byId("key-id", HTMLInputElement);
const secret = byId("secret", HTMLInputElement);

byId("key", HTMLFormElement).addEventListener("submit", (event) => event.preventDefault());
for (const form of document.querySelectorAll<HTMLFormElement>(".try form")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(form, answerOf(form));
  });
}

/**
 * Sends the request that a form describes, and shows the answer. Without an API key the request is sent unsigned, and
 * the service's answer says what is missing.
 */
async function send(form: HTMLFormElement, place: AnswerPlace): Promise<void> {
  try {
    const request = filledRequest(form);
    const { method, body } = request;
    const url = new URL(request.url, location.href).href;
    const contentType = body === undefined ? {} : { "Content-Type": "application/json" };
    const key = { keyId: keyId.value.trim(), secret: secret.value };
    const isSigned = key.keyId !== "" && key.secret !== "";
    const signature = isSigned ? signedHeaders({ method, url, body }, key, Date.now()) : {};
    fill(place.status, "Sending…");
    fill(place.body);
    const startedMs = performance.now();
    const answer = await fetch(url, { method, body: body ?? null, headers: { ...contentType, ...signature } });
    const text = await answer.text();
    show(place, answer, { text, durationMs: Math.round(performance.now() - startedMs), isSigned });
  } catch (error) {
    const message =
      error instanceof MissingValueError ? error.message : `The request could not be sent: ${String(error)}.`;
    fill(place.status, element("span", { class: "fault" }, message));
    fill(place.body);
  }
}

interface Received {
  readonly text: string;
  readonly durationMs: number;
  readonly isSigned: boolean;
}

/** The places below a form: a line that screen readers announce, and the body of the answer, which they do not. */
interface AnswerPlace {
  readonly status: Element;
  readonly body: Element;
}

function answerOf(form: HTMLFormElement): AnswerPlace {
  const [status, body] = form.nextElementSibling!.children as unknown as [Element, Element];
  return { status, body };
}

function show(place: AnswerPlace, answer: Response, { text, durationMs, isSigned }: Received): void {
  const status = element("span", { class: `status ${answer.ok ? "good" : "bad"}` }, String(answer.status));
  const unsigned = isSigned ? undefined : " The request was not signed, because the fields of the key are empty.";
  fill(place.status, status, ` after ${durationMs} ms.`, unsigned);
  const body = element("pre", { tabindex: "0", role: "group", "aria-label": "Body of the answer" }, pretty(text));
  fill(place.body, text === "" ? undefined : element("div", { class: "code" }, body));
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
