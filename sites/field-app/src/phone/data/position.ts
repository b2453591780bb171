export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

const ASKED_MS = 10_000;
const ASIDE_MS = 1_500;
const FRESH_MS = 60_000;
/**
 * The number of decimals of a latitude or longitude. Four decimals of a degree are about eleven metres. That is exact
 * enough, and the rounded position stays the same for all pages of a list.
 */
const DIGITS = 4;

/**
 * Returns the phone's position, or undefined if the phone does not report it, for example because the user denies
 * permission. The browser may ask the user for permission.
 */
export async function currentPosition(): Promise<Position | undefined> {
  const found = await located(ASKED_MS);
  return found && { latitude: rounded(found.latitude), longitude: rounded(found.longitude) };
}

/**
 * Returns the phone's position with its accuracy in metres, but only if permission was given before and the position is
 * available quickly.
 */
export async function positionWithoutPrompt(): Promise<(Position & { accuracyM: number }) | undefined> {
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
