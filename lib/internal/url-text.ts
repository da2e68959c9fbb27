/** Addresses in messages: a user, a password and a query may be secret, the rest helps to find the fault. */

/** An address as it may be shown: an http or https one without user, password, query and fragment. */
export function toPublicUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return withoutCredentials(url);
  return `${parsed.origin}${parsed.pathname}`;
}

/** A text without the user and password of any address in it. */
export function withoutCredentials(text: string): string {
  return text.replace(/(\bhttps?:\/\/)[^\s/?#]*@/gi, "$1");
}
