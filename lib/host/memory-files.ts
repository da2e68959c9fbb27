import { createHash } from "node:crypto";
import type { FileAttributes, FileComparison, FileDigest, FileStat, HostFiles } from "./host.ts";
import { guardFiles } from "./files-below.ts";
import { hostError, requireSame } from "./host-error.ts";

interface MemoryNode {
  kind: "file" | "directory" | "symlink";
  mode: number;
  uid: number;
  gid: number;
  /** Of a file. */
  content: Uint8Array;
  /** Of a link. */
  target: string;
}

const maxLinks = 40;

/** A tree of files in memory, with the errors of a real one. Links in the folders above a path are followed. */
export class MemoryFiles implements HostFiles {
  readonly #nodes = new Map<string, MemoryNode>();
  readonly #log: { call: string; path: string }[];

  /** @param log - Gets a line for each call that changes something. */
  constructor(log: { call: string; path: string }[]) {
    this.#log = log;
    this.#nodes.set("/", newNode("directory", { mode: 0o755 }));
  }

  below(folder: string): HostFiles {
    return guardFiles(this, folder);
  }

  stat(path: string): FileStat | null {
    const node = this.#find(path);
    if (!node) return null;
    const { kind, mode, uid, gid } = node;
    return { kind, mode, uid, gid, sizeBytes: node.content.length };
  }

  readFile(path: string, expected?: FileStat): Uint8Array {
    const found = this.stat(path);
    if (found) requireSame(path, found, expected);
    return Uint8Array.from(this.#file(path).content);
  }

  hashFile(path: string): FileDigest {
    const { content } = this.#file(path);
    return { sha256: createHash("sha256").update(content).digest("hex"), sizeBytes: content.length };
  }

  compareFile(path: string, content: Uint8Array): FileComparison {
    const stat = this.stat(path);
    const same = stat?.kind === "file" && Buffer.compare(this.#file(path).content, content) === 0;
    return { stat, same };
  }

  readLink(path: string): string {
    const node = this.#require(path);
    if (node.kind !== "symlink") throw hostError(path, "EINVAL");
    return node.target;
  }

  list(path: string): string[] {
    const folder = this.#resolve(path);
    if (this.#require(path).kind !== "directory") throw hostError(path, "ENOTDIR");
    const prefix = folder === "/" ? "/" : `${folder}/`;
    const names: string[] = [];
    for (const key of this.#nodes.keys()) {
      if (key.length > prefix.length && key.startsWith(prefix) && !key.includes("/", prefix.length)) {
        names.push(key.slice(prefix.length));
      }
    }
    return names.sort();
  }

  writeFile(path: string, content: Uint8Array, attributes: FileAttributes): void {
    const there = this.#find(path);
    if (there?.kind === "directory") throw hostError(path, "EISDIR");
    const kept = there?.kind === "file" ? there : { mode: 0o600 };
    this.#put("writeFile", path, {
      ...newNode("file", { ...kept, ...attributes }),
      content: Uint8Array.from(content),
    });
  }

  makeDirectory(path: string, attributes: FileAttributes): void {
    if (this.#find(path)) throw hostError(path, "EEXIST");
    this.#put("makeDirectory", path, newNode("directory", { mode: 0o700, ...attributes }));
  }

  makeSymlink(path: string, target: string): void {
    if (this.#find(path)?.kind === "directory") throw hostError(path, "EISDIR");
    this.#put("makeSymlink", path, { ...newNode("symlink", { mode: 0o777 }), target });
  }

  setAttributes(path: string, attributes: FileAttributes): void {
    const node = this.#require(path);
    if (node.kind === "symlink") throw hostError(path, "ELOOP");
    this.#log.push({ call: "setAttributes", path });
    node.mode = attributes.mode ?? node.mode;
    node.uid = attributes.uid ?? node.uid;
    node.gid = attributes.gid ?? node.gid;
  }

  removeFile(path: string): void {
    if (this.#require(path).kind === "directory") throw hostError(path, "EISDIR");
    this.#log.push({ call: "removeFile", path });
    this.#nodes.delete(this.#resolve(path));
  }

  removeDirectory(path: string): void {
    if (this.#require(path).kind !== "directory") throw hostError(path, "ENOTDIR");
    if (this.list(path).length > 0) throw hostError(path, "ENOTEMPTY");
    this.#log.push({ call: "removeDirectory", path });
    this.#nodes.delete(this.#resolve(path));
  }

  #put(call: string, path: string, node: MemoryNode): void {
    const key = this.#resolve(path);
    const folder = this.#nodes.get(parentOf(key));
    if (!folder) throw hostError(path, "ENOENT");
    if (folder.kind !== "directory") throw hostError(path, "ENOTDIR");
    this.#log.push({ call, path });
    this.#nodes.set(key, node);
  }

  #find(path: string): MemoryNode | undefined {
    return this.#nodes.get(this.#resolve(path));
  }

  #require(path: string): MemoryNode {
    const node = this.#find(path);
    if (!node) throw hostError(path, "ENOENT");
    return node;
  }

  #file(path: string): MemoryNode {
    const node = this.#require(path);
    if (node.kind === "directory") throw hostError(path, "EISDIR");
    if (node.kind === "symlink") throw hostError(path, "ELOOP");
    return node;
  }

  /** The same path with every link above it followed. */
  #resolve(path: string): string {
    let links = 0;
    let done = "";
    const rest = path.split("/").filter((part) => part !== "" && part !== ".");
    for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
      if (part === "..") {
        done = done.slice(0, Math.max(0, done.lastIndexOf("/")));
        continue;
      }
      const node = rest.length > 0 ? this.#nodes.get(`${done}/${part}`) : undefined;
      if (node?.kind !== "symlink") {
        done = `${done}/${part}`;
        continue;
      }
      links += 1;
      if (links > maxLinks) throw hostError(path, "ELOOP");
      if (node.target.startsWith("/")) done = "";
      rest.unshift(...node.target.split("/").filter((name) => name !== "" && name !== "."));
    }
    return done === "" ? "/" : done;
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

function newNode(kind: MemoryNode["kind"], { mode = 0o600, uid = 0, gid = 0 }: FileAttributes): MemoryNode {
  return { kind, mode, uid, gid, content: new Uint8Array(), target: "" };
}
