import { createHash } from "node:crypto";
import { guardFiles } from "./files-below.ts";
import { modeAfter, mustBeNew } from "./hands.ts";
import { heldError, hostError, requireSame } from "./host-error.ts";
import type {
  ChangeOptions,
  FileAttributes,
  FileChange,
  FileComparison,
  FileDigest,
  FileExtras,
  FileOwner,
  FileStat,
  HostFiles,
  WriteOptions,
} from "./host.ts";
import { extrasWithMode } from "./posix-acl.ts";
import { type Passing, rootAlone, Trail, Way } from "./trail.ts";

interface MemoryNode {
  kind: "file" | "directory" | "symlink";
  mode: number;
  uid: number;
  gid: number;
  /** Of a file. */
  content: Uint8Array;
  /** Of a link. */
  target: string;
  extras: FileExtras;
  /** How many paths name it. */
  links: number;
  isImmutable: boolean;
}

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
    const { kind, mode, uid, gid, links } = node;
    return { kind, mode, uid, gid, sizeBytes: node.content.length, ...(links > 1 && { links }) };
  }

  extras(path: string): FileExtras | null {
    const node = this.#find(path);
    return node && node.kind !== "symlink" ? structuredClone(node.extras) : null;
  }

  requireChangeable(path: string, change: FileChange): void {
    if (this.#find(path)?.isImmutable)
      throw heldError(path, "EPERM", "is immutable (chattr +i) and stays as it is");
    if (change !== "attributes" && this.#nodes.get(parentOf(this.#resolve(path)))?.isImmutable)
      throw heldError(path, "EPERM", "is in a folder that is immutable (chattr +i)");
  }

  /** Gives a file another name, as link(2) does. */
  hardLink(path: string, name: string): void {
    const node = this.#file(path);
    this.#put("hardLink", name, node);
    node.links += 1;
  }

  /** Says whether what stands at a path may be changed, as chattr(1) does with "i". */
  setImmutable(path: string, isImmutable: boolean): void {
    this.#require(path).isImmutable = isImmutable;
  }

  ledBy(path: string): number | null {
    return this.#follow(path, namesIn(path)).trail.ledBy;
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

  writeFile(path: string, content: Uint8Array, options: WriteOptions): void {
    const there = this.#find(path);
    if (there?.kind === "directory") throw hostError(path, "EISDIR");
    this.requireChangeable(path, "write");
    const { keepLinks = false, loseExtras: _loses, ...attributes } = options;
    const kept = there?.kind === "file" ? { ...there, mode: modeAfter(there, attributes) } : {};
    const next = { ...newNode("file", { ...kept, ...attributes }), content: Uint8Array.from(content) };
    if (!keepLinks || there?.kind !== "file") return this.#put("writeFile", path, next);
    this.#log.push({ call: "writeFile", path });
    Object.assign(there, { ...next, links: there.links });
  }

  makeDirectory(path: string, attributes: FileAttributes): void {
    if (this.#find(path)) throw hostError(path, "EEXIST");
    this.requireChangeable(path, "write");
    this.#put("makeDirectory", path, newNode("directory", { mode: 0o700, ...attributes }));
  }

  makeSymlink(path: string, target: string, owner: FileOwner = {}): void {
    if (this.#find(path)?.kind === "directory") throw hostError(path, "EISDIR");
    this.requireChangeable(path, "replace");
    this.#put("makeSymlink", path, { ...newNode("symlink", { ...owner, mode: 0o777 }), target });
  }

  move(from: string, to: string): void {
    const node = this.#require(from);
    if (node.kind === "directory") throw hostError(from, "EISDIR");
    const there = this.#find(to);
    if (there?.kind === "directory") throw hostError(to, "EISDIR");
    // As rename(2): both names stay where they are of one file.
    if (there === node) return;
    this.#put("move", to, node);
    this.#nodes.delete(this.#resolve(from));
  }

  setAttributes(path: string, { keepLinks: _keeps, loseExtras: _loses, ...attributes }: ChangeOptions): void {
    const node = this.#require(path);
    if (node.kind === "symlink" && attributes.mode !== undefined) throw hostError(path, "ELOOP");
    this.requireChangeable(path, "attributes");
    const next = newNode(node.kind, { ...node, ...attributes, mode: modeAfter(node, attributes) });
    // Its other names stay what they are.
    if (node.kind === "file" && node.links > 1 && mustBeNew(node, attributes))
      return this.#put("setAttributes", path, { ...next, content: node.content });
    this.#log.push({ call: "setAttributes", path });
    const { mode, uid, gid, extras } = next;
    Object.assign(node, { mode, uid, gid, extras });
  }

  removeFile(path: string): void {
    if (this.#require(path).kind === "directory") throw hostError(path, "EISDIR");
    this.requireChangeable(path, "replace");
    this.#log.push({ call: "removeFile", path });
    this.#forget(this.#resolve(path));
  }

  removeDirectory(path: string): void {
    if (this.#require(path).kind !== "directory") throw hostError(path, "ENOTDIR");
    if (this.list(path).length > 0) throw hostError(path, "ENOTEMPTY");
    this.requireChangeable(path, "replace");
    this.#log.push({ call: "removeDirectory", path });
    this.#nodes.delete(this.#resolve(path));
  }

  #forget(key: string): void {
    const node = this.#nodes.get(key);
    if (node) node.links -= 1;
    this.#nodes.delete(key);
  }

  #put(call: string, path: string, node: MemoryNode): void {
    const key = this.#resolve(path);
    const folder = this.#nodes.get(parentOf(key));
    if (!folder) throw hostError(path, "ENOENT");
    if (folder.kind !== "directory") throw hostError(path, "ENOTDIR");
    this.#log.push({ call, path });
    this.#forget(key);
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
    const names = namesIn(path);
    const last = names.pop();
    if (last === undefined) return "/";
    const { done } = this.#follow(path, last === ".." ? [...names, last] : names);
    return last === ".." ? done || "/" : `${done}/${last}`;
  }

  /** Goes through folders by their names, each link on the way followed or refused. */
  #follow(path: string, names: readonly string[]): { done: string; trail: Trail } {
    const trail = new Trail(path, rootAlone);
    const way = new Way(names);
    let done = "";
    const begin = (passing: Passing): void => {
      done = "";
      trail.restart();
      this.#enter(trail, "/", passing);
    };
    begin(null);
    for (let step = way.next(); step !== undefined; step = way.next()) {
      if (step.name === "..") {
        begin(way.detour(done.split("/").slice(1, -1), "again", step));
        continue;
      }
      const next = `${done}/${step.name}`;
      const node = this.#nodes.get(next);
      if (node?.kind !== "symlink") {
        done = next;
        this.#enter(trail, next, step.passing);
        continue;
      }
      trail.follow(node, next);
      const passing = way.detour(namesIn(node.target), "led", step);
      if (node.target.startsWith("/")) begin(passing);
    }
    return { done, trail };
  }

  #enter(trail: Trail, folder: string, passing: Passing): void {
    const node = this.#nodes.get(folder);
    if (node?.kind === "directory") trail.enter(node, passing);
  }
}

function namesIn(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

function newNode(
  kind: MemoryNode["kind"],
  { mode = 0o600, uid = 0, gid = 0, extras = {} }: FileAttributes,
): MemoryNode {
  const fixed = { content: new Uint8Array(), target: "", links: 1, isImmutable: false };
  return { kind, mode, uid, gid, extras: extrasWithMode(extras, mode), ...fixed };
}
