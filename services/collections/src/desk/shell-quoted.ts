/**
 * Quotes a text for a POSIX shell. Within single quotes, only the single quote needs escaping. Characters that control
 * a terminal become calls of `printf`: the line can then be shown safely, and the shell still produces the same bytes.
 */
export function shellQuoted(text: string): string {
  const quoted = `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return quoted.replaceAll(/(?:(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}])+/gu, (characters) => {
    const octal = Array.from(Buffer.from(characters), (byte) => `\\${byte.toString(8).padStart(3, "0")}`);
    return `'"$(printf '${octal.join("")}')"'`;
  });
}
