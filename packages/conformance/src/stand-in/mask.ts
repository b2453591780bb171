/** Makes a function that replaces each secret in a text, also as JSON writes it. A lender's answer may repeat one. */
export function masker(secrets: readonly string[]): (text: string) => string {
  const forms = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  // The longest first, or else a secret that holds another one would leave its rest behind.
  const longestFirst = forms.filter((form) => form !== "").toSorted((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((masked, form) => masked.replaceAll(form, "***"), text);
}
