/** A request as a form describes it. */
export interface FilledRequest {
  readonly method: string;
  readonly url: string;
  /** The exact text to send; undefined if there is no body. */
  readonly body: string | undefined;
}

/** Thrown if a form lacks a value that the request needs. */
export class MissingValueError extends Error {
  override readonly name = "MissingValueError";
  readonly code = "MISSING_VALUE";

  constructor(name: string) {
    super(`Fill in ${name}: it is a part of the path.`);
  }
}

/**
 * Returns the request that a “Try it” form describes. Path parameters are percent-encoded, and empty query parameters
 * are left out. Throws MissingValueError.
 */
export function filledRequest(form: HTMLFormElement): FilledRequest {
  const { method = "", path = "" } = form.dataset;
  const inputs = [...form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("[data-in]")];
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = inputs.find((each) => each.dataset["in"] === "path" && each.dataset["name"] === name)?.value ?? "";
    if (value === "") throw new MissingValueError(name);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const { dataset, value } of inputs.filter((each) => each.dataset["in"] === "query" && each.value !== "")) {
    query.append(dataset["name"]!, value);
  }
  const body = inputs.find((each) => each.dataset["in"] === "body")?.value;
  return { method, url: filled + (query.size > 0 ? `?${query.toString()}` : ""), body: body === "" ? undefined : body };
}
