/** The types that own something at a path, each with a first and a second version of a declaration. */
import type { JsonObject } from "../../../lib/json.ts";

/** What the tarball and the repository of a row are. */
export interface Sources {
  archive: string;
  repository: string;
  url: string;
  sha256: string;
}

/** One declaration and what becomes of it. */
export interface RemovalRow {
  first: JsonObject;
  second: JsonObject;
}

type Rows = Readonly<Record<string, RemovalRow>>;

/** The rows for one path. */
export function removalRows(path: string, { archive, repository, url, sha256 }: Sources): Rows {
  const row = (type: string, first: JsonObject, second: JsonObject = {}): RemovalRow => ({
    first: { id: "r", type, path, ...first },
    second: { id: "r", type, path, ...first, ...second },
  });
  return {
    file: row("file", { content: "ours\n" }, { content: "ours 2", mode: "0600", owner: "33" }),
    "file, forced": row("file", { content: "ours\n", force: true, mode: "0751" }, { owner: "33" }),
    "file, any content": row("file", { mode: "1640" }, { owner: "54321", group: "33" }),
    "file, absent": row("file", { ensure: "absent", force: true }),
    "file, absent at last": row("file", { content: "ours" }, { content: "x", ensure: "absent" }),
    download: row("download", { url, sha256 }, { mode: "0711", group: "33" }),
    line: row("line", { line: "ours 1", create: true }),
    "line, replacing": row("line", { line: "ours 1", match: ["old", "ours *"] }, { line: "ours 2" }),
    "line, absent": row("line", { line: "old", ensure: "absent" }),
    "line, absent by a pattern": row("line", { line: "xx", match: "ol*", ensure: "absent" }),
    block: row("block", { content: "ours\n", create: true }, { content: "ours\n\n2" }),
    "block, placed": row(
      "block",
      { content: "a", insert_after: "one" },
      { content: "b", insert_after: "two" },
    ),
    "block, absent": row("block", { ensure: "absent" }),
    symlink: row("symlink", { target: "there" }, { target: "/nowhere" }),
    "symlink, forced": row("symlink", { target: "there", force: true }, { target: "/nowhere" }),
    "symlink, absent": row("symlink", { ensure: "absent", force: true }),
    directory: row("directory", { mode: "0711" }, { mode: "3770", owner: "33", group: "54322" }),
    "directory, absent": row("directory", { ensure: "absent" }),
    "directory, recurse": row(
      "directory",
      { recurse: true, owner: "33", group: "33" },
      { mode: "0750", file_mode: "0640" },
    ),
    "directory, purge": row("directory", { purge: true }, { mode: "0700" }),
    archive: row("archive", { source: archive }, { owner: "33" }),
    git: row("git", { repository }, { revision: "v1" }),
  };
}
