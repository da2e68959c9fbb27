/**
 * Texts that everybody gets alike, compressed for whoever takes that.
 *
 * Nothing else is compressed: how short an answer gets tells what in it is alike, so one that has a secret beside something that a
 * stranger chose gives the secret away to whoever can only see lengths (BREACH). These texts hold neither: they are made from the
 * program alone.
 */
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const compress = {
  br: (text: string) => promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (text: string) => promisify(gzip)(text, { level: 9 }),
};

type Encoding = keyof typeof compress;

/** A text in the form that somebody takes. */
export interface EncodedText {
  body: string | Uint8Array;
  /** For `Content-Encoding`; null for the text as it is. */
  encoding: Encoding | null;
}

/** A text, or what makes it when it is first asked for. */
export type TextSource = string | (() => string | Promise<string>);

/** A text that everybody gets alike. Each of its forms is made once, when it is first asked for. */
export class PublicText {
  readonly #source: TextSource;
  #text: Promise<string> | undefined;
  readonly #forms = new Map<Encoding, Promise<Uint8Array>>();

  constructor(source: TextSource) {
    this.#source = source;
  }

  /** @param accepted - The request's `Accept-Encoding`. */
  async for(accepted: string | null | undefined): Promise<EncodedText> {
    const encoding = preferredOf(accepted ?? "");
    const text = await (this.#text ??= this.#make());
    if (encoding === null) return { body: text, encoding };
    const form = this.#forms.get(encoding) ?? compress[encoding](text);
    this.#forms.set(encoding, form);
    return { body: await form, encoding };
  }

  async #make(): Promise<string> {
    try {
      return typeof this.#source === "string" ? this.#source : await this.#source();
    } catch (error) {
      // Whoever asks next has it tried again.
      this.#text = undefined;
      throw error;
    }
  }
}

/** What is best to send (RFC 9110, section 12.5.3); of two that are taken alike, the shorter. */
function preferredOf(accepted: string): Encoding | null {
  const weights = new Map(accepted.toLowerCase().split(",").map(readWeight));
  let best: { encoding: Encoding | null; weight: number } = {
    encoding: null,
    weight: weights.get("identity") ?? 0,
  };
  for (const encoding of ["gzip", "br"] as const) {
    const weight = weights.get(encoding) ?? weights.get("*") ?? 0;
    if (weight > 0 && weight >= best.weight) best = { encoding, weight };
  }
  return best.encoding;
}

function readWeight(part: string): [string, number] {
  const [name = "", ...parameters] = part.split(";").map((each) => each.trim());
  const weight = parameters.find((each) => each.startsWith("q="))?.slice(2);
  return [name, weight === undefined ? 1 : Number(weight) || 0];
}
