/** A place, in degrees, and an optional radius around it, in metres. */
export interface Near {
  readonly latitude: number;
  readonly longitude: number;
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
