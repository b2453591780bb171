/** A point on the earth, in degrees. */
export interface Point {
  readonly latitude: number;
  readonly longitude: number;
}

/** A place, in degrees, and an optional radius around it, in metres. */
export interface Near extends Point {
  readonly radiusM?: number | undefined;
}

/** The extent of a box to each side of its centre, in degrees. */
export interface Box {
  readonly latitudeSpan: number;
  readonly longitudeSpan: number;
}

export const EARTH_RADIUS_M = 6_371_008.8;

const EVERYWHERE: Box = { latitudeSpan: 180, longitudeSpan: 180 };
const DEGREES = 180 / Math.PI;

/**
 * Returns a box that contains every point within the radius. Comparing a point with the box is cheaper than computing
 * its distance.
 */
export function boxAround({ latitude, radiusM }: Near): Box {
  if (radiusM === undefined) return EVERYWHERE;
  const angle = radiusM / EARTH_RADIUS_M;
  const latitudeSpan = angle * DEGREES;
  // A circle that contains a pole spans all longitudes.
  if (Math.abs(latitude) + latitudeSpan >= 90) return { latitudeSpan, longitudeSpan: 180 };
  return { latitudeSpan, longitudeSpan: Math.asin(Math.sin(angle) / Math.cos(latitude / DEGREES)) * DEGREES };
}

/**
 * Returns the distance between two points along the surface of the earth, in metres.
 *
 * @example
 * metresBetween({ latitude: 28.6139, longitude: 77.209 }, { latitude: 28.6129, longitude: 77.2295 }); // 2004.19…
 */
export function metresBetween(from: Point, to: Point): number {
  const half = (degrees: number) => Math.sin(degrees / DEGREES / 2) ** 2;
  const cosines = Math.cos(from.latitude / DEGREES) * Math.cos(to.latitude / DEGREES);
  const square = half(to.latitude - from.latitude) + cosines * half(to.longitude - from.longitude);
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(square)));
}
