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
