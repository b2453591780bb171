/**
 * Returns a function that masks each secret in a text, also in its JSON form. A lender's answer may repeat a secret.
 */
export function masker(secrets: readonly string[]): (text: string) => string {
  const forms = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  // Replace the longest first. If a secret contains a shorter one, masking the shorter one first would leave a part of
  // the longer one.
  const longestFirst = forms.filter((form) => form !== "").toSorted((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((masked, form) => masked.replaceAll(form, "***"), text);
}
