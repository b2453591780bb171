export {
  dayIn,
  hoursOfDay,
  instantOf,
  instantShowing,
  type Span,
  spanOfDay,
  spanOfMonth,
  timeIn,
  wallClock,
} from "./local-time.ts";
export { isTimeZone, presentName, timeZoneOfCountry } from "./time-zones.ts";
