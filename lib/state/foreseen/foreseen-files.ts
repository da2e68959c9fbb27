import type { FileAttributes, FileComparison, FileDigest, FileStat, HostFiles } from "../../host/host.ts";
import { refuseLinksBelow } from "../../host/files-below.ts";
import type { MaybeWaiting } from "../../internal/maybe-waiting.ts";
import { type ForeseenContent, type ForeseenPlace, type ForeseenTree, newNode } from "./foreseen-tree.ts";
import { hostError, requireSame } from "../../host/host-error.ts";

/** What the files of a foreseen machine share, guarded or not. */
export interface ForeseenFilesParts {
  tree: ForeseenTree;
  /** The files of the machine below, not guarded. */
  all: HostFiles;
  /** SHA-256, hex. */
  sha256(content: Uint8Array): string;
}

/** Files as they will be: what is written is kept in memory, everything else is read from the machine below. */
export class ForeseenFiles implements HostFiles {
  readonly #files: HostFiles;
  readonly #parts: ForeseenFilesParts;
  readonly #guarded: string | null;

  /**
   * @param files - Those of the machine below.
   * @param guarded - The folder that {@link HostFiles.below} was asked for.
   */
  constructor(files: HostFiles, parts: ForeseenFilesParts, guarded: string | null = null) {
    this.#files = files;
    this.#parts = parts;
    this.#guarded = guarded;
  }

  below(folder: string): ForeseenFiles {
    return new ForeseenFiles(this.#files.below(folder), this.#parts, this.#guarded ?? folder);
  }

  stat(path: string): FileStat | null {
    return this.#isAsBelow ? this.#files.stat(path) : this.#statAt(this.#find(path));
  }

  readFile(path: string, expected?: FileStat): Uint8Array {
    if (this.#isAsBelow) return this.#files.readFile(path, expected);
    const content = this.#contentOf(path, expected);
    if (typeof content === "string") return this.#files.readFile(content, expected);
    return content instanceof Uint8Array ? Uint8Array.from(content) : content.read();
  }

  hashFile(path: string, signal?: AbortSignal): MaybeWaiting<FileDigest> {
    if (this.#isAsBelow) return this.#files.hashFile(path, signal);
    const content = this.#contentOf(path);
    if (typeof content === "string") return this.#files.hashFile(content, signal);
    return this.digest(content, signal);
  }

  compareFile(path: string, content: Uint8Array): FileComparison {
    if (this.#isAsBelow) return this.#files.compareFile(path, content);
    const place = this.#find(path);
    if (place.node === undefined) return this.#files.compareFile(place.below, content);
    const stat = this.#statAt(place);
    const there = place.node?.content;
    if (!there) return { stat, same: false };
    if (there instanceof Uint8Array) return { stat, same: Buffer.compare(there, content) === 0 };
    if (there.sha256 !== undefined) return { stat, same: there.sha256 === this.#parts.sha256(content) };
    return { stat, same: there.sizeBytes === content.length && Buffer.compare(there.read(), content) === 0 };
  }

  readLink(path: string): string {
    const { node, below } = this.#find(path);
    if (node === undefined) return this.#files.readLink(below);
    if (node?.target === undefined) throw hostError(path, node ? "EINVAL" : "ENOENT");
    return node.target;
  }

  list(path: string): string[] {
    if (this.#isAsBelow) return this.#files.list(path);
    const place = this.#find(path);
    const showsThrough = place.node === undefined || place.node?.isThere === true;
    if (!showsThrough && place.node?.kind !== "directory")
      throw hostError(path, place.node ? "ENOTDIR" : "ENOENT");
    const names = new Set(showsThrough ? this.#files.list(place.below) : []);
    for (const [name, stands] of this.#parts.tree.names(place)) {
      if (stands) names.add(name);
      else names.delete(name);
    }
    return [...names].sort();
  }

  writeFile(path: string, content: Uint8Array, attributes: FileAttributes): void {
    this.putFile(path, Uint8Array.from(content), attributes);
  }

  makeDirectory(path: string, attributes: FileAttributes): void {
    const place = this.#find(path);
    if (this.#statAt(place)) throw hostError(path, "EEXIST");
    this.#parts.tree.put(path, place, newNode("directory", { mode: 0o700, ...attributes }));
  }

  makeSymlink(path: string, target: string): void {
    const place = this.#find(path);
    if (this.#statAt(place)?.kind === "directory") throw hostError(path, "EISDIR");
    this.#parts.tree.put(path, place, { ...newNode("symlink", { mode: 0o777 }), target });
  }

  setAttributes(path: string, attributes: FileAttributes): void {
    const place = this.#find(path);
    const stat = this.#require(path, place);
    if (stat.kind === "symlink") throw hostError(path, "ELOOP");
    const { kind, mode, uid, gid } = stat;
    if (kind === "file") return this.#put(path, place, { content: this.#contentOf(path), attributes });
    const isThere = place.node === undefined || place.node?.isThere === true;
    this.#parts.tree.put(path, place, { kind, mode, uid, gid, ...attributes, isThere });
  }

  removeFile(path: string): void {
    const place = this.#find(path);
    if (this.#require(path, place).kind === "directory") throw hostError(path, "EISDIR");
    this.#parts.tree.put(path, place, null);
  }

  removeDirectory(path: string): void {
    const place = this.#find(path);
    if (this.#require(path, place).kind !== "directory") throw hostError(path, "ENOTDIR");
    if (this.list(path).length > 0) throw hostError(path, "ENOTEMPTY");
    this.#parts.tree.put(path, place, null);
  }

  /** Foresees that nothing is in a folder any more. */
  clear(path: string): void {
    const place = this.#find(path);
    const { mode, uid, gid } = this.#require(path, place);
    this.#parts.tree.forgetBelow(place);
    this.#parts.tree.put(path, place, { kind: "directory", mode, uid, gid });
  }

  /** Foresees that nothing stands at a path, whatever stood there. */
  removeAll(path: string): void {
    const kind = this.stat(path)?.kind;
    if (kind === undefined) return;
    if (kind !== "directory") return this.removeFile(path);
    this.clear(path);
    this.removeDirectory(path);
  }

  /** As {@link writeFile}, also for a content that is known by its hash alone. */
  putFile(path: string, content: ForeseenContent, attributes: FileAttributes): void {
    const place = this.#find(path);
    if (this.#statAt(place)?.kind === "directory") throw hostError(path, "EISDIR");
    this.#put(path, place, { content, attributes });
  }

  /** What stands at a path, to be put elsewhere or read later. */
  contentAt(path: string, expected?: FileStat): ForeseenContent {
    const content = this.#contentOf(path, expected);
    if (typeof content !== "string") return content;
    const stat = this.#require(path, this.#find(path));
    requireSame(path, stat, expected);
    return {
      sizeBytes: stat.sizeBytes,
      digest: (signal) => this.#files.hashFile(content, signal),
      read: () => this.#files.readFile(content),
    };
  }

  /** Hash and size of a content. */
  digest(content: ForeseenContent, signal?: AbortSignal): MaybeWaiting<FileDigest> {
    if (!(content instanceof Uint8Array)) return content.digest(signal);
    return { sha256: this.#parts.sha256(content), sizeBytes: content.length };
  }

  get #isAsBelow(): boolean {
    return !this.#parts.tree.isChanged;
  }

  #find(path: string): ForeseenPlace {
    if (this.#guarded !== null) {
      const all = new ForeseenFiles(this.#parts.all, this.#parts);
      refuseLinksBelow(all, this.#guarded, path);
    }
    return this.#parts.tree.find(path);
  }

  #statAt(place: ForeseenPlace): FileStat | null {
    return this.#parts.tree.stat(place, this.#files);
  }

  #require(path: string, place: ForeseenPlace): FileStat {
    const stat = this.#statAt(place);
    if (!stat) throw hostError(path, "ENOENT");
    return stat;
  }

  /** The content, or where the machine below has it. */
  #contentOf(path: string, expected?: FileStat): ForeseenContent | string {
    const place = this.#find(path);
    if (place.node === undefined) return place.below;
    const stat = this.#require(path, place);
    requireSame(path, stat, expected);
    if (stat.kind === "file" && place.node?.content) return place.node.content;
    throw hostError(path, stat.kind === "directory" ? "EISDIR" : "ELOOP");
  }

  #put(
    path: string,
    place: ForeseenPlace,
    { content, attributes }: { content: ForeseenContent | string; attributes: FileAttributes },
  ): void {
    const there = this.#statAt(place);
    const kept = there?.kind === "file" ? there : { mode: 0o600 };
    const node = newNode("file", { ...kept, ...attributes });
    const whole = typeof content === "string" ? this.contentAt(path) : content;
    this.#parts.tree.put(path, place, { ...node, content: whole });
  }
}
