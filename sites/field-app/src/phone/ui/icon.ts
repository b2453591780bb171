/** Paths of line drawings in a square of 24 units. */
const PATHS = {
  today: "M4 11 12 4l8 7v8a1 1 0 0 1-1 1h-4v-6H9v6H5a1 1 0 0 1-1-1z",
  cases: "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
  money: "M4 7h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2zm0 0a2 2 0 0 1 2-2h10M16 13h.01",
  me: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm-7.5 8a7.5 7.5 0 0 1 15 0",
  back: "M15 5 8 12l7 7",
  forward: "m9 5 7 7-7 7",
  place: "M12 21s7-6.2 7-11a7 7 0 0 0-14 0c0 4.8 7 11 7 11zm0-8.500a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  phone: "M6 3h3l2 5-2.5 1.500a11 11 0 0 0 6 6L16 13l5 2v3a2 2 0 0 1-2 2A16 16 0 0 1 4 5a2 2 0 0 1 2-2z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zm5-2 4.5 4.5",
  sliders:
    "M4 7h9m5 0h2M4 17h3m5 0h8M15.5 9.500a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zm-6 10a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  check: "m5 12.5 4.5 4.500L19 7.5",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zm0-14v5l3.5 2",
  alert:
    "M12 9v4m0 3.500h.01M10.3 4.5 3 17.500A2 2 0 0 0 4.7 20.500h14.600a2 2 0 0 0 1.7-3L13.7 4.500a2 2 0 0 0-3.4 0z",
  share: "M12 15V4m0 0L8 8m4-4 4 4M5 12v6a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2v-6",
  copy: "M9 9h9a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1zM5 15V5a1 1 0 0 1 1-1h9",
  send: "M20 4 10.5 13.500M20 4l-6 16-3.5-6.500L4 10z",
  offline:
    "M3 3l18 18M8.5 16a5 5 0 0 1 6.5-.500M5 12.500a10 10 0 0 1 4-2.400M2 9a14.5 14.5 0 0 1 4-2.600M12 5a15 15 0 0 1 10 4m-6.5 2.200a10 10 0 0 1 3.5 1.300M12 20h.01",
  phoneDevice: "M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zm3 15h2",
  link: "M10 14a4 4 0 0 0 6 .400l3-3a4 4 0 0 0-5.7-5.700l-1 1M14 10a4 4 0 0 0-6-.400l-3 3a4 4 0 0 0 5.7 5.700l1-1",
  door: "M6 21V4.500L17 3v18M4 21h16M13.5 11.500v1.5",
} as const;

export type IconName = keyof typeof PATHS;

const SVG = "http://www.w3.org/2000/svg";

/** Creates an icon. Screen readers ignore it, because the text beside it has the same meaning. */
export function icon(name: IconName): SVGSVGElement {
  const picture = document.createElementNS(SVG, "svg");
  for (const [attribute, value] of Object.entries({ viewBox: "0 0 24 24", "aria-hidden": "true", class: "icon" })) {
    picture.setAttribute(attribute, value);
  }
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  picture.append(path);
  return picture;
}
