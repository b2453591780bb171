import { diagnose, HEADERS, sign } from "@collections/signing";
import { diagnosisView } from "./diagnosis-view.ts";
import { byId, element } from "@collections/web-pages/browser";
import { askedIn, type FieldFault, type FieldName, type Fields } from "./fields.ts";
import { readPasted, UnreadablePasteError } from "./paste.ts";
import { headerOf, type PastedRequest } from "./pasted-request.ts";

const form = byId("debugger", HTMLFormElement);
const result = byId("result", HTMLElement);
const paste = byId("paste", HTMLTextAreaElement);
const secret = byId("secret", HTMLInputElement);
const bodyKinds = ["text", "base64", "file"] as const;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void findMistake();
});
form.addEventListener("reset", () => {
  result.replaceChildren();
  say("");
  showFaults([]);
  // The browser resets the radio buttons only after the event `reset`, so read them later.
  setTimeout(showBodyKind);
});
paste.addEventListener("input", takePasted);
byId("example", HTMLButtonElement).addEventListener("click", () => {
  fillExample();
  void findMistake();
});
byId("show-secret", HTMLButtonElement).addEventListener("click", ({ currentTarget }) => {
  const shown = secret.classList.toggle("shown");
  (currentTarget as HTMLElement).setAttribute("aria-pressed", String(shown));
});
for (const kind of bodyKinds) byId(`body-is-${kind}`, HTMLInputElement).addEventListener("change", showBodyKind);
showBodyKind();

async function findMistake(): Promise<void> {
  const asked = askedIn(await fieldsNow());
  showFaults(asked.ok ? [] : asked.faults);
  if (!asked.ok) {
    result.replaceChildren();
    fieldOf((asked.faults[0] as FieldFault).field).focus();
    return;
  }
  result.replaceChildren(...diagnosisView(diagnose(asked.request, asked.secrets, Date.now())));
  const { top } = result.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) result.scrollIntoView({ block: "start" });
}

async function fieldsNow(): Promise<Fields> {
  return {
    method: valueOf("method"),
    path: valueOf("path"),
    timestamp: valueOf("timestamp"),
    signature: valueOf("signature"),
    headers: valueOf("headers"),
    body: await bodyNow(),
    secret: secret.value,
    otherSecrets: valueOf("other-secrets"),
  };
}

async function bodyNow(): Promise<Fields["body"]> {
  const kind = bodyKind();
  if (kind === "text") return { text: valueOf("body-text") };
  if (kind === "base64") return { base64: valueOf("body-base64") };
  const file = byId("body-file", HTMLInputElement).files?.[0];
  return { file: file && new Uint8Array(await file.arrayBuffer()) };
}

function takePasted(): void {
  if (paste.value.trim() === "") return say("");
  try {
    fill(readPasted(paste.value));
  } catch (error) {
    if (!(error instanceof UnreadablePasteError)) throw error;
    say(error.message);
  }
}

function fill({ method, path, host, headers, body = "", notes }: PastedRequest): void {
  setValue("method", method);
  setValue("path", path);
  setValue("timestamp", headerOf(headers, HEADERS.timestamp) ?? "");
  setValue("signature", headerOf(headers, HEADERS.signature) ?? "");
  const hostLine = host !== undefined && headerOf(headers, "host") === undefined ? [`Host: ${host}`] : [];
  setValue("headers", [...hostLine, ...headers.map(([name, value]) => `${name}: ${value}`)].join("\n"));
  fillBody(body);
  say(["The fields are filled. Enter the secret yourself.", ...notes].join(" "));
}

/** Uses base64 for a body with CRLF, because a text field would change CRLF to LF. */
function fillBody(body: string): void {
  const kind = body.includes("\r") ? "base64" : "text";
  byId(`body-is-${kind}`, HTMLInputElement).checked = true;
  setValue("body-text", kind === "text" ? body : "");
  setValue("body-base64", kind === "base64" ? base64Of(new TextEncoder().encode(body)) : "");
  showBodyKind();
}

function base64Of(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Fills the fields with an example: a payment whose secret was read from a file including the newline at its end. */
function fillExample(): void {
  const exampleSecret = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f";
  const timestamp = String(Date.now());
  const path = "/api/v1/partner/cases/LN-1001/payments/confirm";
  const body = '{"amount":2500,"reference":"pay_Nx81","paidAt":"2026-11-20T09:40:55Z","mode":"upi"}';
  const signature = sign({ method: "POST", path, timestamp, body, secret: `${exampleSecret}\n` });
  const headers = [
    [HEADERS.timestamp, timestamp],
    [HEADERS.signature, signature],
  ] as const;
  fill({ method: "POST", path, headers, body, notes: [] });
  secret.value = exampleSecret;
  setValue("other-secrets", "");
  say("An example: a secret that was read from a file including the newline at its end.");
}

function showBodyKind(): void {
  const shown = bodyKind();
  for (const kind of bodyKinds) byId(`body-as-${kind}`, HTMLElement).hidden = kind !== shown;
}

function bodyKind(): (typeof bodyKinds)[number] {
  return bodyKinds.find((kind) => byId(`body-is-${kind}`, HTMLInputElement).checked) ?? "text";
}

/** Shows each fault below its field. Removes the faults that were shown before. */
function showFaults(faults: readonly FieldFault[]): void {
  for (const shown of form.querySelectorAll(".fault")) shown.remove();
  for (const invalid of form.querySelectorAll("[aria-invalid]")) {
    invalid.removeAttribute("aria-invalid");
    invalid.removeAttribute("aria-errormessage");
  }
  for (const { field, detail } of faults) {
    const input = fieldOf(field);
    const id = `fault-${field}`;
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-errormessage", id);
    input.closest(".field")?.append(element("p", { class: "fault", id }, detail));
  }
}

function fieldOf(name: FieldName): HTMLElement {
  return byId(name === "body" ? `body-${bodyKind()}` : name, HTMLElement);
}

function valueOf(id: string): string {
  return inputOf(id).value;
}

function setValue(id: string, value: string): void {
  inputOf(id).value = value;
}

function inputOf(id: string): HTMLInputElement | HTMLTextAreaElement {
  const found = byId(id, HTMLElement);
  if (found instanceof HTMLInputElement || found instanceof HTMLTextAreaElement) return found;
  throw new TypeError(`The element ${id} is not a field.`);
}

function say(text: string): void {
  byId("said", HTMLElement).textContent = text;
}
