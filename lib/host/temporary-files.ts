/** Files that are written beside those whose place they take. */
import { createHash, randomUUID } from "node:crypto";
import { unlinkSync } from "node:fs";
import { basename, dirname } from "node:path";
import { errnoOf } from "./host-error.ts";

/** This life of the agent, told apart from every other one: of this machine, of one that had its number before, of another state folder. */
export const lifeId = randomUUID();

/** What the temporary files of a life have in their names. */
export function markOf(life: string): string {
  return life.replaceAll("-", "").slice(0, 16);
}

/** That of this life. */
export const ownMark = markOf(lifeId);

const ownPrefix = `.fleetwright-${ownMark}-`;

/** A name that nobody can have taken (Node draws many UUIDs at a time), in the same folder so that a rename is atomic. */
export function temporaryBeside(real: string): string {
  return `${dirname(real)}/${ownPrefix}${randomUUID()}`;
}

/** A name that is the same at every try of this life; what the one before left there goes. */
export function beginPart(real: string): string {
  const name = createHash("sha256").update(basename(real)).digest("hex").slice(0, 16);
  const part = `${dirname(real)}/${ownPrefix}${name}.part`;
  discard(part);
  return part;
}

/** Takes a file away that may be gone already. */
export function discard(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
