import { nearestName } from "@collections/cases";
import type { z } from "zod";
import type { FieldFault, ProblemCode } from "../../http/problem.ts";
import { PROBLEM_CODES } from "../../http/problem.ts";

/** A warning about something odd in a request that was accepted. */
export interface Warning {
  code: string;
  pointer: string;
  detail: string;
}

const KNOWN_CODES: ReadonlySet<string> = new Set(PROBLEM_CODES);
/**
 * The maximum number of warnings about unknown fields: enough to show the mistake, and few enough that a hostile body
 * gets a short answer.
 */
const MAX_WARNINGS = 20;
const MAX_NAME_CHARACTERS = 64;

/** Converts the issues of a failed zod parse. A schema may give its own code by `params: { code }`. */
export function fieldFaults(error: z.ZodError, input: unknown): FieldFault[] {
  return error.issues.map((issue) => ({
    code: codeOf(issue, input),
    pointer: pointerOf(issue.path),
    detail: sentence(`${issue.path.join(".") || "The body"}: ${issue.message}`),
  }));
}

/** Returns a warning for each field that the schema does not have, with the most similar name in the schema. */
export function unknownFieldWarnings(body: Record<string, unknown>, known: readonly string[]): Warning[] {
  const names = new Set(known);
  const unknown = Object.keys(body).filter((name) => !names.has(name));
  return unknown.slice(0, MAX_WARNINGS).map((name) => {
    const nearest = names.size === 0 ? undefined : nearestName(name, names);
    return {
      code: "UNKNOWN_FIELD",
      pointer: pointerOf([name]),
      detail: `The field ${clipped(name)} was ignored.${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`,
    };
  });
}

function sentence(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}

function codeOf(issue: z.core.$ZodIssue, input: unknown): ProblemCode {
  const own = issue.code === "custom" ? (issue.params?.["code"] as string | undefined) : undefined;
  if (own !== undefined && KNOWN_CODES.has(own)) return own as ProblemCode;
  const absent = valueAt(input, issue.path) === undefined;
  switch (issue.code) {
    case "invalid_type":
      return absent ? "REQUIRED" : "WRONG_TYPE";
    case "too_big":
      return "TOO_LONG";
    case "too_small":
      return "REQUIRED";
    case "invalid_value":
      return absent ? "REQUIRED" : "INVALID_ENUM";
    default:
      return absent ? "REQUIRED" : "WRONG_TYPE";
  }
}

function valueAt(input: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], input);
}

/** Returns a JSON pointer (RFC 6901) in which long names are shortened. */
export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${clipped(String(key)).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/**
 * Shortens a text of the client for a message or a pointer that may be stored. Replaces characters that cannot be
 * stored.
 */
function clipped(name: string): string {
  const short = name.length > MAX_NAME_CHARACTERS ? `${name.slice(0, MAX_NAME_CHARACTERS)}…` : name;
  return short.toWellFormed().replaceAll(/\p{Cc}/gu, "\uFFFD");
}
