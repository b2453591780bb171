// What the examples in the docstrings take for granted; they are compiled with it.
import { lookup } from "node:dns/promises";

/** What somebody else has registered. */
declare const callbackUrl: string;
declare const authHeader: { readonly name: string; readonly value: string };
declare const body: string;
