/**
 * Entity tags (RFC 9110, 8.8.3). A tag is the version of what is stored and, where the whole of it is read, a hash of what is shown:
 * `"7-c0ffee"`. `If-None-Match` goes by the whole tag, since some of what is shown (is the agent connected?) is not stored with it;
 * `If-Match` goes by the version, since only that is changed.
 */
import { createHash } from "node:crypto";
import type { ChangeOptions } from "fleetwright";

/** The tag of an answer that shows all of something. */
export function toEntityTag(version: number, body: string): string {
  return `"${version}-${createHash("sha1").update(body).digest("base64url").slice(0, 16)}"`;
}

/** The tag of an answer to a change, which may show less than a read does. */
export function toVersionTag(version: number): string {
  return `"${version}"`;
}

/** What `If-Match` demands. A tag that is weak or none of ours matches nothing; `*` matches whatever there is. */
export function toChangeOptions(ifMatch: string | null): ChangeOptions {
  if (ifMatch === null || ifMatch.trim() === "*") return {};
  const versions = ifMatch.split(",").map((tag) => /^"(\d{1,15})(?:-[\w-]+)?"$/.exec(tag.trim())?.[1]);
  return { ifVersion: versions.flatMap((version) => (version === undefined ? [] : [Number(version)])) };
}

/** Whether `If-None-Match` names this tag; weak and strong forms are the same there (RFC 9110, 13.1.2). */
export function namesEntityTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const named = ifNoneMatch.split(",").map((part) => part.trim().replace(/^W\//, ""));
  return named.includes(tag) || named.includes("*");
}
