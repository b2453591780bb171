import { metaError, type MetaError, type TemplateMessage } from "./template-message.ts";

/**
 * The templates that Meta has approved for a number: for each name, the text of the body by Meta's language code. A text
 * has the placeholders `{{1}}`, `{{2}}` and so on.
 */
export type ApprovedTemplates = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The reason why Meta refuses a valid message: a template or language that is not approved, or too few parameters. */
export function approvedTemplateError(
  templates: ApprovedTemplates | undefined,
  { template: { name, language, components } }: TemplateMessage,
): MetaError | null {
  if (templates === undefined) return null;
  const text = textOf(templates, name, language.code);
  if (text === undefined) {
    const details = `template name (${name}) does not exist in ${language.code}`;
    return metaError(132001, "(#132001) Template name does not exist in the translation", details);
  }
  const expected = new Set(text.match(PLACEHOLDER)).size;
  const given = components[0].parameters.length;
  if (given === expected) return null;
  const details = `body: number of localizable_params (${given}) does not match the expected number of params (${expected})`;
  return metaError(132000, "(#132000) Number of parameters does not match the expected number of params", details);
}

/** Returns the text that the recipient reads: the approved body with the parameters in place of the placeholders. */
export function filledText(
  templates: ApprovedTemplates | undefined,
  { name, language, components }: TemplateMessage["template"],
): string | undefined {
  const { parameters } = components[0];
  return textOf(templates ?? {}, name, language.code)?.replaceAll(
    PLACEHOLDER,
    (_, number: string) => parameters[Number(number) - 1]?.text ?? "",
  );
}

const PLACEHOLDER = /\{\{(\d+)\}\}/g;

function textOf(templates: ApprovedTemplates, name: string, code: string): string | undefined {
  const texts = Object.hasOwn(templates, name) ? templates[name]! : {};
  return Object.hasOwn(texts, code) ? texts[code] : undefined;
}
