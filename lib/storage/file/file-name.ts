import { createHash } from "node:crypto";

const safeId = /^[a-z0-9_-]{1,100}$/;

/**
 * A file name for an id that may hold any character: never a path, never the same for two ids, also where the file system
 * does not tell capitals from small letters. A simple id stays readable.
 */
export function fileNameOf(id: string): string {
  if (safeId.test(id)) return id;
  // As UTF-16: unlike UTF-8 it keeps lone surrogates apart.
  const digest = createHash("sha256").update(Buffer.from(id, "utf16le")).digest("hex").slice(0, 40);
  const hint = id
    .slice(0, 40)
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "_");
  return `~${hint}-${digest}`;
}
