/** A value that JSON can carry without loss. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** An object that JSON can carry without loss. */
export type JsonObject = { [key: string]: Json };
