// What the examples in the docstrings take for granted; they are compiled with it.

declare const secret: string;
/** Of a request that came in. */
declare const headers: Headers;
declare const body: Uint8Array;
declare const timestamp: string;
declare const signature: string;
