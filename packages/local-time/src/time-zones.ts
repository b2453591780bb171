/**
 * Names that the IANA database has replaced, and that `Intl` still gives to time zones. Both names mean the same zone, but
 * people look for the present one.
 */
const REPLACED: ReadonlyMap<string, string> = new Map([
  ["Africa/Asmera", "Africa/Asmara"],
  ["America/Buenos_Aires", "America/Argentina/Buenos_Aires"],
  ["America/Catamarca", "America/Argentina/Catamarca"],
  ["America/Coral_Harbour", "America/Atikokan"],
  ["America/Cordoba", "America/Argentina/Cordoba"],
  ["America/Godthab", "America/Nuuk"],
  ["America/Indianapolis", "America/Indiana/Indianapolis"],
  ["America/Jujuy", "America/Argentina/Jujuy"],
  ["America/Louisville", "America/Kentucky/Louisville"],
  ["America/Mendoza", "America/Argentina/Mendoza"],
  ["Asia/Calcutta", "Asia/Kolkata"],
  ["Asia/Katmandu", "Asia/Kathmandu"],
  ["Asia/Rangoon", "Asia/Yangon"],
  ["Asia/Saigon", "Asia/Ho_Chi_Minh"],
  ["Atlantic/Faeroe", "Atlantic/Faroe"],
  ["Europe/Kiev", "Europe/Kyiv"],
  ["Pacific/Enderbury", "Pacific/Kanton"],
  ["Pacific/Ponape", "Pacific/Pohnpei"],
  ["Pacific/Truk", "Pacific/Chuuk"],
]);

/**
 * Returns the present name of a time zone. `Intl` calls Asia/Kolkata by its old name, Asia/Calcutta.
 *
 * @example
 * presentName(new Intl.DateTimeFormat().resolvedOptions().timeZone); // "Asia/Kolkata"
 */
export function presentName(timeZone: string): string {
  return REPLACED.get(timeZone) ?? timeZone;
}

/**
 * Tells whether a text is the name of a time zone in the IANA database. An offset is none: in +05:30, PostgreSQL and
 * JavaScript give the sign opposite meanings.
 *
 * @example
 * isTimeZone("Asia/Kolkata"); // true
 * isTimeZone("+05:30"); // false
 */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z][\w/+-]*$/.test(text)) return false;
  try {
    Intl.DateTimeFormat("en", { timeZone: text });
    return true;
  } catch {
    // Intl throws a RangeError for an unknown time zone.
    return false;
  }
}

/**
 * Returns the time zone of a country (ISO 3166-1, two letters). Returns undefined for a country with several time zones or
 * with none.
 *
 * @example
 * timeZoneOfCountry("IN"); // "Asia/Kolkata"
 * timeZoneOfCountry("US"); // undefined
 */
export function timeZoneOfCountry(country: string): string | undefined {
  if (!/^[A-Z]{2}$/.test(country)) return undefined;
  const locale = new Intl.Locale(`und-${country}`) as Intl.Locale & { getTimeZones(): string[] | undefined };
  const [zone, ...others] = locale.getTimeZones() ?? [];
  return zone !== undefined && others.length === 0 ? presentName(zone) : undefined;
}
