import type { DifferenceList } from "@collections/bookings";

/** What each list of the differences of a reconciliation contains. */
export const DIFFERENCE_WORDS: Readonly<Record<DifferenceList, string>> = {
  onlyYours: "in the file, and not booked",
  onlyOurs: "booked, and not in the file",
  referenceDiffers: "probably booked on the same loan under another reference; never booked from the file",
  amountDiffers: "booked with another amount or currency",
  onOtherLoan: "reference booked on another loan; never booked from the file",
  otherDay: "booked outside the window, or with a time up to a day outside of it in the file",
  outsideWindow: "more than a day outside the window in the file; never booked from the file",
  reversed: "reversed, so that the rest has another amount",
  rejected: "could not be compared",
};
