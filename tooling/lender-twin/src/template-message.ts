/** The one kind of message that opens a conversation: a template, with texts for the placeholders of its body. */
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
      /** Of an authentication template: the button that copies the code. */
      { type: "button"; sub_type: "url"; index: "0"; parameters: [{ type: "text"; text: string }] }?,
    ];
  };
}

/** An error as the Graph API words it; `code` is what callers decide by. */
export interface MetaError {
  message: string;
  type: "OAuthException";
  code: number;
  error_data?: { messaging_product: "whatsapp"; details: string };
}

type Fields = Record<string, unknown>;

/** Says what is wrong with a body that should be a template message, or null: missing, unknown and invalid fields. */
export function whyNoTemplateMessage(body: unknown): MetaError | null {
  return (
    whyNoObject(body, "message", { messaging_product: "whatsapp", to: isPhone, type: "template", template: isObject }, [
      "recipient_type",
      "biz_opaque_callback_data",
    ]) ??
    whyNoRecipientType(body as Fields) ??
    whyNoCallbackData(body as Fields) ??
    whyNoTemplate((body as Fields)["template"] as Fields)
  );
}

/** The Graph API's answer to a parameter that it does not know or cannot use. */
export function invalidParameter(details: string): MetaError {
  return error(100, "(#100) Invalid parameter", details);
}

function whyNoRecipientType({ recipient_type: type }: Fields): MetaError | null {
  return type === undefined || type === "individual" ? null : invalidValue("recipient_type");
}

function whyNoCallbackData({ biz_opaque_callback_data: data }: Fields): MetaError | null {
  const isRight = data === undefined || (typeof data === "string" && data !== "" && data.length <= 512);
  return isRight ? null : invalidValue("biz_opaque_callback_data");
}

function whyNoTemplate(template: Fields): MetaError | null {
  const rules = { name: /^[a-z0-9_]{1,512}$/, language: isObject, components: isListOfOneOrTwo };
  return (
    whyNoObject(template, "template", rules) ??
    whyNoObject(template["language"], "template.language", { code: /^[a-z]{2,3}(_[A-Z]{2,4})?$/ }) ??
    whyNoBody((template["components"] as unknown[])[0]) ??
    whyNoCodeButton((template["components"] as unknown[])[1])
  );
}

function whyNoCodeButton(component: unknown): MetaError | null {
  if (component === undefined) return null;
  const rules = { type: "button", sub_type: "url", index: "0", parameters: isListOfOne };
  return (
    whyNoObject(component, "template.components[1]", rules) ??
    whyNoObject(((component as Fields)["parameters"] as unknown[])[0], "template.components[1].parameters[0]", {
      type: "text",
      text: isParameterText,
    })
  );
}

function whyNoBody(component: unknown): MetaError | null {
  const fault = whyNoObject(component, "template.components[0]", { type: "body", parameters: Array.isArray });
  if (fault !== null) return fault;
  const parameters = (component as Fields)["parameters"] as unknown[];
  for (const [index, parameter] of parameters.entries()) {
    const name = `template.components[0].parameters[${index}]`;
    const fault = whyNoObject(parameter, name, { type: "text", text: isParameterText }, ["parameter_name"]);
    if (fault !== null) return fault;
  }
  return null;
}

type Rule = string | RegExp | ((value: unknown) => boolean);

function whyNoObject(
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
      return error(131008, "(#131008) Required parameter is missing", `${name}.${field} is required`);
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

/** Meta refuses texts that are empty or hold a line break, a tab or more than four spaces in a row. */
function isParameterText(value: unknown): boolean {
  return typeof value === "string" && value !== "" && !/[\n\r\t]| {5}/.test(value);
}

function invalidValue(name: string): MetaError {
  return error(131009, "(#131009) Parameter value is not valid", `${name} has a value that is not valid`);
}

function error(code: number, message: string, details: string): MetaError {
  return { message, type: "OAuthException", code, error_data: { messaging_product: "whatsapp", details } };
}
