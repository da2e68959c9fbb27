import { OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { decodeText } from "../text-diff.ts";
import { obstacle } from "./obstacle.ts";

/** Larger files are not taken apart, bytes. */
const maxBytes = 4 * 1024 * 1024;

/** A small file as text; null where nothing stands. `HOST_ERROR` for anything else than text. */
export function readTextFile(path: string, { files }: Host): string | null {
  const stat = files.stat(path);
  if (!stat) return null;
  if (stat.kind !== "file") throw obstacle(path, stat);
  const text = stat.sizeBytes > maxBytes ? null : decodeText(files.readFile(path));
  if (text !== null) return text;
  const message = `${path} is no text, or too large.`;
  throw new OrchestratorError("HOST_ERROR", { message, details: { path } });
}
