/** The only kind of message that may start a conversation: a template, with texts for the placeholders of its body. */
export interface TemplateMessage {
  messaging_product: "whatsapp";
  recipient_type?: "individual";
  to: string;
  type: "template";
  biz_opaque_callback_data?: string;
  template: {
    name: string;
    language: { code: string };
    components: [
      { type: "body"; parameters: { type: "text"; text: string; parameter_name?: string }[] },
      /** The button that copies the code. Present only in an authentication template. */
      { type: "button"; sub_type: "url"; index: "0"; parameters: [{ type: "text"; text: string }] }?,
    ];
  };
}

/** An error in the format of the Graph API. Callers decide by `code`. */
export interface MetaError {
  message: string;
  type: "OAuthException";
  code: number;
  error_data?: { messaging_product: "whatsapp"; details: string };
}

type Fields = Record<string, unknown>;

/** The reason why a body is not a valid template message, or null. Checks missing, unknown and invalid fields. */
export function templateMessageError(body: unknown): MetaError | null {
  return (
    objectError(body, "message", { messaging_product: "whatsapp", to: isPhone, type: "template", template: isObject }, [
      "recipient_type",
      "biz_opaque_callback_data",
    ]) ??
    recipientTypeError(body as Fields) ??
    callbackDataError(body as Fields) ??
    templateError((body as Fields)["template"] as Fields)
  );
}

/** The Graph API's error for an unknown or unusable parameter. */
export function invalidParameter(details: string): MetaError {
  return metaError(100, "(#100) Invalid parameter", details);
}

function recipientTypeError({ recipient_type: type }: Fields): MetaError | null {
  return type === undefined || type === "individual" ? null : invalidValue("recipient_type");
}

function callbackDataError({ biz_opaque_callback_data: data }: Fields): MetaError | null {
  const isRight = data === undefined || (typeof data === "string" && data !== "" && data.length <= 512);
  return isRight ? null : invalidValue("biz_opaque_callback_data");
}

function templateError(template: Fields): MetaError | null {
  const rules = { name: /^[a-z0-9_]{1,512}$/, language: isObject, components: isListOfOneOrTwo };
  return (
    objectError(template, "template", rules) ??
    objectError(template["language"], "template.language", { code: /^[a-z]{2,3}(_[A-Z]{2,4})?$/ }) ??
    bodyError((template["components"] as unknown[])[0]) ??
    codeButtonError((template["components"] as unknown[])[1])
  );
}

function codeButtonError(component: unknown): MetaError | null {
  if (component === undefined) return null;
  const rules = { type: "button", sub_type: "url", index: "0", parameters: isListOfOne };
  return (
    objectError(component, "template.components[1]", rules) ??
    objectError(((component as Fields)["parameters"] as unknown[])[0], "template.components[1].parameters[0]", {
      type: "text",
      text: isParameterText,
    })
  );
}

function bodyError(component: unknown): MetaError | null {
  const fault = objectError(component, "template.components[0]", { type: "body", parameters: Array.isArray });
  if (fault !== null) return fault;
  const parameters = (component as Fields)["parameters"] as unknown[];
  for (const [index, parameter] of parameters.entries()) {
    const name = `template.components[0].parameters[${index}]`;
    const fault = objectError(parameter, name, { type: "text", text: isParameterText }, ["parameter_name"]);
    if (fault !== null) return fault;
  }
  return null;
}

type Rule = string | RegExp | ((value: unknown) => boolean);

function objectError(
  value: unknown,
  name: string,
  rules: Record<string, Rule>,
  optional: string[] = [],
): MetaError | null {
  if (!isObject(value)) return invalidParameter(`${name} is not a JSON object`);
  for (const field of Object.keys(value)) {
    if (!(field in rules) && !optional.includes(field)) return invalidParameter(`Unexpected field ${name}.${field}`);
  }
  for (const [field, rule] of Object.entries(rules)) {
    if (value[field] === undefined) {
      return metaError(131008, "(#131008) Required parameter is missing", `${name}.${field} is required`);
    }
    if (!holds(rule, value[field])) return invalidValue(`${name}.${field}`);
  }
  return null;
}

function holds(rule: Rule, value: unknown): boolean {
  if (typeof rule === "function") return rule(value);
  return typeof rule === "string" ? value === rule : typeof value === "string" && rule.test(value);
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isListOfOne(value: unknown): boolean {
  return Array.isArray(value) && value.length === 1;
}

function isListOfOneOrTwo(value: unknown): boolean {
  return Array.isArray(value) && (value.length === 1 || value.length === 2);
}

/** Digits with the country code, with or without the plus sign. */
function isPhone(value: unknown): boolean {
  return typeof value === "string" && /^\+?[1-9]\d{6,14}$/.test(value);
}

/** Meta rejects texts that are empty or contain a line break, a tab or more than four spaces in a row. */
function isParameterText(value: unknown): boolean {
  return typeof value === "string" && value !== "" && !/[\n\r\t]| {5}/.test(value);
}

function invalidValue(name: string): MetaError {
  return metaError(131009, "(#131009) Parameter value is not valid", `${name} has a value that is not valid`);
}

/** Makes an error in the format of the Graph API. */
export function metaError(code: number, message: string, details: string): MetaError {
  return { message, type: "OAuthException", code, error_data: { messaging_product: "whatsapp", details } };
}
