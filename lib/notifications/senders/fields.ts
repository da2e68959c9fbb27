/** Fields that several types of channels are configured with. */
import { z } from "zod";
import { parsedUrl } from "../../internal/url-text.ts";

/** An address that is posted to. Whether it may be connected to is found out when it is. */
export function urlField(): z.ZodString {
  return z
    .string()
    .max(2048)
    .regex(
      /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#@\\]+([/?#][^\s\\]*)?$/,
      "an http or https address without a user in it",
    )
    .refine((url) => parsedUrl(url) !== null, "an http or https address without a user in it");
}

/** A name or an address of a host. */
export function hostField(): z.ZodString {
  return z.string().regex(/^[^\s/?#@\\%]{1,253}$/, "a host name or an address, without a port");
}

/** A port. */
export function portField(): z.ZodNumber {
  return z.number().int().min(1).max(65_535);
}
