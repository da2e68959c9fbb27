/** Shapes that several features take or return. */
import { z } from "zod";
import { linearJson } from "./json-value.ts";

/** Name of a module, assignment, secret or channel. */
export const nameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "1-64 of a-z, 0-9, '.', '_', '-', starting with a letter or digit");

/** Name of an agent or operator. */
export const personNameSchema = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, "1-64 letters, digits, '-' or '_', starting with a letter");

/** Identifier derived from a public key: the first 32 hex digits of its SHA-256. */
export const keyIdSchema = z.string().regex(/^[0-9a-f]{32}$/, "32 lower-case hex digits");

/** Characters of what was given that a refusal repeats. */
const shownCharacters = 40;

/** What the server gives everything that is made: operations, rollouts, sessions. */
export const idSchema = z.uuid({
  error: ({ input }) => {
    if (input === undefined) return undefined;
    const given =
      typeof input === "string" ? ` ${JSON.stringify(input.slice(0, shownCharacters))} is none.` : "";
    return `must be an id as the server gives them, like 0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11.${given}`;
  },
});

/** What a verb returns that has nothing to say. */
export const nothingSchema = z.void();

/** Any JSON value. Registered itself, not a copy: it contains itself, and descriptions are to know it by one name. */
export const jsonSchema = linearJson().register(z.globalRegistry, { id: "Json" });

export const timestampSchema = z.iso
  .datetime({
    offset: true,
    // In a query a "+" is a space. One that is missing is said to be, as every field is.
    error: ({ input }) =>
      input === undefined
        ? undefined
        : "a time with its zone, e.g. 2026-01-31T12:00:00Z (in a URL, + is written %2B)",
  })
  // What is told in UTC has four digits for the year, too, or nobody could give it back.
  .refine((text) => {
    const year = new Date(text).getUTCFullYear();
    return !(year < 0 || year > 9999);
  }, "must be in the years 0 to 9999, in UTC");

/** How much of a list is wanted. */
export const pageInput = {
  limit: z.number().int().min(1).max(500).optional().describe("Most items of one page, 1-500. Default 50."),
  cursor: z.string().max(4096).optional().describe("`next_cursor` of the page before."),
};

/** Filter of a list by the beginning of an id: 4-36 characters of it. */
export const idPrefixSchema = z
  .string()
  .regex(/^[0-9a-f][0-9a-f-]{3,35}$/, "must be the beginning of an id, at least 4 characters")
  .optional()
  .describe("Only those whose id begins so, at least 4 characters of it.");

/** How long a call waits for an operation to end before it answers with what is there. */
export const waitInput = {
  wait_seconds: z
    .number()
    .min(0)
    .max(300)
    .optional()
    .describe("How long to wait for the end, 0-300. Default 30."),
};

/** A page of a list. */
export function pageOf<Item extends z.ZodType>(
  item: Item,
): z.ZodObject<{ items: z.ZodArray<Item>; next_cursor: z.ZodNullable<z.ZodString> }, z.core.$strip> {
  return z.object({ items: z.array(item), next_cursor: z.string().nullable() });
}

/** A page of a list. */
export interface Page<Item> {
  items: Item[];
  /** Pass as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** How often what is stored of something was changed; {@link ChangeOptions.ifVersion} takes it. */
export const versionSchema = z
  .number()
  .int()
  .min(0)
  .describe("Rises with each change of what is stored of it; the number in its `ETag`.");

/** Which folder manages something, and under which name. */
export const managedBySchema = z
  .strictObject({
    label: nameSchema.describe("Label of the folder that it is kept in."),
    name: z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
        "1-64 letters, digits, '.', '_' or '-', starting with a letter or digit",
      )
      .describe("Its name in that folder."),
  })
  .describe("The folder that manages it, and under which name; absent = none does.")
  .meta({ id: "ManagedBy" });

/** Which folder manages something, and under which name. */
export type ManagedBy = z.infer<typeof managedBySchema>;

/** The same as a change takes it. */
export const managedByChangeSchema = managedBySchema
  .nullable()
  .describe("The folder that manages it from now on; null = none does.");

/** Whether maintenance windows are passed over. */
export const overrideWindowSchema = z
  .boolean()
  .describe("Begins in spite of maintenance windows with the mode `freeze`. For Admins; it is recorded.");

/** How many things an apply may remove from a machine. */
export const maxRemovalsSchema = z
  .number()
  .int()
  .min(0)
  .max(20_000)
  .describe(
    "How many things may be removed from a machine; where it would be more nothing is changed there. Default any number.",
  );
