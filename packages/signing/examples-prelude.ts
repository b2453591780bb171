// Declarations that the examples in the docstrings use. The examples are compiled together with this file.

declare const secret: string;
/** Values of a received request. */
declare const headers: Headers;
declare const body: Uint8Array;
declare const timestamp: string;
declare const signature: string;
