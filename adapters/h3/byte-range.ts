/** The part of a file that a request asks for (RFC 9110, 14). */

/** From a byte up to another one, which is not part of it. */
export interface ByteRange {
  from: number;
  to: number;
}

/**
 * Reads `Range`. Several parts, and what is no range of bytes, are answered with the whole file, as is a part of another version than the
 * one that `If-Range` names.
 *
 * @returns Null: the whole of it.
 */
export function readRange(
  headers: Headers,
  { etag, size }: { etag: string; size: number },
): ByteRange | "unsatisfiable" | null {
  const [, first = "", last = ""] =
    /^bytes=\s*(\d{0,15})-(\d{0,15})$/i.exec(headers.get("range")?.trim() ?? "") ?? [];
  const ifRange = headers.get("if-range");
  if ((first === "" && last === "") || (ifRange !== null && ifRange.trim() !== etag)) return null;
  if (first === "")
    return Number(last) === 0 || size === 0
      ? "unsatisfiable"
      : { from: Math.max(0, size - Number(last)), to: size };
  if (last !== "" && Number(last) < Number(first)) return null;
  if (Number(first) >= size) return "unsatisfiable";
  return { from: Number(first), to: last === "" ? size : Math.min(size, Number(last) + 1) };
}
