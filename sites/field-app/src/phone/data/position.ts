export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

const ASKED_MS = 10_000;
const ASIDE_MS = 1_500;
const FRESH_MS = 60_000;
/** Some eleven metres: enough to go by, and the same for all pages of a list. */
const DIGITS = 4;

/** Where the phone is; asks the person first. Undefined where they or the browser say no. */
export async function whereAmI(): Promise<Position | undefined> {
  const found = await located(ASKED_MS);
  return found && { latitude: rounded(found.latitude), longitude: rounded(found.longitude) };
}

/** Where the phone is, with its accuracy in metres, if it may say so without a question and at once. */
export async function whereAmIQuietly(): Promise<(Position & { accuracyM: number }) | undefined> {
  try {
    const { state } = await navigator.permissions.query({ name: "geolocation" });
    if (state !== "granted") return undefined;
  } catch {
    return undefined;
  }
  const found = await located(ASIDE_MS);
  return found && { latitude: found.latitude, longitude: found.longitude, accuracyM: found.accuracy };
}

function located(timeout: number): Promise<GeolocationCoordinates | undefined> {
  return new Promise((resolve) => {
    if (!("geolocation" in navigator)) return resolve(undefined);
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => resolve(coords),
      () => resolve(undefined),
      { timeout, maximumAge: FRESH_MS },
    );
  });
}

function rounded(degrees: number): number {
  return Number(degrees.toFixed(DIGITS));
}
