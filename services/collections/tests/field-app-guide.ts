/** An operation of docs/field-app, as a reader copies it. */
export interface GuideOperation {
  readonly name: string;
  readonly text: string;
  /** Each with what the page shows as the answer, if it shows one. */
  readonly runs: readonly GuideRun[];
}

export interface GuideRun {
  readonly variables: Readonly<Record<string, unknown>>;
  readonly shown: unknown;
}

/** Commands for a shell, with the JSON that the last one prints. */
export interface GuideCommands {
  readonly lines: readonly string[];
  readonly shown: unknown;
}

export type GuideStep = GuideOperation | GuideCommands;

/** What an earlier answer has given: a text with the name of its field. */
export interface Given {
  readonly name: string;
  readonly value: string;
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const DATE = /^\d{4}-\d\d-\d\d$/;
/** What goes on by itself may be further than shown. */
const FURTHER: Readonly<Record<string, readonly string[]>> = { QUEUED: ["SENT"], REQUESTED: ["MINTED", "SENT"] };
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Arguments that take what an answer calls by another name. */
const OTHER_NAMES: Readonly<Record<string, string>> = { after: "endCursor", since: "cursor" };

/**
 * The operations and the commands to be run of a page, in their order. JSON below an operation is its variables, or the
 * answer to those above it if it has `data`.
 */
export function stepsOf(text: string): GuideStep[] {
  const blocks = [...text.matchAll(/^```(.+)\n([\s\S]*?)^```$/gm)].map(([, info, inner]) => ({ info, inner: inner! }));
  return blocks.flatMap(({ info, inner }, index): GuideStep[] => {
    const rest = blocks.slice(index + 1);
    const end = rest.findIndex((block) => block.info !== "json");
    const documents = rest.slice(0, end === -1 ? rest.length : end).map((block) => JSON.parse(block.inner) as object);
    if (info === "graphql") {
      const [, name = "without a name"] = /^(?:query|mutation|subscription) (\w+)/m.exec(inner) ?? [];
      return [{ name, text: inner, runs: runsOf(documents) }];
    }
    return info === "bash run" ? [{ lines: linesOf(inner), shown: documents[0] }] : [];
  });
}

function runsOf(documents: readonly object[]): GuideRun[] {
  const runs: GuideRun[] = [];
  let variables: GuideRun["variables"] = {};
  let isAnswered = true;
  for (const document of documents) {
    if ("data" in document) {
      runs.push({ variables, shown: document });
      isAnswered = true;
    } else {
      if (!isAnswered) runs.push({ variables, shown: undefined });
      variables = { ...document };
      isAnswered = false;
    }
  }
  return isAnswered && runs.length > 0 ? runs : [...runs, { variables, shown: undefined }];
}

function linesOf(script: string): string[] {
  return script.replaceAll("\\\n", "").trim().split("\n");
}

/** A text with an ellipsis stands for the newest one that fits: of a field with its name, else of any. */
export function filled(shown: unknown, given: readonly Given[], name = ""): unknown {
  if (typeof shown === "string" && shown.includes("…")) {
    const fitting = given.filter(({ value }) => fits(value, shown));
    const named = fitting.findLast((one) => one.name === (OTHER_NAMES[name] ?? name));
    const found = named ?? fitting.at(-1);
    if (!found) throw new Error(`No earlier answer has given anything like ${name}: "${shown}".`);
    return found.value;
  }
  if (Array.isArray(shown)) return shown.map((item) => filled(item, given, name));
  if (!isObject(shown)) return shown;
  return Object.fromEntries(Object.entries(shown).map(([key, value]) => [key, filled(value, given, key)]));
}

/** Every text of an answer. */
export function givenBy(answer: unknown, name = ""): Given[] {
  if (typeof answer === "string") return [{ name, value: answer }];
  if (Array.isArray(answer)) return answer.flatMap((item) => givenBy(item, name));
  return isObject(answer) ? Object.entries(answer).flatMap(([key, value]) => givenBy(value, key)) : [];
}

/**
 * Where an answer is not as shown: other fields, other lengths, other values. Moments, days and UUIDs may be others, and
 * an ellipsis is any text.
 */
export function differences(actual: unknown, shown: unknown, path = "answer"): string[] {
  if (Array.isArray(actual) && Array.isArray(shown) && actual.length === shown.length) {
    return shown.flatMap((item, index) => differences(actual[index], item, `${path}.${index}`));
  }
  if (isObject(actual) && isObject(shown)) {
    const names = new Set([...Object.keys(actual), ...Object.keys(shown)]);
    return [...names].flatMap((name) => differences(actual[name], shown[name], `${path}.${name}`));
  }
  const areTexts = typeof actual === "string" && typeof shown === "string";
  if (actual === shown || (areTexts && areAlike(actual, shown))) return [];
  return [`${path} is ${JSON.stringify(actual)}, shown is ${JSON.stringify(shown)}`];
}

function areAlike(actual: string, shown: string): boolean {
  const areOfOneKind = [DATE_TIME, DATE, UUID].some((kind) => kind.test(actual) && kind.test(shown));
  return areOfOneKind || fits(actual, shown) || (FURTHER[shown]?.includes(actual) ?? false);
}

function fits(value: string, shown: string): boolean {
  const pattern = shown.split("…").map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&"));
  return new RegExp(`^${pattern.join(".+")}$`, "s").test(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
