// What the examples in the docstrings take for granted; they are compiled with it.

declare const lender: { readonly timeZone: string };
