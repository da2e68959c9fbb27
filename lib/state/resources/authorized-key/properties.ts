/** Properties of an `authorized_key`, and what stood before one. */
import { z } from "zod";
import { accountNameSchema } from "../shared/accounts.ts";
import { keptLineSchema, unendedSchema } from "../shared/kept-lines.ts";
import { ensureSchema, modeSchema, pathSchema } from "../shared/properties.ts";

/** Type, key in base64, and what people call it. */
const keyPattern =
  // eslint-disable-next-line no-control-regex -- control characters would end the line
  /^((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+) (AAAA[A-Za-z0-9+/]+={0,2})(?: [^\u0000-\u001f\u007f]*)?$/;

export const authorizedKeySchema = z.strictObject({
  user: accountNameSchema,
  /** As in a .pub file: type, key, and a comment if you like. */
  key: z.string().max(16_384).regex(keyPattern, "must be a public key as in a .pub file, on one line"),
  ensure: ensureSchema.default("present"),
  /** What stands before the key, such as `no-pty,from="10.0.0.0/8"`. */
  options: z
    .string()
    .min(1)
    .max(8192)
    // eslint-disable-next-line no-control-regex -- control characters would end the line
    .regex(/^(?!#)[^\s\u0000-\u001f\u007f"]*(?:"[^\u0000-\u001f\u007f"]*"[^\s\u0000-\u001f\u007f"]*)*$/)
    .optional(),
});

const lineSchema = z.string().max(32_768);

export const authorizedKeyPriorSchema = authorizedKeySchema.extend({
  /** The home in which it stood: that of the user may be another by now. */
  home: pathSchema.optional(),
  /** The line as it stood. */
  line: lineSchema.regex(/^[^\n\r]+$/).optional(),
  /** The lines that held the key, and their places. */
  kept: z.array(keptLineSchema).optional(),
  /** The file had no line break at its end. */
  unended: unendedSchema.optional(),
  /** Modes of the folder and the file. */
  folder_mode: modeSchema.optional(),
  file_mode: modeSchema.optional(),
  /** The file was made for the key and goes when nothing is left in it, and so does the folder. */
  remove_empty: z.enum(["file", "folder"]).optional(),
});

/** Properties of an `authorized_key`, and those of a captured one. */
export type AuthorizedKeySpec = z.infer<typeof authorizedKeyPriorSchema>;
