// Declarations that the examples in the docstrings use. The examples are compiled together with this file.

declare const lender: { readonly timeZone: string };
