/** Properties that several types share, and what they mean on a machine. */
import { z } from "zod";
import { parsedUrl } from "../../../internal/url-text.ts";

/** An absolute path without `.`, `..`, doubled or trailing slashes, so that one thing has one name. */
export const pathSchema = z
  .string()
  .max(4096)
  .regex(
    // eslint-disable-next-line no-control-regex -- NUL ends a path for the kernel
    /^(?![\s\S]*\/\/)(?![\s\S]*\/\.{1,2}(?:\/|$))\/[^\u0000]*[^/\u0000]$/,
    "must be an absolute path without . or ..",
  );

/** Permission bits as chmod takes them: "0644". A string, because YAML reads 0644 as the number 644. */
export const modeSchema = z.string().regex(/^0?[0-7]{3,4}$/, 'must be octal in quotes, like "0644"');

/** A user or group: its name, or its number in digits. */
export const accountSchema = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\$?$/, "must be a name or a number");

export const ensureSchema = z.enum(["present", "absent"]);

/** A SHA-256 in hex. */
export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/);

/** A program with its arguments. */
export const argvSchema = z
  .tuple([z.string().min(1).max(4096)], z.string().max(65_536))
  .check(z.maxLength(1000));

/** An http or https address. */
export const urlSchema = z
  .string()
  .max(8192)
  .refine((url) => /^https?:\/\//.test(url) && parsedUrl(url) !== null, "must be an http or https address");

/** Headers of a request. */
export const headersSchema = z.record(
  z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, "must be the name of a header"),
  // eslint-disable-next-line no-control-regex -- a line break would begin another header
  z
    .string()
    .max(8192)
    .regex(/^[^\u0000-\u001f\u007f]*$/, "must not hold control characters"),
);
