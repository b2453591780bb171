// Declarations that the examples in the docstrings use. The examples are compiled together with this file.

/** The URL of the database that has the jobs. */
declare const url: string;
