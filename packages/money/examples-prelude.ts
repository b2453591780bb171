// What the examples in the docstrings take for granted; they are compiled with it.
/* oxlint-disable no-unused-vars -- the examples use what is declared here */

declare const requestBody: string;
