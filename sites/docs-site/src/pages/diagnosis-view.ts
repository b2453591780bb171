import type { Diagnosis, Finding } from "@collections/signing";
import { duration } from "./duration.ts";
import { element } from "@collections/web-pages/browser";
import { visibleParts } from "./visible-text.ts";

const MAX_CHARACTERS_SHOWN = 20_000;

/** Returns the elements that show the result of `diagnose`. */
export function diagnosisView(diagnosis: Diagnosis): HTMLElement[] {
  return [verdict(diagnosis), ...findings(diagnosis), signedText(diagnosis), facts(diagnosis)];
}

function verdict({ signatureMatches, diagnosis, clock }: Diagnosis): HTMLElement {
  const found = diagnosis.filter(({ certain }) => certain).length;
  if (signatureMatches && found === 0) {
    return headline("good", "The signature is right", clock.withinTolerance ? TOGETHER : `${TOGETHER} ${ageOf(clock)}`);
  }
  if (signatureMatches) {
    return headline("warn", "The signature is right, but the request is still rejected", "Correct the following:");
  }
  if (found > 0) {
    const title = found === 1 ? "Found the mistake" : "Found the mistakes";
    return headline(
      "bad",
      title,
      `A request signed with ${found === 1 ? "this mistake" : "these mistakes"} has exactly the signature that was sent.`,
    );
  }
  return headline("bad", "No known mistake gives this signature", "Possible causes, the most likely first:");
}

const TOGETHER = "The signature matches the method, path, timestamp, body and secret.";

function headline(kind: "good" | "warn" | "bad", title: string, text: string): HTMLElement {
  return element("div", { class: `verdict ${kind}` }, element("h2", {}, title), element("p", {}, text));
}

function findings({ diagnosis, search }: Diagnosis): HTMLElement[] {
  if (diagnosis.length === 0) return [];
  const list = element("ol", { class: "findings" }, ...diagnosis.map(finding));
  if (search.complete || diagnosis.some(({ certain }) => certain)) return [list];
  return [
    list,
    element("p", { class: "hint" }, "The body is too large to try every mistake. Try a request with a smaller body."),
  ];
}

function finding({ cause, certain, fix }: Finding): HTMLElement {
  return element(
    "li",
    {},
    element("p", { class: "fix" }, fix),
    element("p", { class: "cause" }, element("code", {}, cause), certain ? " · certain" : " · possible"),
  );
}

function signedText({ canonicalString }: Diagnosis): HTMLElement {
  const shown = canonicalString.slice(0, MAX_CHARACTERS_SHOWN);
  const rest = canonicalString.length - shown.length;
  const parts = visibleParts(shown).map((part) =>
    typeof part === "string" ? part : element("span", { class: "picture", title: part.name }, part.picture),
  );
  const lines = parts.flatMap((part) => (typeof part !== "string" && part.textContent === "↵" ? [part, "\n"] : [part]));
  return element(
    "section",
    {},
    element("h3", {}, "The text to sign"),
    element(
      "pre",
      { tabindex: "0", class: "canonical", role: "group", "aria-label": "The text to sign" },
      ...lines,
      ...(rest > 0 ? [` … and ${rest} more characters`] : []),
    ),
  );
}

function facts({ canonicalSha256, bodyBytes, bodySha256, clock }: Diagnosis): HTMLElement {
  const rows = [
    ["Its SHA-256", element("code", {}, canonicalSha256)],
    ["Bytes of the body", String(bodyBytes)],
    ["SHA-256 of the body", element("code", {}, bodySha256)],
    ["Time", ageOf(clock)],
  ] as const;
  const list = rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  return element(
    "section",
    {},
    element("dl", { class: "facts" }, ...list),
    element(
      "p",
      { class: "hint" },
      "Print the same values in your own program: where a hash differs, the text differs.",
    ),
  );
}

function ageOf({ skewMs, withinTolerance }: Diagnosis["clock"]): string {
  if (skewMs === null) return "The timestamp is not a number of milliseconds.";
  const direction = skewMs < 0 ? "ahead of" : "behind";
  const distance = `The timestamp is ${duration(skewMs)} ${direction} the clock of this computer`;
  return withinTolerance
    ? `${distance}.`
    : `${distance}; the service accepts timestamps within five minutes of its own clock.`;
}
