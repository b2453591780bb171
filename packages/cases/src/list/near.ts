/** A place, in degrees, and how far around it to look, in metres. */
export interface Near {
  readonly latitude: number;
  readonly longitude: number;
  readonly radiusM?: number | undefined;
}

/** How far a box reaches to each side of its middle, in degrees. */
export interface Box {
  readonly latitudeSpan: number;
  readonly longitudeSpan: number;
}

export const EARTH_RADIUS_M = 6_371_008.8;

const EVERYWHERE: Box = { latitudeSpan: 180, longitudeSpan: 180 };
const DEGREES = 180 / Math.PI;

/** A box that has every point within the radius in it: cheap to compare with before a distance is computed. */
export function boxAround({ latitude, radiusM }: Near): Box {
  if (radiusM === undefined) return EVERYWHERE;
  const angle = radiusM / EARTH_RADIUS_M;
  const latitudeSpan = angle * DEGREES;
  // A circle with a pole in it has every longitude.
  if (Math.abs(latitude) + latitudeSpan >= 90) return { latitudeSpan, longitudeSpan: 180 };
  return { latitudeSpan, longitudeSpan: Math.asin(Math.sin(angle) / Math.cos(latitude / DEGREES)) * DEGREES };
}
