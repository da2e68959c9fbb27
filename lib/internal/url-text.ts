/** Addresses as texts. In messages a user, a password and a query may be secret, and the rest helps to find the fault. */

/**
 * Reads an address; null for what is none. Not by `URL.canParse`, which in Node 20 takes every address with a letter such as `ü` for none once
 * its caller has been optimized.
 */
export function parsedUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

/** An address as it may be shown: an http or https one without user, password, query and fragment. */
export function toPublicUrl(url: string): string {
  const parsed = parsedUrl(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return withoutCredentials(url);
  return `${parsed.origin}${parsed.pathname}`;
}

/** A text without the user and password of any address in it. */
export function withoutCredentials(text: string): string {
  return text.replace(/(\bhttps?:\/\/)[^\s/?#]*@/gi, "$1");
}
