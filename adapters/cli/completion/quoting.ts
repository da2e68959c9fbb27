/** Words as bash has them while they are typed. The other shells quote by themselves what they are given. */

/** What a word that is being typed says. */
export interface Unquoted {
  text: string;
  /** The quote that is open at its end; empty where none is. */
  quote: "" | "'" | '"';
}

/** Reads a word as bash would, without carrying out what stands in it. */
export function unquote(raw: string): Unquoted {
  let text = "";
  let quote: Unquoted["quote"] = "";
  for (let at = 0; at < raw.length; at += 1) {
    const character = raw.charAt(at);
    if (quote === "" && (character === "'" || character === '"')) quote = character;
    else if (character === quote) quote = "";
    else if (character === "\\" && quote !== "'") {
      const next = raw.charAt(at + 1);
      // Between double quotes a backslash stands for itself but before these.
      text += quote === '"' && !'$`"\\'.includes(next) ? `\\${next}` : next;
      at += 1;
    } else text += character;
  }
  return { text, quote };
}

/**
 * Writes text so that bash takes it as it is, behind what was typed already.
 *
 * @param quote - The quote that is open.
 * @returns Null where it can't be written there: nothing keeps bash from looking for `!` in its history between double quotes.
 */
export function quoteBehind(text: string, quote: Unquoted["quote"]): string | null {
  if (quote === "'") return text.replaceAll("'", `'\\''`);
  if (quote === "") return text.replace(/[^\w./:@%+=,\u0080-\uffff-]|[\p{Z}]/gu, "\\$&");
  return text.includes("!") ? null : text.replace(/[$`"\\]/g, "\\$&");
}
