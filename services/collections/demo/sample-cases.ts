/** The phone of the field partner who has all sample cases. */
export const PHONE = "+919810000001";

/** The lenders of the demo's app. They differ in how a borrower gets a payment link. */
export type LenderCode = "ACME" | "SHAKTI" | "BETA";

/** A lender's case in the sample data. Amounts are in rupees. */
export interface SampleCase {
  readonly loan: string;
  readonly name: string;
  readonly amount: number;
  readonly dpd: number;
  readonly line1: string;
  readonly city: string;
  readonly postalCode: string;
  /** Latitude and longitude. */
  readonly place: readonly [latitude: number, longitude: number];
  /** The borrower's language, as a BCP 47 tag. */
  readonly language: string;
  readonly email?: string;
  readonly emi?: number;
  /** The borrower may not be contacted for this number of days from today. */
  readonly quietDays?: number;
}

type Row = readonly [
  loan: string,
  name: string,
  amount: number,
  dpd: number,
  line1: string,
  city: string,
  postalCode: string,
  latitude: number,
  longitude: number,
  language: string,
  more?: Pick<SampleCase, "email" | "emi" | "quietDays">,
];

// oxfmt-ignore
const ACME: readonly Row[] = [
  ["LN-1001", "Ravi Kumar", 5_000, 42, "14, Lakshmi Road", "Pune", "411030", 18.5153, 73.8478, "en-IN", { email: "ravi.kumar@example.com", emi: 2_500 }],
  ["LN-1002", "Meera Iyer", 1_200, 12, "3, Tilak Road", "Pune", "411002", 18.5074, 73.8508, "en-IN", { emi: 1_200 }],
  ["LN-1003", "श्री विष्णु कुलकर्णी", 125_000.5, 91, "Flat 7, Karve Nagar", "Pune", "411052", 18.4907, 73.8173, "mr", { emi: 8_400 }],
  ["LN-1004", "Sunita Deshpande", 4_000, 34, "22, Prabhat Road", "Pune", "411004", 18.5136, 73.8328, "en-IN"],
  ["LN-1005", "अमित शर्मा", 18_750, 67, "B-12, Magarpatta City", "Pune", "411028", 18.5158, 73.9272, "hi-IN", { emi: 3_750 }],
  ["LN-1006", "Farhan Shaikh", 12_000, 58, "41, Kondhwa Khurd", "Pune", "411048", 18.4771, 73.8907, "hi"],
  ["LN-1007", "Lakshmi Nair", 1_850, 8, "Flat 3, Baner Road", "Pune", "411045", 18.559, 73.7868, "en"],
  ["LN-1008", "Harpreet Singh Gill", 22_300, 76, "5, Aundh Gaon", "Pune", "411007", 18.5602, 73.8031, "en-IN", { quietDays: 12 }],
  ["LN-1009", "Priya Venkataraman", 9_925.75, 29, "Row House 9, Kothrud", "Pune", "411038", 18.5074, 73.8077, "ta"],
  ["LN-1010", "सुरेश पाटील", 9_000, 45, "Survey 18, Warje", "Pune", "411058", 18.4829, 73.8005, "mr"],
  ["LN-1011", "Abdul Rahman Khan", 3_150, 21, "77, Camp", "Pune", "411001", 18.5122, 73.8792, "hi-IN"],
  ["LN-1012", "Neha Joshi", 15_500, 52, "A-4, Viman Nagar", "Pune", "411014", 18.5679, 73.9143, "en-IN", { email: "neha.joshi@example.com" }],
  ["LN-1013", "रेखा गायकवाड", 2_480, 17, "Chawl 6, Yerawada", "Pune", "411006", 18.5529, 73.8796, "hi", { emi: 620 }],
  ["LN-1014", "Joseph Fernandes", 60_000, 118, "9, Salisbury Park", "Pune", "411037", 18.4953, 73.8718, "en-IN"],
];

// oxfmt-ignore
const SHAKTI: readonly Row[] = [
  ["SH-2001", "कविता जाधव", 6_000, 38, "12, Chinchwad Gaon", "Pimpri-Chinchwad", "411033", 18.6279, 73.7827, "hi-IN", { email: "kavita.jadhav@example.com", emi: 1_500 }],
  ["SH-2002", "Rajesh Yadav", 4_400, 15, "Plot 5, Bhosari MIDC", "Pimpri-Chinchwad", "411026", 18.6298, 73.847, "hi", { email: "rajesh.yadav@example.com" }],
  ["SH-2003", "Anjali Mehta", 2_600, 26, "8, Pimpri Camp", "Pimpri-Chinchwad", "411017", 18.6229, 73.8021, "en-IN", { email: "anjali.mehta@example.com" }],
  ["SH-2004", "गणेश मोरे", 4_450, 63, "Room 2, Akurdi", "Pimpri-Chinchwad", "411035", 18.6477, 73.7652, "mr", { email: "ganesh.more@example.com" }],
  ["SH-2005", "Bharati Kamble", 5_250, 71, "31, Nigdi Pradhikaran", "Pimpri-Chinchwad", "411044", 18.6515, 73.7617, "mr", { email: "bharati.kamble@example.com" }],
  ["SH-2006", "Mohammed Salim Ansari", 1_975, 33, "4, Kasarwadi", "Pimpri-Chinchwad", "411034", 18.6068, 73.8207, "hi", { email: "salim.ansari@example.com" }],
  ["SH-2007", "Geeta Chavan", 2_200, 19, "16, Wakad", "Pimpri-Chinchwad", "411057", 18.5987, 73.7688, "mr", { email: "geeta.chavan@example.com" }],
  ["SH-2008", "Manoj Tiwari", 5_200, 47, "Shop 3, Dehu Road", "Pimpri-Chinchwad", "412101", 18.6826, 73.7342, "hi-IN", { email: "manoj.tiwari@example.com" }],
  ["SH-2009", "सीमा वाघमारे", 1_125, 5, "House 40, Talegaon Dabhade", "Talegaon", "410506", 18.7355, 73.6757, "mr", { email: "seema.waghmare@example.com" }],
  ["SH-2010", "Deepak Rathod", 9_300, 84, "2, Chakan Chowk", "Chakan", "410501", 18.7606, 73.8635, "hi", { email: "deepak.rathod@example.com" }],
];

// oxfmt-ignore
const BETA: readonly Row[] = [
  ["BB-3001", "Thomas D’Souza", 33_000, 64, "9, Koregaon Park", "Pune", "411001", 18.5362, 73.8938, "en-IN", { emi: 5_500 }],
  ["BB-3002", "Ishita Banerjee", 64_200, 97, "C-21, Kharadi", "Pune", "411014", 18.5515, 73.9348, "bn"],
  ["BB-3003", "किरण भोसले", 12_900, 49, "18, Sinhagad Road", "Pune", "411030", 18.4866, 73.8354, "mr"],
  ["BB-3004", "Vikram Reddy", 88_650, 132, "Villa 2, NIBM Road", "Pune", "411048", 18.4691, 73.9004, "te"],
  ["BB-3005", "Zoya Merchant", 27_340, 56, "6, Boat Club Road", "Pune", "411001", 18.5383, 73.8788, "en"],
  ["BB-3006", "Arjun Malhotra", 150_000, 31, "Tower 4, Hinjawadi Phase 1", "Pimpri-Chinchwad", "411057", 18.5913, 73.7389, "en-IN"],
];

/** The thirty cases of the demo's app, by lender. Both scripts and seven languages occur. */
export const SAMPLE_CASES: Readonly<Record<LenderCode, readonly SampleCase[]>> = {
  ACME: ACME.map(caseOf),
  SHAKTI: SHAKTI.map(caseOf),
  BETA: BETA.map(caseOf),
};

function caseOf([
  loan,
  name,
  amount,
  dpd,
  line1,
  city,
  postalCode,
  latitude,
  longitude,
  language,
  more,
]: Row): SampleCase {
  return { loan, name, amount, dpd, line1, city, postalCode, place: [latitude, longitude], language, ...more };
}

/**
 * Returns the row that imports a case. Its balance is as of `balanceAsOf`, which lies before the sample history, so that
 * the payments of the history reduce it.
 */
export function importRow(
  sample: SampleCase,
  index: number,
  balanceAsOf: Date,
  dayFromToday: (days: number) => string,
) {
  const { loan, name, amount, dpd, line1, city, postalCode, place, language, email, emi, quietDays } = sample;
  const [latitude, longitude] = place;
  return {
    sourceLoanNumber: loan,
    borrowerName: name,
    borrowerPhone: `+9198000${String(10_001 + index)}`,
    ...(email !== undefined && { borrowerEmail: email }),
    language,
    outstandingAmount: amount,
    outstandingAsOf: balanceAsOf.toISOString(),
    ...(emi !== undefined && { emiAmount: emi }),
    dpd,
    overdueSince: dayFromToday(-dpd),
    ...(quietDays !== undefined && { doNotContactUntil: dayFromToday(quietDays) }),
    addresses: [{ line1, city, state: "Maharashtra", postalCode, country: "IN", latitude, longitude }],
  };
}
