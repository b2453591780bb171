// Declarations that the examples in the docstrings use. The examples are compiled together with this file.
import { lookup } from "node:dns/promises";

/** Values that a lender has registered. */
declare const callbackUrl: string;
declare const authHeader: { readonly name: string; readonly value: string };
declare const body: string;
