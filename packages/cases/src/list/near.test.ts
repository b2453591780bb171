import { expect, test } from "vitest";
import { metresBetween, type Point } from "./near.ts";

const at = (latitude: number, longitude: number): Point => ({ latitude, longitude });
/** A degree of latitude, in metres. */
const DEGREE_M = 111_195;

test.each<[name: string, from: Point, to: Point, metres: number]>([
  ["a point and itself", at(19.076, 72.8777), at(19.076, 72.8777), 0],
  ["a degree of latitude", at(18, 73), at(19, 73), DEGREE_M],
  ["a degree of longitude at 60 degrees north", at(60, 10), at(60, 11), DEGREE_M / 2],
  ["points on both sides of the date line", at(0, 179.5), at(0, -179.5), DEGREE_M],
  ["two opposite points", at(0, 0), at(0, 180), 180 * DEGREE_M],
])("metresBetween measures %s", (_name, from, to, metres) => {
  expect(Math.abs(metresBetween(from, to) - metres)).toBeLessThanOrEqual(metres / 1_000);
  expect(metresBetween(to, from)).toBe(metresBetween(from, to));
});
